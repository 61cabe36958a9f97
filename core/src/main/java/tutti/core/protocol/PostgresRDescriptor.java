package tutti.core.protocol;

import java.util.List;
import java.util.Map;
import tutti.core.schema.MessageSet;

/** What the rest of the system knows of {@link PostgresR}. */
final class PostgresRDescriptor implements ProtocolDescriptor {
    private static final Parameter.Choice ISOLATION = CommonParameters.isolation(
            "What is guaranteed: serializable keeps read sets, which never leave their replica, and decides strictly in"
                    + " order.");
    private static final Parameter.Time RESOLVE_DELAY = CommonParameters.delay("resolve-delay", 1_000_000_000L,
            "How long a transaction waits for the decision of a replica that seems to be gone before another has it"
                    + " aborted.");

    @Override
    public String name() {
        return PostgresR.NAME;
    }

    @Override
    public String idea() {
        return "Changes are ordered, and the replica that executed them decides and tells the outcome in a second ordered"
                + " message.";
    }

    @Override
    public List<Parameter> parameters() {
        return List.of(CommonParameters.WINDOW, CommonParameters.WINDOW_KEYS, ISOLATION, RESOLVE_DELAY);
    }

    @Override
    public Claims claims(ParameterValues values) {
        return Claims
                .of(CommonParameters.guarantee(values, ISOLATION), Trait.EXECUTES_AT_ONCE, Trait.COMMITS_BY_OWN_MESSAGE,
                        Trait.MEMBERS_MAY_CHANGE)
                .with(Trait.NEEDS_READS, CommonParameters.serializable(values, ISOLATION));
    }

    @Override
    public Map<Stage, String> queues() {
        return Map.of(Stage.EXECUTING, "Q0", Stage.EXECUTED, "Q1", Stage.DECIDED, "Q2");
    }

    @Override
    public Protocol create(Deployment where, ParameterValues values, ReplicaWorld world) {
        return new PostgresR(new PostgresR.Parameters(where.node(), where.replicas(),
                values.of(CommonParameters.WINDOW), (int) values.of(CommonParameters.WINDOW_KEYS),
                values.of(RESOLVE_DELAY),
                CommonParameters.serializable(values, ISOLATION)), world);
    }

    @Override
    public MessageSet<Message> messages() {
        return PostgresR.MESSAGES;
    }
}
