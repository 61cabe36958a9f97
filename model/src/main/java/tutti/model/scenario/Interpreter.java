package tutti.model.scenario;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Parameter;
import tutti.core.protocol.ProtocolDescriptor;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.Trait;
import tutti.group.GroupParameters;
import tutti.model.Calibration;
import tutti.model.RequestKind;
import tutti.model.ModelConfig;
import tutti.model.ModelFault;
import tutti.model.RecordedWorkload;
import tutti.model.Topology;
import tutti.model.WorkloadModel;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Nanos;
import tutti.sim.net.LinkConfig;

/** What the keys of a scenario mean. */
final class Interpreter {
    private static final long MANY = 1_000_000_000_000L;
    private static final double NANOS = 1e9;
    /** As many as a key has bits for. */
    private static final int WAREHOUSES_MAX = 65_535;
    private static final String ALL = "all";
    private static final String THINKING = "thinking";

    private final ScenarioReader reader;
    private final Section root;

    Interpreter(ScenarioReader reader, Section root) {
        this.reader = reader;
        this.root = root;
    }

    ScenarioFile interpret() {
        root.text("extends", "");
        String title = root.text("title", "");
        Topology topology = topology(root.section("topology"));
        Section database = root.section("database");
        Calibration calibration = calibration(database.text("calibration", "paper"),
                database.section("with"));
        ModelConfig.LockPolicy policy = database.word("locks", ModelConfig.LockPolicy.TIMESTAMP);
        ModelConfig.Executing execution = database.word("execution", ModelConfig.Executing.AT_ONCE);
        if (execution == ModelConfig.Executing.STATEMENTS && policy == ModelConfig.LockPolicy.LOCKING) {
            database.wrong("execution",
                    "is 'statements', but with 'locks: locking' rows that are read are locked, all at once",
                    "write locks: timestamp, or execution: at-once");
        }
        ModelConfig.Copies copies = new ModelConfig.Copies(
                (int) database.count("replicas", 1, 1, ModelConfig.Copies.REPLICAS_MAX),
                (int) database.count("admits", 0, 0, 10_000));
        if (copies.replicas() > 1 && policy == ModelConfig.LockPolicy.LOCKING) {
            database.wrong("replicas", "is " + copies.replicas()
                    + ", but with 'locks: locking' who reads locks rows, and secondaries have no locks",
                    "write locks: timestamp, or replicas: 1");
        }
        database.end();
        WorkloadModel workload = workload(root.section("workload"));
        ChosenProtocol protocol = protocol(root.section("protocol"), topology);
        ModelConfig.OrderChoice order = order(root.section("order"));
        Section run = root.section("run");
        ModelConfig.Length length = new ModelConfig.Length(
                run.nanos("warm-up", 30 * Nanos.SECOND, 0) / NANOS, run.count("transactions", 10_000, 1, MANY),
                run.nanos("at-most", 36_000 * Nanos.SECOND, 1) / NANOS,
                run.nanos("sample", Nanos.SECOND, Nanos.MILLI) / NANOS);
        long seed = run.count("seed", 1, Long.MIN_VALUE, Long.MAX_VALUE);
        int repetitions = (int) run.count("repetitions", 1, 1, 1000);
        ModelConfig.Charge charge = run.word("charge", ModelConfig.Charge.MODEL);
        run.end();
        List<ModelFault> faults = new ArrayList<>();
        root.list("faults").forEach(fault -> faults.add(fault(fault, topology)));
        Map<String, List<String>> sweep = root.section("sweep").lists();
        root.end();
        if (!reader.problems().isEmpty()) {
            return new ScenarioFile(title,
                    new ModelConfig(topology, calibration, workload, policy, execution, copies, protocol, order,
                            length, List.of(), charge),
                    seed, repetitions, sweep);
        }
        if (order.primaryClusterOnly() && !protocol.has(Trait.ORDER_OF_ONE_CLUSTER)) {
            root.section("order").wrong("members", "is 'first-cluster', but protocol " + protocol.name()
                    + " needs an order that all sites are delivered", "write all");
        }
        whoIsLeft(topology, protocol, order, faults);
        whatIsShared(topology, calibration, order, faults);
        return new ScenarioFile(title,
                new ModelConfig(topology, calibration, workload, policy, execution, copies, protocol, order, length,
                        faults,
                        charge),
                seed, repetitions, sweep);
    }

