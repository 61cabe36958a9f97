package tutti.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tutti.cluster.NodeJvm;
import tutti.command.Screen;
import tutti.command.Trees;
import tutti.core.protocol.Protocols;
import tutti.report.MeasurementOptions;
import tutti.workload.tpcc.TpccForm;

/** Measures what Tutti costs, beside PostgreSQL alone and with its own standbys. */
@Command(name = "overhead", description = "TPC-C in one run against (a) PostgreSQL, (b) one Tutti node, (c) three nodes with"
        + " terminals at one, (d) three with terminals at all, (e) PostgreSQL with two synchronous standbys, (f) PostgreSQL"
        + " behind PgBouncer, if that is installed and asked for; in turns, repeated. Prints throughput, ratios with their spread, latencies, aborts and CPU time per transaction.")
final class OverheadCommand implements Callable<Integer> {
    @Option(names = "--contenders", paramLabel = "X", split = ",", defaultValue = "a,b,c,d,e", description = "Which to measure (default: ${DEFAULT-VALUE}).")
    private List<Contender.Kind> contenders = List.of();

    @Option(names = "--rounds", paramLabel = "N", defaultValue = "3", description = "How often each is measured (default: ${DEFAULT-VALUE}).")
    private int rounds;

    @Option(names = "--seconds", paramLabel = "N", defaultValue = "30", description = "Length of each measurement (default: ${DEFAULT-VALUE}).")
    private int seconds;

    @Option(names = "--warmup", paramLabel = "N", defaultValue = "15", description = "Seconds of work before each, not counted (default: ${DEFAULT-VALUE}).")
    private int warmup;

    @Mixin
    private TpccOptions tpcc = new TpccOptions();

    @Option(names = "--form", paramLabel = "WORD", defaultValue = "INTERACTIVE", description = "How transactions are handed in: ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
    private TpccForm form;

    @Option(names = "--reads", paramLabel = "PERCENT", defaultValue = "8", description = "Share of transactions that only read (default: ${DEFAULT-VALUE}, TPC-C's mix); with another one, the others keep their shares among themselves.")
    private int readPercent;

    @Option(names = "--protocol", paramLabel = "NAME", defaultValue = Protocols.DEFAULT, description = "Protocol of Tutti's nodes (default: ${DEFAULT-VALUE}).")
    private String protocol = Protocols.DEFAULT;

    @Option(names = "--machine-cpus", paramLabel = "N", defaultValue = "0", description = "Processors that each machine of a contender has, such as 0.45: the server, each standby, and each node with its server are given this quota by a control group (Linux, as root). Without it, all share this machine's.")
    private double machineCpus;

    @Option(names = "--directory", paramLabel = "DIR", description = "Where to put all data while it runs: on the disk to be measured (default: the temporary directory).")
    private Path directory = Path.of(System.getProperty("java.io.tmpdir"));

    @Mixin
    private MeasurementOptions measuring = new MeasurementOptions();

    @Override
    public Integer call() throws Exception {
        OverheadPlan plan = new OverheadPlan(contenders, tpcc.warehouses(), tpcc.reduced(), tpcc.terminals(), rounds,
                seconds,
                warmup, tpcc.seed(), form, readPercent, protocol, machineCpus);
        Files.createDirectories(directory);
        Screen screen = measuring.begin(directory);
        screen.line(String.format(Locale.ROOT,
                "%s, %d terminals without think time, %s transactions, %d rounds of %d s after %d s of"
                        + " warming up, seed %d",
                plan.scale(), plan.terminals(), plan.form().label(), plan.rounds(), plan.seconds(),
                plan.warmupSeconds(), plan.seed()));
        if (!plan.standardMix()) {
            screen.line(plan.readPercent() + " % of the transactions only read, which is not TPC-C's mix");
        }
        screen.line(plan.ownMachines()
                ? "each machine of a contender has " + plan.machineCpus() + " processors; the terminals are not bounded"
                : "contenders and terminals share this machine's processors");
        Path data = Files.createTempDirectory(directory, "tutti-overhead-");
        AtomicBoolean keep = new AtomicBoolean();
        try (Overhead overhead = new Overhead(plan, screen, measuring.conditions(), data, NodeJvm.command(),
                measuring.json())) {
            Thread stop = Thread.ofPlatform().name("stop").unstarted(() -> stop(overhead, data, keep.get()));
            Runtime.getRuntime().addShutdownHook(stop);
            OverheadResult result = overhead.run();
            screen.line("");
            OverheadTable.lines(result, screen).forEach(screen::line);
            Path json = measuring.json();
            if (json != null) {
                screen.line("numbers: " + json.toAbsolutePath().normalize());
            }
        } catch (Exception e) {
            keep.set(true);
            screen.line("data and logs are in " + data);
            throw e;
        }
        return 0;
    }

    /** However the command ends, nothing is left running; gigabytes are left behind only for who must look into them. */
    private static void stop(Overhead overhead, Path data, boolean keep) {
        try {
            overhead.close();
            if (!keep) {
                Trees.delete(data);
            }
        } catch (IOException e) {
            LoggerFactory.getLogger(OverheadCommand.class).warn("Not everything in {} was removed: {}", data,
                    e.getMessage());
        }
    }
}
