package tutti.cli;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tutti.cli.demo.Demo;
import tutti.cli.demo.DemoPlan;
import tutti.cluster.ClusterFile;
import tutti.cluster.ClusterSpec;
import tutti.cluster.NodeJvm;
import tutti.command.Failure;
import tutti.command.Program;
import tutti.command.Screen;
import tutti.command.Trees;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.Trait;
import tutti.server.config.NodeConfig;
import tutti.workload.tpcc.TpccForm;
import tutti.workload.tpcc.TpccOptions.Placement;

/** Shows on one machine, in a few minutes, that a cluster keeps its promises. */
@Command(name = "demo", description = "Start a cluster, load TPC-C, let terminals work at all nodes, kill a node in the"
        + " middle and bring it back, then compare every table of every node and check that nothing acknowledged is"
        + " missing. Exit status 0 only if all of that holds.")
final class DemoCommand implements Callable<Integer> {
    @Option(names = "--nodes", paramLabel = "N", defaultValue = "3", description = "How many nodes, 1 to 15 (default: ${DEFAULT-VALUE}).")
    private int nodes;

    @Option(names = "--warehouses", paramLabel = "N", defaultValue = "2", description = "TPC-C's only measure of size (default: ${DEFAULT-VALUE}).")
    private int warehouses;

    @Option(names = "--reduced", description = "Load a hundredth of the rows, for a quick look; figures are then not TPC-C's.")
    private boolean reduced;

    @Option(names = "--terminals", paramLabel = "N", defaultValue = "6", description = "Clients at work at a time, over all nodes, without think time (default: ${DEFAULT-VALUE}).")
    private int terminals;

    @Option(names = "--placement", defaultValue = "ROUND_ROBIN", description = "Which terminals work at which node: ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE})."
            + " With affinity, terminals of a warehouse share a node.")
    private Placement placement;

    @Option(names = "--seconds", paramLabel = "N", defaultValue = "30", description = "How long terminals work (default: ${DEFAULT-VALUE}).")
    private int seconds;

    @Option(names = "--seed", paramLabel = "N", defaultValue = "1", description = "Of inputs, and of which node is killed (default: ${DEFAULT-VALUE}).")
    private long seed;

    @Option(names = "--no-kill", description = "Kill no node.")
    private boolean noKill;

    @Option(names = "--report", paramLabel = "FILE", defaultValue = "reports/demo.html", description = "Where to write the HTML report (default: ${DEFAULT-VALUE}).")
    private Path report;

    @Option(names = "--json", paramLabel = "FILE", description = "Where to write all numbers as JSON.")
    private @Nullable Path json;

    @Option(names = "--data", paramLabel = "DIR", description = "Directory of the cluster, kept afterwards. Without it, a temporary one, which is kept only"
            + " if something is wrong.")
    private @Nullable Path data;

    @Option(names = "--protocol", paramLabel = "NAME", defaultValue = Protocols.DEFAULT, description = "How the copies are kept identical (default: ${DEFAULT-VALUE}).")
    private String protocol;

    @Option(names = "--form", paramLabel = "WORD", description = "How transactions are handed in: ${COMPLETION-CANDIDATES}. Stored ones are functions, each called in one"
            + " round trip. Default: interactive, and stored where the protocol needs whole requests.")
    private @Nullable TpccForm form;

    @Option(names = "--engine", paramLabel = "NAME", defaultValue = NodeConfig.DEFAULT_ENGINE, description = "What holds the nodes' copies: postgres, a PostgreSQL server for each; or h2, hsqldb, databases in the nodes' own processes (default: ${DEFAULT-VALUE}).")
    private String engine;

    @Mixin
    private OrderOptions order;

    @Option(names = "--secondaries", paramLabel = "N", defaultValue = "0", description = "With h2 or hsqldb: how many copies in memory take a node's read-only transactions (default: ${DEFAULT-VALUE}).")
    private int secondaries;

    @Option(names = "--record-workload", description = "Have every node write down what its clients do, for"
            + " `tutti sim run` (docs/evaluation.md); with --data.")
    private boolean recordWorkload;

    @Option(names = "--set", paramLabel = "NAME=VALUE", description = "A parameter of the protocol (docs/configuration.md lists them); may be repeated.")
    private Map<String, String> parameters = new LinkedHashMap<>();

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        boolean wholeOnly = wholeOnly();
        TpccForm chosen = form != null ? form : wholeOnly ? TpccForm.STORED : TpccForm.INTERACTIVE;
        if (wholeOnly && chosen == TpccForm.INTERACTIVE) {
            throw Failure.usage("under protocol " + protocol + " transactions must be handed in whole",
                    "take --form stored");
        }
        if (chosen == TpccForm.STORED && NodeConfig.inProcess(engine)) {
            throw Failure.usage("TPC-C's stored transactions are PL/pgSQL functions, which " + engine + " has not",
                    "take --engine postgres" + (wholeOnly ? ", or another protocol" : ", or --form interactive"));
        }
        DemoPlan plan = new DemoPlan(nodes, warehouses, reduced, terminals, placement, seconds, seed, !noKill, chosen);
        Screen screen = Screen.standard(spec.commandLine().getOut());
        if (data != null && ClusterFile.read(data).isPresent()) {
            throw new Failure(data + " holds a cluster already, and the demo loads a new one",
                    "choose another --data directory, or leave it out");
        }
        if (recordWorkload && data == null) {
            throw Failure.usage("--record-workload would be deleted with everything else", "give --data DIR");
        }
        Path directory = data != null ? data : Files.createTempDirectory("tutti-demo-");
        Map<String, String> settings = new HashMap<>(NodeEngine.settings(engine, secondaries));
        settings.putAll(ClusterSpec.protocolParameters(protocol, parameters));
        settings.putAll(order.settings());
        if (recordWorkload) {
            settings.put("workload-recording", "{enabled: true}");
        }
        boolean passed = false;
        try {
            passed = new Demo(plan, screen)
                    .run(new ClusterSpec(directory, nodes, 0, protocol, "tutti", "tutti",
                            settings, NodeJvm.command(ClusterSpec.inProcess(settings))), report, json);
        } finally {
            if (data == null && passed) {
                Trees.delete(directory);
            } else {
                screen.line("data and logs are in " + directory.toAbsolutePath().normalize());
            }
        }
        return passed ? Program.OK : Program.FAILURE;
    }

    private boolean wholeOnly() {
        try {
            return Protocols.STANDARD.choose(protocol).has(Trait.WHOLE_ONLY);
        } catch (IllegalArgumentException unknown) {
            throw Failure.usage(String.valueOf(unknown.getMessage()), "choose another --protocol");
        }
    }
}
