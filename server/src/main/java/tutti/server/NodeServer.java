package tutti.server;

import java.io.Closeable;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.UserPrincipal;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.command.Failure;
import tutti.engine.postgres.server.ServerException;
import tutti.node.ReplicaNode;
import tutti.node.copy.CopySource;
import tutti.node.copy.CopyStream;
import tutti.runtime.DamagedFileException;
import tutti.runtime.real.PathDirectory;
import tutti.server.config.ConfigChanges;
import tutti.server.config.NodeConfig;
import tutti.server.http.AdminServer;
import tutti.server.http.NodeStatus;
import tutti.server.metrics.PrometheusNodeMetrics;
import tutti.server.watch.ClusterWatch;
import tutti.server.watch.History;
import tutti.runtime.real.PrivateFiles;
import tutti.server.http.Operations;
import tutti.wire.FrontEnd;

/**
 * Runs one node for as long as its process lives: its admin HTTP all the time, and one {@link NodeLife} after another. A
 * life ends when the node's database goes away or loses its last commits; the next one recovers from the database's
 * recorded position and the order's log. Anything that a new life could not mend ends the node.
 */
public final class NodeServer implements NodeRuntime {
    private static final Logger LOG = LoggerFactory.getLogger(NodeServer.class);
    /** File of the data directory with what whoever asks for a change must show. */
    private static final String TOKEN = "http-token";
    /** So many lives may end within {@link #RESTART_WINDOW}; one more ends the node. */
    private static final int RESTARTS_MAX = 5;
    private static final Duration RESTART_WINDOW = Duration.ofMinutes(2);
    /** How much longer the node waits after each start that failed in a row, for a database to come back. */
    private static final Duration RESTART_PAUSE = Duration.ofSeconds(2);
    /** So often that at most. A copy is asked for again as long as it takes, and costs its donor something. */
    private static final int PAUSES_MAX = 30;

    @Override
    public RunningNode start(NodeConfig config, Reading file) throws IOException {
        requireFree("listen", config.listen().host(), config.listen().port());
        requireFree("http", config.http().host(), config.http().port());
        Closeable lock = lock(config);
        boolean started = false;
        try {
            Running running = new Running(config, file, lock);
            started = true;
            return running;
        } finally {
            if (!started) {
                lock.close();
            }
        }
    }

    /**
     * Takes a node's data directory for this process.
     *
     * @return to be closed in the end
     * @throws IOException if another one has it
     */
    static Closeable lock(NodeConfig config) throws IOException {
        return PathDirectory.of(PrivateFiles.ownDirectory(config.data())).lock("lock");
    }

    /**
     * What is put into the directory of a node that is stopped must be its user's, who could not read it otherwise.
     *
     * @throws IOException if the directory belongs to another user than the one who puts it there; with the remedy
     */
    static void requireOwner(NodeConfig config) throws IOException {
        Path self = Path.of("/proc/self");
        if (!Files.isDirectory(config.data()) || !Files.exists(self)) {
            return;
        }
        UserPrincipal owner = Files.getOwner(config.data());
        UserPrincipal caller = Files.getOwner(self);
        if (!owner.equals(caller)) {
            throw new IOException(
                    config.data() + " belongs to user " + owner.getName() + ", who could not read what user "
                            + caller.getName() + " leaves there: run this as " + owner.getName() + " (runuser -u "
                            + owner.getName() + " -- tutti ...)");
        }
    }

    /** By which its admin HTTP may be asked on this machine. */
    private static Set<String> names(NodeConfig config) {
        Set<String> names = new HashSet<>(Set.of(config.http().host().toLowerCase(Locale.ROOT)));
        for (NodeConfig.Member member : config.members()) {
            if (member.http() != null) {
                names.add(member.http().host().toLowerCase(Locale.ROOT));
            }
        }
        return names;
    }

    /** Asked before anything else, although the port is not taken before the node has caught up. */
    private static void requireFree(String key, String host, int port) throws IOException {
        try (ServerSocket socket = new ServerSocket()) {
            socket.setReuseAddress(true);
            socket.bind(new InetSocketAddress(host, port), 1);
        } catch (IOException | IllegalArgumentException e) {
            throw new IOException("cannot listen at " + host + ":" + port + " (" + e.getMessage()
                    + "): stop what uses the port, perhaps this node already runs, or change " + key
                    + ".host or " + key + ".port of the configuration", e);
        }
    }

    /** A node's process, from its start to its end. */
    private static final class Running implements RunningNode, Operations {
        private volatile NodeConfig config;
        private final Reading file;
        private final Closeable lock;
        private final PrometheusNodeMetrics metrics;
        private final ClusterWatch watch;
        private final AdminServer admin;
        private final PositionTimes times;
        private final long startedNanos = System.nanoTime();
        private final CompletableFuture<@Nullable Throwable> exit = new CompletableFuture<>();
        private final CompletableFuture<Void> stop = new CompletableFuture<>();
        private final CountDownLatch stopped = new CountDownLatch(1);
        private volatile @Nullable NodeLife life;
        private volatile @Nullable IncomingCopy copy;
        /** With so many the next life begins. */
        private volatile int secondaries;
        /** Some life has begun well; so what hinders the next may pass. */
        private boolean lived;
        private volatile @Nullable String between = "the node is starting";

