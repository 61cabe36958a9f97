package tutti.cli;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tutti.cli.torture.FaultKind;
import tutti.cli.torture.NamespaceLauncher;
import tutti.cli.torture.Torture;
import tutti.cli.torture.TortureReport;
import tutti.cluster.ClusterFile;
import tutti.cluster.ClusterSpec;
import tutti.cluster.NodeJvm;
import tutti.command.Failure;
import tutti.command.Program;
import tutti.command.Screen;
import tutti.command.Trees;
import tutti.core.protocol.Protocols;
import tutti.report.DocsSection;
import tutti.server.config.NodeConfig;

/** Faults of every kind on real processes, for as long as one likes. */
@Command(name = "torture", description = "Start a cluster of its own, let clients work at it by every public way, and do to it what networks,"
        + " disks and machines do; then check that nothing acknowledged is lost, that all copies are the same and that what clients"
        + " saw has the isolation that is promised. Exit status 0 only if all of that holds. Networks and disks are those of"
        + " namespaces made for it; nobody else sees them (docs/torture.md).")
final class TortureCommand implements Callable<Integer> {
    private static final int NODES_MIN = 3;
    private static final DocsSection SECTION = new DocsSection("long run", "./tutti torture --docs docs/torture.md");

    @Option(names = "--minutes", paramLabel = "N", defaultValue = "10", description = "How long clients work, 1 to 1440 (default: ${DEFAULT-VALUE}).")
    private int minutes;

    @Option(names = "--faults", paramLabel = "LIST", defaultValue = "all", description = "Which kinds, separated by commas: all, kill, power, pause, partition, one-way, isolation, engine-kill,"
            + " engine-hang, disk-full, disk-slow, lost-directory, rolling-restart, clock, member-add, member-replace, member-move (default: ${DEFAULT-VALUE}).")
    private String faults;

    @Option(names = "--nodes", paramLabel = "N", defaultValue = "3", description = "How many nodes, 3 to 15 (default: ${DEFAULT-VALUE}).")
    private int nodes;

    @Option(names = "--engine", paramLabel = "NAME", defaultValue = NodeConfig.DEFAULT_ENGINE, description = "What holds the nodes' copies: postgres, h2 or hsqldb (default: ${DEFAULT-VALUE}).")
    private String engine;

    @Option(names = "--protocol", paramLabel = "NAME", defaultValue = Protocols.DEFAULT, description = "How the copies are kept identical (default: ${DEFAULT-VALUE}).")
    private String protocol;

    @Option(names = "--clients", paramLabel = "N", defaultValue = "3", description = "Clients of each of TPC-C, list-append and the bank (default: ${DEFAULT-VALUE}).")
    private int clients;

    @Option(names = "--seed", paramLabel = "N", description = "Of the plan and of inputs. Without it, one from the clock, which is told.")
    private @Nullable Long seed;

    @Option(names = "--data", paramLabel = "DIR", description = "Directory of the cluster, kept afterwards. Without it, a temporary one, which is kept only"
            + " if something is wrong.")
    private @Nullable Path data;

    @Option(names = "--json", paramLabel = "FILE", description = "Where to write plans, faults and checks as JSON, after each stage and at the end.")
    private @Nullable Path json;

    @Option(names = "--resume", paramLabel = "FILE", description = "Numbers of earlier runs of this build with the same options, to which those of this one are added; they are written back to"
            + " it unless --json names another file. Each run begins with a new cluster.")
    private @Nullable Path resume;

    @Option(names = "--docs", paramLabel = "FILE", description = "A page in Markdown whose section on a long run is to be replaced.")
    private @Nullable Path docs;

    @Option(names = "--no-namespaces", description = "Do not make namespaces; faults of networks and disks are left out.")
    private boolean noNamespaces;

    @Option(names = "--inside", hidden = true, description = "This process is in namespaces that were made for it, and stops when its standard input ends.")
    private boolean inside;

