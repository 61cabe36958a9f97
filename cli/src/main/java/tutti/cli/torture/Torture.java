package tutti.cli.torture;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import tutti.check.CheckResult;
import tutti.cluster.Cluster;
import tutti.cluster.ClusterFile;
import tutti.cluster.ClusterSpec;
import tutti.command.Failure;
import tutti.command.Screen;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.Trait;
import tutti.sim.world.BuildFingerprint;
import tutti.workload.tpcc.TpccDatabase;
import tutti.workload.tpcc.TpccLoader;
import tutti.workload.tpcc.TpccPopulation;
import tutti.workload.tpcc.TpccScale;

/**
 * The run from beginning to end: networks and disks, a cluster, clients; faults by the plan, each followed by the time that the cluster
 * takes to be as it was; after every stage of some minutes the clients stop, and everything is checked. One thread, except {@link #stop}.
 */
public final class Torture {
    private static final long STAGE_SECONDS_MAX = 300;
    private static final int DISK_MEBIBYTES = 2048;
    private static final int PLAN_LINES_MAX = 30;
    private static final int BAR_WIDTH = 40;
    private static final int ENDS_MAX = 3;

    /**
     * What is wanted.
     *
     * @param seconds how long clients work, 10 to 86,400
     * @param kinds of faults
     * @param nodes 3 to {@link ClusterSpec#NODES_MAX}
     * @param seed of plan and inputs
     * @param protocol of the nodes
     * @param settings of the nodes
     * @param sessions clients of each of three kinds
     * @param isolated whether this process is in namespaces of its own
     */
    public record Wanted(long seconds, Set<FaultKind> kinds, int nodes, long seed, String protocol,
            Map<String, String> settings, int sessions, boolean isolated) {}

    private final Wanted wanted;
    private final @Nullable TortureReport before;
    private final Screen screen;
    private final Sum sum;
    private final String build = new BuildFingerprint().text();
    private final CountDownLatch stop = new CountDownLatch(1);
    private final CountDownLatch over = new CountDownLatch(1);
    private final ConcurrentLinkedQueue<String> deaths = new ConcurrentLinkedQueue<>();
    private final List<String> findings = new ArrayList<>();
    private final List<TortureReport.Done> done = new ArrayList<>();
    private final List<CheckResult> checks = new ArrayList<>();
    private final List<String> leftOut = new ArrayList<>();
    private long begunNanos;
    private long workedNanos;
    private long committed;

    /**
     * A run.
     *
     * @param before what earlier runs have shown, if it goes on with them
     * @param screen where it reports to
     * @param sum is told, after each stage and at the end, what all of them have shown so far
     */
    public Torture(Wanted wanted, @Nullable TortureReport before, Screen screen, Sum sum) {
        this.wanted = wanted;
        this.before = before;
        this.screen = screen;
        this.sum = sum;
    }

    /** Who keeps what was shown. */
    public interface Sum {
        /** What all runs have shown so far. */
        void is(TortureReport all);
    }

