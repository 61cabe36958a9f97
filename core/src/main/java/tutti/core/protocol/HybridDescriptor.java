package tutti.core.protocol;

import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import tutti.core.schema.MessageSet;

/** What the rest of the system knows of {@link Hybrid}. */
final class HybridDescriptor implements ProtocolDescriptor {
    static final Parameter.Choice EXECUTION = new Parameter.Choice("execution",
            List.of("hybrid", "active", "passive"),
            "Who executes whole requests: the owners of their logs, every replica (what has the same result everywhere), or"
                    + " one owner of all logs.");
    static final Parameter.Count LOGS = new Parameter.Count("logs", 1, RequestLogs.LOGS_MAX, 64, "logs",
            "Among how many request logs the conflict classes are divided; each has one owner at a time.");
    static final Parameter.Text OWNERS = new Parameter.Text("owners",
            Pattern.compile(Division.IN_TURN + "|\\d{1,3}(,\\d{1,3}){0," + (Division.OWNERS_MAX - 1) + "}"),
            Division.IN_TURN + ", or ids of nodes, like 0,1,1,2", Division.IN_TURN,
            "Whose request log 0, 1, 2, ... is while its node is there, over and over again: with `0,1,1` node 1 owns two logs of"
                    + " three, and with as many ids as there are logs each has its own. The first owns all under `execution: passive`."
                    + " A node that is removed from the cluster is struck from them.");
    private static final Parameter.Count EXECUTORS = new Parameter.Count("executors", 1, 1000, 8, "transactions",
            "In how many transactions of its database a replica executes requests of its logs at a time; each takes a connection. `auto`:"
                    + " as few, up to 64, as keep it from being behind.",
            true);
    private static final Parameter.Count BATCH = new Parameter.Count("batch-requests", 1, Hybrid.BATCH_MAX, 32,
            "requests",
            "How many requests of its logs a replica executes in one transaction of its database, at most: those that stand behind one"
                    + " another, and others if more wait than it has executors for; they commit together. `auto`: likewise.",
            true);
    private static final Parameter.Time TAKE_OVER_DELAY = CommonParameters.delay("take-over-delay", 1_000_000_000L,
            "How long the owner of a log must have been missed before another replica takes it over, and how often a"
                    + " replica that is back looks whether it can have its own again.");

    @Override
    public String name() {
        return Hybrid.NAME;
    }

    @Override
    public String idea() {
        return "Whole requests are logged by conflict class; the owner of a log executes them, the others apply its changes.";
    }

    @Override
    public List<Parameter> parameters() {
        return List.of(EXECUTION, LOGS, EXECUTORS, BATCH, TAKE_OVER_DELAY, CommonParameters.RELEASE_DELAY, OWNERS);
    }

    @Override
    public Set<String> ordered() {
        return Set.of(EXECUTION.name(), LOGS.name(), OWNERS.name());
    }

    @Override
    public Set<String> local() {
        return Set.of(EXECUTORS.name(), BATCH.name());
    }

    @Override
    public void configure(Protocol protocol, ParameterValues values) {
        protocol.undertake(Math.toIntExact(values.of(EXECUTORS)), Math.toIntExact(values.of(BATCH)));
    }

    @Override
    public Message change(Set<Integer> replicas, OrderedParameters present, ParameterValues values) {
        Division wanted = division(values).since(present.since());
        if (!replicas.containsAll(wanted.owners())) {
            throw new IllegalArgumentException(
                    OWNERS.name() + " are " + wanted.owners() + ", but the nodes are " + new TreeSet<>(replicas));
        }
        return new HybridMessage.Divide(wanted);
    }

    private static Division division(ParameterValues values) {
        String owners = values.of(OWNERS);
        return new Division(mode(values), Math.toIntExact(values.of(LOGS)), owners.equals(Division.IN_TURN)
                ? List.of()
                : Stream.of(owners.split(",", -1)).map(Integer::valueOf).toList());
    }

    private static Hybrid.Mode mode(ParameterValues values) {
        return Hybrid.Mode.valueOf(values.of(EXECUTION).toUpperCase(Locale.ROOT));
    }

    @Override
    public Claims claims(ParameterValues values) {
        return Claims.of(Guarantee.SERIALIZABILITY, Trait.COMMITS_BY_OWN_MESSAGE, Trait.MEMBERS_MAY_CHANGE,
                Trait.NEEDS_CLASSES, Trait.REQUESTS_OUTLIVE_THEIR_NODE, Trait.UNDERTAKES)
                .with(Trait.EVERYWHERE_IF_POSSIBLE, mode(values) == Hybrid.Mode.ACTIVE);
    }

    @Override
    public Protocol create(Deployment where, ParameterValues values, ReplicaWorld world) {
        return new Hybrid(new Hybrid.Parameters(where.node(), where.replicas(), division(values),
                Math.toIntExact(values.of(EXECUTORS)),
                Math.toIntExact(values.of(BATCH)),
                values.of(TAKE_OVER_DELAY),
                values.of(CommonParameters.RELEASE_DELAY)), world);
    }

    @Override
    public MessageSet<Message> messages() {
        return HybridMessage.MESSAGES;
    }
}
