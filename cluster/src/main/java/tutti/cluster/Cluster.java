package tutti.cluster;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import tutti.command.Failure;
import tutti.server.http.NodeStatus;
import tutti.runtime.real.PrivateFiles;

/**
 * A cluster on this machine, each node a process of its own: started, watched, killed and started again, stopped. One
 * process at a time supervises a directory; its lock ends with the process. Safe for several threads.
 */
public final class Cluster implements AutoCloseable {
    private static final long POLL_MILLIS = 50;
    private static final long STOP_MILLIS_MAX = 30_000;
    private static final int LOG_LINES = 12;
    /** From where ports are chosen for what comes after the start. */
    private static final int EXTRA_PORTS = 9500;

    private final ClusterSpec spec;
    private final Listener listener;
    private final FileChannel lockChannel;
    private final Ports ports;
    private final StatusClient statusClient = new StatusClient();
    private final List<ClusterFile.Node> nodes;
    private final Map<Integer, NodeProcess> running = new HashMap<>();
    /** Of the cluster, which no other has. */
    private String clusterId = "";
    private boolean closed;

    /** Hears of nodes that end although nobody asked them to. */
    public interface Listener {
        /**
         * A node's process has ended on its own. From any thread.
         *
         * @param exitStatus as the operating system reports it; 128 and a signal's number if a signal ended it
         */
        void died(ClusterFile.Node node, int exitStatus);
    }

    private Cluster(ClusterSpec spec, Listener listener, FileChannel lockChannel, Ports ports) {
        this.spec = spec;
        this.listener = listener;
        this.lockChannel = lockChannel;
        this.ports = ports;
        nodes = new ArrayList<>(spec.plan(ports));
    }

    /**
     * Starts all nodes and returns at once; {@link #awaitReady} waits for them.
     *
     * @throws Failure if the directory is in use, a port is taken, or a process cannot be started
     */
    public static Cluster start(ClusterSpec spec, Listener listener) {
        FileChannel lock = lock(spec.directory());
        Ports ports = new Ports();
        Cluster cluster = null;
        try {
            cluster = new Cluster(spec, listener, lock, ports);
            cluster.clusterId = KeyFiles.provide(spec.directory().resolve("keys"), cluster.nodes());
            cluster.writeConfigurations();
            for (ClusterFile.Node node : cluster.nodes()) {
                cluster.startNode(node.id());
            }
            return cluster;
        } catch (RuntimeException e) {
            if (cluster != null) {
                cluster.close();
            } else {
                ports.close();
                release(lock);
            }
            throw e;
        }
    }

    private static FileChannel lock(Path directory) {
        Path file = directory.resolve("cluster.lock");
        try {
            PrivateFiles.createDirectories(directory);
            FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            FileLock lock = tryLock(channel);
            if (lock != null) {
                return channel;
            }
            channel.close();
        } catch (IOException e) {
            throw new Failure("cannot use " + directory + ": " + Failure.said(e), "choose another --data directory", e);
        }
        String who = ClusterFile.read(directory).map(other -> " (process " + other.supervisorPid() + ")").orElse("");
        throw new Failure("another tutti command" + who + " runs the cluster in " + directory,
                "stop it, or choose another --data directory");
    }

    private static @Nullable FileLock tryLock(FileChannel channel) throws IOException {
        try {
            return channel.tryLock();
        } catch (OverlappingFileLockException _) {
            return null;
        }
    }

    private static void release(FileChannel lock) {
        try {
            lock.close();
        } catch (IOException e) {
            throw new Failure("cannot give up the lock of the cluster: " + e.getMessage(), "", e);
        }
    }

    private void writeConfigurations() {
        try {
            spec.writeAccess();
        } catch (IOException e) {
            throw new Failure("cannot write to " + spec.directory() + ": " + Failure.said(e), "", e);
        }
        List<ClusterFile.Node> all = nodes();
        for (ClusterFile.Node node : all) {
            Path file = Path.of(node.config());
            try {
                PrivateFiles.createDirectories(file.getParent());
                NodeFile.write(file, spec.configuration(node, all));
            } catch (IOException e) {
                throw new Failure("cannot write " + file + ": " + Failure.said(e), "", e);
            }
        }
    }

    /** The nodes as they are now, in order of their ids. */
    public synchronized List<ClusterFile.Node> nodes() {
        return List.copyOf(nodes);
    }

    /** The directory that holds everything of this cluster. */
    public Path directory() {
        return spec.directory();
    }

    /** Of all nodes, for the driver of Tutti. */
    public String jdbcUrl() {
        return spec.clusterUrl(nodes());
    }

    /** JDBC URL of the database server beneath a node, past the node; for comparing, not for writing. */
    public String jdbcUrlBeneath(int id) {
        return spec.jdbcUrlBeneath(nodes().get(id));
    }

    /**
     * A node that is to join, with what it needs; not started, and no member yet.
     *
     * @param id that no node has or had
     * @param host where it listens
     * @param command what starts it, without the arguments of {@code tutti node}
     */
    public synchronized ExtraNode extra(int id, String host, List<String> command) {
        int[] free = IntStream.range(0, 4).map(_ -> ports.firstFree(EXTRA_PORTS)).toArray();
        return ExtraNode.plan(spec, nodes(), spec.node(id, host, free), command);
    }

