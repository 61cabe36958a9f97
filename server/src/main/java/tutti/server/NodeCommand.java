package tutti.server;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tutti.command.Failure;
import tutti.command.JsonLog;
import tutti.command.Program;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.PrivateFiles;
import tutti.server.config.ConfigManual;
import tutti.server.config.ConfigReader;
import tutti.server.config.NodeConfig;
import tutti.yaml.UnusableFileException;

/** Runs one node in the foreground, until it is interrupted or cannot go on. */
@Command(name = "node", description = "Run one node of a cluster in the foreground, as its configuration file says.", footer = {
        "", "To begin with: tutti node --print-config > node.yaml"})
public final class NodeCommand implements Callable<Integer> {
    /** How Netty looks for buffers that nobody releases: by a stack trace of one buffer of 128 where it is made, and another one where it is released. */
    private static final String LEAK_DETECTION = "io.netty.leakDetection.level";

    @Option(names = "--config", paramLabel = "FILE", description = "The node's configuration file.")
    private @Nullable Path config;

    @Option(names = "--print-config", description = "Print a configuration file with every key, its meaning and its default, and exit.")
    private boolean printConfig;

    @Option(names = "--check", description = "Only say whether the configuration file is possible.")
    private boolean check;

    @Option(names = "--adopt", description = "Make the copy of another node's data directory that is in this node's place its own, and exit.")
    private boolean adopt;

    @Option(names = "--copy-from", paramLabel = "NODE", description = "Replace this node's data with a copy that another node, by name or number, or `any`, gives while it serves, and exit. This node must not run.")
    private @Nullable String copyFrom;

    @Option(names = "--java-options", hidden = true, description = "Print the options that this node's virtual machine should have for its database, and exit.")
    private boolean javaOptions;

