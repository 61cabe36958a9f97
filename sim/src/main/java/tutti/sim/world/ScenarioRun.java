package tutti.sim.world;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import tutti.check.CheckResult;
import tutti.check.history.History;
import tutti.core.protocol.Trait;
import tutti.node.ReplicaNode;
import tutti.sim.disk.DiskConfig;
import tutti.sim.disk.Disk;
import tutti.sim.fault.Action;
import tutti.sim.fault.EngineFaults;
import tutti.sim.fault.FaultKind;
import tutti.sim.fault.Injector;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.core.txn.TransactionId;
import tutti.sim.kernel.BitMixer;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;
import tutti.sim.net.LinkConfig;
import tutti.sim.net.Network;
import tutti.sim.net.Segment;
import tutti.sim.thread.Threads;
import tutti.sim.world.database.Catalog;
import tutti.sim.world.database.EngineKind;
import tutti.sim.world.database.Images;
import tutti.sim.world.database.Program;
import tutti.sim.world.database.Database;
import tutti.sim.world.node.Client;
import tutti.sim.world.node.NodeHost;
import tutti.sim.world.node.Submission;
import tutti.workload.client.ClientOutcome;
import tutti.workload.listappend.ListAppendHistory;
import tutti.workload.listappend.ListAppendOperation;
import tutti.workload.listappend.ListAppendTransaction;

/**
 * Runs a scenario and has it checked. Three phases: <em>safety</em>, two seconds in which clients work and faults come and
 * go; <em>liveness</em>, in which nothing is wrong any more: all transactions must begin and end, and the replicas come to
 * rest; at last every replica (one, if the protocol has a primary) must commit a transaction that nobody disturbs, and all
 * lists are read at every replica. Then the checkers judge what happened.
 */
public final class ScenarioRun {
    private static final long SLICE_NANOS = 10 * Nanos.MILLI;
    private static final long LIVENESS_NANOS = 60 * Nanos.SECOND;
    /** Where members change: a copy whose connection has broken is given up after a minute, and another one is begun. */
    private static final long CHANGES_NANOS = 240 * Nanos.SECOND;
    /** How long those are waited for that need not come to rest. */
    private static final long PATIENCE_NANOS = 5 * Nanos.SECOND;
    /** How long after a fault a node may still end because of it. */
    private static final long SHOWS_NANOS = 200 * Nanos.MILLI;
    private static final int PROBES_MAX = 40;
    /** Between a probe that fails and the next. */
    private static final long PROBE_PAUSE_NANOS = 50 * Nanos.MILLI;
    /** Lists that only probes use begin here. */
    private static final long PROBE_LISTS = 1_000_000;
    /** From a list of one table to one of the other. */
    private static final long OTHER_TABLE = 1001;
    private static final int LAST_SESSIONS = 1_000_000;
    private static final int DRAWS = 1_000_000;
    private static final int TRACE_LINES = 3;

    private final Scenario scenario;
    private final Kernel kernel;
    private final Memories memories;
    private final Recording recording;
    private final ListAppendHistory clients;
    private final Programs programs;
    private final ClientMix mix;
    private final List<NodeHost> replicas = new ArrayList<>();
    private final Orders orders;
    private final Injector injector;
    private final OutcomeQuestions questions;
    private final Membership membership;
    private final ParameterOperators parameters;
    private final PlacementOperators placements;
    /** Transactions that have begun and not ended, by a number: as what they count if they never end. */
    private final Map<Long, ListAppendTransaction> open = new LinkedHashMap<>();
    private long begun;
    private int toBegin;
    private int sessions;
    private long messages;
    private boolean healed;