    /**
     * Gives a node that does not run another port for its order; the others are to be told ({@link MemberChanges#move}).
     *
     * @return where the others reach it from now on
     */
    public String move(int id) {
        ClusterFile.Node moved;
        synchronized (this) {
            moved = nodes.get(id).withOrderPort(ports.firstFree(EXTRA_PORTS));
            nodes.set(id, moved);
        }
        writeConfigurations();
        record(id, 0);
        return moved.host() + ":" + moved.orderPort();
    }

    /** Starts a node that does not run. */
    public synchronized void startNode(int id) {
        if (closed || running.containsKey(id)) {
            return;
        }
        NodeProcess process = NodeProcess.start(spec.nodeCommand(), nodes.get(id));
        running.put(id, process);
        record(id, process.pid());
        Thread.ofVirtual().name("watch-" + nodes.get(id).name()).start(() -> {
            process.awaitExit(Long.MAX_VALUE);
            ended(id, process);
        });
    }

    private void ended(int id, NodeProcess process) {
        ClusterFile.Node node;
        synchronized (this) {
            if (!running.remove(id, process)) {
                return;
            }
            node = nodes.get(id);
            record(id, 0);
        }
        // What it leaves behind, its database above all, would be in the way of the next start.
        process.kill();
        listener.died(node, process.exitStatus());
    }

    /** Kills a node and its database without warning, and waits until they are gone. It can be started again. */
    public void kill(int id) {
        NodeProcess process;
        synchronized (this) {
            process = running.remove(id);
            record(id, 0);
        }
        if (process != null) {
            process.kill();
        }
    }

    /**
     * Asks a node to stop (SIGTERM), waits until it has, and kills it if it does not in time. It can be started again.
     *
     * @return whether it stopped by itself
     */
    public boolean stop(int id, Duration patience) {
        NodeProcess process;
        synchronized (this) {
            process = running.remove(id);
            record(id, 0);
        }
        if (process == null) {
            return true;
        }
        process.terminate();
        boolean stopped = process.awaitExit(patience.toMillis());
        process.kill();
        return stopped;
    }

    private synchronized void record(int id, long pid) {
        nodes.set(id, nodes.get(id).withProcess(pid));
        new ClusterFile("tutti", clusterId, ProcessHandle.current().pid(), spec.secret(), spec.clusterUrl(nodes), nodes)
                .write(spec.directory());
    }

    /** Whether the process of a node is there. */
    public synchronized boolean isRunning(int id) {
        return running.containsKey(id);
    }

    /** The status of a node, if it answers. */
    public Optional<NodeStatus> status(int id) {
        return statusClient.ask(nodes().get(id).httpUrl()) instanceof StatusClient.Answer.Status answer
                ? Optional.of(answer.status())
                : Optional.empty();
    }

    /**
     * Waits until a node is ready.
     *
     * @throws Failure if it ends, or is not ready in time; the message quotes its log
     */
    public void awaitReady(int id, Duration patience) {
        await(id, patience, "ready", status -> status.state() == NodeStatus.State.READY);
    }

    /**
     * Waits until a node's status is as wanted.
     *
     * @param wanted in words, for the error
     * @throws Failure if it ends, or is not so in time; the message quotes its log
     */
    public NodeStatus await(int id, Duration patience, String wanted, Predicate<NodeStatus> condition) {
        long deadline = System.nanoTime() + patience.toNanos();
        Optional<NodeStatus> last = Optional.empty();
        while (System.nanoTime() < deadline) {
            NodeProcess process;
            synchronized (this) {
                process = running.get(id);
            }
            if (process == null) {
                throw failure(id, "has ended before it was " + wanted);
            }
            Optional<NodeStatus> now = status(id);
            if (now.isPresent() && condition.test(now.get())) {
                return now.get();
            }
            last = now.isPresent() ? now : last;
            process.awaitExit(POLL_MILLIS);
        }
        String state = last.map(status -> status.state() + (status.reason() == null ? "" : ", " + status.reason()))
                .orElse("no answer");
        throw failure(id, "is not " + wanted + " after " + patience.toSeconds() + " s (" + state + ")");
    }

    private Failure failure(int id, String what) {
        ClusterFile.Node node = nodes().get(id);
        return new Failure(node.name() + " " + what, "its log " + node.log() + " ends with:" + System.lineSeparator()
                + NodeProcess.logEnd(node, LOG_LINES));
    }

    /** Stops all nodes, first kindly, then not, and gives the directory up. Idempotent. */
    @Override
    public void close() {
        Map<Integer, NodeProcess> toStop;
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
            toStop = new HashMap<>(running);
            running.clear();
        }
        toStop.values().forEach(NodeProcess::terminate);
        long deadline = System.nanoTime() + Duration.ofMillis(STOP_MILLIS_MAX).toNanos();
        toStop.forEach((id, process) -> {
            if (!process.awaitExit(Math.max(1, (deadline - System.nanoTime()) / 1_000_000))) {
                process.kill();
            }
            record(id, 0);
        });
        statusClient.close();
        ports.close();
        release(lockChannel);
    }
}
