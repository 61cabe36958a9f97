package tutti.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.command.Failure;

/**
 * One node as a process of its own, leader of a session and a process group which its database joins, so that both can
 * be killed at one stroke, as a power failure would. Its standard input is held open: when this process is gone, however
 * it ended, the node reads the end of it and stops.
 */
final class NodeProcess {
    private static final Logger LOG = LoggerFactory.getLogger(NodeProcess.class);
    private static final long KILL_SECONDS_MAX = 10;

    private final Process process;

    private NodeProcess(Process process) {
        this.process = process;
    }

    /**
     * Starts it.
     *
     * @param command what starts a node, without the arguments of {@code tutti node}; {@code {node}} in it stands for the node's id
     * @param node which; its configuration file is there
     */
    static NodeProcess start(List<String> command, ClusterFile.Node node) {
        List<String> line = new ArrayList<>();
        line.add("setsid");
        command.forEach(word -> line.add(word.replace("{node}", String.valueOf(node.id()))));
        line.addAll(List.of("node", "--config", node.config(), "--stop-on-eof"));
        ProcessBuilder builder = new ProcessBuilder(line);
        builder.redirectErrorStream(true);
        builder.redirectOutput(ProcessBuilder.Redirect.appendTo(Path.of(node.log()).toFile()));
        try {
            return new NodeProcess(builder.start());
        } catch (IOException e) {
            throw new Failure("cannot start " + node.name() + ": " + Failure.said(e),
                    "setsid comes with util-linux; java is the one that runs this command", e);
        }
    }

    /** Its process id, and the id of its process group. */
    long pid() {
        return process.pid();
    }

    /** How it ended, once it has: 128 and a signal's number if a signal ended it. */
    int exitStatus() {
        return process.exitValue();
    }

    /** Waits until the process has ended, at most this long; returns whether it has. */
    boolean awaitExit(long millis) {
        try {
            process.onExit().get(millis, TimeUnit.MILLISECONDS);
            return true;
        } catch (TimeoutException _) {
            return false;
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new Failure("interrupted", "", e);
        }
    }

    /** Asks it to stop (SIGTERM). */
    void terminate() {
        process.destroy();
    }

    /**
     * Kills it and everything that it started, without warning (SIGKILL), and waits until all of it is gone. A database
     * server puts each of its processes into a group of its own, so descendants are killed one by one too.
     */
    void kill() {
        List<ProcessHandle> family = new ArrayList<>(process.descendants().toList());
        ProcessHandle.allProcesses().filter(other -> processGroup(other.pid()) == process.pid()).forEach(family::add);
        try {
            Process kill = new ProcessBuilder("kill", "-KILL", "--", "-" + process.pid())
                    .redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
            kill.waitFor();
        } catch (IOException e) {
            throw new Failure("cannot kill process group " + process.pid() + ": " + Failure.said(e), "", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new Failure("interrupted", "", e);
        }
        process.destroyForcibly();
        family.forEach(ProcessHandle::destroyForcibly);
        family.add(process.toHandle());
        CompletableFuture<?>[] ends = family.stream().map(ProcessHandle::onExit).toArray(CompletableFuture<?>[]::new);
        try {
            CompletableFuture.allOf(ends).get(KILL_SECONDS_MAX, TimeUnit.SECONDS);
        } catch (TimeoutException | ExecutionException e) {
            throw new Failure("processes of group " + process.pid() + " are still there " + KILL_SECONDS_MAX
                    + " s after they were killed", "a process that waits for a disk cannot be killed: look at it", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new Failure("interrupted", "", e);
        }
    }

    /** The process group of a process, as Linux tells; 0 if the process is gone or the system tells otherwise. */
    static long processGroup(long pid) {
        try {
            String stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
            // The command's name, in parentheses, may hold anything; then come state, parent and group.
            return Long.parseLong(stat.substring(stat.lastIndexOf(')') + 2).split(" ", 4)[2]);
        } catch (IOException e) {
            LOG.trace("process {} is gone", pid, e);
            return 0;
        }
    }

    /** The last lines of a node's log, for an error message. */
    static String logEnd(ClusterFile.Node node, int lines) {
        try {
            List<String> all = Files.readAllLines(Path.of(node.log()));
            return String.join(System.lineSeparator(), all.subList(Math.max(0, all.size() - lines), all.size()))
                    .indent(4).stripTrailing();
        } catch (IOException e) {
            return "    (cannot read the log: " + e.getMessage() + ")";
        }
    }
}
