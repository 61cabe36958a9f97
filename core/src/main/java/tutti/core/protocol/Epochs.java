package tutti.core.protocol;

import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.TwoPhaseMessage.Join;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.core.txn.TransactionId;

/**
 * What the order has told the replicas of {@link TwoPhaseCommit} about one another: whose locks are needed, and since when. The same at all of them
 * at each position. Not for use by several threads.
 */
final class Epochs {
    /**
     * A replica whose locks are needed.
     *
     * @param incarnation its transactions of earlier lives are over
     * @param since the position from which on votes count
     */
    record Member(long incarnation, long since) {
        static final Schema<Member> SCHEMA = Schema.part("member", Member.class).of(
                Field.of("incarnation", Types.NATURAL, Member::incarnation),
                Field.of("since", Types.NATURAL, Member::since), Member::new);
    }

    /** What is kept in a snapshot. */
    record Snapshot(long delivered, long epoch, Map<Integer, Member> members) implements Encoded {
        static final Schema<Snapshot> SCHEMA = Schema.message("2pc", 7, Snapshot.class, "Of protocol `2pc`.").of(
                Field.of("delivered", Types.NATURAL, Snapshot::delivered),
                Field.of("epoch", Types.NATURAL, Snapshot::epoch),
                Field.of("members", Types.map(Types.u8(0, 255), Member.SCHEMA, 256), Snapshot::members),
                Snapshot::new);
    }

    private final int node;
    private final TreeMap<Integer, Member> members = new TreeMap<>();
    private long epoch;
    private long delivered;

    /**
     * At the beginning of the order.
     *
     * @param node this replica
     * @param replicas all that are members then
     */
    Epochs(int node, Set<Integer> replicas) {
        this.node = node;
        replicas.forEach(replica -> members.put(replica, new Member(0, 0)));
    }

    int node() {
        return node;
    }

    /** A position has been delivered. */
    void delivered(long position) {
        if (position <= delivered) {
            throw new IllegalStateException("position " + position + " delivered after " + delivered);
        }
        delivered = position;
    }

    /** The last position that was delivered. */
    long delivered() {
        return delivered;
    }

    /** The position that began the present epoch. */
    long epoch() {
        return epoch;
    }

    /** The last position that was delivered begins an epoch. */
    void begin() {
        epoch = delivered;
    }

    /** Whether the last position that was delivered has begun an epoch. */
    boolean justBegan() {
        return epoch == delivered;
    }

    /** Those whose locks are needed. */
    Set<Integer> members() {
        return members.keySet();
    }

    /** Those of them that are not this replica; a copy. */
    Set<Integer> others() {
        Set<Integer> others = new TreeSet<>(members.keySet());
        others.remove(node);
        return others;
    }

    /** A member, or null. */
    @Nullable
    Member member(int replica) {
        return members.get(replica);
    }

    /** Whether this replica takes part with a life. */
    boolean takesPart(long incarnation) {
        Member self = members.get(node);
        return self != null && self.incarnation() >= incarnation;
    }

    /** Whether a transaction is of a life that is over, or of a replica that is no member. */
    boolean isOver(TransactionId transaction) {
        Member coordinator = members.get(transaction.node());
        return coordinator == null || coordinator.incarnation() > transaction.incarnation();
    }

    /**
     * A replica joins with a life, or again, which begins an epoch.
     *
     * @return the lowest of its lives that is not over
     */
    long joined(Join join) {
        Member before = members.get(join.node());
        long life = before == null ? join.incarnation() : Math.max(before.incarnation(), join.incarnation());
        members.put(join.node(), new Member(life, delivered));
        begin();
        return life;
    }

    /** A replica leaves, which begins an epoch; false, and nothing happens, if it is no member. */
    boolean left(int replica) {
        if (members.remove(replica) == null) {
            return false;
        }
        begin();
        return true;
    }

    Snapshot snapshot() {
        return new Snapshot(delivered, epoch, members);
    }

    void restore(Snapshot from) {
        delivered = from.delivered();
        epoch = from.epoch();
        members.clear();
        members.putAll(from.members());
    }
}
