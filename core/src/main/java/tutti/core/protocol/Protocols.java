package tutti.core.protocol;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import tutti.core.certify.CertificationIndex;

/**
 * Which protocols there are: by name, with what each promises, what it must know of transactions, and what about it can be
 * chosen. Configuration, {@code --help} and documentation are made from here, and protocols are made here.
 */
public final class Protocols {
    /** What clients may rely on, over all replicas. */
    public enum Isolation {
        /** Every transaction reads a prefix of the total order, and the first committer wins. */
        SNAPSHOT_ISOLATION("one-copy snapshot isolation"),
        /**
         * Besides, transactions that change something have seen all that any client had been told of when they were
         * submitted.
         */
        STRONG_SNAPSHOT_ISOLATION("one-copy strong snapshot isolation (for transactions that change something)"),
        /** As if all transactions had run one after another; those that change something in the total order. */
        SERIALIZABILITY("one-copy serializability");

        private final String description;

        Isolation(String description) {
            this.description = description;
        }

        @Override
        public String toString() {
            return description;
        }
    }

    /**
     * What a protocol promises and needs.
     *
     * @param isolation what it guarantees over all replicas, if each engine guarantees snapshot isolation
     * @param needsClasses whether undeclared transactions are slow, because their conflict classes must be assumed to be all
     * @param needsReads whether the engine must tell what was read
     * @param wholeOnly whether interactive transactions may only read
     * @param onePrimary whether all changes must be submitted at one replica
     */
    public record Claims(Isolation isolation, boolean needsClasses, boolean needsReads, boolean wholeOnly,
            boolean onePrimary) {
        static Claims of(Isolation isolation) {
            return new Claims(isolation, false, false, false, false);
        }
    }

    /**
     * A protocol that can be chosen.
     *
     * @param name in configurations
     * @param idea in one sentence
     * @param claims what it promises and needs, with these parameters
     * @param parameters what can be chosen
     */
    public record Description(String name, String idea, Claims claims, List<Parameter> parameters) {}

    /** The values of all parameters of a protocol. */
    static final class Chosen {
        private final Map<String, Object> values;

        private Chosen(Map<String, Object> values) {
            this.values = values;
        }

        /** A {@link Parameter.Count}, or the nanoseconds of a {@link Parameter.Time}. */
        long number(String name) {
            return (Long) value(name);
        }

        double fraction(String name) {
            return (Double) value(name);
        }

        String word(String name) {
            return (String) value(name);
        }

        private Object value(String name) {
            Object value = values.get(name);
            if (value == null) {
                throw new IllegalArgumentException("no parameter " + name);
            }
            return value;
        }
    }

    private interface Maker {
        Protocol make(int node, Set<Integer> replicas, Chosen chosen, Replica replica);
    }

    /** What depends on the chosen values. */
    private interface Claimer {
        Claims claims(Chosen chosen);
    }

    private record Known(String name, String idea, Claimer claimer, List<Parameter> parameters, Maker maker) {
        Description description(Chosen chosen) {
            return new Description(name, idea, claimer.claims(chosen), parameters);
        }
    }