    private ScenarioRun(Scenario scenario, Threads threads, Kernel kernel) {
        this.scenario = scenario;
        this.kernel = kernel;
        RandomStream knobs = kernel.random("world");
        memories = new Memories(node -> isHurt(scenario.plan().allHosts().get(node)),
                this::isInMajority);
        recording = new Recording(kernel, scenario.plan().mayUndo() || mayTie(scenario), memories,
                new KeepersWatch(founders(scenario), replicas));
        clients = new ListAppendHistory(scenario.transactions() + scenario.plan().allHosts().size() * (PROBES_MAX + 1));
        programs = new Programs(kernel.random("programs"), scenario.locksRows());
        mix = new ClientMix(knobs.fork("mix"), scenario.protocol().claims());
        toBegin = scenario.transactions();
        Network network = new Network(kernel);
        Segment lan = network.segment("lan", LinkConfig.LAN);
        HostConfig config = HostConfig.DEFAULT.withMessageCosts(0, 0).withDisk(
                DiskConfig.DEFAULT.withLatency(uniform(knobs, 20 * Nanos.MICRO, 600 * Nanos.MICRO)));
        for (String name : scenario.plan().allHosts()) {
            network.attach(new Host(kernel, threads, name, config), lan);
        }
        orders = Orders.of(scenario, kernel, knobs.fork("order"));
        membership = new Membership(kernel, recording, scenario, replicas);
        parameters = new ParameterOperators(kernel, recording, scenario, replicas);
        placements = new PlacementOperators(kernel, recording, replicas, scenario.steps());
        boolean changes = scenario.plan().changesMembers() || scenario.bringsBack();
        NodeHost.Settings settings = new NodeHost.Settings(scenario.plan().allHosts(), scenario.hosts().size(),
                changes ? Optional.of(membership) : Optional.empty(), new Images(),
                changes ? kernel.random("copies").between(20, 20_000) << 10 : 1, scenario.protocol(),
                (node, all, replica) -> scenario.protocol().create(node, all, replica), orders.factory(),
                scenario.engine(), scenario.founding(),
                new Database.Timing(uniform(knobs, 10 * Nanos.MICRO, 400 * Nanos.MICRO),
                        uniform(knobs, 10 * Nanos.MICRO, 150 * Nanos.MICRO),
                        uniform(knobs, 100 * Nanos.MICRO, 20 * Nanos.MILLI),
                        uniform(knobs, 5 * Nanos.MICRO, 200 * Nanos.MICRO)),
                uniform(knobs, 10 * Nanos.MICRO, 800 * Nanos.MICRO), tuning(knobs.fork("tuning")),
                this::worst);
        for (int node = 0; node < scenario.plan().allHosts().size(); node++) {
            replicas.add(
                    new NodeHost(network.host(scenario.plan().allHosts().get(node)), network, node, settings, recording,
                            () -> ++messages));
        }
        questions = new OutcomeQuestions(kernel, recording, replicas);
        replicas.subList(0, scenario.hosts().size()).forEach(replica -> replica.host().boot());
        injector = new Injector(kernel, network, new Faults(), scenario.plan());
        placements.begin();
        injector.start(() -> {
            healed = true;
            orders.calm().run();
        });
        for (NodeHost home : replicas) {
            for (int i = 0; i < mix.clientsPerReplica(); i++) {
                ScenarioClient client = new ScenarioClient(this, kernel, kernel.random("client " + sessions), sessions,
                        home);
                sessions++;
                client.beginLater(knobs.nextLong(20 * Nanos.MILLI));
            }
        }
    }

    /**
     * Whether one of two keepers may be unable to make what the other has made: then all have spoken and neither has a majority, so the origin gives way,
     * as in a cluster of two.
     */
    private static boolean mayTie(Scenario scenario) {
        return scenario.plan().has(FaultKind.ENGINE_REFUSES)
                && scenario.placement().keepers().values().stream().anyMatch(keepers -> keepers.size() == 2);
    }

    private static Set<Integer> founders(Scenario scenario) {
        return IntStream.range(0, scenario.hosts().size()).boxed().collect(Collectors.toUnmodifiableSet());
    }

