package tutti.eval.subjects;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;
import tutti.group.GroupEffects;
import tutti.group.GroupMember;
import tutti.group.GroupParameters;
import tutti.group.MessageLog;
import tutti.group.Ordered;
import tutti.group.Packet;
import tutti.group.StableRecord;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;
import tutti.sim.net.Address;
import tutti.sim.net.Datagram;
import tutti.sim.net.LinkConfig;
import tutti.sim.net.Network;
import tutti.sim.net.Segment;
import tutti.sim.thread.Threads;

/**
 * A group on a simulated local network of 100 Mbit/s, with its log in memory: the group communication of nodes ({@link GroupMember}).
 * Each member says something new about one of its subjects now and then. It is known by another member when that or
 * something later about the same subject is delivered there. What finds its member's queue full is not sent, and is known likewise.
 */
final class SubjectsRun {
    private static final Label TIMER = Label.of("group", "timer");
    private static final Label NEWS = Label.of("member", "has news");
    private static final String GROUP = "group";
    private static final int PORT = 1;
    private static final LinkConfig LINK = LinkConfig.LAN.withBitsPerSecond(100_000_000);
    private static final long SLOW_NANOS = 200 * Nanos.MICRO;
    private static final long WARM_UP_NANOS = Nanos.SECOND;
    private static final long MEASURED_NANOS = 3 * Nanos.SECOND;
    /** Then all that is queued has been delivered. */
    private static final long END_NANOS = 30 * Nanos.SECOND;
    /** After how many deliveries members forget what all have been delivered. */
    private static final long FORGET_EVERY = 512;

    /**
     * What a run is like.
     *
     * @param members 2 to 16
     * @param subjects of each member
     * @param bytes of a message, 16 at least
     * @param perSecond how often a member says something, on average
     * @param obsolescence whether later messages make earlier ones obsolete
     */
    record Setting(int members, int subjects, int bytes, double perSecond, boolean obsolescence, Trouble trouble) {}

    /**
     * What came of it.
     *
     * @param meanMillis until another member knew
     * @param lateMillis the same, not exceeded by 99 of 100
     * @param unsentShare of what was said, because it was obsolete or did not fit into the queue
     * @param sentMegabits on all lines, for each second in which there was something to say
     */
    record Result(double meanMillis, double lateMillis, double unsentShare, double sentMegabits) {}

    private final Setting setting;
    private final Kernel kernel;
    private final Network network;
    private final List<Member> members = new ArrayList<>();
    private final Map<String, Integer> numbers = new HashMap<>();
    private long[] waits = new long[1 << 16];
    private int known;
    private long said;
    private long refused;

    SubjectsRun(Setting setting, long seed) {
        this.setting = setting;
        kernel = new Kernel(seed);
        network = new Network(kernel);
        Segment segment = network.segment("lan", LINK);
        Threads threads = new Threads(kernel);
        List<Integer> ids = IntStream.range(0, setting.members()).boxed().toList();
        for (int id : ids) {
            boolean slow = setting.trouble() == Trouble.SLOW_MEMBER && id == setting.members() - 1;
            HostConfig config = HostConfig.DEFAULT;
            Host host = new Host(kernel, threads, "m" + id,
                    slow ? config.withMessageCosts(config.sendNanos(), SLOW_NANOS) : config);
            host.boot();
            network.attach(host, segment);
            network.join(host, GROUP);
            numbers.put(host.name(), id);
            members.add(new Member(id, host, ids));
        }
        setting.trouble().impairments().forEach(one -> network.impair(one, kernel.random("loss")));
    }

    Result run() {
        members.forEach(Member::start);
        kernel.runUntil(WARM_UP_NANOS + MEASURED_NANOS);
        long bytes = network.counts().wireBytes();
        kernel.runUntil(END_NANOS);
        long obsolete = members.stream().mapToLong(one -> one.member.obsolete()).sum();
        long[] sorted = Arrays.copyOf(waits, known);
        Arrays.sort(sorted);
        double seconds = (double) (WARM_UP_NANOS + MEASURED_NANOS) / Nanos.SECOND;
        return new Result(Arrays.stream(sorted).average().orElse(Double.NaN) / 1e6,
                (double) sorted[known * 99 / 100] / Nanos.MILLI, (double) (obsolete + refused) / said,
                (double) bytes * Byte.SIZE / seconds / 1e6);
    }

