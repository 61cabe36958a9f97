package tutti.order.raft;

import io.microraft.MembershipChangeMode;
import io.microraft.RaftEndpoint;
import io.microraft.model.groupop.UpdateRaftGroupMembersOp;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import tutti.core.schema.DecodeException;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Type;
import tutti.core.schema.Types;

/**
 * An entry of the Raft log from which on other nodes take part in Raft, or others of them decide. It counts for a node from when it
 * is in its log, committed or not (Ongaro, "Consensus: Bridging Theory and Practice", 2014, 4.1); the next is written when it is
 * committed, so that the majorities of two that may both count have a node in common.
 *
 * @param node that comes, is let decide, or goes
 * @param step which of these
 * @param members all from then on
 * @param voters those of them that decide
 */
record GroupChange(int node, Step step, Set<Integer> members, Set<Integer> voters) implements Encoded {
    /** What happens with a node. */
    enum Step {
        /** It is sent the log, and decides nothing. */
        COMES(MembershipChangeMode.ADD_LEARNER),
        /** From now on it decides with the others. */
        VOTES(MembershipChangeMode.ADD_OR_PROMOTE_TO_FOLLOWER),
        /** It is not sent the log any more. */
        GOES(MembershipChangeMode.REMOVE_MEMBER);

        private final MembershipChangeMode mode;

        Step(MembershipChangeMode mode) {
            this.mode = mode;
        }

        /** As MicroRaft calls it. */
        MembershipChangeMode mode() {
            return mode;
        }

        private static Step of(MembershipChangeMode mode) {
            return switch (mode) {
                case ADD_LEARNER -> COMES;
                case ADD_OR_PROMOTE_TO_FOLLOWER -> VOTES;
                case REMOVE_MEMBER -> GOES;
            };
        }
    }

    /** Numbers of nodes. */
    static final Type<Set<Integer>> NODES = Types.set(Types.u8(0, 255), 256);

    static final Schema<GroupChange> SCHEMA = Schema
            .message("group-change", LogEntry.GROUP, GroupChange.class, "Who takes part in Raft from here on.").of(
                    Field.of("node", Types.u8(0, 255), GroupChange::node),
                    Field.of("step", Types.oneOf(Step.class), GroupChange::step),
                    Field.of("members", NODES, GroupChange::members), Field.of("voters", NODES, GroupChange::voters),
                    GroupChange::new);
    static final MessageSet<GroupChange> SET = new MessageSet<>("log group changes",
            "In the entries of the Raft log that say who takes part in it.", List.of(SCHEMA));

    GroupChange {
        if (voters.isEmpty() || !members.containsAll(voters)) {
            throw new IllegalArgumentException("voters " + voters + " of members " + members);
        }
    }

    /**
     * Reads the body of an entry.
     *
     * @throws DecodeException if it is none
     */
    static GroupChange of(byte[] body) {
        return SET.decode(ByteBuffer.wrap(body).asReadOnlyBuffer());
    }

    static GroupChange of(UpdateRaftGroupMembersOp operation) {
        return new GroupChange(Node.id(operation.getEndpoint()), Step.of(operation.getMode()),
                ids(operation.getMembers()), ids(operation.getVotingMembers()));
    }

    /** As MicroRaft has it. */
    UpdateRaftGroupMembersOp operation() {
        return MessageCodec.MODELS.createUpdateRaftGroupMembersOpBuilder().setEndpoint(new Node(node))
                .setMode(step.mode()).setMembers(nodes(members)).setVotingMembers(nodes(voters)).build();
    }

    /** Numbers of MicroRaft's members. */
    static Set<Integer> ids(Collection<RaftEndpoint> nodes) {
        Set<Integer> ids = new TreeSet<>();
        nodes.forEach(each -> ids.add(Node.id(each)));
        return ids;
    }

    /** Members as MicroRaft has them, ascending. */
    static List<RaftEndpoint> nodes(Collection<Integer> ids) {
        List<RaftEndpoint> nodes = new ArrayList<>();
        new TreeSet<>(ids).forEach(id -> nodes.add(new Node(id)));
        return nodes;
    }
}