    private static NodeHost.Tuning tuning(RandomStream knobs) {
        return new NodeHost.Tuning(1 + knobs.nextInt(5), 1 + knobs.nextInt(knobs.nextInt(3) == 0 ? 4 : 64),
                knobs.nextInt(4) == 0 ? 1 + knobs.nextInt(4) : 1000, knobs.nextInt(4) == 0 ? 1 << 14 : 1 << 20,
                knobs.between(10, 200) * Nanos.MILLI,
                knobs.nextInt(3) == 0 ? knobs.between(1, 20) : knobs.between(20, 400),
                knobs.nextInt(3) == 0 ? knobs.between(1, 5) * Nanos.MILLI : 0);
    }

    /** From a random time up to another, both between two. */
    private static Distribution uniform(RandomStream knobs, long least, long most) {
        long from = least + (long) (knobs.nextDouble() * knobs.nextDouble() * (double) (most - least));
        return new Distribution.Uniform(least, Math.max(least, from));
    }

    private final class Faults implements EngineFaults {
        private NodeHost replica(String host) {
            return replicas.get(scenario.plan().allHosts().indexOf(host));
        }

        private Database database(String host) {
            return replica(host).database();
        }

        @Override
        public Change change(Action.OfMembers wanted) {
            return membership.begin(wanted);
        }

        @Override
        public Change changeParameters(RandomStream random) {
            return parameters.begin(random);
        }

        @Override
        public void abortRate(String host, double rate) {
            database(host).setAbortRate(rate);
        }

        @Override
        public void commitDelay(String host, Distribution delay) {
            database(host).setCommitDelay(delay);
        }

        /** With fewer than three nodes a majority could be one that cannot. */
        @Override
        public void refuses(String host, double rate) {
            int nodes = replicas.size();
            int node = replica(host).node();
            database(host).setRefusedHere(transaction -> nodes > 2
                    && Math.floorMod(drawn(transaction), nodes) == node && isDrawn(transaction, rate));
        }

        @Override
        public void full(String host, boolean full) {
            database(host).setFull(full);
        }

        @Override
        public void ownRows(String host, double rate) {
            int node = replica(host).node();
            for (NodeHost other : replicas) {
                other.database().setRefusedFrom(node, transaction -> transaction.node() == node
                        && isDrawn(transaction, rate) && isExecutedElsewhere(transaction, other));
            }
        }

        /** Whether another engine than this node's has executed it: that of an owner of its log, or else that of its own node. */
        private boolean isExecutedElsewhere(TransactionId transaction, NodeHost at) {
            return replicas.stream().anyMatch(each -> each.database().hasUndertaken(transaction))
                    ? !at.database().hasUndertaken(transaction)
                    : at.node() != transaction.node();
        }

        private static long drawn(TransactionId transaction) {
            return BitMixer.mix64(transaction.serial() * 256 + transaction.node());
        }

        private static boolean isDrawn(TransactionId transaction, double rate) {
            return (drawn(transaction) >>> 20) % DRAWS < rate * DRAWS;
        }

        @Override
        public void hangs(String host, boolean hangs) {
            database(host).setHangs(hangs);
        }

        @Override
        public void down(String host, boolean down) {
            database(host).setRefuses(down);
            if (down) {
                database(host).restart();
            }
        }

        @Override
        public void backToCheckpoint(String host) {
            database(host).restartFromCopy();
        }

        @Override
        public void lostSight(String host, boolean lost) {
            replica(host).setLostSight(lost);
        }

        @Override
        public long happened(String host, FaultKind kind) {
            if (kind == FaultKind.LOST_SIGHT) {
                return replica(host).sightsLost();
            }
            if (kind == FaultKind.OWN_ROWS) {
                // It is told of the host that has executed them, and does something to all others.
                return replicas.stream().mapToLong(replica -> replica.database().happened(kind)).sum();
            }
            return database(host).happened(kind);
        }
    }

