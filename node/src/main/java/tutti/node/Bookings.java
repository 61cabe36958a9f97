package tutti.node;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import tutti.core.spi.Completion;
import tutti.core.txn.TransactionId;
import tutti.runtime.Loop;

/**
 * Has transactions of all nodes come one after the other that would look at the same and then change it, before they look: each books
 * what it is about to look at, under a key, in the order; whose booking is the first of its key goes on, and sees all that those before it
 * have done. Of the replica's loop, but for {@link #isWanted} and {@link #mayBeWanted}.
 *
 * <p>
 * <b>Why it cannot do harm.</b> Nothing is decided by it: who has no booking, or another view of whose turn it is, is certified as
 * ever. So it is no part of what nodes must agree on, nor of snapshots; a node that begins anew knows of no bookings, and each may drop one that
 * lasts too long by its own clock.
 *
 * <p>
 * <b>Why nobody waits for ever.</b> A booking ends with the commit of the transaction that it is for, where that lies in the order, so
 * that the next begins without another message. It ends when its session says so, when its node begins a new life,
 * and after it has been first for {@value #TICKS_MAX} to 3 times {@value #TICK_NANOS} ns. Whoever waits for two keys of which each is held by
 * somebody who waits for the other gets on by that as well.
 *
 * <p>
 * <b>Which keys are wanted.</b> Those of which somebody was found to have seen what had changed when it was run again, here or, as their
 * bookings tell, elsewhere: at most {@value #WANTED_MAX}, the latest. A key is forgotten when it is booked, has not been found wanting
 * for {@value #WANTED_POSITIONS} positions, and nobody else has it booked.
 */
final class Bookings {
    static final long TICK_NANOS = 500_000_000L;
    static final int TICKS_MAX = 2;
    static final int WANTED_MAX = 4096;
    private static final long WANTED_POSITIONS = 20_000;

    /** What of the node is needed here. */
    interface Node {
        /** Has all nodes told something, in the order. */
        void send(Control control);

        long deliveredPosition();

        /** A position that is visible in the engine. Any thread. */
        long visible();

        /** Somebody waits for this position. */
        void hurry(long position);
    }

    /** The bookings of a key, in their order. */
    private static final class Line {
        final ArrayDeque<TransactionId> bookings = new ArrayDeque<>();
        /** For so long the first has been the first. */
        int ticks;
    }

    private record Shown(long position, Completion<Long> come) {}

    private final Node node;
    private final Loop loop;
    private final Supplier<TransactionId> names;
    private final Map<Long, Line> lines = new HashMap<>();
    /** By booking. */
    private final Map<TransactionId, Long> keys = new HashMap<>();
    /** By transaction that is going to commit, its booking. */
    private final Map<TransactionId, TransactionId> users = new HashMap<>();
    /** Of this node, those that are not over. */
    private final Set<TransactionId> own = new HashSet<>();
    /** Of this node, those that have not come. */
    private final Map<TransactionId, Completion<Long>> waiting = new HashMap<>();
    /** Those that have come, and do not see all yet. */
    private final List<Shown> coming = new ArrayList<>();
    private boolean ticks;

    /** The position at which each was found wanting last, the latest last. */
    private final LinkedHashMap<Long, Long> wanted = new LinkedHashMap<>();
    /* Read from any thread. */
    private final Set<Long> wantedKeys = ConcurrentHashMap.newKeySet();
    private final Map<Integer, Integer> wantedKinds = new ConcurrentHashMap<>();

    /**
     * None.
     *
     * @param names makes names that nothing else has, on any thread
     */
    Bookings(Node node, Loop loop, Supplier<TransactionId> names) {
        this.node = node;
        this.loop = loop;
        this.names = names;
    }

    // ------------------------------------------------------------------------------------------ what is wanted

    /** The upper half of a key: of those who look at different things in the same way. */
    private static int kind(long key) {
        return (int) (key >>> 32);
    }

    /** Whether a key is to be booked. Any thread. */
    boolean isWanted(long key) {
        return wantedKeys.contains(key);
    }

    /** Whether any key is to be booked. Any thread. */
    boolean wantsAny() {
        return !wantedKeys.isEmpty();
    }

    /** Whether some key of this upper half is to be booked. Any thread. */
    boolean mayBeWanted(int kind) {
        return wantedKinds.containsKey(kind);
    }

    /** A key was found wanting. */
    void want(long key) {
        wanted.remove(key);
        wanted.put(key, node.deliveredPosition());
        if (wantedKeys.add(key)) {
            wantedKinds.merge(kind(key), 1, Integer::sum);
        }
        if (wanted.size() > WANTED_MAX) {
            forget(wanted.keySet().iterator().next());
        }
    }

