package tutti.group;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;

/**
 * A group in virtual time: members, a network that loses, delays, reorders, doubles and cuts, disks that lose what was
 * not written when their member crashes, all from a seed. Checks at each delivery that no position has two messages, no
 * message two positions, positions are dense and each life's messages in turn.
 */
final class TestNetwork {
    /** How the world behaves; mutants of it are settings too. */
    static final class Settings {
        int members = 3;
        double loss;
        double duplication;
        long delayNanosMin = 50_000;
        long delayNanosMax = 300_000;
        long diskNanosMax = 400_000;
        GroupParameters.Flow flow = new GroupParameters.Flow(32, 1 << 20, 512, 4096, 1 << 20, 1_000_000_000, 1 << 20,
                4096, 200);
        GroupParameters.Timing timing = new GroupParameters.Timing(500_000, 2_000_000, 4_000_000, 20_000_000,
                100_000_000, 100_000_000);
        /** How often a member dies soon after it asked for a record of a change of view to be written. */
        double crashAtViewChange;
        /** Instead of a majority, for mutants; 0 for a majority. */
        int membersForView;
        int membersForDelivery;
        /** The disk says that it has written what it has not. */
        boolean lyingDisk;
        /** Disks keep nothing but how often their member has been started, and whether it has promised a view. */
        boolean forgetful;
        /** A member that has forgotten takes itself for a new one. */
        boolean amnesia;
        /** Packets go through their encoding. */
        boolean encode = true;
        /** Of how many subjects members speak, so that later messages make earlier ones obsolete; 0 if none does. */
        int subjects;
    }

    private record Event(long at, long sequence, Runnable what) implements Comparable<Event> {
        @Override
        public int compareTo(Event other) {
            int byTime = Long.compare(at, other.at);
            return byTime != 0 ? byTime : Long.compare(sequence, other.sequence);
        }
    }

    record Pending(long serial, StableRecord record) {}

    /** Whose message: what identifies it. */
    record Identity(int sender, long incarnation, long number) {}

    /** What was submitted, as the how-manieth of a life. */
    record Submitted(byte[] payload, @Nullable Long subject, long serial) {}

    /** One member with its disk. */
    final class Host implements GroupEffects {
        final int id;
        MessageLog disk = new MessageLog();
        /** If disks are forgetful: what they keep. */
        long lives;
        boolean hasPromised;
        /** Up to which position the state is safe that was made of deliveries. */
        long safe;
        final ArrayDeque<Pending> unwritten = new ArrayDeque<>();
        @Nullable
        GroupMember member;
        int life;
        long delivered;
        long optimistic;
        Group.View view = Group.View.NONE;
        @Nullable
        Blocked blocked;
        long stateNeeded;
        /** Submitted by this life, in turn. */
        long submitted;
        long backDelivered;
        private boolean writing;
        private long lastOptimistic;
        long views;
        /** Whom a view was told to lack. */
        final Set<Integer> missed = new TreeSet<>();

        Host(int id) {
            this.id = id;
        }

        boolean up() {
            return member != null;
        }

        GroupMember member() {
            GroupMember alive = member;
            if (alive == null) {
                throw new IllegalStateException(id + " is down");
            }
            return alive;
        }

        void start(long after) {
            assertFalse(up());
            life++;
            delivered = after;
            submitted = 0;
            backDelivered = 0;
            lastOptimistic = 0;
            blocked = null;
            GroupParameters parameters = new GroupParameters(id, ids, settings.flow, settings.timing);
            try {
                GroupMember made = new GroupMember(parameters,
                        settings.membersForView > 0 ? settings.membersForView : parameters.majority(),
                        settings.membersForDelivery > 0 ? settings.membersForDelivery : parameters.majority(),
                        settings.forgetful ? begin(after) : disk.copy(), after, this);
                member = made;
                // A life that died before its number was on stable storage had the same, and sent nothing.
                submissions(id, made.incarnation()).clear();
                made.start(now);
            } catch (DurableLog.TruncatedException e) {
                throw new AssertionError(e);
            }
        }

        private MessageLog begin(long after) {
            boolean knows = settings.amnesia || (after == 0 && !hasPromised);
            MessageLog log = !knows ? MessageLog.forgotten(lives) : MessageLog.empty(lives);
            lives++;
            return log;
        }

        /** Dies; of what it asked to be written, a random part at the beginning is. */
        void crash() {
            member = null;
            crashes++;
            life++;
            writing = false;
            if (settings.forgetful) {
                unwritten.clear();
            }
            for (int written = settings.lyingDisk ? 0 : random.nextInt(unwritten.size() + 1); written > 0; written--) {
                disk.apply(unwritten.removeFirst().record());
            }
            unwritten.clear();
        }