    private void knows(long saidAt) {
        if (saidAt < WARM_UP_NANOS) {
            return;
        }
        if (known == waits.length) {
            waits = Arrays.copyOf(waits, 2 * known);
        }
        waits[known++] = kernel.now() - saidAt;
    }

    /** A member. What it asks for while it is told an event is done when it has returned. */
    private final class Member implements GroupEffects {
        private final int id;
        private final Host host;
        private final Address own;
        private final GroupMember member;
        private final RandomStream chance;
        private final ArrayDeque<Runnable> asked = new ArrayDeque<>();
        /** By subject: when its news came. */
        private final List<List<Long>> news = new ArrayList<>();
        /** By sender and subject: how much of the news is known here. */
        private final int[][] heard;
        private boolean telling;

        Member(int id, Host host, List<Integer> ids) {
            this.id = id;
            this.host = host;
            own = Address.of(host.name(), PORT);
            chance = kernel.random("news of " + id);
            for (int i = 0; i < setting.subjects(); i++) {
                news.add(new ArrayList<>());
            }
            heard = new int[setting.members()][setting.subjects()];
            try {
                member = new GroupMember(GroupParameters.defaults(id, ids), new MessageLog(), 0, this);
            } catch (DurableLog.TruncatedException impossible) {
                throw new IllegalStateException("an empty log is truncated", impossible);
            }
        }

        void start() {
            network.bind(host, PORT, this::arrived);
            tell(() -> member.start(host.now()));
            later();
        }

        private void later() {
            long delay = 1 + (long) chance.exponential((double) Nanos.SECOND / setting.perSecond());
            if (kernel.now() + delay < WARM_UP_NANOS + MEASURED_NANOS) {
                kernel.schedule(delay, NEWS, this::say);
            }
        }

        private void say() {
            int subject = chance.nextInt(setting.subjects());
            List<Long> of = news.get(subject);
            of.add(kernel.now());
            said++;
            byte[] payload = new byte[setting.bytes()];
            ByteBuffer.wrap(payload).putInt(subject).putInt(of.size());
            tell(() -> refused += submit(subject, payload) ? 0 : 1);
            later();
        }

        private boolean submit(int subject, byte[] payload) {
            return setting.obsolescence()
                    ? member.submit(host.now(), subject, payload)
                    : member.submit(host.now(), payload);
        }

        private void arrived(Datagram datagram) {
            int from = numbers.getOrDefault(datagram.from().host(), id);
            if (from != id) {
                tell(() -> member.received(host.now(), from, (Packet) datagram.payload()));
            }
        }

        private void tell(Runnable event) {
            event.run();
            if (!telling) {
                telling = true;
                for (Runnable next = asked.poll(); next != null; next = asked.poll()) {
                    next.run();
                }
                telling = false;
            }
        }

        @Override
        public void send(int to, Packet packet) {
            network.send(new Datagram(own, Address.of(members.get(to).host.name(), PORT), packet,
                    packet.encodedSize()));
        }

        @Override
        public void multicast(Packet packet) {
            network.send(new Datagram(own, Address.group(GROUP, PORT), packet, packet.encodedSize()));
        }

        @Override
        public void timer(long timer, long delayNanos) {
            host.after(delayNanos, TIMER, () -> tell(() -> member.timer(host.now(), timer)));
        }

        @Override
        public void persist(long serial, StableRecord stable) {
            asked.add(() -> member.persisted(host.now(), serial));
        }

        @Override
        public void deliver(Ordered message) {
            ByteBuffer payload = ByteBuffer.wrap(message.payload());
            int subject = payload.getInt();
            int upTo = payload.getInt();
            int[] heardOf = heard[message.sender()];
            if (message.sender() != id) {
                List<Long> of = members.get(message.sender()).news.get(subject);
                for (int i = heardOf[subject]; i < upTo; i++) {
                    knows(of.get(i));
                }
            }
            heardOf[subject] = Math.max(heardOf[subject], upTo);
            if (message.position() % FORGET_EVERY == 0) {
                long all = members.stream().mapToLong(one -> one.member.lastDelivered()).min().orElse(0);
                asked.add(() -> member.truncate(all));
            }
        }

        @Override
        public void view(Group.View view) {
            // Nobody crashes; who is taken for dead comes back.
        }
    }
}
