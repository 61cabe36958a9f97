package tutti.eval.network;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.atomic.AtomicLongArray;
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

/**
 * A member of a group that orders messages: the group communication of nodes ({@link GroupMember}), with its log in memory. It either
 * submits messages as fast as they are taken, or one when the one before has been delivered to it, or none.
 */
final class GroupProgram implements SocketProgram, GroupEffects {
    /** What a member submits. */
    enum Load {
        /** Nothing. */
        NONE,
        /** One message at a time. */
        ONE,
        /** As many as the queue holds. */
        MOST
    }

    /** Of UDP, less what a packet may have beside its messages. */
    static final int PAYLOAD_BYTES_MAX = 24_000;
    private static final int BATCH_BYTES = 8 << 10;
    private static final int WINDOW = 256;
    /** What all have sent and not all are known to have: so that the sockets' buffers hold it. */
    private static final int BUFFER_BYTES = 512 << 10;
    private static final long QUEUE_BYTES = 128 << 10;
    /** More than this machine carries: the rate is not what limits. */
    private static final long BYTES_PER_SECOND = 10_000_000_000L;
    private static final int FETCH_BYTES = 24_000;
    private static final int JOIN_LAG = 1024;
    private static final int DATAGRAM_BYTES_MAX = 65_000;
    /** After how many deliveries members forget what all have been delivered. */
    private static final long FORGET_EVERY = 512;

    private final int self;
    private final int members;
    private final Load load;
    private final byte[] payload;
    private final AtomicLongArray delivered;
    private final Tally tally;
    private final GroupMember member;
    private final ByteBuffer packetBytes = ByteBuffer.allocateDirect(DATAGRAM_BYTES_MAX);
    private final ArrayDeque<Runnable> asked = new ArrayDeque<>();
    private Port port = UdpPrograms.Unstarted.PORT;
    private boolean underWay;
    private long submittedAt;
    private long forgotten;

    /**
     * A member that has not begun.
     *
     * @param size of the messages, in bytes
     * @param delivered up to where each member has been; shared by all
     * @param tally of what is delivered here, and of how long this member's messages took
     */
    GroupProgram(int self, int members, Load load, int size, AtomicLongArray delivered, Tally tally) {
        this.self = self;
        this.members = members;
        this.load = load;
        this.payload = new byte[size];
        this.delivered = delivered;
        this.tally = tally;
        List<Integer> all = IntStream.range(0, members).boxed().toList();
        GroupParameters.Flow flow = new GroupParameters.Flow(WINDOW, BUFFER_BYTES, BATCH_BYTES, PAYLOAD_BYTES_MAX,
                QUEUE_BYTES, BYTES_PER_SECOND, QUEUE_BYTES, FETCH_BYTES, JOIN_LAG);
        try {
            this.member = new GroupMember(new GroupParameters(self, all, flow, GroupParameters.Timing.defaults()),
                    new MessageLog(), 0, this);
        } catch (DurableLog.TruncatedException impossible) {
            throw new IllegalStateException("an empty log is truncated", impossible);
        }
    }

    @Override
    public void start(Port of) {
        port = of;
        member.start(port.now());
        carryOut();
    }

    @Override
    public void arrived(int from, ByteBuffer datagram) {
        member.received(port.now(), from, Packet.SET.decode(datagram));
        carryOut();
    }

    @Override
    public void timer(long id) {
        member.timer(port.now(), id);
        carryOut();
    }

    @Override
    public boolean work() {
        boolean submitted = switch (load) {
            case NONE -> false;
            case ONE -> !underWay && submit();
            case MOST -> submit();
        };
        carryOut();
        return submitted;
    }

    private boolean submit() {
        long now = port.now();
        underWay = member.submit(now, payload);
        submittedAt = now;
        return underWay;
    }

    private void carryOut() {
        for (Runnable next = asked.poll(); next != null; next = asked.poll()) {
            next.run();
        }
    }

    @Override
    public void send(int to, Packet packet) {
        encode(packet);
        port.send(to, packetBytes);
    }

    @Override
    public void multicast(Packet packet) {
        encode(packet);
        for (int to = 0; to < members; to++) {
            if (to != self) {
                packetBytes.rewind();
                port.send(to, packetBytes);
            }
        }
    }

    private void encode(Packet packet) {
        packetBytes.clear();
        packet.encode(packetBytes);
        packetBytes.flip();
    }

    @Override
    public void timer(long id, long delayNanos) {
        port.timer(id, delayNanos);
    }

    @Override
    public void persist(long serial, StableRecord stable) {
        asked.add(() -> member.persisted(port.now(), serial));
    }

    @Override
    public void deliver(Ordered message) {
        asked.add(() -> {
            long now = port.now();
            tally.count(now, message.payload().length);
            delivered.set(self, message.position());
            if (message.sender() == self && load == Load.ONE) {
                tally.took(now, now - submittedAt);
                underWay = false;
            }
            if (message.position() % FORGET_EVERY == 0) {
                forget();
            }
        });
    }

    private void forget() {
        long all = Long.MAX_VALUE;
        for (int i = 0; i < members; i++) {
            all = Math.min(all, delivered.get(i));
        }
        if (all > forgotten) {
            forgotten = all;
            member.truncate(all);
        }
    }

    @Override
    public void view(Group.View view) {
        // Members come and go only if this machine is too busy.
    }
}
