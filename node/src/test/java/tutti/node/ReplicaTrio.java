package tutti.node;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.protocol.ReplicaWorld.Priority;
import tutti.core.protocol.TransactionRequest;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.spi.Order;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TablePlacement;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.node.metrics.NodeMetrics;
import tutti.order.local.LocalOrderGroup;
import tutti.runtime.Directory;
import tutti.runtime.Machine;
import tutti.runtime.real.PathDirectory;

/** Three replicas over an order in memory and engines that are lists, all on one machine: a {@link TestMachine} or the real one. */
abstract class ReplicaTrio {
    /** In order: the first primary is there before the others, and so nobody misses it. */
    static final Set<Integer> ALL = new TreeSet<>(List.of(0, 1, 2));
    static final long SNAPSHOT_POSITIONS = 20;
    /** How often an engine may be asked what is durable. */
    static final long DURABILITY_NANOS = 5_000_000L;

    @TempDir
    private Path directory;

    final Machine machine;
    LocalOrderGroup group;
    final Map<Integer, ListEngine> engines = new TreeMap<>();
    final Map<Integer, ReplicaNode> nodes = new TreeMap<>();
    /** Replicas that came to an end that nobody asked for, and have not been opened again. */
    final Map<Integer, End> ends = new ConcurrentHashMap<>();
    long lingerNanos;
    long snapshotPositions = SNAPSHOT_POSITIONS;
    long waitingBytesMax = 1L << 20;
    ReplicaNode.Retention retention = ReplicaNode.Retention.UNLIMITED;
    long doubtNanos;
    TablePlacement placement = TablePlacement.EVERYWHERE;

    /** Why a replica ended. */
    record End(Throwable cause, boolean restartable) {}

    /** On a machine without threads, in virtual time. */
    ReplicaTrio() {
        this(new TestMachine());
    }

    ReplicaTrio(Machine machine) {
        this.machine = machine;
        this.group = new LocalOrderGroup(machine, ALL);
    }

    @AfterEach
    void closeAll() {
        nodes.values().forEach(ReplicaNode::close);
        engines.values().forEach(ListEngine::close);
    }

    // ------------------------------------------------------------------------------------------ nodes

    /** A protocol with parameters with which nothing waits for long. */
    static ChosenProtocol chosen(String protocol) {
        return Protocols.STANDARD.choose(protocol, switch (protocol) {
            case "si" -> Map.of("window", "1000", "progress-interval", "5ms");
            case "passive" -> Map.of("take-over-delay", "10ms");
            case "postgres-r" -> Map.of("resolve-delay", "10ms");
            default -> Map.of();
        });
    }

    /** Where a node's own files are. */
    final Path files(int node) {
        return directory.resolve("node" + node);
    }

    /** A directory that no node has. */
    final Directory directory(String name) throws IOException {
        return PathDirectory.of(directory.resolve(name));
    }

    /** What a node runs; a test may have nodes differ. */
    ChosenProtocol chosen(String protocol, int node) {
        return chosen(protocol);
    }

    /** What a node's protocol is made by; a test may put something between. */
    Function<ReplicaWorld, Protocol> maker(int node, ChosenProtocol protocol) throws IOException {
        return world -> protocol.create(node, ALL, world);
    }

    /** A node's part in the order; a test may put something between. */
    Order order(int node) {
        return group.open(node);
    }

    /** A replica has ended; a test may do more. */
    void ended(int node, End end) {
        ends.put(node, end);
    }

    /** Starts a node, or starts it anew, and answers when it has joined the order or failed to. */
    final ReplicaNode open(String protocol, int node) throws IOException {
        ends.remove(node);
        ChosenProtocol chosen = chosen(protocol, node);
        ListEngine engine = engines.computeIfAbsent(node, number -> new ListEngine(machine, number));
        ReplicaNode replica = new ReplicaNode(
                new ReplicaNode.Settings(node, ALL, placement, chosen, new ApplySettings(3, 16, lingerNanos), 100,
                        1 << 20, waitingBytesMax, DURABILITY_NANOS, snapshotPositions, retention,
                        TransactionNames.PLAIN,
                        doubtNanos),
                machine, PathDirectory.of(files(node)), order(node), engine, maker(node, chosen),
                NodeMetrics.NONE, (cause, restartable) -> ended(node, new End(cause, restartable)));
        nodes.put(node, replica);
        CompletableFuture<Void> joined = replica.start();
        await(joined::isDone);
        return replica;
    }

    /** Starts a node, or starts it anew, and waits until it serves. */
    final ReplicaNode openReady(String protocol, int node) throws IOException {
        ReplicaNode replica = open(protocol, node);
        get(replica.ready());
        return replica;
    }

    final void openAll(String protocol) throws IOException {
        for (int node : ALL) {
            open(protocol, node);
        }
        nodes.values().forEach(node -> get(node.ready()));
    }

