package tutti.cluster;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.command.Failure;
import tutti.runtime.real.PrivateFiles;

/**
 * A node that joins a cluster on this machine after its start: with keys, configuration and directory of its own beside those of the others. It is
 * to be added to the members by whoever makes it. For one thread.
 */
public final class ExtraNode implements AutoCloseable {
    private final ClusterFile.Node node;
    private final List<String> command;
    private @Nullable NodeProcess process;

    private ExtraNode(ClusterFile.Node node, List<String> command) {
        this.node = node;
        this.command = command;
    }

    /** Writes what it needs, beside what the others have. */
    static ExtraNode plan(ClusterSpec spec, List<ClusterFile.Node> others, ClusterFile.Node node,
            List<String> command) {
        Path home = Path.of(node.config()).getParent();
        List<ClusterFile.Node> all = new ArrayList<>(others);
        all.add(node);
        try {
            PrivateFiles.createDirectories(home);
            KeyFiles.issue(spec.directory().resolve("keys"), node.id(), home.resolve("keys"));
            PrivateFiles.write(Path.of(node.config()), spec.configuration(node, all));
        } catch (IOException e) {
            throw new Failure("cannot write to " + home + ": " + Failure.said(e), "", e);
        }
        return new ExtraNode(node, List.copyOf(command));
    }

    /** Its number. */
    public int id() {
        return node.id();
    }

    /** Where it is, once it has been started. */
    public ClusterFile.Node node() {
        return node;
    }

    /** Where the others reach its order. */
    public String order() {
        return node.host() + ":" + node.orderPort();
    }

    /** Starts it. */
    public void start() {
        process = NodeProcess.start(command, node);
    }

    /**
     * Waits until it has ended by itself, as one does that is removed.
     *
     * @throws Failure if it has not in time; the message quotes its log
     */
    public void awaitEnd(Duration patience) {
        NodeProcess present = process;
        if (present != null && !present.awaitExit(patience.toMillis())) {
            throw new Failure(node.name() + " was removed, and has not ended after " + patience.toSeconds() + " s",
                    "its log " + node.log() + " ends with:" + System.lineSeparator() + NodeProcess.logEnd(node, 12));
        }
    }

    /** The end of its log, for an error. */
    public String logEnd() {
        return NodeProcess.logEnd(node, 12);
    }

    /** Kills it, and its database, if it still runs. */
    @Override
    public void close() {
        NodeProcess present = process;
        if (present != null) {
            present.kill();
        }
    }
}
