package tutti.core.protocol;

import java.util.List;
import java.util.Map;
import tutti.core.schema.MessageSet;

/** What the rest of the system knows of {@link Akara}. */
final class AkaraDescriptor implements ProtocolDescriptor {
    private static final String ACTIVE = "active";
    private static final Parameter.Count OPTIMISTIC = new Parameter.Count("optimistic", 0, 10_000, 25, "transactions",
            "How many transactions execute optimistically side by side at a replica.");
    private static final Parameter.Choice ISOLATION = CommonParameters
            .isolation("What is guaranteed: serializable certifies reads where they happened.");
    private static final Parameter.Choice EITHER_WAY = new Parameter.Choice("either-way", List.of("passive", ACTIVE),
            "How requests are executed that may run either way: at one replica that ships the changes, or at every"
                    + " replica.");
    private static final String IF_BLOCKING = "abort-if-blocking";
    private static final String ABORT = "abort";
    private static final Parameter.Choice WHEN_EARLY = new Parameter.Choice("when-early",
            List.of("wait", IF_BLOCKING, ABORT),
            "What becomes of a transaction that has executed while an earlier one of other classes still executes: it"
                    + " waits for its turn; or it is executed again in its turn, always or if the earlier one waits for"
                    + " its locks.");
    private static final Parameter.Time PATIENCE = CommonParameters.delay("patience", 50_000_000L,
            "After how long a transaction that is first, and still executes, is given priority over those that it may"
                    + " wait for.");

    @Override
    public String name() {
        return Akara.NAME;
    }

    @Override
    public String idea() {
        return "Ordered by conflict classes, executed optimistically meanwhile, and executed again with priority instead of"
                + " aborted.";
    }

    @Override
    public List<Parameter> parameters() {
        return List.of(OPTIMISTIC, ISOLATION, EITHER_WAY, WHEN_EARLY, PATIENCE, CommonParameters.RELEASE_DELAY,
                CommonParameters.WINDOW_KEYS);
    }

    @Override
    public Claims claims(ParameterValues values) {
        return Claims
                .of(CommonParameters.guarantee(values, ISOLATION), Trait.COMMITS_BY_OWN_MESSAGE, Trait.NEEDS_CLASSES)
                .with(Trait.NEEDS_READS, CommonParameters.serializable(values, ISOLATION))
                .with(Trait.HEARS_OF_WAITS, values.of(WHEN_EARLY).equals(IF_BLOCKING))
                .with(Trait.EVERYWHERE_IF_POSSIBLE, values.of(EITHER_WAY).equals(ACTIVE));
    }

    @Override
    public Map<Stage, String> queues() {
        return Map.of(Stage.ORDERING, "Q0, Q2a", Stage.EXECUTING, "Q2b, running", Stage.EXECUTED, "Q2b, Q2c");
    }

    @Override
    public Protocol create(Deployment where, ParameterValues values, ReplicaWorld world) {
        return new Akara(new AkaraParameters(where.node(), where.replicas(), (int) values.of(OPTIMISTIC),
                CommonParameters.serializable(values, ISOLATION), values.of(EITHER_WAY).equals(ACTIVE),
                whenEarly(values.of(WHEN_EARLY)), values.of(PATIENCE), values.of(CommonParameters.RELEASE_DELAY),
                (int) values.of(CommonParameters.WINDOW_KEYS)),
                world);
    }

    private static AkaraParameters.WhenEarly whenEarly(String word) {
        return switch (word) {
            case IF_BLOCKING -> AkaraParameters.WhenEarly.ABORT_IF_BLOCKING;
            case ABORT -> AkaraParameters.WhenEarly.ABORT;
            default -> AkaraParameters.WhenEarly.WAIT;
        };
    }

    @Override
    public MessageSet<Message> messages() {
        return ClassMessage.MESSAGES;
    }
}
