package tutti.sim.world.engine;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * The lock manager of an engine: first come, first served, but whoever has priority goes before those who have not. A wait
 * that would close a cycle is refused, unless it is one with priority: those in its way are asked to leave.
 */
final class Locks {
    /** What may be held together. */
    enum Mode {
        SHARED, INTENTION, EXCLUSIVE;

        boolean fits(Mode other) {
            return this == other && this != EXCLUSIVE;
        }
    }

    /** Whoever holds and waits for locks. */
    abstract static class Owner {
        private final List<Lock> held = new ArrayList<>();
        private @Nullable Request waiting;

        /** Whether it goes before others, and those in its way are asked to leave. */
        abstract boolean priority();
    }

    /** Hears who makes an owner with priority wait; told again when others do. May release the holder's locks at once. */
    interface Listener {
        /** The holder is in the way. */
        void blocked(Owner waiter, Owner holder);
    }

    private static final class Holder {
        final Owner owner;
        Mode mode;

        Holder(Owner owner, Mode mode) {
            this.owner = owner;
            this.mode = mode;
        }
    }

    private static final class Lock {
        final long key;
        final List<Holder> holders = new ArrayList<>(2);
        final ArrayDeque<Request> queue = new ArrayDeque<>(2);

        Lock(long key) {
            this.key = key;
        }
    }

    private static final class Request {
        final Lock lock;
        final Owner owner;
        final Mode mode;
        final Runnable granted;

        Request(Lock lock, Owner owner, Mode mode, Runnable granted) {
            this.lock = lock;
            this.owner = owner;
            this.mode = mode;
            this.granted = granted;
        }
    }

    /** What became of a request. */
    enum Result {
        GRANTED, WAITS, DEADLOCK
    }

    private final Map<Long, Lock> locks = new HashMap<>();
    private final Consumer<Runnable> later;
    private final Listener listener;

    /** @param later has something done soon, in an event of its own */
    Locks(Consumer<Runnable> later, Listener listener) {
        this.later = later;
        this.listener = listener;
    }

    /**
     * Asks for a lock.
     *
     * @param granted done later if it has to wait, unless the owner is {@linkplain #release released} before
     */
    Result acquire(Owner owner, long key, Mode mode, Runnable granted) {
        Lock lock = locks.computeIfAbsent(key, Lock::new);
        Holder own = holder(lock, owner);
        if (own != null && (own.mode == mode || own.mode == Mode.EXCLUSIVE)) {
            return Result.GRANTED;
        }
        boolean mayPass = own != null || owner.priority() || lock.queue.isEmpty();
        if (mayPass && others(lock, owner, mode).isEmpty()) {
            grant(lock, owner, mode);
            return Result.GRANTED;
        }
        Request request = new Request(lock, owner, mode, granted);
        owner.waiting = request;
        enqueue(request, own != null);
        if (owner.priority()) {
            askToLeave(request);
            return Result.WAITS;
        }
        if (waitsFor(owner, owner, new HashSet<>())) {
            lock.queue.remove(request);
            owner.waiting = null;
            return Result.DEADLOCK;
        }
        return Result.WAITS;
    }

    /** The request's place in the queue is taken, so nobody else gets what those in its way give back. */
    private void askToLeave(Request request) {
        for (Owner holder : others(request.lock, request.owner, request.mode)) {
            listener.blocked(request.owner, holder);
        }
    }

    /** An owner has got priority. */
    void prioritized(Owner owner) {
        Request request = owner.waiting;
        if (request != null) {
            request.lock.queue.remove(request);
            enqueue(request, holder(request.lock, owner) != null);
            serve(request.lock);
            if (request.equals(owner.waiting)) {
                askToLeave(request);
            }
        }
    }

    /** Behind others with priority, before those without; one that holds the lock already before all. */
    private static void enqueue(Request request, boolean upgrade) {
        ArrayDeque<Request> queue = request.lock.queue;
        if (upgrade) {
            queue.addFirst(request);
            return;
        }
        if (!request.owner.priority()) {
            queue.addLast(request);
            return;
        }
        ArrayDeque<Request> before = new ArrayDeque<>();
        Request first = queue.peekFirst();
        while (first != null && first.owner.priority()) {
            before.addLast(queue.removeFirst());
            first = queue.peekFirst();
        }
        queue.addFirst(request);
        while (!before.isEmpty()) {
            queue.addFirst(before.removeLast());
        }
    }