    private void forget(long key) {
        wanted.remove(key);
        if (wantedKeys.remove(key)) {
            wantedKinds.computeIfPresent(kind(key), (_, count) -> count == 1 ? null : count - 1);
        }
    }

    private void reconsider(long key, boolean alone) {
        Long last = wanted.get(key);
        if (last == null || !alone) {
            want(key);
        } else if (last + WANTED_POSITIONS < node.deliveredPosition()) {
            forget(key);
        }
    }

    // ------------------------------------------------------------------------------------------ this node's

    /** As {@link Transactions#book}. Any thread. */
    Transactions.Booking begin(long key, Completion<Long> come) {
        TransactionId booking = names.get();
        loop.execute(() -> {
            own.add(booking);
            waiting.put(booking, come);
            node.send(new Control.Booked(booking, key));
        });
        return new Transactions.Booking() {
            @Override
            public void isFor(TransactionId run) {
                loop.run(() -> {
                    if (own.contains(booking)) {
                        node.send(new Control.BookedFor(booking, run));
                    }
                });
            }

            @Override
            public void end() {
                loop.execute(() -> {
                    waiting.remove(booking);
                    if (own.remove(booking)) {
                        node.send(new Control.BookingOver(booking));
                    }
                });
            }
        };
    }

    // ------------------------------------------------------------------------------------------ from the order

    /** A node has booked a key. */
    void delivered(int sender, Control.Booked told, long position) {
        TransactionId booking = told.booking();
        if (booking.node() != sender || keys.putIfAbsent(booking, told.key()) != null) {
            return;
        }
        Line line = lines.computeIfAbsent(told.key(), _ -> new Line());
        reconsider(told.key(), line.bookings.isEmpty());
        line.bookings.add(booking);
        if (line.bookings.size() == 1) {
            hasCome(line, position);
        }
        tickLater();
    }

    /** A booking is over when this transaction commits. */
    void delivered(int sender, Control.BookedFor told) {
        if (told.booking().node() == sender && keys.containsKey(told.booking())) {
            users.values().removeIf(told.booking()::equals);
            users.put(told.transaction(), told.booking());
        }
    }

    /** A booking is over. */
    void delivered(int sender, Control.BookingOver told, long position) {
        if (told.booking().node() == sender) {
            remove(told.booking(), position);
        }
    }

    /** A transaction is certain to commit at this position. */
    void commits(TransactionId transaction, long position) {
        TransactionId booking = users.isEmpty() ? null : users.get(transaction);
        if (booking != null) {
            remove(booking, position);
        }
    }

    /** A node has begun a new life: what it has booked before is over. */
    void born(int number, long incarnation, long position) {
        keys.keySet().stream().filter(each -> each.node() == number && each.incarnation() < incarnation).toList()
                .forEach(each -> remove(each, position));
    }

    private void remove(TransactionId booking, long position) {
        Long key = keys.remove(booking);
        Line line = key == null ? null : lines.get(key);
        if (key == null || line == null) {
            return;
        }
        users.values().removeIf(booking::equals);
        own.remove(booking);
        boolean first = booking.equals(line.bookings.peek());
        line.bookings.remove(booking);
        if (line.bookings.isEmpty()) {
            lines.remove(key);
        } else if (first) {
            hasCome(line, position);
        }
    }

    private void hasCome(Line line, long position) {
        line.ticks = 0;
        Completion<Long> come = waiting.remove(line.bookings.element());
        if (come == null) {
            return;
        }
        if (node.visible() >= position) {
            come.succeeded(node.visible());
        } else {
            coming.add(new Shown(position, come));
            node.hurry(position);
        }
    }

    /** All up to this position can be seen. */
    void visible(long position) {
        if (coming.isEmpty()) {
            return;
        }
        List<Shown> there = coming.stream().filter(each -> each.position() <= position).toList();
        coming.removeAll(there);
        there.forEach(each -> each.come().succeeded(position));
    }

    // ------------------------------------------------------------------------------------------ those that last too long

    private void tickLater() {
        if (!ticks) {
            ticks = true;
            loop.schedule(TICK_NANOS, this::tick);
        }
    }

    private void tick() {
        ticks = false;
        List<TransactionId> late = new ArrayList<>();
        for (Line line : lines.values()) {
            if (++line.ticks > TICKS_MAX) {
                late.add(line.bookings.element());
            }
        }
        late.forEach(each -> remove(each, node.deliveredPosition()));
        if (!lines.isEmpty()) {
            tickLater();
        }
    }
}