        boolean submit() {
            int bytes = 8 + random.nextInt(40);
            boolean named = settings.subjects > 0 && random.nextInt(4) > 0;
            return submit(bytes, named ? (long) random.nextInt(settings.subjects) : null);
        }

        boolean submit(int bytes) {
            return submit(bytes, null);
        }

        boolean submit(int bytes, @Nullable Long subject) {
            byte[] payload = new byte[bytes];
            ByteBuffer.wrap(payload).putInt(id).putInt((int) submitted + 1);
            // It may come back before the member has said that it is taken.
            var submissions = submissions(id, member().incarnation());
            submissions.add(new Submitted(payload, subject, submitted + 1));
            boolean taken = subject == null
                    ? member().submit(now, payload)
                    : member().submit(now, subject, payload);
            if (taken) {
                submitted++;
            } else {
                submissions.removeLast();
            }
            return taken;
        }

        @Override
        public void send(int to, Packet packet) {
            transmit(id, to, packet);
        }

        @Override
        public void multicast(Packet packet) {
            for (int to : ids) {
                if (to != id) {
                    transmit(id, to, packet);
                }
            }
        }

        @Override
        public void timer(long timer, long delayNanos) {
            assertTrue(delayNanos > 0);
            int armedIn = life;
            at(now + delayNanos, () -> {
                if (life == armedIn) {
                    member().timer(now, timer);
                }
            });
        }

        @Override
        public void persist(long serial, StableRecord record) {
            assertTrue(record.encodedSize() > 0);
            if (settings.forgetful) {
                hasPromised |= record instanceof StableRecord.Promised;
                int asked = life;
                at(now, () -> {
                    if (life == asked) {
                        member().persisted(now, serial);
                    }
                });
                if (!(record instanceof StableRecord.Appended) && random.nextDouble() < settings.crashAtViewChange) {
                    dieSoon();
                }
                return;
            }
            unwritten.addLast(new Pending(serial, record));
            if (settings.lyingDisk) {
                int asked = life;
                at(now + 1000, () -> {
                    if (life == asked) {
                        member().persisted(now, serial);
                    }
                });
            }
            write();
            if (!(record instanceof StableRecord.Appended) && random.nextDouble() < settings.crashAtViewChange) {
                dieSoon();
            }
        }

        private void dieSoon() {
            int asked = life;
            at(now + random.nextLong(2 * settings.diskNanosMax), () -> {
                if (life == asked && mayCrash(this)) {
                    crash();
                    int dead = life;
                    at(now + random.nextLong(60_000_000), () -> {
                        if (life == dead) {
                            start(restartFrom());
                        }
                    });
                }
            });
        }

        /** Some position that a database could have got to from what was delivered. */
        long restartFrom() {
            if (settings.amnesia) {
                return 0;
            }
            if (settings.forgetful) {
                return random.nextInt(4) == 0 ? Math.max(Math.min(safe, truncated), safe - random.nextInt(9)) : safe;
            }
            long most = Math.min(delivered, disk.end());
            return random.nextInt(3) == 0 ? disk.base() : Math.max(disk.base(), most - random.nextInt(3));
        }

        /** Writes all that waits at once, as a group commit does. */
        private void write() {
            if (writing || unwritten.isEmpty()) {
                return;
            }
            writing = true;
            int asked = life;
            long upTo = unwritten.getLast().serial();
            at(now + 10_000 + random.nextLong(settings.diskNanosMax), () -> {
                if (life != asked) {
                    return;
                }
                while (!unwritten.isEmpty() && unwritten.getFirst().serial() <= upTo) {
                    disk.apply(unwritten.removeFirst().record());
                }
                writing = false;
                if (!settings.lyingDisk) {
                    member().persisted(now, upTo);
                }
                write();
            });
        }

        @Override
        public void deliver(Ordered message) {
            deliveries++;
            long position = message.position();
            assertEquals(delivered + 1, position, "positions are dense");
            delivered = position;
            safe = random.nextInt(3) == 0 ? Math.max(safe, position) : safe;
            Identity identity = new Identity(message.sender(), message.incarnation(), message.number());
            long serial = submitted(identity, message.payload()).serial();
            Long known = serials.putIfAbsent(identity, serial);
            assertTrue(known == null || known == serial, () -> identity + " is two messages");
            Identity other = order.putIfAbsent(position, identity);
            assertTrue(other == null || other.equals(identity),
                    () -> "position " + position + " is " + other + " and, at " + id + ", " + identity);
            Long elsewhere = positions.putIfAbsent(identity, position);
            assertTrue(elsewhere == null || elsewhere == position,
                    () -> identity + " is at " + elsewhere + " and at " + position);
            if (identity.sender == id && identity.incarnation == member().incarnation()) {
                assertEquals(++backDelivered, identity.number);
            }
            if (!settings.lyingDisk && !settings.forgetful) {
                assertTrue(disk.end() >= position, "delivered before it was on stable storage");
            }
        }