    /** Refuses crashes after which nothing would ever be committed, so that a run would only wait for its end. */
    private void whoIsLeft(Topology topology, ChosenProtocol protocol, ModelConfig.OrderChoice order,
            List<ModelFault> faults) {
        Set<Integer> crashed = new TreeSet<>();
        faults.stream().filter(ModelFault.Crash.class::isInstance).forEach(crash -> crashed.addAll(crash.sites()));
        Set<Integer> members = order.members(topology);
        long lost = members.stream().filter(crashed::contains).count();
        if (lost > 0 && order.waitsForAll()) {
            root.wrong("faults", "crash a site for which the order waits, so nothing would be ordered any more",
                    "write order.waits-for: majority");
        } else if (2 * lost >= members.size() && lost > 0) {
            root.wrong("faults", "crash " + lost + " of the " + members.size()
                    + " sites that take part in the order, so nothing would be ordered any more",
                    "more than half of them must be left: crash at most " + (members.size() - 1) / 2);
        } else if (protocol.has(Trait.ANSWERS_AWAIT_ANOTHER_CLUSTER)) {
            long elsewhere = topology.all().stream().filter(site -> topology.clusterOf(site) != 0).count();
            long lostElsewhere = crashed.stream().filter(site -> topology.clusterOf(site) != 0).count();
            if (lostElsewhere > 0 && lostElsewhere == elsewhere) {
                root.wrong("faults",
                        "crash all sites but those of the first cluster, and " + protocol.name()
                                + " answers nobody before another cluster has stored what was committed",
                        "leave one site in another cluster");
            }
        }
    }

    /** Refuses what is not modelled of machines that sites share, and of an order whose members compute. */
    private void whatIsShared(Topology topology, Calibration calibration, ModelConfig.OrderChoice order,
            List<ModelFault> faults) {
        boolean shared = topology.machines() < topology.sites();
        if (shared && order.kind() == ModelConfig.OrderChoice.Kind.GROUP) {
            root.section("topology").wrong("machines", "is " + topology.machines() + " for " + topology.sites()
                    + " sites, but members of real group communication have processors of their own",
                    "write order.kind: sequencer, or as many machines as sites");
        } else if (shared && faults.stream().anyMatch(ModelFault.Crash.class::isInstance)) {
            root.wrong("faults", "crash a site whose machine is another's, too", "write as many machines as sites");
        } else if (calibration.code().orderNanos() > 0 && !faults.isEmpty()
                && order.kind() == ModelConfig.OrderChoice.Kind.SEQUENCER) {
            root.wrong("faults",
                    "are given, but an order whose members compute (code.order of the calibration) has none",
                    "write database.with: {code: {order: 0s}}, or order.kind: group");
        }
    }

    private Topology topology(Section section) {
        List<Topology.Cluster> clusters = new ArrayList<>();
        for (Section one : section.list("clusters")) {
            clusters.add(new Topology.Cluster(one.text("name", "site"), (int) one.count("sites", 3, 1, 60)));
            one.end();
        }
        if (clusters.isEmpty()) {
            clusters.add(new Topology.Cluster("site", 3));
        } else if (clusters.stream().map(Topology.Cluster::name).distinct().count() < clusters.size()) {
            section.wrong("clusters", "has two clusters of the same name", "");
            clusters.subList(1, clusters.size()).clear();
        }
        int cores = (int) section.count("cores", 2, 1, 1024);
        double speed = section.number("speed", 1, 0.001, 1000);
        long quantum = section.nanos("quantum", 10 * Nanos.MILLI, 1);
        LinkConfig local = link(section.section("local"), new LinkConfig(
                new Distribution.Constant(120 * Nanos.MICRO), 1_000_000_000, 1500, 66, 4_000_000));
        LinkConfig wide = link(section.section("wide"), new LinkConfig(
                new Distribution.Constant(100 * Nanos.MILLI), 100_000_000, 1500, 66, 4_000_000));
        int sites = clusters.stream().mapToInt(Topology.Cluster::sites).sum();
        int machines = (int) section.count("machines", sites, 1, sites);
        section.end();
        return new Topology(clusters, cores, speed, quantum, local, wide, machines);
    }