    /** What faults have done to the data of a host, and of all if it is beyond what anything is promised for. */
    private FaultKind.Promise worst(String host) {
        return scenario.plan().allHosts().stream().anyMatch(any -> injector.worst(any) == FaultKind.Promise.NONE)
                ? FaultKind.Promise.NONE
                : injector.worst(host);
    }

    private boolean isHurt(String host) {
        return injector.concerns(host, SHOWS_NANOS);
    }

    private boolean isInMajority(int node) {
        ReplicaNode replica = replicas.get(node).replica();
        return replica != null && replica.view().majority();
    }

    /**
     * Whether the order was in the memory of nodes only, and faults have left no majority that remembers; then all nodes that are up must
     * say so.
     */
    private boolean isOrderLost() {
        return !scenario.order().remembersStops() && memories.lost(scenario.hosts().size())
                && replicas.stream().map(NodeHost::replica).filter(Objects::nonNull)
                        .allMatch(node -> node.view().lost() != null);
    }

    /** Members that do not refuse to go on. */
    private List<NodeHost> serving() {
        Set<Integer> members = membership.all();
        return replicas.stream().filter(replica -> members.contains(replica.node()) && !replica.refuses()).toList();
    }

    /**
     * Whether those that serve must come to rest: the order is not lost, no data is gone unseen, they are a majority of those who vote, and if clients are
     * answered when another cluster has stored what was committed, nobody of such a cluster is missing.
     */
    private boolean mustRest() {
        Set<Integer> voters = scenario.order() == Scenario.OrderKind.RAFT
                ? scenario.protocol().voters(membership.voters())
                : membership.voters();
        if (scenario.protocol().has(Trait.ANSWERS_AWAIT_ANOTHER_CLUSTER)
                && serving().size() < membership.all().size()) {
            return false;
        }
        return !isOrderLost() && scenario.hosts().stream().noneMatch(host -> worst(host) == FaultKind.Promise.NONE)
                && serving().stream().filter(replica -> voters.contains(replica.node()) && !replica.awaitsCopy())
                        .count() > voters.size() / 2;
    }

    /** Runs a scenario. */
    public static ScenarioResult run(Scenario scenario) {
        return run(scenario, null);
    }

    /** Runs a scenario, and tells somebody of every event just before it happens. */
    public static ScenarioResult run(Scenario scenario, Kernel.@Nullable Listener listener) {
        Kernel kernel = new Kernel(scenario.seed());
        kernel.listen(listener);
        try (Threads threads = new Threads(kernel)) {
            ScenarioRun run = new ScenarioRun(scenario, threads, kernel);
            String why;
            ScenarioResult.End end;
            try {
                why = run.go();
                end = why.isEmpty()
                        ? ScenarioResult.End.RESTED
                        : run.mustRest() ? ScenarioResult.End.STUCK : ScenarioResult.End.REFUSED;
            } catch (RuntimeException failure) {
                // Of a node, within an event, or of this class: either way somebody has to look at the scenario.
                Throwable cause = failure.getCause() == null ? failure : failure.getCause();
                why = failure.getMessage() + " at "
                        + Arrays.stream(cause.getStackTrace()).limit(TRACE_LINES).toList();
                end = ScenarioResult.End.BROKEN;
            }
            if (end != ScenarioResult.End.RESTED) {
                run.cut();
            }
            run.lookAtPackets();
            List<CheckResult> checks = run.check();
            run.countUnsafeWrites();
            return new ScenarioResult(scenario, kernel.fingerprint(), kernel.hash(), end, why, checks,
                    run.recording.counts(), run.injector.happened(), kernel.executed(), kernel.now());
        }
    }

    // ------------------------------------------------------------------------------------------ phases