    private static final String WINDOW = "window";
    private static final String PROGRESS = "progress-interval";
    private static final String READS = "reads";
    private static final String ROWS = "rows";
    private static final String BLOOM = "bloom";
    private static final String ROWS_PER_TABLE = "rows-per-table";
    private static final String FALSE_POSITIVES = "false-positives";
    private static final String ISOLATION = "isolation";
    private static final String SNAPSHOT = "snapshot";
    private static final String SERIALIZABLE = "serializable";
    private static final String RESOLVE_DELAY = "resolve-delay";
    private static final String TAKE_OVER_DELAY = "take-over-delay";
    private static final String TENTATIVE = "tentative";
    private static final String YES = "yes";
    private static final String NO = "no";
    private static final String RELEASE_DELAY = "release-delay";
    private static final String OPTIMISTIC = "optimistic";
    private static final String EITHER_WAY = "either-way";
    private static final String PASSIVE = "passive";
    private static final String ACTIVE = "active";
    private static final String PATIENCE = "patience";
    private static final String TICK = "tick";
    private static final String LOCK_TICKS = "lock-ticks";
    private static final String INQUIRE_TICKS = "inquire-ticks";
    private static final String CLUSTERS = "clusters";
    private static final String PRIMARY = "primary";
    private static final String MOVE_AFTER = "move-after";
    private static final String RETRY_DELAY = "retry-delay";
    private static final String VOTERS = "voters";
    private static final String AUTOMATIC = "automatic";
    private static final String ALL = "all";
    /** With fewer voters the loss of one would stop all. */
    private static final int VOTERS_MIN = 3;
    private static final String CLUSTER_NAME = "[a-z][a-z0-9-]*";
    /** Clusters of one replica each, the lowest first. */
    private static final String EACH_ALONE = "each-alone";
    private static final String LOWEST = "lowest";
    /** Nothing is relayed where the order spans all replicas. */
    private static final int WICE_RELAY_MAX = 1;
    private static final Parameter WINDOW_PARAMETER = new Parameter.Count(WINDOW, 1, CertificationIndex.SPAN_MAX / 2,
            1_000_000, "positions",
            "How far back a transaction may have executed before it is aborted as too old; bounds the memory that "
                    + "certification takes while a replica is away.");
    private static final Parameter PROGRESS_PARAMETER = new Parameter.Time(PROGRESS, 1_000_000L, 3_600_000_000_000L,
            1_000_000_000L,
            "How often a replica that has nothing else to say tells the others how far it has come, so that "
                    + "certification may forget.");

    private static final Parameter RELEASE_PARAMETER = new Parameter.Time(RELEASE_DELAY, 1_000_000L,
            3_600_000_000_000L, 1_000_000_000L,
            "How long a transaction whose replica is gone keeps its places before its release is asked for again.");

    private static final Map<String, Known> KNOWN = known();

    private Protocols() {}

