package tutti.core.protocol;

import java.util.List;
import java.util.Set;
import tutti.core.schema.MessageSet;

/** What the rest of the system knows of {@link TwoPhaseCommit}. */
final class TwoPhaseCommitDescriptor implements ProtocolDescriptor {
    private static final Parameter.Time TICK = new Parameter.Time("tick", 1_000_000L, 60_000_000_000L, 50_000_000L,
            "How often waits are told to the others and timeouts are looked at.");
    private static final Parameter.Count LOCK_TICKS = new Parameter.Count("lock-ticks", 1, 1_000_000, 200, "ticks",
            "How long a transaction waits for the locks of all members before it is aborted.");
    private static final Parameter.Count INQUIRE_TICKS = new Parameter.Count("inquire-ticks", 1, 1_000_000, 40, "ticks",
            "After how long without news a participant asks how a transaction ended.");

    @Override
    public String name() {
        return TwoPhaseCommit.NAME;
    }

    @Override
    public String idea() {
        return "Distributed locking and two-phase commit, whose decisions are ordered: the baseline.";
    }

    @Override
    public List<Parameter> parameters() {
        return List.of(TICK, LOCK_TICKS, INQUIRE_TICKS, CommonParameters.WINDOW_KEYS);
    }

    @Override
    public Claims claims(ParameterValues values) {
        return new Claims(Guarantee.SNAPSHOT_ISOLATION, Guarantee.SERIALIZABILITY, Set.of(Trait.EXECUTES_AT_ONCE,
                Trait.COMMITS_BY_OWN_MESSAGE, Trait.PREPARES, Trait.VISIBILITY_AWAITED_ELSEWHERE));
    }

    @Override
    public Protocol create(Deployment where, ParameterValues values, ReplicaWorld world) {
        return new TwoPhaseCommit(new TwoPhaseCommit.Parameters(where.node(), where.replicas(), values.of(TICK),
                (int) values.of(LOCK_TICKS), (int) values.of(INQUIRE_TICKS),
                (int) values.of(CommonParameters.WINDOW_KEYS)), world);
    }

    @Override
    public MessageSet<Message> messages() {
        return TwoPhaseMessage.MESSAGES;
    }
}
