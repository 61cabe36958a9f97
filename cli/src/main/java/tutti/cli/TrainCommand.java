package tutti.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tools.jackson.databind.json.JsonMapper;
import tutti.command.Trees;
import tutti.cli.demo.Demo;
import tutti.cli.demo.DemoPlan;
import tutti.cluster.ClusterSpec;
import tutti.cluster.NodeJvm;
import tutti.command.Failure;
import tutti.command.Program;
import tutti.command.Screen;
import tutti.core.protocol.Protocols;
import tutti.workload.tpcc.TpccForm;
import tutti.workload.tpcc.TpccOptions.Placement;

/** Makes what nodes of this build need so that the optimising compiler does not cost more in their first minute than it gives back. */
@Command(name = "train", description = "Let two nodes work under TPC-C for some seconds, and keep what they learnt: the"
        + " classes that a node loads, linked, and which of its methods are worth optimising (an AOT cache of the Java virtual"
        + " machine), beside the build. Nodes that are started from then on use it, and have the optimising compiler"
        + " (docs/benchmarks.md). ./tutti does this once for each build, before it starts the first node.")
final class TrainCommand implements Callable<Integer> {
    private static final int NODES = 2;
    private static final int TERMINALS = 8;
    private static final long SEED = 1;
    private static final long ASSEMBLY_SECONDS_MAX = 120;

    @Option(names = "--seconds", paramLabel = "N", defaultValue = "15", description = "How long they work (default: ${DEFAULT-VALUE}).")
    private int seconds;

    @Option(names = "--json", description = "Print JSON.")
    private boolean json;

    @Spec
    private CommandSpec spec;

    /**
     * What was made.
     *
     * @param cache the file
     * @param bytes its size
     */
    record Trained(String cache, long bytes) {}

    @Override
    public Integer call() throws Exception {
        Path cache = NodeJvm.cache().orElseThrow(() -> new Failure("this program runs from directories of classes",
                "what is learnt can be kept for jars only: build them, as ./tutti does"));
        Path directory = Files.createTempDirectory("tutti-train-");
        try {
            String notes = directory.resolve("node-{node}.notes").toString();
            work(directory, notes);
            Path made = assemble(directory, notes.replace("{node}", "0"));
            Files.move(made, cache, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            Trees.delete(directory);
        }
        Trained trained = new Trained(cache.toString(), Files.size(cache));
        PrintWriter out = spec.commandLine().getOut();
        out.println(json
                ? JsonMapper.shared().writeValueAsString(trained)
                : trained.cache() + " holds what was learnt, " + (trained.bytes() >> 20) + " MiB");
        return Program.OK;
    }

    private void work(Path directory, String notes) throws Exception {
        DemoPlan plan = new DemoPlan(NODES, 1, true, TERMINALS, Placement.ROUND_ROBIN, seconds, SEED, false,
                TpccForm.INTERACTIVE);
        Screen screen = json
                ? new Screen(new PrintWriter(Writer.nullWriter()), false)
                : Screen.standard(spec.commandLine().getOut());
        boolean passed = new Demo(plan, screen)
                .run(new ClusterSpec(directory.resolve("cluster"), NODES, 0, Protocols.DEFAULT,
                        "tutti", "tutti", Map.of(), NodeJvm.recording(notes)), null, null);
        if (!passed) {
            throw new Failure("the training run has not passed its checks", "./tutti demo says more");
        }
    }

    /** The virtual machine writes it beside the notes first, so that a half-made one is never used. */
    private static Path assemble(Path directory, String notes) throws IOException, InterruptedException {
        Path made = directory.resolve("made.aot");
        Path log = directory.resolve("assembly.log");
        Process assembly = new ProcessBuilder(NodeJvm.assembling(notes, made)).redirectErrorStream(true)
                .redirectOutput(log.toFile()).start();
        boolean ended = assembly.waitFor(ASSEMBLY_SECONDS_MAX, TimeUnit.SECONDS);
        if (!ended) {
            assembly.destroyForcibly().waitFor();
        }
        if (!ended || assembly.exitValue() != 0 || !Files.isRegularFile(made)) {
            throw new Failure(
                    "the virtual machine has made no cache" + (ended ? "" : " within " + ASSEMBLY_SECONDS_MAX + " s"),
                    "it said: " + Files.readString(log).strip());
        }
        return made;
    }
}