    private static Map<String, Known> known() {
        Map<String, Known> known = new LinkedHashMap<>();
        for (Known protocol : List.of(
                new Known(SnapshotIsolation.NAME,
                        "Transactions execute where they are submitted and are certified, write against write, at "
                                + "every replica once ordered.",
                        _ -> Claims.of(Isolation.SNAPSHOT_ISOLATION), List.of(WINDOW_PARAMETER, PROGRESS_PARAMETER),
                        (node, replicas, chosen, replica) -> new SnapshotIsolation(
                                new SnapshotIsolation.Parameters(node, replicas, chosen.number(WINDOW),
                                        chosen.number(PROGRESS)),
                                replica)),
                new Known(DatabaseStateMachine.NAME,
                        "Like si, with read sets: reads are certified against writes, too, at every replica.",
                        _ -> new Claims(Isolation.SERIALIZABILITY, false, true, false, false),
                        List.of(WINDOW_PARAMETER, PROGRESS_PARAMETER,
                                new Parameter.Choice(READS, List.of(ROWS, BLOOM),
                                        "How a transaction's read set is sent: every row's key, or a Bloom filter"
                                                + " of them, which is smaller and aborts more."),
                                new Parameter.Count(ROWS_PER_TABLE, 0, 1_000_000, 1000, "rows",
                                        "Of a table of which a transaction has read more rows than this, it is taken"
                                                + " to have read everything."),
                                new Parameter.Fraction(FALSE_POSITIVES, 1e-9, 0.5, 1e-4,
                                        "Probability with which a key that a concurrent transaction wrote is taken"
                                                + " for one that was read, if reads are sent as a Bloom filter.")),
                        (node, replicas, chosen, replica) -> new DatabaseStateMachine(
                                new DatabaseStateMachine.Parameters(node, replicas, chosen.number(WINDOW),
                                        chosen.number(PROGRESS),
                                        chosen.word(READS).equals(BLOOM)
                                                ? DatabaseStateMachine.Reads.BLOOM
                                                : DatabaseStateMachine.Reads.ROWS,
                                        (int) chosen.number(ROWS_PER_TABLE), chosen.fraction(FALSE_POSITIVES)),
                                replica)),
                new Known(PostgresR.NAME,
                        "Changes are ordered, and the replica that executed them decides and tells the outcome in a"
                                + " second ordered message.",
                        chosen -> new Claims(
                                serializable(chosen) ? Isolation.SERIALIZABILITY : Isolation.SNAPSHOT_ISOLATION,
                                false, serializable(chosen), false, false),
                        List.of(WINDOW_PARAMETER,
                                new Parameter.Choice(ISOLATION, List.of(SNAPSHOT, SERIALIZABLE),
                                        "What is guaranteed: serializable keeps read sets, which never leave their"
                                                + " replica, and decides strictly in order."),
                                new Parameter.Time(RESOLVE_DELAY, 1_000_000L, 3_600_000_000_000L, 1_000_000_000L,
                                        "How long a transaction waits for the decision of a replica that seems to"
                                                + " be gone before another has it aborted.")),
                        (node, replicas, chosen, replica) -> new PostgresR(
                                new PostgresR.Parameters(node, replicas, chosen.number(WINDOW),
                                        chosen.number(RESOLVE_DELAY), serializable(chosen)),
                                replica)),
                new Known(ActiveReplication.NAME,
                        "Whole deterministic requests are ordered and executed by every replica, one after another.",
                        _ -> new Claims(Isolation.SERIALIZABILITY, false, false, true, false), List.of(),
                        (_, _, _, replica) -> new ActiveReplication(replica)),
                new Known(PassiveReplication.NAME,
                        "One primary executes all that changes the database and ships the changes; another takes over"
                                + " when it is gone.",
                        _ -> new Claims(Isolation.STRONG_SNAPSHOT_ISOLATION, false, false, false, true),
                        List.of(WINDOW_PARAMETER,
                                new Parameter.Time(TAKE_OVER_DELAY, 1_000_000L, 3_600_000_000_000L,
                                        2_000_000_000L,
                                        "How long the primary must be missed before another replica takes over.")),
                        (node, replicas, chosen, replica) -> new PassiveReplication(
                                new PassiveReplication.Parameters(node, replicas, chosen.number(WINDOW),
                                        chosen.number(TAKE_OVER_DELAY)),
                                replica)),
                new Known(Nodo.NAME,
                        "Transactions are ordered by conflict classes first, and execute when they are first in every"
                                + " class.",
                        _ -> new Claims(Isolation.SERIALIZABILITY, true, false, false, false),
                        List.of(new Parameter.Choice(TENTATIVE, List.of(YES, NO),
                                "Whether whole requests execute on tentative delivery, where the order tells of it."),
                                RELEASE_PARAMETER),
                        (node, replicas, chosen, replica) -> new Nodo(new Nodo.Parameters(node, replicas,
                                chosen.word(TENTATIVE).equals(YES), chosen.number(RELEASE_DELAY)), replica)),
                new Known(Akara.NAME,
                        "Ordered by conflict classes, executed optimistically meanwhile, and executed again with"
                                + " priority instead of aborted.",
                        chosen -> new Claims(
                                serializable(chosen) ? Isolation.SERIALIZABILITY : Isolation.SNAPSHOT_ISOLATION, true,
                                serializable(chosen), false, false),
                        List.of(new Parameter.Count(OPTIMISTIC, 0, 10_000, 25, "transactions",
                                "How many transactions execute optimistically side by side at a replica."),
                                new Parameter.Choice(ISOLATION, List.of(SNAPSHOT, SERIALIZABLE),
                                        "What is guaranteed: serializable certifies reads where they happened."),
                                new Parameter.Choice(EITHER_WAY, List.of(PASSIVE, ACTIVE),
                                        "How requests are executed that may run either way: at one replica that"
                                                + " ships the changes, or at every replica."),
                                new Parameter.Time(PATIENCE, 1_000_000L, 3_600_000_000_000L, 50_000_000L,
                                        "After how long a transaction that is first, and still executes, is given"
                                                + " priority over those that it may wait for."),
                                RELEASE_PARAMETER),
                        (node, replicas, chosen, replica) -> new Akara(
                                new Akara.Parameters(node, replicas, (int) chosen.number(OPTIMISTIC),
                                        serializable(chosen), chosen.word(EITHER_WAY).equals(ACTIVE),
                                        chosen.number(PATIENCE), chosen.number(RELEASE_DELAY)),
                                replica)),
                new Known(TwoPhaseCommit.NAME,
                        "Distributed locking and two-phase commit, whose decisions are ordered: the baseline.",
                        _ -> Claims.of(Isolation.SNAPSHOT_ISOLATION),
                        List.of(new Parameter.Time(TICK, 1_000_000L, 60_000_000_000L, 50_000_000L,
                                "How often waits are told to the others and timeouts are looked at."),
                                new Parameter.Count(LOCK_TICKS, 1, 1_000_000, 200, "ticks",
                                        "How long a transaction waits for the locks of all members before it is"
                                                + " aborted."),
                                new Parameter.Count(INQUIRE_TICKS, 1, 1_000_000, 40, "ticks",
                                        "After how long without news a participant asks how a transaction ended.")),
                        (node, replicas, chosen, replica) -> new TwoPhaseCommit(
                                new TwoPhaseCommit.Parameters(node, replicas, chosen.number(TICK),
                                        (int) chosen.number(LOCK_TICKS), (int) chosen.number(INQUIRE_TICKS)),
                                replica)),
                new Known(Wice.NAME,
                        "si for clusters joined by a WAN: locks are released when the own cluster has ordered, clients"
                                + " are answered when another has stored. For worlds whose order spans all replicas.",
                        _ -> Claims.of(Isolation.SNAPSHOT_ISOLATION),
                        List.of(new Parameter.Text(CLUSTERS,
                                Pattern.compile(EACH_ALONE + "|" + CLUSTER_NAME + ":\\d{1,3}(,\\d{1,3})*(;"
                                        + CLUSTER_NAME + ":\\d{1,3}(,\\d{1,3})*)*"),
                                EACH_ALONE + ", or names with their replicas, like braga:0,1;lisbon:2", EACH_ALONE,
                                "Which replicas are in which cluster; each is in one."),
                                new Parameter.Text(PRIMARY, Pattern.compile(CLUSTER_NAME),
                                        LOWEST + ", or the name of a cluster", LOWEST,
                                        "The cluster that orders at first: that of the lowest replica, or this one."),
                                new Parameter.Choice(VOTERS, List.of(AUTOMATIC, PRIMARY, ALL),
                                        "Whose majority decides the order: that of the primary cluster, so that ordering"
                                                + " never waits for the wide area and stops with that cluster, or of all"
                                                + " replicas; automatic is the first if the primary cluster has at least"
                                                + " three replicas and never moves."),
                                new Parameter.Count(MOVE_AFTER, 0, 1_000_000_000, 0, "transactions",
                                        "After how many transactions the primary may move to the cluster that most of"
                                                + " them came from; 0 if it never moves."),
                                new Parameter.Time(RETRY_DELAY, 1_000_000L, 3_600_000_000_000L, 1_000_000_000L,
                                        "After how long what was not heard of is sent again: more than a round trip."),
                                WINDOW_PARAMETER, PROGRESS_PARAMETER),
                        (node, replicas, chosen, replica) -> new Wice(wice(node, replicas, chosen), replica)))) {
            known.put(protocol.name(), protocol);
        }
        return known;
    }