    /** Nobody forges packets here. */
    private void lookAtPackets() {
        long untrue = orders.untrue().getAsLong();
        if (untrue > 0) {
            recording.violated("packets", "members have left out " + untrue + " packets that no correct member sends");
        }
    }

    private void countUnsafeWrites() {
        for (NodeHost replica : replicas) {
            Disk.Unsafe unsafe = replica.host().disk().unsafe();
            recording.count(ScenarioResult.LOST_WRITES, unsafe.lost());
            recording.count(ScenarioResult.TORN_WRITES, unsafe.torn());
            recording.count(ScenarioResult.REORDERED_WRITES, unsafe.reordered());
        }
    }

    /** Why it did not come to its end; empty if it did. */
    private String go() {
        long deadline = healedAt() + (scenario.plan().changesMembers() ? CHANGES_NANOS : LIVENESS_NANOS);
        kernel.runUntil(healedAt());
        if (!untilRest(deadline)) {
            return "after the faults not everything has ended: " + (toBegin > 0 ? toBegin + " not begun, " : "")
                    + open.size() + " open; "
                    + (scenario.plan().changesMembers() ? membership + "; " : "") + replicas;
        }
        int able = 0;
        for (NodeHost replica : serving()) {
            able += probe(replica) ? 1 : 0;
        }
        if (able < (hasOnePrimary() ? 1 : serving().size())) {
            return "only " + able + " replicas commit transactions that nobody disturbs; " + replicas;
        }
        parameters.compare(serving());
        placements.compare(serving());
        serving().forEach(this::lastRead);
        // Replicas tell each other something from time to time: checkers want all that was sent to have arrived.
        return untilRest(kernel.now() + LIVENESS_NANOS) ? "" : "the replicas do not come to rest; " + replicas;
    }

    private long healedAt() {
        return scenario.plan().safetyNanos();
    }

    private boolean untilRest(long deadline) {
        while (!isAtRest()) {
            if (kernel.now() > (mustRest() ? deadline : Math.min(deadline, healedAt() + PATIENCE_NANOS))) {
                return false;
            }
            kernel.runUntil(kernel.now() + SLICE_NANOS);
        }
        return true;
    }

    private boolean isAtRest() {
        List<NodeHost> serving = serving();
        if (toBegin > 0 || !open.isEmpty() || !membership.isAtRest() || !parameters.isAtRest()
                || !placements.isAtRest()
                || !serving.stream().allMatch(NodeHost::isQuiet)) {
            return false;
        }
        return isSame(replica -> replica.database().visible()) && isSame(NodeHost::delivered);
    }

    private boolean isSame(ToLongFunction<NodeHost> of) {
        return serving().stream().mapToLong(of).distinct().count() == 1;
    }

    private boolean probe(NodeHost replica) {
        boolean[] committed = new boolean[1];
        for (int attempt = 1; attempt <= PROBES_MAX && !committed[0]; attempt++) {
            // It may have begun anew since.
            if (!replica.isReady() && !(untilRest(kernel.now() + LIVENESS_NANOS) && replica.isReady())) {
                return false;
            }
            Program program = programs.probe(probeList(replica), attempt);
            int session = newSession();
            Submission submission = new Submission(session, program, Submission.Form.WHOLE, true, false, false,
                    isSerializable(session));
            long number = begins(submission.session(), replica, program);
            replica.begin(submission, end -> {
                committed[0] |= end.outcome() == Client.Outcome.COMMITTED;
                ended(number, committed[0] ? ClientOutcome.OK : ClientOutcome.FAILED, end);
            });
            if (replica.refuses() || !untilRest(kernel.now() + LIVENESS_NANOS)) {
                return false;
            }
            if (!committed[0]) {
                // It may be about to find out that it can reach the others again.
                kernel.runUntil(kernel.now() + PROBE_PAUSE_NANOS);
            }
        }
        return committed[0];
    }

