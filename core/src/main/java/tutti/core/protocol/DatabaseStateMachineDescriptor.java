package tutti.core.protocol;

import java.util.List;
import java.util.Map;
import tutti.core.schema.MessageSet;

/** What the rest of the system knows of {@link DatabaseStateMachine}. */
final class DatabaseStateMachineDescriptor implements ProtocolDescriptor {
    private static final String ROWS = "rows";
    private static final String BLOOM = "bloom";
    private static final Parameter.Choice READS = new Parameter.Choice("reads", List.of(ROWS, BLOOM),
            "How a transaction's read set is sent: every row's key, or a Bloom filter of them, which is smaller and"
                    + " aborts more.");
    private static final Parameter.Count ROWS_PER_TABLE = new Parameter.Count("rows-per-table", 0, 1_000_000, 1000,
            "rows",
            "Of a table of which a transaction has read more rows than this, it is taken to have read everything.");
    private static final Parameter.Fraction FALSE_POSITIVES = new Parameter.Fraction("false-positives", 1e-9, 0.5, 1e-4,
            "Probability with which a key that a concurrent transaction wrote is taken for one that was read, if reads"
                    + " are sent as a Bloom filter.");

    /** None normally: the database state machine has none. */
    private static final Parameter.Count TURNS = CommonParameters.turns(0);

    @Override
    public String name() {
        return DatabaseStateMachine.NAME;
    }

    @Override
    public String idea() {
        return "Like `si`, with read sets: reads are certified against writes, too, at every replica.";
    }

    @Override
    public List<Parameter> parameters() {
        return List.of(CommonParameters.WINDOW, CommonParameters.WINDOW_KEYS, CommonParameters.PROGRESS_INTERVAL, READS,
                ROWS_PER_TABLE,
                FALSE_POSITIVES, TURNS);
    }

    @Override
    public Claims claims(ParameterValues values) {
        return Claims.of(Guarantee.SERIALIZABILITY, Trait.EXECUTES_AT_ONCE, Trait.COMMITS_BY_OWN_MESSAGE,
                Trait.MEMBERS_MAY_CHANGE,
                Trait.NEEDS_READS);
    }

    @Override
    public Map<Stage, String> queues() {
        return Map.of(Stage.EXECUTING, "Q0", Stage.EXECUTED, "Q1", Stage.DECIDED, "Q2");
    }

    @Override
    public Protocol create(Deployment where, ParameterValues values, ReplicaWorld world) {
        return new DatabaseStateMachine(new DatabaseStateMachine.Parameters(where.node(), where.replicas(),
                values.of(CommonParameters.WINDOW), (int) values.of(CommonParameters.WINDOW_KEYS),
                values.of(CommonParameters.PROGRESS_INTERVAL),
                values.of(READS).equals(BLOOM) ? DatabaseStateMachine.Reads.BLOOM : DatabaseStateMachine.Reads.ROWS,
                (int) values.of(ROWS_PER_TABLE), values.of(FALSE_POSITIVES), (int) values.of(TURNS)), world);
    }

    @Override
    public MessageSet<Message> messages() {
        return DatabaseStateMachine.MESSAGES;
    }
}
