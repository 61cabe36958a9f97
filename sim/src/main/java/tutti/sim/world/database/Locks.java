package tutti.sim.world.database;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The lock manager of a database: first come, first served. A client's wait that would close a cycle is refused. Whoever
 * {@linkplain #shut shuts} it is alone until it opens it again: nobody else is granted anything who can be {@linkplain Owner#kept kept}.
 */
final class Locks {
    /** What may be held together. */
    enum Mode {
        /** Of a row that another refers to. */
        REFERENCE,
        /** Of what was read under locking. */
        SHARED,
        /** Of a table some of whose rows are changed under locking. */
        INTENTION,
        /** Of a row that is changed and stays. */
        UPDATE,
        /** Alone. */
        EXCLUSIVE;

        boolean fits(Mode other) {
            return switch (this) {
                case REFERENCE -> other == REFERENCE || other == SHARED || other == UPDATE;
                case SHARED -> other == REFERENCE || other == SHARED;
                case INTENTION -> other == INTENTION;
                case UPDATE -> other == REFERENCE;
                case EXCLUSIVE -> false;
            };
        }

        /** Held by one who holds both. */
        Mode and(Mode other) {
            if (this == other || (other == REFERENCE && this != INTENTION)) {
                return this;
            }
            return this == REFERENCE && other != INTENTION ? other : EXCLUSIVE;
        }
    }

    /** Whoever holds and waits for locks. */
    abstract static class Owner {
        private final List<Lock> held = new ArrayList<>();
        private @Nullable Request waiting;

        /** Whether a wait of it may be refused because it would close a cycle. */
        abstract boolean refusable();

        /** Whether it is granted nothing while somebody else is alone. */
        abstract boolean kept();

        final boolean isWaiting() {
            return waiting != null;
        }
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

    private record Request(Lock lock, Owner owner, Mode mode, Runnable granted) {}

    /** What became of a request. */
    enum Result {
        GRANTED, WAITS, DEADLOCK
    }

    private final Map<Long, Lock> locks = new HashMap<>();
    private final Consumer<Runnable> later;
    private final List<Runnable> kept = new ArrayList<>(0);
    private @Nullable Owner alone;

    /** @param later has something done soon, in an event of its own */
    Locks(Consumer<Runnable> later) {
        this.later = later;
    }

    /**
     * Asks for a lock.
     *
     * @param granted done later if it has to wait, unless the owner is {@linkplain #release released} before
     */
    Result acquire(Owner owner, long key, Mode mode, Runnable granted) {
        Lock lock = locks.computeIfAbsent(key, Lock::new);
        Holder own = holder(lock, owner);
        if (own != null && own.mode.and(mode) == own.mode) {
            return Result.GRANTED;
        }
        boolean mayPass = isLet(owner) && (own != null || lock.queue.isEmpty());
        if (mayPass && others(lock, owner, mode).isEmpty()) {
            grant(lock, owner, mode);
            return Result.GRANTED;
        }
        Request request = new Request(lock, owner, mode, granted);
        owner.waiting = request;
        if (own == null) {
            lock.queue.addLast(request);
        } else {
            lock.queue.addFirst(request);
        }
        if (owner.refusable() && waitsFor(owner).contains(owner)) {
            lock.queue.remove(request);
            owner.waiting = null;
            return Result.DEADLOCK;
        }
        return Result.WAITS;
    }

    /**
     * Takes all these locks, or none.
     *
     * @return who is in the way; nobody if they are taken
     */
    Set<Owner> acquireAll(Owner owner, List<LockStep> steps) {
        Set<Owner> inTheWay = new LinkedHashSet<>();
        for (LockStep step : steps) {
            Lock lock = locks.get(step.key());
            if (lock != null) {
                inTheWay.addAll(others(lock, owner, step.mode()));
            }
        }
        if (alone != null && !isLet(owner)) {
            inTheWay.add(alone);
        }
        if (inTheWay.isEmpty()) {
            steps.forEach(step -> grant(locks.computeIfAbsent(step.key(), Lock::new), owner, step.mode()));
        }
        return inTheWay;
    }

    /** Keeps everybody else from getting a lock; false if somebody else does so already. */
    boolean shut(Owner owner) {
        if (alone == null) {
            alone = owner;
        }
        return owner.equals(alone);
    }

    /** Does something at once, or when nobody else is alone any more. */
    void whenLet(Owner owner, Runnable then) {
        if (isLet(owner)) {
            then.run();
        } else {
            kept.add(then);
        }
    }

    /** Ends what {@link #shut} began; without effect for others. */
    void open(Owner owner) {
        if (owner.equals(alone)) {
            alone = null;
            kept.forEach(later);
            kept.clear();
            for (long key : new TreeSet<>(locks.keySet())) {
                Lock lock = locks.get(key);
                if (lock != null) {
                    serve(lock);
                }
            }
        }
    }

    private boolean isLet(Owner owner) {
        return alone == null || alone.equals(owner) || !owner.kept();
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
    private static List<Owner> others(Lock lock, Owner owner, Mode wanted) {
        Holder own = holder(lock, owner);
        Mode mode = own == null ? wanted : own.mode.and(wanted);
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
            own.mode = own.mode.and(mode);
        }
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

    /** For whom an owner waits: those who hold what it wants, and those who have asked for it before. */
    static List<Owner> directlyWaitsFor(Owner from) {
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

    /** All is over, as when the server dies: nobody holds anything, nobody waits, and nobody who did is granted it later. */
    void forget() {
        for (Lock lock : locks.values()) {
            lock.holders.forEach(holder -> holder.owner.held.clear());
            lock.queue.forEach(request -> request.owner.waiting = null);
        }
        locks.clear();
        kept.clear();
        alone = null;
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
        for (Request first = lock.queue.peekFirst(); first != null && isLet(first.owner)
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
}