    private static Wice.Parameters wice(int node, Set<Integer> replicas, Chosen chosen) {
        Map<String, Set<Integer>> clusters = new TreeMap<>();
        String text = chosen.word(CLUSTERS);
        if (text.equals(EACH_ALONE)) {
            replicas.forEach(one -> clusters.put("r" + one, Set.of(one)));
        } else {
            for (String cluster : text.split(";", -1)) {
                int colon = cluster.indexOf(':');
                Set<Integer> nodes = new TreeSet<>();
                for (String one : cluster.substring(colon + 1).split(",", -1)) {
                    nodes.add(Integer.parseInt(one));
                }
                if (clusters.put(cluster.substring(0, colon), nodes) != null) {
                    throw new IllegalArgumentException("protocol " + Wice.NAME + ": cluster "
                            + cluster.substring(0, colon) + " is there twice in '" + text + "'");
                }
            }
            Set<Integer> named = new TreeSet<>();
            clusters.values().forEach(named::addAll);
            if (!named.equals(replicas)) {
                throw new IllegalArgumentException("protocol " + Wice.NAME + ": the clusters '" + text
                        + "' hold the replicas " + named + ", but there are " + new TreeSet<>(replicas));
            }
        }
        String primary = chosen.word(PRIMARY);
        if (primary.equals(LOWEST)) {
            int lowest = replicas.stream().mapToInt(Integer::intValue).min().orElse(node);
            primary = clusters.entrySet().stream().filter(cluster -> cluster.getValue().contains(lowest)).findFirst()
                    .map(Map.Entry::getKey).orElse(primary);
        }
        if (chosen.word(VOTERS).equals(PRIMARY) && chosen.number(MOVE_AFTER) > 0) {
            throw new IllegalArgumentException("protocol " + Wice.NAME + ": " + MOVE_AFTER + " is "
                    + chosen.number(MOVE_AFTER) + ", but a primary whose replicas alone vote cannot move; use "
                    + MOVE_AFTER + " 0 or " + VOTERS + " " + ALL);
        }
        return new Wice.Parameters(node, clusters, primary, true, (int) chosen.number(MOVE_AFTER), WICE_RELAY_MAX,
                chosen.number(RETRY_DELAY), chosen.number(WINDOW), chosen.number(PROGRESS));
    }