    private static LinkConfig link(Section section, LinkConfig byDefault) {
        LinkConfig link = new LinkConfig(section.distribution("latency", byDefault.latency()),
                section.count("bits-per-second", byDefault.bitsPerSecond(), 1000, MANY),
                (int) section.count("mtu", byDefault.mtuBytes(), 200, 1 << 20),
                (int) section.count("header", byDefault.headerBytes(), 0, 199),
                section.count("queue", byDefault.queueBytes(), 1500, MANY));
        section.end();
        return link;
    }

    /** @param with keys of the calibration that have other values here */
    private Calibration calibration(String name, Section with) {
        List<Section.Layer> layers = new ArrayList<>(with.layers());
        reader.open(name, ScenarioReader.SHIPPED_CALIBRATIONS, "calibration", Path.of(""), layers, 0);
        Section section = new Section("", layers, reader.problems());
        section.text("extends", "");
        section.text("title", "");
        Map<RequestKind, Distribution> cpu = new EnumMap<>(RequestKind.class);
        Section times = section.section("cpu");
        for (RequestKind kind : RequestKind.DRAWN) {
            cpu.put(kind, times.distribution(kind.label(), new Distribution.Constant(Nanos.MILLI)));
        }
        times.end();
        Section storage = section.section("storage");
        Section code = section.section("code");
        Section rows = section.section("rows");
        Section client = section.section("client");
        Calibration.Client beside = new Calibration.Client(kinds(client.section("cpu")),
                kinds(client.section("waiting")));
        client.end();
        Section losing = section.section("losing");
        Section approach = losing.section("approach");
        Section failing = losing.section("failing");
        Calibration.Losing lost = new Calibration.Losing(kinds(approach.section("cpu")),
                kinds(approach.section("client")), kinds(failing.section("cpu")), kinds(failing.section("client")),
                kinds(failing.section("waiting")));
        approach.end();
        failing.end();
        losing.end();
        Distribution access = storage.times("access", new Distribution.Constant(100 * Nanos.MICRO));
        Map<RequestKind, Distribution> accessOf = new EnumMap<>(RequestKind.class);
        Section known = storage.section("access-of");
        RequestKind.DRAWN.stream().filter(kind -> !kind.readOnly() && known.has(kind.label()))
                .forEach(kind -> accessOf.put(kind, known.distribution(kind.label(), access)));
        known.end();
        Calibration calibration = new Calibration(cpu,
                new Calibration.Log(storage.number("log-writes-per-row", 1, 0, 1000), access, accessOf,
                        (int) storage.count("parallelism", 8, 1, 10_000), storage.flag("shared", false)),
                new Calibration.Rows(section.number("apply-share", 0.1, 0, 1), rows.nanos("apply-transaction", 0, 0),
                        rows.nanos("apply", 0, 0), rows.nanos("capture", 0, 0), rows.nanos("maintenance", 0, 0),
                        rows.nanos("execute-everywhere", 0, 0),
                        rows.nanos("execute-everywhere-row", 0, 0)),
                beside, lost,
                new Calibration.Code(code.nanos("message", 30 * Nanos.MICRO, 0),
                        code.number("nanos-per-byte", 5, 0, 1e6),
                        code.nanos("event", 5 * Nanos.MICRO, 0), code.nanos("packet", 5 * Nanos.MICRO, 0),
                        code.nanos("order", 0, 0)));
        storage.end();
        rows.end();
        code.end();
        section.end();
        return calibration;
    }

    /** Distributions of some kinds of transactions. */
    private static Map<RequestKind, Distribution> kinds(Section section) {
        Map<RequestKind, Distribution> times = new EnumMap<>(RequestKind.class);
        for (RequestKind kind : RequestKind.DRAWN) {
            times.put(kind, section.distribution(kind.label(), Distribution.ZERO));
        }
        section.end();
        return times;
    }

