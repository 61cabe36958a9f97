package tutti.core.protocol;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import tutti.core.schema.MessageSet;

/** What the rest of the system knows of {@link Wice}. */
final class WiceDescriptor implements ProtocolDescriptor {
    private static final String LOWEST = "lowest";
    private static final String OF_PRIMARY = "primary";
    private static final String OF_ALL = "all";
    /** With fewer voters the loss of one would stop all. */
    private static final int VOTERS_MIN = 3;
    /** Where the order spans all replicas nothing is relayed. */
    private static final int RELAY_SPANNING = 1;
    private static final int RELAY = 1_000_000;

    private static final Parameter.Clusters CLUSTERS = new Parameter.Clusters("clusters",
            "Which replicas are in which cluster; each is in one.");
    private static final Parameter.Text PRIMARY = new Parameter.Text("primary",
            Pattern.compile(Parameter.Clusters.NAME), LOWEST + ", or the name of a cluster", LOWEST,
            "The cluster that orders at first: that of the lowest replica, or this one.");
    private static final Parameter.Choice VOTERS = new Parameter.Choice("voters",
            List.of("automatic", OF_PRIMARY, OF_ALL),
            "Whose majority decides the order: that of the primary cluster, so that ordering never waits for the wide"
                    + " area and stops with that cluster, or of all replicas; automatic is the first if the primary"
                    + " cluster has at least three replicas and never moves.",
            true);
    private static final Parameter.Count MOVE_AFTER = new Parameter.Count("move-after", 0, 1_000_000_000, 0,
            "transactions",
            "After how many transactions the primary may move to the cluster that most of them came from; 0 if it never"
                    + " moves.");
    private static final Parameter.Time RETRY_DELAY = CommonParameters.delay("retry-delay", 1_000_000_000L,
            "After how long what was not heard of is sent again: more than a round trip.");

    @Override
    public String name() {
        return Wice.NAME;
    }

    @Override
    public String idea() {
        return "`si` for clusters joined by a WAN: locks are released when the own cluster has ordered, clients are answered"
                + " when another has stored.";
    }

    @Override
    public List<Parameter> parameters() {
        return List.of(CLUSTERS, PRIMARY, VOTERS, MOVE_AFTER, RETRY_DELAY, CommonParameters.WINDOW,
                CommonParameters.WINDOW_KEYS,
                CommonParameters.PROGRESS_INTERVAL);
    }

    /** What another cluster executed is ordered by a node of the primary one, so not by a message of its own node. */
    @Override
    public Claims claims(ParameterValues values) {
        return Claims
                .of(Guarantee.SNAPSHOT_ISOLATION, Trait.EXECUTES_AT_ONCE, Trait.ANSWERS_AWAIT_ANOTHER_CLUSTER,
                        Trait.ORDER_OF_ONE_CLUSTER)
                .with(Trait.VISIBILITY_AWAITED_ELSEWHERE, values.of(CLUSTERS).divides());
    }

    @Override
    public Set<Integer> voters(Set<Integer> replicas, ParameterValues values) {
        Map<String, Set<Integer>> clusters = values.of(CLUSTERS).of(replicas);
        Set<Integer> primary = clusters.getOrDefault(primary(clusters, values), Set.of());
        return switch (values.of(VOTERS)) {
            case OF_ALL -> Set.copyOf(replicas);
            case OF_PRIMARY -> primary;
            default -> primary.size() >= VOTERS_MIN && values.of(MOVE_AFTER) == 0 ? primary : Set.copyOf(replicas);
        };
    }

    /** The cluster that orders at first. */
    private static String primary(Map<String, Set<Integer>> clusters, ParameterValues values) {
        String chosen = values.of(PRIMARY);
        if (values.of(VOTERS).equals(OF_PRIMARY) && values.of(MOVE_AFTER) > 0) {
            throw new IllegalArgumentException("protocol " + Wice.NAME + ": " + MOVE_AFTER.name() + " is "
                    + values.of(MOVE_AFTER) + ", but a primary whose replicas alone vote cannot move; use "
                    + MOVE_AFTER.name() + " 0 or " + VOTERS.name() + " " + OF_ALL);
        }
        if (!chosen.equals(LOWEST)) {
            if (!clusters.containsKey(chosen)) {
                throw new IllegalArgumentException("protocol " + Wice.NAME + ": " + PRIMARY.name() + " is '" + chosen
                        + "', but the clusters are " + String.join(", ", clusters.keySet()));
            }
            return chosen;
        }
        int lowest = clusters.values().stream().flatMap(Set::stream).min(Integer::compare).orElseThrow();
        return clusters.entrySet().stream().filter(cluster -> cluster.getValue().contains(lowest)).findFirst()
                .orElseThrow().getKey();
    }

    @Override
    public Protocol create(Deployment where, ParameterValues values, ReplicaWorld world) {
        Map<String, Set<Integer>> clusters = values.of(CLUSTERS).of(where.replicas());
        return new Wice(new Wice.Parameters(where.node(), clusters, primary(clusters, values), where.spans(),
                (int) values.of(MOVE_AFTER), where.spans() ? RELAY_SPANNING : RELAY, values.of(RETRY_DELAY),
                values.of(CommonParameters.WINDOW), (int) values.of(CommonParameters.WINDOW_KEYS),
                values.of(CommonParameters.PROGRESS_INTERVAL)), world);
    }

    @Override
    public MessageSet<Message> messages() {
        return WiceMessage.MESSAGES;
    }
}
