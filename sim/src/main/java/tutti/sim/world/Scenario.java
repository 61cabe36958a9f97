package tutti.sim.world;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.IntStream;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Claims;
import tutti.core.protocol.Guarantee;
import tutti.core.protocol.ProtocolDescriptor;
import tutti.core.protocol.Trait;
import tutti.core.txn.TablePlacement;
import tutti.sim.fault.FaultKind;
import tutti.sim.fault.FaultPlan;
import tutti.sim.fault.FaultProfile;
import tutti.sim.kernel.BitMixer;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;
import tutti.sim.world.database.EngineKind;

/**
 * What is to be run: seed and plan say everything else. Equal scenarios with equal plans give equal runs.
 *
 * @param seed of everything random but the faults
 * @param protocol with its parameters
 * @param order what the total order is made of
 * @param engine what the databases are like
 * @param placement of tables, in the end but for what is {@linkplain #bringsBack brought back}
 * @param hosts names of the hosts of those replicas with which the cluster begins
 * @param transactions that clients begin, probes and last reads apart; at least 1
 * @param plan what goes wrong
 */
public record Scenario(long seed, ChosenProtocol protocol, OrderKind order,
        EngineKind engine, TablePlacement placement, List<String> hosts, int transactions, FaultPlan plan) {
    /** One scenario of so many mixes levels, and then one session of so many asks for no more than the protocol guarantees. */
    private static final int MIXED_IN = 3;
    private static final int SERIALIZABLE_IN = 3;

    /** One scenario of so many has locks, from this seed on: those before it, which tests have, keep their meaning. */
    private static final int LOCKING_IN = 4;
    private static final long LOCKING_FROM = 1000;

    /** Of those whose nodes lack tables one of so many begins with all tables everywhere, from this seed on. */
    private static final int PLACED_LATER_IN = 2;
    private static final long PLACED_LATER_FROM = 1000;

    /** Of these again one of so many brings them back to a node, from this seed on. */
    private static final int BROUGHT_BACK_IN = 2;
    private static final long BROUGHT_BACK_FROM = 2000;

    /** How long faults come and go. */
    static final long SAFETY_NANOS = 2 * Nanos.SECOND;

    private static final List<EngineKind> ENGINES = List.of(EngineKind.POSTGRES, EngineKind.POSTGRES, EngineKind.H2,
            EngineKind.HSQLDB, EngineKind.LOCKING);

    /** What the total order is made of. */
    public enum OrderKind {
        /** The log that nodes have, over simulated disks and connections. */
        RAFT,
        /**
         * The order by group communication that nodes can have, over simulated datagrams. Nodes that were stopped have forgotten
         * it; so no more than a minority of them ever is.
         */
        GROUP,
        /** An order that is simply there. */
        IDEAL;

        boolean remembersStops() {
            return this != GROUP;
        }
    }

    public Scenario {
        hosts = List.copyOf(hosts);
        if (transactions < 1) {
            throw new IllegalArgumentException("a scenario needs a transaction, not " + transactions);
        }
    }

    /**
     * The scenario of a seed.
     *
     * @param pinned parameters of the protocol that are not left to chance
     */
    public static Scenario random(long seed, ProtocolDescriptor protocol, Map<String, String> pinned, OrderKind order,
            int transactions, FaultProfile faults) {
        RandomStream dice = new RandomStream(seed).fork("scenario");
        List<String> hosts = new ArrayList<>();
        int replicas = 3 + dice.nextInt(5) / 4;
        for (int node = 0; node < replicas; node++) {
            hosts.add("n" + node);
        }
        Map<String, String> parameters = new TreeMap<>(RandomParameters.random(dice, protocol, replicas));
        parameters.putAll(pinned);
        EngineKind engine = dice.pick(ENGINES);
        ChosenProtocol chosen = new ChosenProtocol(protocol, parameters);
        List<String> spares = faults.changesMembers() && membersMayChange(chosen, order)
                ? List.of("n" + replicas, "n" + (replicas + 1))
                : List.of();
        FaultProfile possible = protocol.ordered().isEmpty() ? faults.without(Set.of(FaultKind.PARAMETERS)) : faults;
        FaultPlan plan = FaultPlan.random(seed, possible, hosts, spares, SAFETY_NANOS);
        return new Scenario(seed, chosen, order, engine, TablePlacement.EVERYWHERE, hosts, transactions,
                order.remembersStops() ? plan : plan.withHostsDown((replicas - 1) / 2));
    }

    /** Whether nodes change the members under a protocol and an order; otherwise plans have no such changes. */
    public static boolean membersMayChange(ChosenProtocol protocol, OrderKind order) {
        return order == OrderKind.RAFT && protocol.has(Trait.MEMBERS_MAY_CHANGE);
    }

    /** The same with another plan. */
    public Scenario withPlan(FaultPlan other) {
        return new Scenario(seed, protocol, order, engine, placement, hosts, transactions, other);
    }

    /** The same over other databases. */
    public Scenario withEngine(EngineKind other) {
        return new Scenario(seed, protocol, order, other, placement, hosts, transactions, plan);
    }

    /**
     * The same with tables that some nodes do not keep, chosen by its seed.
     *
     * @throws IllegalArgumentException if its protocol has others than a client's node execute what it asks for
     */
    public Scenario withTablesOnSomeNodes() {
        if (!protocol.claims().tablesMayBePartial()) {
            throw new IllegalArgumentException("under " + protocol.name() + " every node keeps all tables");
        }
        return new Scenario(seed, protocol, order, engine,
                Placements.random(seed, hosts.size(), placesLater() ? hosts.size() : plan.allHosts().size()),
                hosts, transactions, plan);
    }

    /** Where tables are in the beginning. */
    public TablePlacement founding() {
        return placesLater() ? TablePlacement.EVERYWHERE : placement;
    }

    /** Whether tables are placed while the cluster serves. A placement names nodes that are there, so nodes do not come then. */
    private boolean placesLater() {
        return seed >= PLACED_LATER_FROM && !plan.changesMembers()
                && Long.remainderUnsigned(BitMixer.mix64(seed ^ PLACED_LATER_FROM), PLACED_LATER_IN) == 0;
    }

    /** Whether one of the nodes that lack tables gets them in the end, in some of these scenarios whose nodes give each other copies. */
    boolean bringsBack() {
        return placesLater() && membersMayChange(protocol, order)
                && Long.remainderUnsigned(BitMixer.mix64(seed ^ BROUGHT_BACK_FROM), BROUGHT_BACK_IN) == 0
                && seed >= BROUGHT_BACK_FROM;
    }

    /** How tables are placed while the cluster serves, one after the other. */
    List<TablePlacement> steps() {
        if (!placesLater() || placement.isEverywhere()) {
            return List.of();
        }
        Map<Long, Set<Integer>> more = new TreeMap<>();
        placement.keepers().forEach((table, keepers) -> {
            Set<Integer> grown = new TreeSet<>(keepers);
            IntStream.range(0, hosts.size()).filter(node -> !keepers.contains(node)).findFirst().ifPresent(grown::add);
            more.put(table, grown);
        });
        return bringsBack() ? List.of(placement, new TablePlacement(more)) : List.of(placement);
    }

    /** What the protocol promises over these engines. */
    public Guarantee guarantee() {
        Claims claims = protocol.claims();
        return engine == EngineKind.LOCKING ? claims.underReadLocks() : claims.guarantee();
    }

    /** Whether some transactions lock what they do not change, in some scenarios of protocols that certify that. */
    public boolean locksRows() {
        return protocol.has(Trait.EXECUTES_AT_ONCE) && seed >= LOCKING_FROM
                && Long.remainderUnsigned(BitMixer.mix64(~seed), LOCKING_IN) == 0;
    }

    /** Whether some sessions ask for more than the others, in some scenarios of protocols that grant it. */
    public boolean mixesLevels() {
        return protocol.has(Trait.TAKES_READS) && Long.remainderUnsigned(BitMixer.mix64(seed), MIXED_IN) == 0;
    }

    /** Whether the transactions of a session are to be serializable though others need not be. */
    public boolean isSerializable(int session) {
        return mixesLevels() && session % SERIALIZABLE_IN != 0;
    }

    /** One line for people. */
    public String describe() {
        StringBuilder text = new StringBuilder();
        text.append(protocol.name()).append(" seed ").append(seed).append(", ").append(hosts.size())
                .append(" replicas, ")
                .append(order.name().toLowerCase(Locale.ROOT)).append(" order, ")
                .append(engine.name().toLowerCase(Locale.ROOT)).append(" databases, ")
                .append(transactions).append(" transactions, ").append(plan.faults().size()).append(" faults");
        if (!placement.isEverywhere()) {
            text.append(", ").append(Placements.describe(placement)).append(placesLater() ? " later" : "")
                    .append(bringsBack() ? ", one node more at last" : "");
        }
        if (!membersMayChange(protocol, order)) {
            text.append(", members that stay");
        }
        new TreeMap<>(protocol.parameters())
                .forEach((name, value) -> text.append(", ").append(name).append(' ').append(value));
        return text.toString();
    }
}