    /** A list of its own, of a table that all nodes keep, since every node may be to execute it. */
    private static long probeList(NodeHost replica) {
        long list = PROBE_LISTS + replica.node();
        return replica.database().kept().isPartial(Catalog.table(list)) ? list + OTHER_TABLE : list;
    }

    private void lastRead(NodeHost replica) {
        kernel.runUntil(kernel.now() + Nanos.MILLI);
        List<ListAppendOperation> reads = new ArrayList<>();
        for (long list = 0; list < programs.lists(); list++) {
            if (replica.database().kept().keeps(list)) {
                int[] values = replica.database().read(list);
                reads.add(new ListAppendOperation.Read(list, values == null ? new int[0] : values));
            }
        }
        clients.add(new ListAppendTransaction(LAST_SESSIONS + replica.node(), replica.node(), kernel.now(),
                kernel.now(), ClientOutcome.OK, true, reads));
    }

    /** It has not come to its end: what nodes and clients owe nobody will see, and what is there is judged. */
    private void cut() {
        replicas.forEach(NodeHost::cut);
        open.values().forEach(clients::add);
        open.clear();
    }

    private List<CheckResult> check() {
        History history = recording.history(programs.lists());
        return Checks.run(scenario, recording, history, clients);
    }

    // ------------------------------------------------------------------------------------------ for clients

    /** No transaction is left to be begun. */
    boolean isOver() {
        return toBegin == 0;
    }

    Program nextProgram() {
        toBegin--;
        return programs.next();
    }

    /** A client begins a transaction; answers its number. */
    long begins(int session, NodeHost home, Program program) {
        open.put(++begun, new ListAppendTransaction(session, home.node(), kernel.now(), Long.MAX_VALUE,
                ClientOutcome.UNKNOWN, false, program.appends()));
        return begun;
    }

    Submission.Form form(RandomStream random) {
        return mix.form(random);
    }

    /** How long a client waits until it begins its next transaction. */
    long think(RandomStream random) {
        return healed ? random.nextLong(Nanos.MILLI) : mix.think(random, scenario, replicas.size());
    }

    boolean hasOnePrimary() {
        return scenario.protocol().has(Trait.ONE_PRIMARY);
    }

    /**
     * Whether sessions may die while they wait for their outcome. A guarantee that rests on read locks is lost with them.
     */
    boolean mayLoseSessions() {
        return !(scenario.protocol().claims().restsOnReadLocks()
                && scenario.engine() == EngineKind.LOCKING);
    }

    /** A member that keeps all tables that a program names. */
    NodeHost keeper(Program program, RandomStream random) {
        Set<Integer> keepers = scenario.placement().keepersOf(program.tables(), membership.all());
        return replicas.get(random.pick(List.copyOf(keepers)));
    }

    NodeHost anyReplica(RandomStream random) {
        Set<Integer> members = membership.all();
        return random.pick(replicas.stream().filter(replica -> members.contains(replica.node())).toList());
    }

    boolean isSerializable(int session) {
        return scenario.isSerializable(session);
    }

    int newSession() {
        return sessions++;
    }

    /** The transaction of a number has ended. */
    void ended(long number, ClientOutcome outcome, Client.End end) {
        ListAppendTransaction was = Objects.requireNonNull(open.remove(number), "it has begun and not ended");
        recording.count(switch (end.outcome()) {
            case COMMITTED -> "committed";
            case ABORTED -> "aborted: " + end.why();
            case UNKNOWN -> "unknown";
        });
        clients.add(new ListAppendTransaction(was.session(), was.node(), was.begunNanos(), kernel.now(), outcome, false,
                end.operations()));
    }

    /** Whether what a node is handed may be committed by others when its life is over. */
    boolean requestsOutlive() {
        return scenario.protocol().has(Trait.REQUESTS_OUTLIVE_THEIR_NODE);
    }

    /** Answers what became of transactions whose clients have not been told. */
    OutcomeQuestions questions() {
        return questions;
    }
}