    /** Why a node ends, when it does. */
    final End end(int node) {
        await(() -> ends.containsKey(node));
        return ends.get(node);
    }

    final void noneHasEnded() {
        assertFalse(!ends.isEmpty(), ends::toString);
    }

    // ------------------------------------------------------------------------------------------ waiting

    /** Lets the machine work until something is so. */
    final void await(BooleanSupplier reached) {
        if (machine instanceof TestMachine virtual) {
            virtual.runUntil(reached);
        } else {
            while (!reached.getAsBoolean()) {
                Thread.onSpinWait();
            }
        }
    }

    final <T> T get(CompletableFuture<T> future) {
        await(future::isDone);
        return future.join();
    }

    /** What somebody is told. */
    final <T> T told(Consumer<Completion<T>> question) {
        CompletableFuture<T> told = new CompletableFuture<>();
        question.accept(telling(told));
        return get(told);
    }

    /** Tells a future. */
    static <T> Completion<T> telling(CompletableFuture<T> future) {
        return new Completion<>() {
            @Override
            public void succeeded(T value) {
                future.complete(value);
            }

            @Override
            public void failed(EngineFailure failure) {
                future.completeExceptionally(new AssertionError(failure.toString()));
            }
        };
    }

    /** All nodes show a position. */
    final void awaitVisible(long position) {
        nodes.values().forEach(node -> await(() -> node.visiblePosition() >= position));
    }

    // ------------------------------------------------------------------------------------------ clients

    static WriteSet writes(String change, long key) {
        return new WriteSet(new KeySet.Builder().add(key, KeyKind.UPDATE).build(),
                change.getBytes(StandardCharsets.UTF_8));
    }

    /** A client's transaction that changes one row when its turn comes, or nothing. */
    final class Client implements LocalTransaction {
        private final ListEngine.Session session;
        private final WriteSet writes;
        private final boolean asks;
        final Transactions.Ticket ticket;
        final CompletableFuture<Priority> turn = new CompletableFuture<>();
        final CompletableFuture<TransactionId> doubtful = new CompletableFuture<>();

        /** @param change nothing is changed if it is empty */
        Client(int node, String change, long key) {
            this(node, null, change, key, key % 7, true);
        }

        /**
         * Under a name that it knows.
         *
         * @param asks whether it asks to commit
         */
        Client(int node, TransactionId name, boolean asks) {
            this(node, name, name.toString(), name.serial() * 4 + name.node(), name.serial() * 4 + name.node(), asks);
        }

        /** That touches these keys. */
        Client(int node, String change, KeySet keys) {
            this(node, null, new WriteSet(keys, change.getBytes(StandardCharsets.UTF_8)), change, 0, true, false);
        }

        /** Another run of a transaction that has lost. */
        static Client again(ReplicaTrio trio, int node, TransactionId name) {
            String change = "again " + name;
            return trio.new Client(node, name, writes(change, name.serial() * 4), change, name.serial() * 4, true,
                    true);
        }

        private Client(int node, @Nullable TransactionId name, String change, long key, long conflictClass,
                boolean asks) {
            this(node, name, change.isEmpty() ? WriteSet.EMPTY : writes(change, key), change, conflictClass, asks,
                    false);
        }

        private Client(int node, @Nullable TransactionId name, WriteSet changes, String change, long conflictClass,
                boolean asks, boolean again) {
            this.asks = asks;
            session = engines.get(node).new Session(change);
            writes = changes;
            ReplicaNode at = nodes.get(node);
            ticket = again && name != null
                    ? at.again(this, at.visiblePosition(), name)
                    : at.begin(this, at.visiblePosition(), name);
            if (at.executesAtOnce()) {
                run(Priority.OPTIMISTIC);
            } else {
                ticket.submit(new TransactionRequest.Interactive(ConflictClasses.of(List.of(conflictClass))));
            }
        }

        @Override
        public void run(Priority priority) {
            if (!turn.complete(priority) || !asks) {
                return;
            }
            if (writes.isEmpty()) {
                ticket.ended();
            } else {
                ticket.executed(writes, ReadSet.EMPTY);
            }
        }

        @Override
        public void commit(long position, Completion<Void> done) {
            session.commit(position, done);
        }

        @Override
        public void rollback(Runnable done) {
            session.rollback(done);
        }

        @Override
        public void answer(Outcome outcome) {
            session.answer(outcome);
        }

        @Override
        public void doubtful(TransactionId name) {
            doubtful.complete(name);
        }

        boolean isRolledBack() {
            return session.rolledBack.isDone();
        }

        Outcome outcome() {
            return get(session.outcome);
        }

        /** The position at which it has committed. */
        long committed() {
            Outcome outcome = outcome();
            return assertInstanceOf(Outcome.Committed.class, outcome, outcome::toString).position();
        }
    }
}