    /** Ends it early, and waits until what it has started is gone. From any thread. */
    public void stop() {
        stop.countDown();
        try {
            boolean ended = over.await(60, TimeUnit.SECONDS);
            if (!ended) {
                screen.line("the run does not end");
            }
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Runs it.
     *
     * @param directory of the cluster; holds none yet
     * @param nodeCommand what starts a node
     */
    public TortureReport run(Path directory, List<String> nodeCommand)
            throws SQLException, IOException, InterruptedException {
        Path top = Files.createDirectories(directory).toRealPath();
        try {
            Links links = wanted.isolated() ? Links.create(top, wanted.nodes()) : null;
            try (Disks disks = wanted.isolated() ? disks(top) : null) {
                return run(top, nodeCommand, links, disks);
            }
        } finally {
            over.countDown();
        }
    }

    private @Nullable Disks disks(Path top) {
        try {
            return Disks.mount(top, IntStream.range(0, wanted.nodes())
                    .mapToObj(id -> top.resolve("node-" + id).resolve("data")).toList(), DISK_MEBIBYTES);
        } catch (Failure impossible) {
            leftOut.add("file systems of nodes' own: " + impossible.getMessage());
            return null;
        }
    }

    private TortureReport run(Path directory, List<String> nodeCommand, @Nullable Links links, @Nullable Disks disks)
            throws SQLException, IOException, InterruptedException {
        boolean inProcess = ClusterSpec.inProcess(wanted.settings());
        boolean members = Protocols.STANDARD.choose(wanted.protocol()).has(Trait.MEMBERS_MAY_CHANGE);
        Clocks clocks = wanted.kinds().contains(FaultKind.CLOCK)
                ? Clocks.create(directory, wanted.nodes()).orElse(null)
                : null;
        List<FaultKind> kinds = new ArrayList<>();
        for (FaultKind kind : wanted.kinds()) {
            if (Faults.possible(kind, inProcess, members, links, disks, clocks)) {
                kinds.add(kind);
            } else {
                leftOut.add(kind.label() + ", which takes " + switch (kind.need()) {
                    case NETWORK -> "networks of nodes' own (network namespaces)";
                    case FILE_SYSTEM -> "small file systems (mounts)";
                    case DISK -> "small file systems on a disk (loop devices)";
                    case SERVER -> "a database server beside the node";
                    case CLOCK -> "clocks of nodes' own (a C compiler, cc)";
                    case MEMBERS -> "a protocol under which members change";
                    case NOTHING -> "nothing";
                });
            }
        }
        if (kinds.isEmpty()) {
            throw new Failure("none of the faults is possible here", String.join("; ", leftOut));
        }
        Map<String, String> settings = settings(links, disks, clocks);
        if (before != null) {
            before.requireSame(build, settings, wanted.seed());
        }
        TorturePlan plan = TorturePlan.of(wanted.seed(), kinds, wanted.nodes(), wanted.seconds());
        show(plan);
        List<String> command = new ArrayList<>(links == null ? List.of() : links.prefix());
        command.addAll(clocks == null ? List.of() : clocks.prefix());
        command.addAll(nodeCommand);
        ClusterSpec spec = new ClusterSpec(directory, wanted.nodes(), 0, wanted.protocol(), "tutti", "torture",
                wanted.settings(), command, links == null ? List.of() : links.hosts());
        try (Cluster cluster = Cluster.start(spec, this::died)) {
            for (ClusterFile.Node node : cluster.nodes()) {
                cluster.awaitReady(node.id(), Settling.PATIENCE);
            }
            TpccPopulation population = new TpccPopulation(TpccScale.reduced(1), wanted.seed());
            TpccLoader loader = spec.wholeOnly() ? TpccLoader.ofStatements(population) : new TpccLoader(population);
            TpccLoader.Report loaded = loader.load(TpccDatabase.of("node-0", cluster.nodes().getFirst().jdbcUrl()),
                    (_, _) -> {});
            Settling.await(cluster);
            screen.line(cluster.nodes().size() + " nodes are ready in " + cluster.directory() + ", with "
                    + loaded.rows() + " rows of TPC-C");
            Membership joining = new Membership(cluster, links == null ? "127.0.0.1" : links.hub(), nodeCommand);
            Faults faults = new Faults(cluster, links, disks, clocks, joining, stop);
            try {
                stages(cluster, faults, plan, population, settings);
            } catch (InterruptedException e) {
                findings.add("it was stopped before its end");
            } finally {
                faults.undo();
            }
        }
        return told(settings, plan);
    }

    private TortureReport told(Map<String, String> settings, TorturePlan plan) {
        TortureReport own = new TortureReport(build, List.of(wanted.seed()), settings, leftOut,
                plan.steps().stream().map(TorturePlan.Step::text).toList(), workedNanos / 1e9, committed, done, checks,
                findings);
        TortureReport all = before == null ? own : before.plus(own);
        sum.is(all);
        return all;
    }

    private Map<String, String> settings(@Nullable Links links, @Nullable Disks disks, @Nullable Clocks clocks) {
        Map<String, String> settings = new LinkedHashMap<>();
        settings.put("nodes", String.valueOf(wanted.nodes()));
        settings.put("protocol", wanted.protocol());
        settings.put("engine", wanted.settings().getOrDefault(ClusterSpec.ENGINE, "postgres"));
        settings.put("networks", links == null ? "the loopback device" : "a namespace for each node");
        settings.put("disks", disks == null ? "the machine's" : disks.onDisk() ? "ext4 in files" : "in memory");
        settings.put("clocks", clocks == null ? "the machine's" : "each node's own");
        return settings;
    }

    private void show(TorturePlan plan) {
        screen.line(screen.bold("plan of seed " + plan.seed() + ": " + plan.steps().size() + " faults"));
        plan.steps().stream().limit(PLAN_LINES_MAX).forEach(step -> screen.line("  " + step.text()));
        if (plan.steps().size() > PLAN_LINES_MAX) {
            screen.line("  … and " + (plan.steps().size() - PLAN_LINES_MAX) + " more");
        }
        leftOut.forEach(line -> screen.line(screen.notice("left out: " + line)));
    }

    private void died(ClusterFile.Node node, int exitStatus) {
        deaths.add(node.name() + " ended on its own with exit status " + exitStatus);
    }

    private void stages(Cluster cluster, Faults faults, TorturePlan plan, TpccPopulation population,
            Map<String, String> settings) throws SQLException, InterruptedException {
        begunNanos = System.nanoTime();
        int next = 0;
        int stages = (int) Math.max(1, (wanted.seconds() + STAGE_SECONDS_MAX - 1) / STAGE_SECONDS_MAX);
        for (int stage = 0; stage < stages && findings.isEmpty(); stage++) {
            Load load = Load.start(cluster, population, wanted.protocol(), wanted.sessions(), wanted.seed() + stage);
            long began = System.nanoTime();
            long until = began + TimeUnit.SECONDS.toNanos(wanted.seconds()) / stages;
            Load.Stopped stopped = null;
            try {
                while (System.nanoTime() < until && next < plan.steps().size() && findings.isEmpty()) {
                    step(cluster, faults, load, plan, next++);
                }
            } finally {
                workedNanos += System.nanoTime() - began;
                committed += load.committed();
                stopped = load.stop();
            }
            try {
                Settling.await(cluster);
                List<CheckResult> found = stopped.check();
                checks.addAll(found);
                long failed = found.stream().filter(check -> !check.passed()).count();
                line(failed == 0 ? "checked: all is well" : screen.bad("checked: " + failed + " checks failed"));
                if (failed > 0) {
                    return;
                }
                told(settings, plan);
            } catch (Failure notSettled) {
                findings.add(String.valueOf(notSettled.getMessage()));
            }
        }
    }

    private void step(Cluster cluster, Faults faults, Load load, TorturePlan plan, int number)
            throws InterruptedException {
        TorturePlan.Step step = plan.steps().get(number);
        load.goHome();
        if (stop.await(step.restMillis(), TimeUnit.MILLISECONDS)) {
            throw new InterruptedException("stopped");
        }
        int victim = faults.victim(step);
        if (!deaths.isEmpty()) {
            findings.add(String.join("; ", deaths) + ", while nothing was done to it");
            return;
        }
        progress(plan, number, step.text() + " (node-" + victim + ")");
        long committedBefore = load.committed();
        long _ = load.longestWaitMillis();
        long begun = System.nanoTime();
        try {
            String note = faults.inflict(step, victim);
            long undone = System.nanoTime();
            recover(cluster, step, faults.concerned(step, victim));
            long recovered = System.nanoTime();
            TortureReport.Done result = new TortureReport.Done((begun - begunNanos) / 1e9, step.kind(), victim,
                    (undone - begun) / 1_000_000, load.longestWaitMillis(), (recovered - undone) / 1_000_000, note);
            done.add(result);
            line(String.format(Locale.ROOT,
                    "%-15s node-%d  held %5.1f s  longest wait %6d ms  recovered in %6d ms  %5.0f commits/s%s",
                    step.kind().label(), victim, result.heldMillis() / 1e3, result.longestWaitMillis(),
                    result.recoveryMillis(), (load.committed() - committedBefore) * 1e9 / (recovered - begun),
                    note.isEmpty() ? "" : "  " + note));
        } catch (Failure | IOException wrong) {
            findings.add("step " + (number + 1) + ", " + step.text() + " (node-" + victim + "): " + wrong.getMessage());
        }
        screen.live(List.of());
    }

    /** Waits until all nodes are ready and have what any of them knows now; starts those that have ended because of the fault. */
    private void recover(Cluster cluster, TorturePlan.Step step, List<Integer> concerned) {
        long target = Settling.known(cluster);
        for (int attempt = 1;; attempt++) {
            for (int id = 0; id < cluster.nodes().size(); id++) {
                cluster.startNode(id);
            }
            try {
                for (int id = 0; id < cluster.nodes().size(); id++) {
                    Settling.await(cluster, id, target);
                }
                break;
            } catch (Failure notYet) {
                // What it has met may come to its end after the fault has.
                if (deaths.isEmpty() || !step.kind().mayEndTheNode() || attempt == ENDS_MAX) {
                    throw notYet;
                }
            }
        }
        for (String death = deaths.poll(); death != null; death = deaths.poll()) {
            String who = death;
            if (!step.kind().mayEndTheNode()
                    || concerned.stream().noneMatch(id -> who.startsWith("node-" + id + " "))) {
                throw new Failure(death, "");
            }
        }
    }

    private void line(String text) {
        screen.line(String.format(Locale.ROOT, "%6.1f s  %s", (System.nanoTime() - begunNanos) / 1e9, text));
    }

    private void progress(TorturePlan plan, int number, String now) {
        double share = Math.min(1, (System.nanoTime() - begunNanos) / 1e9 / Math.max(1, wanted.seconds()));
        int full = (int) (share * BAR_WIDTH);
        screen.live(List.of("[" + "#".repeat(full) + " ".repeat(BAR_WIDTH - full) + "] "
                + String.format(Locale.ROOT, "%3.0f %%, fault %d of about %d: %s", 100 * share, number + 1,
                        plan.steps().size(), now)));
    }
}
