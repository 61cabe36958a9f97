package tutti.sim.world.order;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.sim.host.Host;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;

/**
 * A total order that is simply there: what is submitted gets its position after a delay, if a majority of the members is
 * up, and every member is delivered it after another. Faults of the network do not touch it, and it remembers whatever
 * happens to its members, so that what goes wrong over it is the fault of whoever uses it. Of what a member had submitted when it crashed, some is ordered and the rest never. Views come late, and
 * may be wrong for a while.
 */
public final class IdealOrder {
    private static final Label ORDER = Label.of("ideal order", "order");
    private static final Label DELIVER = Label.of("ideal order", "deliver");
    private static final Label RECEIVE = Label.of("ideal order", "receive");
    private static final Label VIEW = Label.of("ideal order", "view");
    private static final Label GUESS = Label.of("ideal order", "tentative");
    private static final int BATCH_MAX = 64;
    private static final int PAYLOAD_BYTES_MAX = 1 << 20;
    private static final double GHOST_LOST = 0.3;
    private static final double GUESSED = 0.7;
    private static final long SUSPICION_NANOS_MEAN = 20 * Nanos.MILLI;

    /**
     * How it behaves.
     *
     * @param order from submission to position
     * @param deliver from position to delivery, by member; deliveries wait for each other
     * @param view from a crash or start to the view that says so
     * @param queueBytes of a member's messages submitted and not delivered back, at most
     * @param suspicions from one wrong view to the next, anywhere; no time if there are none
     */
    public record Settings(Distribution order, Distribution deliver, Distribution view, long queueBytes,
            Distribution suspicions) {}

    private static final class Entry {
        final int sender;
        final long life;
        final byte[] payload;
        /** 0 if it has none yet. */
        long position;

        Entry(int sender, long life, byte[] payload) {
            this.sender = sender;
            this.life = life;
            this.payload = payload;
        }
    }

    private final Kernel kernel;
    private final Settings settings;
    private final Map<Integer, Member> open = new HashMap<>();
    private final Set<Integer> all;
    /** Positions above {@code base}. */
    private final List<Entry> log = new ArrayList<>();
    private final List<Entry> waiting = new ArrayList<>();
    private long base;
    /** By node: until when what it has submitted is on its way, in whichever life; for what a node submits keeps its order. */
    private final Map<Integer, Long> orderedUntil = new HashMap<>();
    private long lives;
    private final RandomStream random;
    private boolean calm;

    /**
     * An order without messages.
     *
     * @param all who may be a member
     */
    public IdealOrder(Kernel kernel, Settings settings, Set<Integer> all) {
        this.kernel = kernel;
        this.settings = settings;
        this.all = new TreeSet<>(all);
        this.random = kernel.random("ideal order");
        suspectLater();
    }

    /** A member's part in it, for one life of its node. */
    public SimOrder open(Host host, int node) {
        return new Member(host, node);
    }

    /** From now on views are right. */
    public void calm() {
        calm = true;
        open.values().forEach(Member::viewLater);
    }

    private void suspectLater() {
        long next = settings.suspicions.sample(random);
        if (next > 0 && !calm) {
            kernel.schedule(next, VIEW, () -> {
                List<Member> members = new ArrayList<>(open.values());
                if (!members.isEmpty() && !calm) {
                    Member one = random.pick(members);
                    int other = random.pick(new ArrayList<>(all));
                    if (other != one.node) {
                        one.suspect(other);
                    }
                }
                suspectLater();
            });
        }
    }

    private long end() {
        return base + log.size();
    }

    private Entry get(long position) {
        return log.get((int) (position - base - 1));
    }

    private boolean hasMajority() {
        return 2 * open.size() > all.size();
    }

    /** Gives positions to what waits, if there is a majority. */
    private void order() {
        if (hasMajority() && !waiting.isEmpty()) {
            for (Entry entry : waiting) {
                log.add(entry);
                entry.position = end();
            }
            waiting.clear();
            open.values().forEach(Member::deliverLater);
        }
    }

    private void changed() {
        open.values().forEach(Member::viewLater);
    }

    private final class Member implements SimOrder {
        private final Host host;
        private final int node;
        private final long life;
        private @Nullable Reader reader;
        private @Nullable Listener listener;
        private long delivered;
        private boolean delivering;
        private boolean suspended;
        private boolean closed;
        private boolean lost;
        private long queuedBytes;
        /** Until when what was multicast to each member is on its way. */
        private final Map<Integer, Long> onTheWayUntil = new HashMap<>();
        private int suspected = -1;
        private Set<Integer> told = Set.of();

        Member(Host host, int node) {
            this.host = host;
            this.node = node;
            this.life = ++lives;
        }

        @Override
        public void join(Listener to) {
            listener = to;
        }