    @Option(names = "--stop-on-eof", hidden = true, description = "Stop when standard input ends, so that no node outlives the command that supervises it.")
    private boolean stopOnEof;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        if (printConfig) {
            spec.commandLine().getOut().print(ConfigManual.yaml());
            spec.commandLine().getOut().flush();
            return Program.OK;
        }
        if (config == null) {
            throw Failure.usage("which node? --config FILE is missing",
                    "`tutti node --print-config` prints a file to begin with");
        }
        NodeConfig read = read(config);
        if (javaOptions) {
            spec.commandLine().getOut().println(NodeCollector.option(read.isInProcess()));
            return Program.OK;
        }
        if (check) {
            try {
                NodeKeys.open(read);
                NodeDatabase.tls(read);
            } catch (IOException unusable) {
                throw Failure.of(unusable, "docs/keys.md");
            }
            String open = readable(config, read);
            if (open != null) {
                spec.commandLine().getErr().println("warning: " + open);
                spec.commandLine().getErr().flush();
            }
            spec.commandLine().getOut().println(config + ": valid, node " + read.self().name());
            return Program.OK;
        }
        if (adopt) {
            requireOwner(read);
            try (Closeable _ = NodeServer.lock(read)) {
                NodeKeys keys = NodeKeys.open(read);
                read.orderKind().adopt(NodeLife.orderSettings(read, keys), keys.machine(),
                        PathDirectory.of(read.data().resolve("order")),
                        keys.machine().random("adopted order directory").nextLong());
            } catch (IOException impossible) {
                throw Failure.of(impossible, "docs/operations.md");
            }
            spec.commandLine().getOut().println(read.data() + " is node " + read.self().name() + "'s now. Delete "
                    + "data/order/met-" + read.node() + " at every other node, then start it");
            return Program.OK;
        }
        if (copyFrom != null) {
            return copy(read, copyFrom);
        }
        if (System.getProperty("tutti.log") == null) {
            System.setProperty("tutti.log", "INFO");
        }
        if (System.getProperty(LEAK_DETECTION) == null) {
            System.setProperty(LEAK_DETECTION, "disabled");
        }
        if (read.log().format().equals("json")) {
            JsonLog.use(Map.of("service.name", "tutti", "service.node.name", read.self().name()));
        }
        return run(read);
    }

    /** What is said of a file that tells others a password; null if it does not. */
    private static @Nullable String readable(Path file, NodeConfig read) {
        if (read.hasDefaultPassword()) {
            return null;
        }
        try {
            PrivateFiles.requirePrivate(file);
            return null;
        } catch (IOException open) {
            return open.getMessage();
        }
    }

    private static NodeConfig read(Path file) {
        try {
            return ConfigReader.read(file);
        } catch (UnusableFileException e) {
            throw new Failure("the configuration is refused:" + System.lineSeparator() + e.getMessage(), "", e);
        }
    }

    private static void requireOwner(NodeConfig read) {
        try {
            NodeServer.requireOwner(read);
        } catch (IOException another) {
            throw Failure.of(another, "docs/operations.md");
        }
    }

    private int copy(NodeConfig read, String from) throws InterruptedException {
        String impossible = DatabaseCopies.impossible(read);
        if (impossible != null) {
            throw new Failure("this node gets no copy: " + impossible, "docs/operations.md");
        }
        int donor = from.equals("any")
                ? -1
                : read.members().stream().filter(member -> member.id() != read.node()
                        && (member.name().equals(from) || Integer.toString(member.id()).equals(from)))
                        .mapToInt(NodeConfig.Member::id).findFirst()
                        .orElseThrow(() -> Failure.usage("there is no other node " + from, "give one of the members"));
        // before the lock, whose file would be the wrong user's, too
        requireOwner(read);
        try (Closeable _ = NodeServer.lock(read);
                IncomingCopy copy = new IncomingCopy(read, NodeKeys.open(read))) {
            copy.want();
            copy.get(donor);
        } catch (IOException impossibleNow) {
            throw Failure.of(impossibleNow, "docs/operations.md");
        }
        spec.commandLine().getOut().println(read.data() + " holds a copy now; start node " + read.self().name());
        return Program.OK;
    }

    private int run(NodeConfig read) throws Exception {
        Path file = Objects.requireNonNull(config, "it was read");
        String open = readable(file, read);
        if (open != null) {
            LoggerFactory.getLogger(NodeCommand.class).warn("{}", open);
        }
        NodeRuntime.RunningNode node = new NodeServer().start(read, () -> {
            try {
                return ConfigReader.read(file);
            } catch (UnusableFileException unusable) {
                throw new IOException(unusable.getMessage(), unusable);
            }
        });
        HangUp.then(() -> {
            try {
                node.reload();
            } catch (IOException unusable) {
                LoggerFactory.getLogger(NodeCommand.class).warn("the configuration stays as it was: {}",
                        unusable.getMessage());
            }
        });
        Thread closer = Thread.ofPlatform().name("stop").unstarted(node::close);
        Runtime.getRuntime().addShutdownHook(closer);
        if (stopOnEof) {
            watch(System.in, node::close);
        }
        Throwable cause = node.awaitExit();
        if (cause != null) {
            node.close();
            throw new Failure("node " + read.self().name() + " cannot go on: " + Failure.explain(cause), "", cause);
        }
        return Program.OK;
    }

    /** Does something when the stream has ended. Not on a virtual thread: reading keeps the thread that carries it, and where there is one processor there is only one such. */
    static Thread watch(InputStream in, Runnable ended) {
        return Thread.ofPlatform().daemon().name("supervisor-watch").start(() -> {
            awaitEnd(in);
            ended.run();
        });
    }

    /** Returns when the stream has ended or broken, either of which means that its other side is gone. */
    private static void awaitEnd(InputStream in) {
        try {
            in.transferTo(OutputStream.nullOutputStream());
        } catch (IOException e) {
            LoggerFactory.getLogger(NodeCommand.class).warn("Standard input broke; stopping: {}",
                    e.getMessage());
        }
    }
}