    private static @Nullable Holder holder(Lock lock, Owner owner) {
        for (Holder holder : lock.holders) {
            if (holder.owner.equals(owner)) {
                return holder;
            }
        }
        return null;
    }

    /** Who holds it in a way that does not fit. */
    private static List<Owner> others(Lock lock, Owner owner, Mode mode) {
        List<Owner> others = List.of();
        for (Holder holder : lock.holders) {
            if (!holder.owner.equals(owner) && !holder.mode.fits(mode)) {
                others = others.isEmpty() ? new ArrayList<>() : others;
                others.add(holder.owner);
            }
        }
        return others;
    }

    private static void grant(Lock lock, Owner owner, Mode mode) {
        Holder own = holder(lock, owner);
        if (own == null) {
            lock.holders.add(new Holder(owner, mode));
            owner.held.add(lock);
        } else {
            // Held in another mode: from now on alone.
            own.mode = Mode.EXCLUSIVE;
        }
    }

    /** Whether {@code from} waits, directly or not, for {@code target}. */
    private static boolean waitsFor(Owner from, Owner target, Set<Owner> seen) {
        for (Owner one : directlyWaitsFor(from)) {
            if (one.equals(target) || (seen.add(one) && waitsFor(one, target, seen))) {
                return true;
            }
        }
        return false;
    }

    /** For whom an owner waits, directly or not; in the same order in every run. */
    static Set<Owner> waitsFor(Owner from) {
        Set<Owner> found = new LinkedHashSet<>();
        ArrayDeque<Owner> open = new ArrayDeque<>(directlyWaitsFor(from));
        while (!open.isEmpty()) {
            Owner next = open.remove();
            if (found.add(next)) {
                open.addAll(directlyWaitsFor(next));
            }
        }
        return found;
    }

    private static List<Owner> directlyWaitsFor(Owner from) {
        Request request = from.waiting;
        if (request == null) {
            return List.of();
        }
        List<Owner> next = new ArrayList<>(others(request.lock, from, request.mode));
        for (Request before : request.lock.queue) {
            if (before.equals(request)) {
                break;
            }
            next.add(before.owner);
        }
        return next;
    }

    /** Gives back all that an owner holds, and what it waits for. */
    void release(Owner owner) {
        Request waiting = owner.waiting;
        owner.waiting = null;
        if (waiting != null) {
            waiting.lock.queue.remove(waiting);
            serve(waiting.lock);
        }
        List<Lock> held = List.copyOf(owner.held);
        owner.held.clear();
        for (Lock lock : held) {
            lock.holders.removeIf(holder -> holder.owner.equals(owner));
            serve(lock);
        }
    }

    private void serve(Lock lock) {
        for (Request first = lock.queue.peekFirst(); first != null
                && others(lock, first.owner, first.mode).isEmpty(); first = lock.queue.peekFirst()) {
            Request served = lock.queue.removeFirst();
            served.owner.waiting = null;
            grant(lock, served.owner, served.mode);
            later.accept(() -> {
                if (holder(served.lock, served.owner) != null) {
                    served.granted.run();
                }
            });
        }
        if (lock.holders.isEmpty() && lock.queue.isEmpty()) {
            locks.remove(lock.key);
        }
    }

    /** All who hold a lock of one of these keys. */
    Set<Owner> holders(LongPredicate keys) {
        List<Long> found = new ArrayList<>();
        for (long key : locks.keySet()) {
            if (keys.test(key)) {
                found.add(key);
            }
        }
        found.sort(null);
        Set<Owner> owners = new LinkedHashSet<>();
        for (long key : found) {
            Lock lock = locks.get(key);
            if (lock != null) {
                lock.holders.forEach(holder -> owners.add(holder.owner));
            }
        }
        return owners;
    }
}
