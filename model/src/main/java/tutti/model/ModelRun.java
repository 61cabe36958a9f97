package tutti.model;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.LongConsumer;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Claims;
import tutti.core.protocol.Deployment;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.protocol.Trait;
import tutti.sim.disk.DiskConfig;
import tutti.sim.host.CpuPool;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.net.Network;
import tutti.sim.net.PacketCapture;
import tutti.sim.thread.Threads;

/**
 * One run of a model: made from configuration and seed, run to its end, and summed up. Two runs of the same seed,
 * configuration and build have the same fingerprint, unless real code is charged what is measured.
 */
public final class ModelRun {
    private static final Label WARM = Label.of("run", "warm-up is over");
    private static final Label SAMPLE = Label.of("run", "sample");
    private static final double NANOS = 1e9;

    private final ModelConfig config;
    private final Kernel kernel;
    private final Recorder recorder;
    private final ModelWorld world;
    private final Channel channel;
    private final List<ModelReplica> replicas = new ArrayList<>();
    /** Of each machine. */
    private final List<CpuPool> processors;
    private final Load clients;
    private final FaultInjection faults;
    private final List<Costs> costs;
    private long busyBefore;
    private long realBefore;
    private long storageBefore;
    private long requestsBefore;
    private long sampledBusy;
    private long sampledStorage;
    private Traffic sampledTraffic = new Traffic(0, 0, 0, 0);
    private @Nullable LongConsumer progress;

    /**
     * A run that has not begun.
     *
     * @param trace where a timeline goes
     * @param replayed for {@link ModelConfig.Charge#REPLAY}: what a measured run has taken down, by site
     */
    public ModelRun(ModelConfig config, long seed, TraceFile trace, List<Costs> replayed) {
        this.config = config;
        this.kernel = new Kernel(seed);
        Topology topology = config.topology();
        int sites = topology.sites();
        Claims claims = config.protocol().claims();
        this.recorder = new Recorder(kernel, sites, trace);
        TpccModel tpcc = new TpccModel(config.workload(), config.calibration(), sites, seed,
                kernel.random("transactions"), claims.has(Trait.NEEDS_CLASSES),
                claims.has(Trait.UNDERTAKES) && !claims.has(Trait.EVERYWHERE_IF_POSSIBLE), claims.has(Trait.WHOLE_ONLY),
                claims.has(Trait.NEEDS_READS),
                config.policy() == ModelConfig.LockPolicy.LOCKING,
                config.execution() == ModelConfig.Executing.STATEMENTS);
        RecordedWorkload recorded = config.workload().recorded();
        RecordedClients recordedClients = recorded == null
                ? null
                : new RecordedClients(kernel, recorded, replicas, claims.has(Trait.WHOLE_ONLY),
                        config.policy() == ModelConfig.LockPolicy.LOCKING, this::ended);
        this.world = new ModelWorld(kernel, config.calibration(), recordedClients == null ? tpcc : recordedClients,
                recorder, sites, topology.speed());
        this.costs = config.charge() == ModelConfig.Charge.MEASURED
                ? Stream.generate(Costs::new).limit(2L * sites).toList()
                : List.copyOf(replayed);
        List<Host> hosts = new ArrayList<>();
        Threads threads = new Threads(kernel);
        HostConfig machine = new HostConfig(topology.cores(), topology.speed(), topology.quantumNanos(), 0, 0,
                DiskConfig.DEFAULT);
        for (String name : topology.names()) {
            hosts.add(new Host(kernel, threads, name, machine));
            hosts.getLast().boot();
        }
        this.processors = hosts.subList(0, topology.machines()).stream().map(Host::cpu).toList();
        FaultSchedule schedule = new FaultSchedule(kernel, sites, config.faults());
        this.channel = channel(topology, hosts, schedule);
        for (int node = 0; node < sites; node++) {
            LogStorage storage = new LogStorage(kernel, topology.nameOf(node), config.calibration().log());
            CpuPool cpu = processorsOf(node);
            Site site = new Site(node, hosts.get(node), cpu, new Engines(cpu, config.copies(), this::applying), storage,
                    new LockTable(config.policy() == ModelConfig.LockPolicy.TIMESTAMP), world);
            replicas.add(new ModelReplica(site, channel, charge(node), claims, protocol(node)));
        }
        this.faults = new FaultInjection(kernel, hosts, replicas, channel);
        this.clients = recordedClients != null
                ? recordedClients
                : new Clients(kernel, config.workload(), tpcc, replicas,
                        new ModelledNetwork(kernel, topology, schedule, config.order().group().timing()), this::ended);
    }

    private CpuPool processorsOf(int site) {
        return processors.get(site % processors.size());
    }

    private long applying(Work work) {
        return world.scaled(config.calibration().rows().applying(work));
    }

    private Channel channel(Topology topology, List<Host> hosts, FaultSchedule faults) {
        return switch (config.order().kind()) {
            case SEQUENCER -> new SequencerChannel(kernel, topology, config.order(), faults, orderWork());
            case GROUP ->
                new GroupChannel(kernel, topology, hosts, config.order(), config.calibration().code().packetNanos(),
                        config.charge() == ModelConfig.Charge.MODEL ? null : node -> charge(topology.sites() + node));
        };
    }

    /** What members compute for the order; null if that is nothing. */
    private SequencerSteps.@Nullable Work orderWork() {
        long nanos = world.scaled(config.calibration().code().orderNanos() / 2.0);
        return config.calibration().code().orderNanos() == 0
                ? null
                : (site, then) -> processorsOf(site).execute(nanos, true, then);
    }