        @Override
        public void optimistic(int sender, long incarnation, long number, byte[] payload) {
            optimistic++;
            submitted(new Identity(sender, incarnation, number), payload);
            if (sender == id) {
                assertTrue(number > lastOptimistic);
                lastOptimistic = number;
            }
        }

        @Override
        public void view(Group.View now) {
            assertFalse(now.equals(view) && life > 1 && views > 0 && now.members().isEmpty());
            view = now;
            views++;
            ids.stream().filter(each -> !now.members().contains(each)).forEach(missed::add);
        }

        @Override
        public void blocked(Blocked why) {
            blocked = why;
        }

        @Override
        public void unblocked() {
            blocked = null;
        }

        @Override
        public void stateNeeded(long firstRetained) {
            stateNeeded = firstRetained;
        }
    }

    final Settings settings;
    final SplittableRandom random;
    final List<Integer> ids = new ArrayList<>();
    final List<Host> hosts = new ArrayList<>();
    /** What is at each position, as the first to deliver it had it. */
    final TreeMap<Long, Identity> order = new TreeMap<>();
    private final Map<Identity, Long> positions = new HashMap<>();
    /** By member and life: what was submitted and taken. */
    private final Map<List<Long>, List<Submitted>> submissions = new HashMap<>();
    /** Which submission of its life each message is. */
    private final Map<Identity, Long> serials = new HashMap<>();
    long obsolete;
    private final PriorityQueue<Event> events = new PriorityQueue<>();
    private long sequence;
    /** Somebody else has spoken for a member, which may be disbelieved now. */
    boolean forged;
    long now;
    private static final long EVENTS_MAX = 5_000_000;
    private long happened;
    long deliveries;
    long crashes;
    long packets;
    /** Nobody needs what is before the position behind this one. */
    long truncated;
    /** From and to: no packet passes. */
    final boolean[][] cut;

    TestNetwork(Settings settings, long seed) {
        this.settings = settings;
        random = new SplittableRandom(seed);
        cut = new boolean[settings.members][settings.members];
        for (int id = 0; id < settings.members; id++) {
            ids.add(id);
        }
        ids.forEach(id -> hosts.add(new Host(id)));
    }

    /**
     * Whether a member may crash. A group that keeps nothing on disks stands it if others remember, a majority among them; a crash
     * that leaves fewer is not one that it promises to go on after.
     */
    boolean mayCrash(Host host) {
        if (!settings.forgetful) {
            return true;
        }
        long others = hosts.stream().filter(h -> h != host && h.up() && h.member().remembers()).count();
        return others > settings.members / 2 || !host.up();
    }

    void startAll() {
        hosts.forEach(h -> h.start(0));
    }

    void at(long time, Runnable what) {
        events.add(new Event(time, sequence++, what));
    }

    private List<Submitted> submissions(int member, long incarnation) {
        return submissions.computeIfAbsent(List.of((long) member, incarnation), _ -> new ArrayList<>());
    }

    private Submitted submitted(Identity identity, byte[] payload) {
        int serial = ByteBuffer.wrap(payload).getInt(Integer.BYTES);
        List<Submitted> of = submissions(identity.sender, identity.incarnation);
        assertTrue(serial <= of.size() && Arrays.equals(of.get(serial - 1).payload(), payload),
                () -> "delivered what was not submitted: " + identity);
        return of.get(serial - 1);
    }

    private void transmit(int from, int to, Packet packet) {
        packets++;
        int copies = random.nextDouble() < settings.duplication ? 2 : 1;
        ByteBuffer bytes = settings.encode ? encoded(packet) : null;
        for (int i = 0; i < copies; i++) {
            if (cut[from][to] || random.nextDouble() < settings.loss) {
                continue;
            }
            long delay = random.nextLong(settings.delayNanosMin, settings.delayNanosMax + 1);
            if (settings.loss > 0 && random.nextInt(200) == 0) {
                delay += random.nextLong(50_000_000);
            }
            at(now + delay, () -> {
                GroupMember receiver = hosts.get(to).member;
                if (receiver != null) {
                    boolean possible = receiver.received(now, from,
                            bytes == null ? packet : Packet.SET.decode(bytes.duplicate()));
                    assertTrue(possible || forged, () -> "a correct member's packet is refused: " + packet);
                }
            });
        }
    }