        Running(NodeConfig config, Reading file, Closeable lock) throws IOException {
            this.config = config;
            this.file = file;
            this.secondaries = config.inProcess().secondaries();
            this.lock = lock;
            this.metrics = new PrometheusNodeMetrics(this::status);
            this.metrics.received(() -> {
                IncomingCopy present = copy;
                return present == null ? 0 : present.bytes();
            });
            this.metrics.memory(() -> {
                NodeLife present = life;
                FrontEnd front = present == null ? null : present.frontEnd();
                return front == null ? FrontEnd.Memory.NONE : front.memory();
            });
            History history = new History(this::status, metrics.latencies());
            this.watch = new ClusterWatch(history, metrics.activity());
            this.admin = AdminServer.start(new InetSocketAddress(config.http().host(), config.http().port()),
                    this::status, metrics, this, watch, SecretFile.of(config.data().resolve(TOKEN)), names(config));
            history.start();
            this.times = new PositionTimes(config.data(), () -> {
                NodeLife now = life;
                ReplicaNode replica = now == null ? null : now.replica();
                return replica == null ? 0 : replica.visiblePosition();
            }).start();
            Thread.ofPlatform().name("tutti-node-" + config.self().name()).start(this::live);
        }

        private void live() {
            ArrayDeque<Long> endings = new ArrayDeque<>();
            Throwable cause = null;
            int failures = 0;
            try {
                while (!stop.isDone()) {
                    NodeLife.Ending ending = IncomingCopy.isWanted(config) ? copyOnce() : liveOnce();
                    if (ending == null) {
                        if (stop.isDone()) {
                            break;
                        }
                        failures = 0;
                        continue;
                    }
                    if (ending.cause() instanceof ReplicaNode.OtherProtocolException) {
                        FirstProtocol.forget(PathDirectory.of(config.data()));
                    }
                    if (IncomingCopy.helps(config, ending.cause())) {
                        LOG.warn("node {} needs a copy of another node's state: {}", config.self().name(),
                                Failure.said(ending.cause()));
                        wantCopy();
                        continue;
                    }
                    if (!(ending.cause() instanceof ReplicaNode.BehindException)
                            && !(ending.cause() instanceof IncomingCopy.NoCopyException)) {
                        endings.add(System.nanoTime());
                    }
                    while (!endings.isEmpty() && System.nanoTime() - endings.element() > RESTART_WINDOW.toNanos()) {
                        endings.remove();
                    }
                    if (!ending.restartable() || endings.size() > RESTARTS_MAX) {
                        cause = ending.cause();
                        break;
                    }
                    failures = ending.atStart() ? failures + 1 : 0;
                    String why = Failure.said(ending.cause());
                    LOG.warn("node {} recovers: {}", config.self().name(), why);
                    between = "the node recovers: " + why;
                    pause(RESTART_PAUSE.multipliedBy(Math.min(failures, PAUSES_MAX)));
                }
            } catch (InterruptedException interrupted) {
                cause = interrupted;
                Thread.currentThread().interrupt();
            } catch (IOException | RuntimeException | Error broken) {
                cause = broken;
            } finally {
                admin.close();
                watch.close();
                times.close();
                try {
                    lock.close();
                } catch (IOException e) {
                    LOG.warn("the lock file cannot be closed", e);
                }
                exit.complete(cause);
                stopped.countDown();
            }
        }

        /** Waits so long, or until the node is to stop. */
        private void pause(Duration time) throws InterruptedException {
            try {
                stop.get(time.toNanos(), TimeUnit.NANOSECONDS);
            } catch (TimeoutException over) {
                LOG.debug("waited {}", time, over);
            } catch (ExecutionException impossible) {
                throw new IllegalStateException(impossible);
            }
        }

        /** Lives until the end; null if the end was asked for. */
        private NodeLife.@Nullable Ending liveOnce() throws InterruptedException {
            NodeLife now = new NodeLife(config, secondaries, metrics, stop);
            life = now;
            try {
                now.start();
                lived = true;
                between = null;
                CompletableFuture<NodeLife.Ending> ended = now.ended();
                CompletableFuture.anyOf(ended, stop).join();
                if (!ended.isDone()) {
                    now.drain(config.limits().stopGrace());
                    return null;
                }
                return ended.join();
            } catch (IOException | RuntimeException e) {
                if (stop.isDone()) {
                    LOG.info("node {} stops before it has begun: {}", config.self().name(), e.getMessage(), e);
                    return null;
                }
                boolean passing = !(e instanceof ServerException refused)
                        || refused.kind() != ServerException.Kind.DISK_FULL;
                return new NodeLife.Ending(e, lived && passing, true);
            } finally {
                now.close();
                life = null;
            }
        }

        private void wantCopy() throws IOException {
            try (IncomingCopy wanted = new IncomingCopy(config, NodeKeys.open(config))) {
                wanted.want();
            }
        }