    private WorkloadModel workload(Section section) {
        Map<RequestKind, Double> shares = new EnumMap<>(RequestKind.class);
        Map<RequestKind, Distribution> thinking = new EnumMap<>(RequestKind.class);
        Section mix = section.section("mix");
        Section pauses = section.section("thinking");
        double sum = 0;
        for (RequestKind kind : RequestKind.DRAWN) {
            double percent = mix.number(kind.label(), 0, 0, 100);
            sum += percent;
            shares.put(kind, percent / 100);
            thinking.put(kind, pauses.distribution(kind.label(), Distribution.ZERO));
        }
        mix.end();
        pauses.end();
        if (Math.abs(sum - 100) > 1e-6) {
            section.wrong("mix", "adds up to " + sum + " percent", "the shares of all transactions must add up to 100");
            shares.replaceAll((kind, _) -> kind == RequestKind.PAYMENT ? 1.0 : 0.0);
        }
        Section maintenance = section.section("maintenance");
        WorkloadModel.Maintenance upkeep = new WorkloadModel.Maintenance(maintenance.flag("active", false),
                (int) maintenance.count("rows", 0, 0, 100_000), maintenance.flag("structure", false));
        maintenance.end();
        WorkloadModel.Arrival arrival = section.word("arrival", WorkloadModel.Arrival.CLOSED);
        double rate = section.number("rate", 0, 0, 1e9);
        if (arrival != WorkloadModel.Arrival.CLOSED && rate == 0) {
            section.wrong("rate", "must be given: clients come at a rate if arrival is " + section.text("arrival", ""),
                    "transactions (open) or clients (partly-open) a second");
        }
        WorkloadModel workload = new WorkloadModel((int) section.count("clients", 100, 1, 1_000_000),
                (int) section.count("clients-per-warehouse", 10, 1, 1_000_000),
                (int) section.count("warehouses", 0, 0, WAREHOUSES_MAX),
                section.word("attachment", WorkloadModel.Attachment.WAREHOUSE), shares, thinking, arrival, rate,
                section.number("staying", 0.9, 0, 0.999_999), section.flag("rollbacks", false),
                section.flag("resubmit", false), section.flag("delivery-lock", false),
                section.flag("whole-history", false), upkeep,
                section.word("classes", WorkloadModel.Granularity.TABLES),
                section.word("start", THINKING, List.of(THINKING, "at-once")).equals("at-once"), recorded(section));
        section.end();
        return workload;
    }

    /** What the nodes of a real cluster have written down: a file, or a directory of them, from where the command runs. */
    private static @Nullable RecordedWorkload recorded(Section section) {
        String path = section.text("recorded", "");
        long from = section.nanos("from", 0, 0);
        double speedUp = section.number("speed-up", 1, 0.001, 1000);
        double cpuShare = section.number("cpu-share", 1, 0.001, 1);
        if (path.isEmpty()) {
            return null;
        }
        try {
            return Recordings.read(Path.of(path), from, speedUp, cpuShare);
        } catch (IOException | IllegalArgumentException wrong) {
            section.wrong("recorded", "cannot be used: " + wrong.getMessage(),
                    "`./tutti start --record-workload` makes recordings: DATA/node*/workload");
            return null;
        }
    }

    /** A protocol; its clusters, if it knows any, are those of the topology unless the file says something else. */
    private static ChosenProtocol protocol(Section section, Topology topology) {
        ProtocolDescriptor descriptor = Protocols.STANDARD
                .descriptor(section.word("name", Protocols.DEFAULT, Protocols.STANDARD.names()));
        Map<String, String> parameters = new TreeMap<>(section.section("parameters").pairs());
        section.end();
        descriptor.parameters().stream().filter(Parameter.Clusters.class::isInstance).forEach(clusters -> parameters
                .putIfAbsent(clusters.name(), Parameter.Clusters.text(topology.byCluster())));
        try {
            return new ChosenProtocol(descriptor, parameters);
        } catch (IllegalArgumentException wrong) {
            section.wrong("parameters", "are wrong: " + wrong.getMessage(), "");
            return new ChosenProtocol(descriptor, Map.of());
        }
    }