    /** Of the protocol of a site, or, counted on from the last of them, of its group communication. */
    private CodeCharge charge(int which) {
        return switch (config.charge()) {
            case MODEL -> CodeCharge.byModel(config.calibration().code(), config.topology().speed());
            case MEASURED -> CodeCharge.measured(costs.get(which), 1 / config.topology().speed(),
                    config.protocol().messages());
            case REPLAY -> {
                if (costs.size() != 2 * config.topology().sites()) {
                    throw new IllegalArgumentException("the measured run had " + costs.size() / 2
                            + " sites, this one has " + config.topology().sites());
                }
                yield CodeCharge.replayed(costs.get(which));
            }
        };
    }

    private Function<ReplicaWorld, Protocol> protocol(int node) {
        Topology topology = config.topology();
        Deployment where = new Deployment(node, topology.all(), config.order().members(topology));
        return replica -> config.protocol().create(where, replica);
    }

    /** Reports progress while it runs: how many transactions have been counted. */
    public void onProgress(LongConsumer listener) {
        progress = listener;
    }

    /** Reports every transaction that ends, except those of the warm-up. */
    public void onEnd(TransactionListener listener) {
        recorder.onEnd(listener);
    }

    /**
     * Has whatever sites send to each other taken down.
     *
     * @throws IllegalArgumentException if there are no packets, because the order is modelled
     */
    public void capture(PacketCapture to) {
        Network network = channel.network();
        if (network == null) {
            throw new IllegalArgumentException(
                    "a modelled sequencer sends no packets: a capture needs order.kind group");
        }
        network.capture(to);
    }

    /** What was measured of protocols, by site, and then of group communication, if real code is charged what is measured. */
    public List<Costs> costs() {
        return costs;
    }

    /** The last position that is visible at a site. */
    long visible(int site) {
        return replicas.get(site).visible();
    }

    /** Runs it. Called once. */
    public RunResult run() {
        long before = System.nanoTime();
        ModelConfig.Length length = config.length();
        replicas.forEach(ModelReplica::start);
        clients.start();
        faults.begin(config.faults());
        kernel.schedule((long) (length.warmUpSeconds() * NANOS), WARM, this::warm);
        sampleLater();
        kernel.runUntil((long) (length.secondsMax() * NANOS));
        return result((System.nanoTime() - before) / NANOS);
    }

    private void warm() {
        recorder.begin();
        busyBefore = ofAll(CpuPool::busyNanos);
        realBefore = ofAll(CpuPool::realNanos);
        storageBefore = sum(site -> site.storage().busyNanos());
        requestsBefore = requests();
    }

    private long requests() {
        return sum(site -> site.locks().requests() + site.storage().writes()) + recorder.all();
    }

    private long sum(ToLongFunction<Site> what) {
        return replicas.stream().map(ModelReplica::site).mapToLong(what).sum();
    }

    private long ofAll(ToLongFunction<CpuPool> what) {
        return processors.stream().mapToLong(what).sum();
    }

    private void ended() {
        if (recorder.counted() >= config.length().transactions()) {
            kernel.stop();
        }
    }

    private void sampleLater() {
        double seconds = config.length().sampleSeconds();
        kernel.schedule((long) (seconds * NANOS), SAMPLE, () -> {
            sample(seconds);
            sampleLater();
        });
    }

    private void sample(double seconds) {
        long busy = ofAll(CpuPool::busyNanos);
        long storage = sum(site -> site.storage().busyNanos());
        Traffic traffic = channel.traffic();
        recorder.sample(seconds, share(busy - sampledBusy, seconds, cores()),
                share(storage - sampledStorage, seconds, places()),
                (traffic.localBytes() - sampledTraffic.localBytes()) / seconds,
                (traffic.wideBytes() - sampledTraffic.wideBytes()) / seconds,
                (int) ofAll(CpuPool::queued));
        sampledBusy = busy;
        sampledStorage = storage;
        sampledTraffic = traffic;
        if (progress != null) {
            progress.accept(recorder.counted());
        }
    }

    private int cores() {
        return processors.size() * config.topology().cores();
    }

    private int places() {
        return (int) sum(site -> site.storage().places());
    }

    private static double share(long nanos, double seconds, int of) {
        return seconds == 0 ? 0 : nanos / NANOS / seconds / of;
    }

    private RunResult result(double realSeconds) {
        double seconds = (kernel.now() - recorder.began()) / NANOS;
        Map<String, Map<RequestKind, RunResult.Outcomes>> kinds = new HashMap<>();
        Topology topology = config.topology();
        kinds.put(RunResult.ALL_SITES, outcomes(topology.all()));
        topology.byCluster().forEach((name, sites) -> kinds.put(name, outcomes(sites)));
        return new RunResult(seconds, Map.copyOf(kinds), List.copyOf(recorder.samples()),
                share(ofAll(CpuPool::busyNanos) - busyBefore, seconds, cores()),
                share(ofAll(CpuPool::realNanos) - realBefore, seconds, cores()),
                share(sum(site -> site.storage().busyNanos()) - storageBefore, seconds, places()),
                seconds == 0 ? 0 : (requests() - requestsBefore) / seconds, channel.traffic(),
                recorder.certification(), world.difference(), kernel.fingerprint(),
                new RunResult.Speed(kernel.executed(), kernel.now() / NANOS, realSeconds));
    }

    private Map<RequestKind, RunResult.Outcomes> outcomes(Set<Integer> sites) {
        return RunResult.outcomes(sites.stream().map(recorder::tallies).toList());
    }
}