    static ByteBuffer encoded(Packet packet) {
        ByteBuffer bytes = ByteBuffer.allocate(packet.encodedSize());
        packet.encode(bytes);
        assertFalse(bytes.hasRemaining(), "the encoded size is exact");
        return bytes.flip();
    }

    private void happen() {
        Event next = events.remove();
        now = next.at;
        assertTrue(++happened < EVENTS_MAX, "an endless storm of events");
        next.what.run();
    }

    /** Lets time pass. */
    void run(long nanos) {
        long until = now + nanos;
        for (Event next = events.peek(); next != null && next.at <= until; next = events.peek()) {
            happen();
        }
        now = until;
    }

    /** Lets time pass until something holds; returns whether it did in time. */
    boolean runUntil(java.util.function.BooleanSupplier condition, long nanosMax) {
        long until = now + nanosMax;
        while (!condition.getAsBoolean()) {
            Event next = events.peek();
            if (next == null || next.at > until) {
                return condition.getAsBoolean();
            }
            happen();
        }
        return true;
    }

    void heal() {
        for (boolean[] row : cut) {
            Arrays.fill(row, false);
        }
        settings.loss = 0;
        settings.duplication = 0;
        settings.crashAtViewChange = 0;
    }

    /** Whether everything submitted by those alive came back to them and all have delivered the same. */
    boolean converged() {
        long most = order.isEmpty() ? 0 : order.lastKey();
        for (Host host : hosts) {
            if (!host.up() || host.delivered != most
                    || host.backDelivered + host.member().obsolete() != host.submitted
                    || host.member().queuedBytes() != 0 || !host.view.majority()) {
                return false;
            }
        }
        return true;
    }

    String describe() {
        StringBuilder text = new StringBuilder("at " + now / 1_000_000 + " ms, " + order.size() + " positions");
        for (Host host : hosts) {
            text.append("; ").append(host.id).append(host.up() ? " up" : " down").append(" delivered ")
                    .append(host.delivered).append(" back ").append(host.backDelivered).append('/')
                    .append(host.submitted).append(' ').append(host.view).append(' ').append(host.blocked)
                    .append(host.stateNeeded > 0 ? " state needed" : "");
        }
        return text.toString();
    }

    /** Each life's messages must be in turn, and lack only what later ones have made obsolete. */
    void checkTurns() {
        Map<Integer, Identity> last = new HashMap<>();
        Map<List<Long>, List<Long>> heard = new HashMap<>();
        long expected = 1;
        for (Map.Entry<Long, Identity> e : order.entrySet()) {
            assertEquals(expected++, e.getKey());
            Identity identity = e.getValue();
            Identity before = last.put(identity.sender, identity);
            boolean newLife = before == null || identity.incarnation > before.incarnation;
            boolean next = identity.number == (newLife ? 1 : before.number + 1)
                    && (newLife || identity.incarnation == before.incarnation);
            assertTrue(next, () -> identity + " after " + before);
            heard.computeIfAbsent(List.of((long) identity.sender, identity.incarnation), _ -> new ArrayList<>())
                    .add(serials.getOrDefault(identity, 0L));
        }
        heard.forEach(this::checkObsolete);
    }

    private void checkObsolete(List<Long> life, List<Long> heard) {
        long sender = life.getFirst();
        boolean ended = !hosts.get((int) sender).up()
                || hosts.get((int) sender).member().incarnation() != life.getLast();
        List<Submitted> all = submissions.getOrDefault(life, List.of());
        Set<Long> ordered = new TreeSet<>(heard);
        assertEquals(List.copyOf(ordered), heard, () -> "out of turn: messages of " + sender);
        Set<Long> told = new TreeSet<>();
        Set<Long> said = new TreeSet<>();
        for (Submitted one : all.reversed()) {
            Long subject = one.subject();
            boolean delivered = ordered.contains(one.serial());
            if (!delivered && one.serial() < heard.getLast()) {
                obsolete++;
                assertTrue(subject != null && (ended ? said : told).contains(subject),
                        () -> "lost: " + one.serial() + " of " + sender + ", about " + subject);
            }
            if (subject != null) {
                said.add(subject);
                if (delivered) {
                    told.add(subject);
                }
            }
        }
    }
}