    @Option(names = "--terminal", hidden = true, description = "The output is a terminal.")
    private boolean terminal;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        require(minutes >= 1 && minutes <= 1440, "--minutes must be 1 to 1440, was " + minutes);
        require(nodes >= NODES_MIN && nodes <= ClusterSpec.NODES_MAX,
                "--nodes must be " + NODES_MIN + " to " + ClusterSpec.NODES_MAX + ", was " + nodes);
        require(clients >= 1 && clients <= 100, "--clients must be 1 to 100, was " + clients);
        Map<String, String> settings = new HashMap<>(NodeEngine.settings(engine, 0));
        settings.putAll(ClusterSpec.protocolParameters(protocol, Map.of()));
        Torture.Wanted wanted = new Torture.Wanted(minutes * 60L, FaultKind.parse(faults), nodes,
                seed == null ? System.currentTimeMillis() : seed, protocol, settings, clients, inside);
        Screen screen = inside
                ? new Screen(spec.commandLine().getOut(), terminal)
                : Screen.standard(spec.commandLine().getOut());
        Path directory = directory();
        boolean passed = false;
        try {
            Optional<List<String>> namespaces = noNamespaces || inside ? Optional.empty() : NamespaceLauncher.command();
            passed = namespaces.isPresent()
                    ? NamespaceLauncher.run(namespaces.get(), Tutti.class,
                            arguments(wanted, directory, screen)) == Program.OK
                    : torture(wanted, directory, screen);
        } finally {
            if (!inside && data == null && passed) {
                Trees.delete(directory);
            } else if (!inside) {
                screen.line("data and logs are in " + directory.toAbsolutePath().normalize());
            }
        }
        return passed ? Program.OK : Program.FAILURE;
    }

    private static void require(boolean condition, String what) {
        if (!condition) {
            throw Failure.usage(what, "");
        }
    }

    private Path directory() throws IOException {
        if (data == null) {
            return Files.createTempDirectory("tutti-torture-");
        }
        if (ClusterFile.read(data).isPresent()) {
            throw new Failure(data + " holds a cluster already, and torture makes a new one",
                    "choose another --data directory, or leave it out");
        }
        return data;
    }

    private List<String> arguments(Torture.Wanted wanted, Path directory, Screen screen) {
        List<String> arguments = new ArrayList<>(List.of("torture", "--inside", "--minutes", String.valueOf(minutes),
                "--faults", faults, "--nodes", String.valueOf(nodes), "--engine", engine, "--protocol", protocol,
                "--clients", String.valueOf(clients), "--seed", String.valueOf(wanted.seed()), "--data",
                directory.toString()));
        if (json != null) {
            arguments.addAll(List.of("--json", json.toAbsolutePath().toString()));
        }
        if (resume != null) {
            arguments.addAll(List.of("--resume", resume.toAbsolutePath().toString()));
        }
        if (docs != null) {
            arguments.addAll(List.of("--docs", docs.toAbsolutePath().toString()));
        }
        if (screen.isTerminal()) {
            arguments.add("--terminal");
        }
        return arguments;
    }

    private boolean torture(Torture.Wanted wanted, Path directory, Screen screen) throws Exception {
        Path numbers = json == null ? resume : json;
        Torture torture = new Torture(wanted, resume == null ? null : TortureReport.read(resume), screen, all -> {
            if (numbers != null) {
                all.write(numbers);
            }
        });
        Thread stop = Thread.ofPlatform().name("stop").unstarted(torture::stop);
        Runtime.getRuntime().addShutdownHook(stop);
        if (inside) {
            Thread.ofPlatform().daemon().name("supervisor-watch").start(() -> {
                awaitEnd(System.in);
                torture.stop();
            });
        }
        TortureReport report = torture.run(directory, NodeJvm.command(ClusterSpec.inProcess(wanted.settings())));
        removeHook(stop);
        report.summary(screen).forEach(screen::line);
        if (numbers != null) {
            screen.line("numbers: " + numbers.toAbsolutePath().normalize());
        }
        if (docs != null) {
            SECTION.replace(docs, report.docs());
            screen.line("section: " + docs.toAbsolutePath().normalize());
        }
        return report.passed();
    }

    private static void removeHook(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            LoggerFactory.getLogger(TortureCommand.class).debug("The JVM is on its way down", e);
        }
    }

    private static void awaitEnd(InputStream in) {
        try {
            in.transferTo(OutputStream.nullOutputStream());
        } catch (IOException e) {
            LoggerFactory.getLogger(TortureCommand.class).debug("standard input broke", e);
        }
    }
}
