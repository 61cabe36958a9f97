package tutti.server;

import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.flight.FlightRecorder;
import tutti.core.flight.FlightRecording;
import tutti.core.protocol.OrderedParameters;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.Group;
import tutti.core.spi.Order;
import tutti.core.txn.TablePlacement;
import tutti.node.ApplySettings;
import tutti.node.NodeFlightRecorder;
import tutti.node.ReplicaNode;
import tutti.node.TransactionNames;
import tutti.node.copy.CopyDonor;
import tutti.node.copy.CopySource;
import tutti.node.WorkloadRecorder;
import tutti.order.CopiedOrder;
import tutti.order.OrderSettings;
import tutti.pgwire.Transport;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;
import tutti.server.config.ConfigChanges;
import tutti.server.config.NodeConfig;
import tutti.server.http.NodeStatus;
import tutti.server.http.Operations;
import tutti.server.metrics.PrometheusNodeMetrics;
import tutti.server.trace.OpenTelemetryTracer;
import tutti.wire.FrontEnd;

/**
 * One life of a node: database, engine, order, replica and front end, from their start to the first failure or the stop.
 * Started and closed by one thread; the rest may be asked from any.
 */
final class NodeLife implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(NodeLife.class);

    /**
     * Why a life ended that nobody asked to end.
     *
     * @param restartable whether another life may do better
     * @param atStart whether it ended before it had begun
     */
    record Ending(Throwable cause, boolean restartable, boolean atStart) {
        Ending(Throwable cause, boolean restartable) {
            this(cause, restartable, false);
        }
    }

    private static final Duration ANSWER_MAX = Duration.ofSeconds(10);
    /** What commits under way are given, when clients have used up the time there was. */
    private static final long COMMIT_NANOS_MIN = 1_000_000_000;

    private final NodeConfig config;
    private final int secondariesAtStart;
    private final PrometheusNodeMetrics metrics;
    private final CompletableFuture<Void> stopAsked;
    private final CompletableFuture<Ending> ended = new CompletableFuture<>();
    /** What has been started, latest first. */
    private final ArrayDeque<AutoCloseable> started = new ArrayDeque<>();
    private volatile @Nullable NodeDatabase database;
    private volatile @Nullable ReplicaNode replica;
    private volatile @Nullable FrontEnd frontEnd;
    private volatile @Nullable NodeFlightRecorder flightRecorder;
    private volatile @Nullable NodeKeys keys;
    private volatile @Nullable Group group;
    private volatile @Nullable NodeComparison comparison;
    private volatile @Nullable NodeCopies copies;
    private volatile @Nullable NodeChanges changes;
    private volatile @Nullable EngineWatch engineWatch;
    private volatile @Nullable String waitsFor;
    private volatile boolean closing;
    /** As the file says now, for what counts at once. */
    private volatile NodeConfig present;

    /**
     * A life that has not begun.
     *
     * @param secondaries how many to begin with, where there can be any
     * @param stopAsked completed when the node is to stop
     */
    NodeLife(NodeConfig config, int secondaries, PrometheusNodeMetrics metrics, CompletableFuture<Void> stopAsked) {
        this.config = config;
        this.secondariesAtStart = secondaries;
        this.present = config;
        this.metrics = metrics;
        this.stopAsked = stopAsked;
    }

    /** Completes when the node is to stop: what it waits for to begin had better end. */
    CompletableFuture<Void> stopAsked() {
        return stopAsked;
    }

    /** What its start waits for, for as long as that may take; null for nothing of the kind. */
    void waitsFor(@Nullable String what) {
        waitsFor = what;
    }

    @Nullable
    String waitsFor() {
        return waitsFor;
    }

    /** What counts at once of a file that was read again ({@link ConfigChanges#AT_ONCE}) counts from now on. */
    void reloaded(NodeConfig now) {
        present = now;
        ReplicaNode node = replica;
        if (node != null) {
            tell(node);
        }
    }

    private void tell(ReplicaNode node) {
        NodeConfig now = present;
        node.retention(retention(now));
        node.applying(applying(now));
        node.configured(now.chosenProtocol());
    }

    private static ReplicaNode.Retention retention(NodeConfig of) {
        return new ReplicaNode.Retention(of.order().retentionBytes(), of.order().retentionTime().toNanos());
    }

    private static ApplySettings applying(NodeConfig of) {
        return new ApplySettings(of.apply().appliers(), of.apply().batchTransactions(), of.apply().linger().toNanos());
    }

    /** Completes when something ends the life. */
    CompletableFuture<Ending> ended() {
        return ended;
    }

    @Nullable
    ReplicaNode replica() {
        return replica;
    }

    /** Writes what its flight recorder keeps to a file. */
    Path writeFlightRecording() throws IOException {
        NodeFlightRecorder recorder = flightRecorder;
        if (recorder == null) {
            throw new IOException(config.flightRecorder().enabled()
                    ? "the node is starting; its flight recorder has nothing yet"
                    : "this node's flight recorder is off; set `flight-recorder: {enabled: true}` in its configuration and"
                            + " start it again");
        }
        return Path.of(recorder.write());
    }

    @Nullable
    FrontEnd frontEnd() {
        return frontEnd;
    }

    /** Why its database does not work; null if it does, as far as is known. */
    @Nullable
    String engineTrouble() {
        EngineWatch watching = engineWatch;
        ReplicaNode node = replica;
        return watching == null || node == null || node.state() != ReplicaNode.State.READY
                ? null
                : watching.trouble();
    }

    /** Connections and datagrams between nodes that were dropped in this life. */
    long refused() {
        Group present = group;
        return present == null ? 0 : present.refused();
    }

    /** Whether all nodes are known to be able to do something ({@link Group#allCan}). */
    boolean allCan(String capability) {
        Group present = group;
        return present != null && present.allCan(capability);
    }

    /** Nodes that can be reached and are not known to be able to do something ({@link Group#unable}). */
    Set<Integer> lacking(String capability) {
        Group present = group;
        Set<Integer> lacking = new TreeSet<>(present == null ? Set.of() : present.unable(capability));
        lacking.retainAll(present == null ? Set.of() : present.view().members());
        return lacking;
    }

    /** Until when it can prove to the others who it is; null if it does not. */
    @Nullable
    Instant provenUntil() {
        NodeKeys present = keys;
        return present == null ? null : present.until();
    }

    /** How the secondaries of its database are; null if it has none yet, or cannot have any. */
    NodeStatus.@Nullable Secondaries secondaries() {
        NodeDatabase present = database;
        return present == null ? null : present.secondaries();
    }

    /** Makes secondaries, or gives some up, until there are so many. */
    NodeStatus.Secondaries secondaries(int count) throws IOException {
        NodeDatabase present = database;
        if (present == null || frontEnd == null || closing) {
            throw new IOException(closing
                    ? "the node is stopping"
                    : "the node is starting; it can have other secondaries when it is ready");
        }
        return present.secondaries(count);
    }

    /** Positions that some node could not apply. */
    List<NodeStatus.Position> positions() throws IOException {
        List<ReplicaNode.Position> all = asked(started()::positions);
        return all.stream().map(each -> new NodeStatus.Position(each.position(), each.transaction().toString(),
                each.everywhere(), each.sqlState(), each.message(), each.votes(), each.verdict())).toList();
    }

    /** Decides about one of them. */
    List<NodeStatus.Position> decide(long position, boolean holds) throws IOException {
        List<NodeStatus.Position> before = positions();
        ReplicaNode node = started();
        NodeLife.<Void>asked(done -> node.decide(position, holds, done));
        return before.stream().filter(each -> each.position() == position).toList();
    }

    /** Takes a step of a comparison of all nodes' databases. */
    String comparison(Map<String, String> step) throws IOException {
        NodeComparison present = comparison;
        if (present == null) {
            throw new IOException("the node is starting");
        }
        return present.step(step);
    }

    /** Takes a step of telling what was changed. */
    String changes(Map<String, String> step) throws IOException {
        NodeChanges present = changes;
        if (!started().ready().isDone()) {
            throw new IOException("the node is catching up: what is changed is told when it has");
        }
        if (present == null) {
            throw new IOException("a node with " + config.engineDescriptor().product()
                    + " does not tell what is changed: choose engine postgres");
        }
        return present.step(step);
    }

    /** A backup, to be read; see {@link NodeCopies#backup}. */
    CopySource.Copy backup(long after) throws IOException {
        NodeCopies present = copies;
        started();
        if (present == null) {
            throw new IOException("this node cannot be backed up: " + DatabaseCopies.notBackedUp(config));
        }
        return present.backup(after);
    }

    /** The members of the cluster. */
    NodeStatus.Members members() throws IOException {
        return members(started().members());
    }

    /** Changes them. */
    NodeStatus.Members change(ReplicaNode.MemberChange change) throws IOException {
        ReplicaNode node = started();
        return members(NodeLife.<Group.Members>asked(done -> node.change(change, done)));
    }

    /** The parameters of the protocol that the order can change. */
    NodeStatus.Parameters parameters() throws IOException {
        return parameters(started().parameters());
    }

    /** Changes them. */
    NodeStatus.Parameters change(Map<String, String> wanted) throws IOException {
        ReplicaNode node = started();
        return parameters(NodeLife.<OrderedParameters>asked(done -> node.change(wanted, done)));
    }

    private static NodeStatus.Parameters parameters(OrderedParameters now) {
        return new NodeStatus.Parameters(now.since(), new TreeMap<>(now.values()));
    }

    /** The tables that some nodes lack. */
    List<NodeStatus.PlacedTable> tables() throws IOException {
        return tables(started().placements());
    }

    /** Keeps tables on some nodes only; none to forget that they are placed. */
    List<NodeStatus.PlacedTable> place(List<String> tables, Set<Integer> nodes) throws IOException {
        ReplicaNode node = started();
        return tables(NodeLife.<List<ReplicaNode.PlacedTable>>asked(done -> node.place(tables, nodes, done)));
    }

    private static List<NodeStatus.PlacedTable> tables(List<ReplicaNode.PlacedTable> now) {
        return now.stream().map(each -> new NodeStatus.PlacedTable(each.name(), each.nodes().stream().sorted().toList(),
                each.made(), each.since())).toList();
    }

    private static NodeStatus.Members members(Group.Members now) {
        return new NodeStatus.Members(now.number(), now.addresses().entrySet().stream()
                .map(each -> new NodeStatus.Place(each.getKey(), each.getValue(),
                        now.learners().contains(each.getKey())))
                .toList(), List.copyOf(now.removed().keySet()));
    }

    private ReplicaNode started() throws IOException {
        ReplicaNode node = replica;
        if (node == null || closing) {
            throw new IOException(closing ? "the node is stopping" : "the node is starting");
        }
        return node;
    }

    /** Asks a node, and waits for its answer. */
    static <T> T asked(Consumer<Completion<T>> question) throws IOException {
        return asked(question, ANSWER_MAX, _ -> {});
    }

    /**
     * Asks a node, and waits for its answer.
     *
     * @param patience how long
     * @param tooLate told, on the node's thread, what it answers when nobody waits for that any more
     */
    static <T> T asked(Consumer<Completion<T>> question, Duration patience, Consumer<T> tooLate) throws IOException {
        CompletableFuture<T> told = new CompletableFuture<>();
        question.accept(new Completion<>() {
            @Override
            public void succeeded(T value) {
                if (!told.complete(value)) {
                    tooLate.accept(value);
                }
            }

            @Override
            public void failed(EngineFailure failure) {
                told.completeExceptionally(new IOException(failure.message()));
            }
        });
        try {
            return told.orTimeout(patience.toNanos(), TimeUnit.NANOSECONDS).get();
        } catch (ExecutionException failed) {
            throw failed.getCause() instanceof TimeoutException
                    ? new Operations.UnansweredException(failed)
                    : new IOException(failed.getCause().getMessage(), failed);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            if (!told.cancel(false) && !told.isCompletedExceptionally()) {
                tooLate.accept(told.join());
            }
            throw new IOException("the node is stopping", interrupted);
        }
    }

    /** Starts everything; returns when the front end is about to open, which it does once the replica has caught up. */
    void start() throws IOException, InterruptedException {
        FirstProtocol.check(PathDirectory.of(config.data()), config.chosenProtocol());
        NodeKeys read = NodeKeys.open(config);
        keys = read;
        // Passing messages on takes a fraction of the time that PostgreSQL takes to answer them, and a loop that has more to
        // do at a time wakes up less often.
        EventLoopGroup loops = Transport.eventLoops(Math.max(1, Runtime.getRuntime().availableProcessors() / 2),
                "tutti-io");
        started.push(() -> loops.shutdownGracefully(0, 2, TimeUnit.SECONDS).await(5, TimeUnit.SECONDS));
        NodeDatabase opened = NodeDatabase.open(config, read.cluster(), secondariesAtStart, this, loops);
        database = opened;
        Order order = config.orderKind().open(orderSettings(config, read), read.machine(),
                PathDirectory.of(config.data().resolve("order")));
        started.push(order);
        order.group().can(opened.abilities());
        group = order.group();
        Set<Integer> replicas = order.group().founders(config.members().stream().map(NodeConfig.Member::id)
                .collect(Collectors.toUnmodifiableSet()));
        ReplicaNode.Settings settings = new ReplicaNode.Settings(config.node(), replicas,
                TablePlacement.EVERYWHERE, config.chosenProtocol(), applying(config),
                config.limits().transactionsInFlight(),
                256L << 20, config.limits().waitingRequestBytes(), 2_000_000_000L, 50_000, retention(config),
                TransactionNames.of(read.cluster()), config.limits().inDoubtAfter().toNanos());
        NodeFlightRecorder recorder = recorder(replicas);
        flightRecorder = recorder;
        Function<ReplicaWorld, Protocol> protocol = world -> settings.protocol().create(config.node(), replicas, world);
        ReplicaNode node = new ReplicaNode(settings, RealMachine.INSTANCE,
                PathDirectory.of(config.data().resolve("replica")), order, opened.engine(),
                recorder == null ? protocol : recorder.recorded(protocol), metrics, failures(recorder));
        started.push(node);
        OpenTelemetryTracer tracer = OpenTelemetryTracer.open(config, System.getenv(), metrics.spans());
        if (tracer != null) {
            started.addLast(tracer);
            node.traces().by(tracer);
        }
        if (order instanceof CopiedOrder copied) {
            NodeCopies source = new NodeCopies(config, read.cluster(), node, copied, opened, metrics);
            copies = source;
            CopyDonor donor = new CopyDonor(config.node(), copied.loop(), read.machine(), source,
                    () -> present.copies().bytesPerSecond());
            started.push(donor);
            copied.visitors(donor);
        }
        if (config.workloadRecording().enabled()) {
            WorkloadRecorder workload = new WorkloadRecorder(RealMachine.INSTANCE,
                    PathDirectory.of(config.data().resolve("workload")), config.node(),
                    config.workloadRecording().fileBytes());
            started.addLast(workload);
            node.record(workload);
        }
        NodeComparison comparing = new NodeComparison(node, opened, NodeLife::<Void>asked);
        started.push(comparing);
        comparison = comparing;
        NodeChanges telling = opened.changes(node);
        if (telling != null) {
            started.push(telling);
            changes = telling;
        }
        EngineWatch watching = new EngineWatch(opened::answers, opened::awaited, node::visiblePosition,
                node::deliveredPosition, System::nanoTime).start();
        started.push(watching);
        engineWatch = watching;
        replica = node;
        // The file may have been read again since: whoever reads it now finds the node.
        tell(node);
        try {
            node.start().get();
        } catch (ExecutionException failed) {
            throw new IOException(failed.getCause().getMessage(), failed.getCause());
        }
        node.ready().thenRunAsync(() -> openFrontEnd(opened, node), Thread::startVirtualThread);
    }

    private ReplicaNode.FailureListener failures(@Nullable NodeFlightRecorder recorder) {
        return new ReplicaNode.FailureListener() {
            @Override
            public void failed(Throwable cause, boolean restartable) {
                if (recorder != null) {
                    recorder.failed(cause);
                }
                ended.complete(new Ending(cause, restartable));
            }

            @Override
            public void excluded(Throwable cause) {
                if (cause instanceof ReplicaNode.RemovedException) {
                    Thread.startVirtualThread(NodeLife.this::closeFrontEnd);
                    return;
                }
                IncomingCopy.ExcludedException excluded = new IncomingCopy.ExcludedException(cause);
                if (IncomingCopy.helps(present, excluded)) {
                    ended.complete(new Ending(excluded, true));
                    return;
                }
                Thread.startVirtualThread(NodeLife.this::closeFrontEnd);
            }
        };
    }

    /** Serves nobody any more; the node goes on. */
    private void closeFrontEnd() {
        FrontEnd open;
        synchronized (started) {
            open = frontEnd;
            if (open == null || !started.remove(open)) {
                return;
            }
            frontEnd = null;
        }
        open.close();
    }

    /** Closed after everything else, when what is written because of a failure is complete. */
    private @Nullable NodeFlightRecorder recorder(Set<Integer> replicas) throws IOException {
        NodeConfig.FlightRecorder wanted = config.flightRecorder();
        if (!wanted.enabled()) {
            return null;
        }
        NodeFlightRecorder recorder = new NodeFlightRecorder(RealMachine.INSTANCE,
                PathDirectory.of(config.data().resolve("flight")),
                new FlightRecording.Subject(config.protocol(), config.protocolParameters(), config.node(), replicas),
                new FlightRecorder.Limits(wanted.memoryBytes(), wanted.keep().toNanos()));
        started.addLast(recorder);
        return recorder;
    }

    private void openFrontEnd(NodeDatabase opened, ReplicaNode node) {
        try {
            FrontEnd front = opened.frontEnd(node);
            synchronized (started) {
                if (closing || node.state() != ReplicaNode.State.READY) {
                    return;
                }
                front.start();
                started.push(front);
                frontEnd = front;
            }
        } catch (IOException | RuntimeException e) {
            ended.complete(new Ending(e, false));
        }
    }

    /** Something that the life is made of has been started; it is closed before what was started earlier. */
    void started(AutoCloseable part) {
        synchronized (started) {
            started.push(part);
        }
    }

    /** Something that the life is made of has ended on its own. */
    void broken(IOException cause) {
        if (!closing) {
            ended.complete(new Ending(cause, true));
        }
    }

    /** What a configuration says of the order. */
    static OrderSettings orderSettings(NodeConfig config, NodeKeys read) {
        NodeConfig.Order order = config.order();
        SortedMap<Integer, InetSocketAddress> members = new TreeMap<>();
        for (NodeConfig.Member member : config.members()) {
            members.put(member.id(), InetSocketAddress.createUnresolved(member.order().host(), member.order().port()));
        }
        int payloadMax = config.payloadBytesMax();
        return new OrderSettings(config.cluster(), read.cluster(), read.datagramKeys(), config.node(), members,
                new TreeSet<>(config.chosenProtocol().voters(members.keySet())),
                Math.max(order.queueBytes(), payloadMax), payloadMax, Math.toIntExact(order.batchBytes()),
                Math.toIntExact(Math.min(order.segmentBytes(), 1 << 30)), order.electionTimeout(), order.parameters());
    }

    /**
     * Takes no further clients; lets those that are there finish their transactions, and transactions that wait for their outcome have it, for
     * so long at most.
     */
    void drain(Duration grace) throws InterruptedException {
        long deadline = System.nanoTime() + grace.toNanos();
        FrontEnd open = frontEnd;
        if (open != null && open.drain(grace)) {
            LOG.info("all clients have gone");
        }
        ReplicaNode node = replica;
        if (node == null) {
            return;
        }
        try {
            node.idle().get(Math.max(COMMIT_NANOS_MIN, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
        } catch (ExecutionException | TimeoutException late) {
            LOG.warn("{} transactions still wait for their outcome; they stay in doubt until the node is back",
                    node.inFlight());
        }
    }

    @Override
    public void close() {
        synchronized (started) {
            closing = true;
        }
        while (!started.isEmpty()) {
            AutoCloseable next = started.pop();
            try {
                next.close();
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            } catch (Exception e) {
                LOG.warn("{} did not close cleanly: {}", next, e.getMessage(), e);
            }
        }
    }
}