    private static ModelConfig.OrderChoice order(Section section) {
        ModelConfig.OrderChoice.Kind kind = section.word("kind", ModelConfig.OrderChoice.Kind.SEQUENCER);
        boolean primary = section.word("members", ALL, List.of(ALL, "first-cluster")).equals("first-cluster");
        boolean waitsForAll = section.word("waits-for", "majority", List.of("majority", ALL)).equals(ALL);
        if (waitsForAll && kind == ModelConfig.OrderChoice.Kind.GROUP) {
            section.wrong("waits-for", "is 'all', but real group communication delivers what a majority has",
                    "write majority, or kind: sequencer");
        }
        boolean tentative = section.flag("tentative", false);
        GroupParameters.Flow flow = GroupParameters.Flow.defaults();
        GroupParameters.Timing timing = GroupParameters.Timing.defaults();
        ModelConfig.GroupTuning tuning = new ModelConfig.GroupTuning(
                new GroupParameters.Flow((int) section.count("window", flow.windowMessages(), 4, 1 << 16),
                        (int) section.count("buffer", flow.bufferBytes(), 64 << 10, 1 << 30),
                        (int) section.count("batch", flow.batchBytes(), 1, 1 << 20), flow.payloadBytesMax(),
                        section.count("queue", flow.queueBytes(), flow.payloadBytesMax(), MANY),
                        section.count("bytes-per-second", flow.rateBytesPerSecond(), 1000, MANY),
                        section.count("burst", flow.burstBytes(), 1, 1L << 40), flow.fetchBytes(),
                        flow.joinLagPositions()),
                new GroupParameters.Timing(section.nanos("missing-delay", timing.missingDelayNanos(), 1),
                        section.nanos("missing-interval", timing.missingIntervalNanos(), 1),
                        section.nanos("stability-interval", timing.stabilityIntervalNanos(), 1),
                        section.nanos("heartbeat-interval", timing.heartbeatIntervalNanos(), 1),
                        section.nanos("failure-timeout", timing.failureTimeoutNanos(),
                                2 * timing.heartbeatIntervalNanos()),
                        section.nanos("view-timeout", timing.viewTimeoutNanos(), 1)));
        section.end();
        return new ModelConfig.OrderChoice(kind, primary, waitsForAll, tentative, tuning);
    }

    private static ModelFault fault(Section section, Topology topology) {
        String kind = section.word("kind", "random-loss",
                List.of("clock-drift", "scheduling-latency", "random-loss", "bursty-loss", "crash"));
        long at = section.nanos("at", 0, 0);
        List<Integer> sites = sites(section, topology);
        ModelFault fault = switch (kind) {
            case "clock-drift" -> new ModelFault.ClockDrift(at, sites, section.number("rate", 0.1, -0.49, 9.99));
            case "scheduling-latency" -> new ModelFault.SchedulingLatency(at, sites,
                    section.distribution("latency", new Distribution.Exponential(Nanos.MILLI)));
            case "bursty-loss" -> new ModelFault.BurstyLoss(at, sites,
                    section.distribution("lost", new Distribution.Uniform(0, 10 * Nanos.MILLI)),
                    section.distribution("received", new Distribution.Uniform(0, 190 * Nanos.MILLI)));
            case "crash" -> new ModelFault.Crash(at, sites);
            default ->
                new ModelFault.RandomLoss(at, sites, section.number("rate", 0.05, 0, ModelFault.RandomLoss.RATE_MAX));
        };
        section.end();
        return fault;
    }

    /** {@code all}, or numbers from 0 separated by commas. */
    private static List<Integer> sites(Section section, Topology topology) {
        String text = section.text("sites", ALL);
        if (text.equals(ALL)) {
            return List.copyOf(topology.all());
        }
        Set<Integer> sites = new TreeSet<>();
        for (String one : text.split(",", -1)) {
            if (!one.strip().matches("\\d{1,3}") || Integer.parseInt(one.strip()) >= topology.sites()) {
                section.wrong("sites", "is '" + text + "'",
                        "valid: all, or numbers from 0 to " + (topology.sites() - 1) + " separated by commas");
                return List.copyOf(topology.all());
            }
            sites.add(Integer.parseInt(one.strip()));
        }
        return List.copyOf(sites);
    }
}