        @Override
        public void start(long after, Reader to) throws TruncatedException {
            if (after < base) {
                throw new TruncatedException(after, base + 1);
            }
            if (after > end()) {
                throw new IllegalArgumentException("position " + after + " of " + end());
            }
            reader = to;
            delivered = after;
            open.put(node, this);
            host.onCrash(this::close);
            changed();
            deliverLater();
            order();
        }

        @Override
        public void append(byte[] payload) throws OverflowException {
            if (payload.length > PAYLOAD_BYTES_MAX) {
                throw new IllegalArgumentException("a message of " + payload.length + " bytes");
            }
            if (queuedBytes + payload.length > settings.queueBytes) {
                throw new OverflowException(queuedBytes, settings.queueBytes);
            }
            queuedBytes += payload.length;
            Entry entry = new Entry(node, life, payload);
            long at = orderedUntil.merge(node, kernel.now() + settings.order.sample(random), Math::max);
            kernel.schedule(at - kernel.now(), ORDER, () -> arrived(entry));
            for (Member member : open.values()) {
                member.guess(entry);
            }
        }

        @Override
        public void multicast(byte[] payload, Set<Integer> nodes) {
            if (payload.length > PAYLOAD_BYTES_MAX) {
                throw new IllegalArgumentException("a message of " + payload.length + " bytes");
            }
            for (int to : new TreeSet<>(nodes)) {
                Member member = open.get(to);
                if (member != null) {
                    long at = Math.max(onTheWayUntil.getOrDefault(to, 0L),
                            kernel.now() + settings.deliver.sample(random));
                    onTheWayUntil.put(to, at);
                    member.host.after(at - kernel.now(), RECEIVE, () -> member.received(node, payload));
                }
            }
        }

        private void received(int sender, byte[] payload) {
            Listener to = listener;
            if (to != null && !closed) {
                to.received(sender, ByteBuffer.wrap(payload));
            }
        }

        private void arrived(Entry entry) {
            if (closed && !lost) {
                lost = random.chance(GHOST_LOST);
            }
            if (!lost) {
                waiting.add(entry);
                order();
            }
        }

        private void guess(Entry entry) {
            if (random.chance(GUESSED)) {
                host.after(settings.deliver.sample(random), GUESS, () -> {
                    if (reader != null && !suspended && (entry.position == 0 || entry.position > delivered)) {
                        reader.tentative(entry.sender, ByteBuffer.wrap(entry.payload));
                    }
                });
            }
        }

        private void deliverLater() {
            if (!delivering && !suspended && !closed && delivered < end()) {
                delivering = true;
                host.after(settings.deliver.sample(random), DELIVER, this::deliver);
            }
        }

        private void deliver() {
            delivering = false;
            Reader to = reader;
            long upTo = Math.min(end(), delivered + BATCH_MAX);
            while (to != null && !closed && !suspended && delivered < upTo) {
                Entry entry = get(++delivered);
                if (entry.sender == node && entry.life == life) {
                    queuedBytes -= entry.payload.length;
                }
                to.delivered(delivered, entry.sender, ByteBuffer.wrap(entry.payload));
            }
            if (to != null && !closed) {
                to.batchEnd();
            }
            deliverLater();
        }

        void suspect(int other) {
            suspected = other;
            host.after(0, VIEW, this::tellView);
            host.after((long) random.exponential((double) SUSPICION_NANOS_MEAN), VIEW, () -> {
                suspected = -1;
                tellView();
            });
        }

        void viewLater() {
            host.after(settings.view.sample(random), VIEW, this::tellView);
        }

        @Override
        public View view() {
            TreeSet<Integer> members = new TreeSet<>(open.keySet());
            if (suspected >= 0 && !calm) {
                members.remove(suspected);
            }
            members.add(node);
            boolean majority = 2 * members.size() > all.size();
            return new View(members, majority, majority ? members.getFirst() : -1);
        }

        private void tellView() {
            View now = view();
            if (listener != null && !closed && !now.members().equals(told)) {
                told = now.members();
                listener.view(now);
            }
        }

        @Override
        public void suspend() {
            suspended = true;
        }

        @Override
        public void resume() {
            if (suspended) {
                suspended = false;
                deliverLater();
            }
        }

        @Override
        public int maxPayloadBytes() {
            return PAYLOAD_BYTES_MAX;
        }

        @Override
        public void truncate(long position) {
            long upTo = Math.min(position,
                    open.values().stream().mapToLong(member -> member.delivered).min().orElse(0));
            if (upTo > base) {
                log.subList(0, (int) (upTo - base)).clear();
                base = upTo;
            }
        }

        @Override
        public Status status() {
            return new Status(delivered, end(), base + 1, queuedBytes,
                    log.stream().mapToLong(entry -> entry.payload.length).sum());
        }

        @Override
        public void close() {
            if (!closed) {
                closed = true;
                reader = null;
                listener = null;
                open.remove(node, this);
                changed();
            }
        }
    }
}