    /**
     * Whose majority should decide the total order, where the world's order has votes: all replicas, or those of one cluster
     * if the protocol is made for clusters joined by a WAN.
     *
     * @throws IllegalArgumentException as {@link #create} does
     */
    public static Set<Integer> voters(String name, Set<Integer> replicas, Map<String, String> parameters) {
        Known known = find(name);
        Chosen chosen = choose(known, parameters);
        if (!name.equals(Wice.NAME) || chosen.word(VOTERS).equals(ALL)) {
            return Set.copyOf(replicas);
        }
        int any = replicas.stream().findAny().orElseThrow(() -> new IllegalArgumentException("no replicas"));
        Wice.Parameters wice = wice(any, replicas, chosen);
        Set<Integer> primary = wice.clusters().getOrDefault(wice.firstPrimary(), Set.of());
        boolean alone = chosen.word(VOTERS).equals(PRIMARY)
                || (primary.size() >= VOTERS_MIN && wice.moveTransactions() == 0);
        return alone ? primary : Set.copyOf(replicas);
    }

    private static boolean serializable(Chosen chosen) {
        return chosen.word(ISOLATION).equals(SERIALIZABLE);
    }

    /** Names of all protocols. */
    public static List<String> names() {
        return List.copyOf(KNOWN.keySet());
    }

    /**
     * What there is to know of a protocol, with its parameters at their defaults.
     *
     * @throws IllegalArgumentException if there is none of this name
     */
    public static Description describe(String name) {
        return describe(name, Map.of());
    }

    /**
     * What there is to know of a protocol.
     *
     * @param parameters values by name; what is left out has its default
     * @throws IllegalArgumentException if there is none of this name, or a parameter is impossible
     */
    public static Description describe(String name, Map<String, String> parameters) {
        Known known = find(name);
        return known.description(choose(known, parameters));
    }

    /**
     * Makes one replica's side of a protocol.
     *
     * @param node this replica
     * @param replicas all replicas, this one included
     * @param parameters values by name, the same at all replicas; what is left out has its default
     * @param replica the world that it is to live in
     * @throws IllegalArgumentException naming the protocol, the parameter, the value, and the nearest that is valid
     */
    public static Protocol create(String name, int node, Set<Integer> replicas, Map<String, String> parameters,
            Replica replica) {
        Known known = find(name);
        return known.maker().make(node, replicas, choose(known, parameters), replica);
    }

    private static Known find(String name) {
        Known known = KNOWN.get(name);
        if (known == null) {
            throw new IllegalArgumentException("no protocol '" + name + "'; there are: " + String.join(", ", names())
                    + "; nearest: " + Parameter.nearest(name, names()));
        }
        return known;
    }

    private static Chosen choose(Known known, Map<String, String> parameters) {
        Map<String, Object> values = new LinkedHashMap<>();
        List<String> names = known.parameters().stream().map(Parameter::name).toList();
        parameters.forEach((name, text) -> {
            if (!names.contains(name)) {
                throw new IllegalArgumentException("protocol " + known.name() + " has no parameter '" + name + "' ("
                        + text + "); " + (names.isEmpty()
                                ? "it has none"
                                : "it has: " + String.join(", ", names) + "; nearest: "
                                        + Parameter.nearest(name, names)));
            }
        });
        for (Parameter parameter : known.parameters()) {
            try {
                values.put(parameter.name(),
                        parameter.parse(parameters.getOrDefault(parameter.name(), parameter.byDefault())));
            } catch (IllegalArgumentException impossible) {
                throw new IllegalArgumentException("protocol " + known.name() + ": " + impossible.getMessage(),
                        impossible);
            }
        }
        return new Chosen(values);
    }
}