        /** Gets a copy and puts it in place; null if that was done, or the end was asked for. */
        private NodeLife.@Nullable Ending copyOnce() throws InterruptedException {
            try (IncomingCopy now = new IncomingCopy(config, NodeKeys.open(config))) {
                copy = now;
                stop.thenRun(now::close);
                now.get(-1);
                return null;
            } catch (IncomingCopy.NoCopyException none) {
                return stop.isDone() ? null : new NodeLife.Ending(none, none.isPassing(), true);
            } catch (IOException | UncheckedIOException e) {
                return new NodeLife.Ending(e, !(e instanceof DamagedFileException), true);
            } finally {
                copy = null;
            }
        }

        private @Nullable String between() {
            IncomingCopy present = copy;
            if (present != null) {
                return present.progress();
            }
            NodeLife now = life;
            String awaited = now == null ? null : now.waitsFor();
            return awaited == null ? between : awaited;
        }

        @Override
        public synchronized String reload() throws IOException {
            NodeConfig fresh = file.read();
            // With what the cluster keeps changed, the node would not start again.
            FirstProtocol.check(PathDirectory.of(config.data()), fresh.chosenProtocol());
            ConfigChanges changes = ConfigChanges.between(config, fresh);
            config = changes.config();
            NodeLife now = life;
            if (now != null) {
                now.reloaded(config);
            }
            String said = changes.taken().isEmpty() && changes.later().isEmpty()
                    ? "nothing has changed"
                    : (changes.taken().isEmpty() ? "" : "counts now: " + String.join(", ", changes.taken()))
                            + (changes.taken().isEmpty() || changes.later().isEmpty() ? "" : "; ")
                            + (changes.later().isEmpty()
                                    ? ""
                                    : "counts when the node is started again: " + String.join(", ", changes.later()));
            LOG.info("the configuration was read again: {}", said);
            return said;
        }

        private NodeLife running() throws IOException {
            NodeLife now = life;
            if (now == null || stop.isDone()) {
                throw new IOException("the node is not running at the moment: "
                        + (stop.isDone() ? "it is stopping" : between));
            }
            return now;
        }

        @Override
        public Path writeFlightRecording() throws IOException {
            return running().writeFlightRecording();
        }

        @Override
        public NodeStatus.Secondaries secondaries() throws IOException {
            NodeStatus.Secondaries now = running().secondaries();
            if (now == null) {
                throw new IOException(config.isInProcess()
                        ? "the node is starting; its database is not open yet"
                        : NodeDatabase.noSecondaries(config));
            }
            return now;
        }

        @Override
        public NodeStatus.Secondaries secondaries(int count) throws IOException {
            NodeStatus.Secondaries changed = running().secondaries(count);
            secondaries = count;
            return changed;
        }

        @Override
        public List<NodeStatus.Position> positions() throws IOException {
            return running().positions();
        }

        @Override
        public List<NodeStatus.Position> decide(long position, boolean holds) throws IOException {
            return running().decide(position, holds);
        }

        @Override
        public String comparison(Map<String, String> step) throws IOException {
            return running().comparison(step);
        }

        @Override
        public String changes(Map<String, String> step) throws IOException {
            return running().changes(step);
        }

        @Override
        public Operations.Download backup(long after) throws IOException {
            CopySource.Copy copy = running().backup(after);
            long rate = config.copies().bytesPerSecond();
            long begun = System.nanoTime();
            long[] read = {0};
            return to -> CopyStream.send(copy, to, bytes -> {
                read[0] += bytes;
                long nanos = (long) (read[0] * 1e9 / rate) - (System.nanoTime() - begun);
                if (nanos > 0) {
                    pause(nanos);
                }
            });
        }

        private static void pause(long nanos) throws InterruptedIOException {
            try {
                TimeUnit.NANOSECONDS.sleep(nanos);
            } catch (InterruptedException stopping) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException("the node is stopping");
            }
        }

        @Override
        public NodeStatus.Members members() throws IOException {
            return running().members();
        }

        @Override
        public NodeStatus.Members change(ReplicaNode.MemberChange change) throws IOException {
            return running().change(change);
        }

        @Override
        public List<NodeStatus.PlacedTable> tables() throws IOException {
            return running().tables();
        }

        @Override
        public List<NodeStatus.PlacedTable> place(List<String> tables, Set<Integer> nodes) throws IOException {
            return running().place(tables, nodes);
        }

        @Override
        public NodeStatus.Parameters parameters() throws IOException {
            return running().parameters();
        }

        @Override
        public NodeStatus.Parameters change(Map<String, String> wanted) throws IOException {
            return running().change(wanted);
        }

        private NodeStatus status() {
            NodeLife now = life;
            return NodeStatuses.of(config, metrics, now, between(), stop.isDone(),
                    TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - startedNanos));
        }

        @Override
        public @Nullable Throwable awaitExit() throws InterruptedException {
            try {
                return exit.get();
            } catch (ExecutionException impossible) {
                return impossible;
            }
        }

        @Override
        public void close() {
            stop.complete(null);
            try {
                stopped.await();
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
