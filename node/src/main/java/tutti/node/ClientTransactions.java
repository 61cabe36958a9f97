package tutti.node;

import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Claims;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Trait;
import tutti.core.protocol.ReplicaWorld.Priority;
import tutti.core.protocol.Response;
import tutti.core.protocol.TransactionRequest;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.AbortReason;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.node.metrics.NodeMetrics;
import tutti.runtime.Clock;
import tutti.runtime.Loop;

/**
 * What the clients of this node have under way: their transactions, by name, by session and by the rows that they hold, and
 * the requests that every replica executes for them. Of the replica's loop, unless something else is said.
 */
final class ClientTransactions {
    /** What of the node is needed here. */
    interface Node extends Bookings.Node, LostMajority.Node {
        Protocol protocol();

        CommitPipeline pipeline();

        /** Tells the protocol something now, or after what it is being told. */
        void tell(Runnable event);

        @Nullable
        String refusal();

        /**
         * Whether the engine itself sees to it that nothing in the way of a transaction is made visible while the transaction
         * holds all its locks.
         */
        boolean locksExclude();

        /** What the protocol asks of a node. */
        Claims claims();

        /** Longest message that the order takes, in bytes. */
        int payloadBytesMax();

        /** The node cannot go on. */
        void fail(Throwable cause, boolean restartable);
    }

    /** Of a message of the order: what it has besides what its length is estimated by, which are names and a span's context. */
    private static final int FRAME_BYTES = 1 << 12;
    private static final int KEY_BYTES = Long.BYTES + 1;

    /** A request that is not logged before there is room. */
    private record ToLog(byte[] request, ConflictClasses classes, @Nullable TransactionId name,
            Completion<TransactionId> logged) {}

    private final int number;
    private final long incarnation;
    private final Clock clock;
    private final Loop loop;
    private final Node node;
    private final NodeMetrics metrics;
    private final Horizon horizon;
    private final Engine engine;
    private final TransactionNames names;
    private final long waitingBytesMax;
    private final LostMajority lostMajority;
    private final Serials serials;
    private final CommitAdmission admission;
    private final ActiveRequestTable everywhere;
    private final Bookings bookings;
    private final CommittedTogether included = new CommittedTogether();
    private volatile @Nullable WorkloadRecorder recorder;

    /* Used by any thread. */
    private final Map<LocalTransaction, ClientTransaction> bySession = new ConcurrentHashMap<>();
    /** Names under which a transaction may begin, or run again. */
    private final Set<TransactionId> reserved = ConcurrentHashMap.newKeySet();

    /** Those that the protocol has heard of. */
    private final Map<TransactionId, ClientTransaction> known = new HashMap<>();
    /** Requests that are not logged before there is room among those, of all nodes, that are and have not been executed: bounded by the sessions. */
    private final ArrayDeque<ToLog> toLog = new ArrayDeque<>();
    /** Requests that this replica is executing and somebody here waits for, by position. */
    private final Map<Long, TransactionId> executing = new HashMap<>();

    /**
     * None so far.
     *
     * @param number of the node
     * @param incarnation of this life; names of transactions begin with it
     * @param inFlightMax how many transactions may wait for their outcome at a time
     * @param waitingBytesMax about how many bytes of memory requests that are logged and not executed may take; further ones wait
     * @param names by which clients know transactions
     * @param doubtNanos how long a majority may be away before clients hear that their commits are in doubt, in nanoseconds; 0 for ever
     */
    ClientTransactions(int number, long incarnation, int inFlightMax, long waitingBytesMax, Clock clock, Loop loop,
            Node node, NodeMetrics metrics, Horizon horizon, Engine engine, TransactionNames names, long doubtNanos) {
        this.names = names;
        this.waitingBytesMax = waitingBytesMax;
        this.lostMajority = new LostMajority(node, doubtNanos, this::doubtful);
        this.number = number;
        this.incarnation = incarnation;
        this.serials = new Serials(incarnation, 0, () -> loop.execute(() -> node.fail(new ReplicaNode.BehindException(
                "this life has named as many transactions as it can; the node begins anew, without its clients' sessions"),
                true)));
        this.admission = new CommitAdmission(inFlightMax);
        this.everywhere = new ActiveRequestTable(clock, metrics);
        this.bookings = new Bookings(node, loop, this::nextId);
        this.clock = clock;
        this.loop = loop;
        this.node = node;
        this.metrics = metrics;
        this.horizon = horizon;
        this.engine = engine;
    }

    // ------------------------------------------------------------------------------------------ for each of them

    Clock clock() {
        return clock;
    }

    Loop loop() {
        return loop;
    }

    Node node() {
        return node;
    }

    NodeMetrics metrics() {
        return metrics;
    }

    Horizon horizon() {
        return horizon;
    }

    /** As {@link Engine#promised}. */
    AbortReason.@Nullable Promised promised(WriteSet writes) {
        return engine.promised(writes.keys());
    }

    CommitAdmission admission() {
        return admission;
    }

    /** Which commit together. */
    CommittedTogether included() {
        return included;
    }

    /** What transactions of all nodes look at one after the other. */
    Bookings bookings() {
        return bookings;
    }

    @Nullable
    WorkloadRecorder recorder() {
        return recorder;
    }

    void countUndeclared(ConflictClasses classes) {
        if (classes.all() && node.claims().has(Trait.NEEDS_CLASSES)) {
            metrics.undeclared();
        }
    }

    /** The protocol hears of one; what it says of it in the order comes behind what this says. */
    void known(ClientTransaction transaction) {
        TransactionId name = transaction.name();
        if (name != null && !name.equals(transaction.id())) {
            node.send(new Control.Again(name, transaction.id()));
        }
        known.put(transaction.id(), transaction);
    }

    /** One has ended. */
    void forget(ClientTransaction transaction) {
        known.remove(transaction.id());
        bySession.remove(transaction.session(), transaction);
    }

    // ------------------------------------------------------------------------------------------ for the node

    /** Has transactions that end, or ask to commit, from now on written down. */
    void record(WorkloadRecorder to) {
        recorder = to;
    }

    /** Transactions that wait for the outcome of their commit. Any thread. */
    int inFlight() {
        return admission.inFlight();
    }

    /** Completes when no transaction waits for the outcome of its commit. */
    void idle(CompletableFuture<Void> waiter) {
        admission.whenIdle(waiter);
    }

    /** Whether there is no local transaction, nor a statement that all replicas execute and one here waits for. */
    boolean none() {
        return bySession.isEmpty() && everywhere.isEmpty();
    }

    /** Others can be reached, or cannot any more. */
    void viewed() {
        lostMajority.viewed();
    }

    /** No majority has been reached for so long that nobody is to wait any more: clients hear that what becomes of their commits is in doubt. */
    private void doubtful() {
        bySession.values().stream().sorted(Comparator.comparingLong(each -> each.id().serial())).toList()
                .forEach(ClientTransaction::doubtful);
        everywhere.doubtful(names, metrics::doubtful);
        List<ToLog> unasked = List.copyOf(toLog);
        toLog.clear();
        unasked.forEach(each -> each.logged.failed(new EngineFailure("57P03",
                "the request was not logged: no majority of the cluster has been reached for too long; try again",
                true)));
    }

    // ------------------------------------------------------------------------------------------ sessions

    TransactionId nextId() {
        return new TransactionId(number, serials.next());
    }

    /** Any thread. */
    TransactionId reserve() {
        TransactionId name = nextId();
        reserved.add(name);
        return name;
    }

    /** Any thread. */
    void release(TransactionId name) {
        reserved.remove(name);
    }

    /** Any thread. */
    Transactions.Ticket begin(LocalTransaction session, long since, @Nullable TransactionId name) {
        return begin(session, since, name == null ? nextId() : name, name);
    }

    /** Any thread. */
    Transactions.Ticket again(LocalTransaction session, long since, TransactionId name) {
        return begin(session, since, nextId(), name);
    }

    private Transactions.Ticket begin(LocalTransaction session, long since, TransactionId id,
            @Nullable TransactionId name) {
        long begun = horizon.begin(since);
        ClientTransaction transaction = new ClientTransaction(this, id, name, session, begun, begun > since);
        bySession.put(session, transaction);
        if (node.pipeline().lingers()) {
            loop.execute(() -> node.pipeline().hurry(node.deliveredPosition()));
        }
        if (isGivenUp(name)) {
            loop.execute(transaction::giveUp);
        }
        return transaction;
    }

    /**
     * Whether nothing begins under a name any more, because somebody has asked what became of it. Any thread; what asks to commit looks
     * again on the loop, where {@link #end} takes names away: either it is found there, or it finds its name gone.
     */
    boolean isGivenUp(@Nullable TransactionId name) {
        return name != null && !reserved.contains(name);
    }

    /**
     * Sees to it that a transaction ends soon, if it is one of this node's, with all its runs, and tells when it has: then all that
     * can make it commit has been ordered.
     */
    void end(TransactionId name, Runnable ended) {
        reserved.remove(name);
        if (everywhere.whenAnswered(name, ended)) {
            return;
        }
        List<ClientTransaction> runs = bySession.values().stream().filter(each -> each.isKnownAs(name)).toList();
        if (runs.isEmpty()) {
            ended.run();
            return;
        }
        int[] left = {runs.size()};
        runs.forEach(each -> each.end(() -> {
            if (--left[0] == 0) {
                ended.run();
            }
        }));
    }

    /** Has every replica execute a statement that concerns everything. */
    void barrier(byte[] statement, KeySet keys, @Nullable TransactionId name, Completion<ExecuteResult> done) {
        hand(statement, ConflictClasses.ALL, keys, TransactionRequest.Placement.ALL, name, done, false);
    }

    /** Has every replica, or an owner, execute a client's request, which counts as a transaction. */
    void request(byte[] request, ConflictClasses classes, KeySet keys, TransactionRequest.Placement placement,
            @Nullable TransactionId name, Completion<ExecuteResult> done) {
        countUndeclared(classes);
        hand(request, classes, keys, placement, name, done, true);
    }

    /** Has an owner execute a client's request, who is told when it is logged; as {@link Transactions#log}. */
    void log(byte[] request, ConflictClasses classes, @Nullable TransactionId name, Completion<TransactionId> logged) {
        ToLog asked = new ToLog(request, classes, name, logged);
        // What is refused now, or is too long for ever, is not to wait for room.
        if (hasRoom() || node.refusal() != null || !canBeOrdered(bytes(request, classes, KeySet.EMPTY))) {
            log(asked);
        } else {
            toLog.add(asked);
        }
    }

    private void log(ToLog asked) {
        TransactionId ticket = asked.name == null ? reserve() : asked.name;
        request(asked.request, asked.classes, KeySet.EMPTY, TransactionRequest.Placement.OWNER, ticket,
                new LoggedRequest(ticket, (long) TransactionRequest.Whole.WAITING_BYTES + asked.request.length,
                        asked.logged));
    }

    /** Whether one more may be logged. Every node keeps those of all in memory, so all are counted: those delivered, and this node's on their way. */
    private boolean hasRoom() {
        return node.protocol().waitingBytes() + everywhere.unloggedBytes() < waitingBytesMax;
    }

    /** Has requests logged that have waited for room. */
    void logMore() {
        while (!toLog.isEmpty() && hasRoom()) {
            log(toLog.remove());
        }
    }

    /** Something of this node's has been delivered: what has been logged with it, somebody may wait to hear. */
    void tellLogged() {
        everywhere.tellLogged(id -> node.protocol().undecided(id));
    }

    private void hand(byte[] statement, ConflictClasses classes, KeySet keys, TransactionRequest.Placement placement,
            @Nullable TransactionId name, Completion<ExecuteResult> done, boolean counted) {
        if (name != null && !reserved.remove(name)) {
            done.failed(new EngineFailure("40001", "the statement was given up before it was executed, because"
                    + " somebody has asked what became of it; try again", true));
            return;
        }
        String refusal = node.refusal();
        if (refusal != null) {
            done.failed(new EngineFailure("57P03", refusal, true));
            return;
        }
        long bytes = bytes(statement, classes, keys);
        if (!canBeOrdered(bytes)) {
            done.failed(tooLong("the statement", bytes));
            return;
        }
        TransactionId id = name == null ? nextId() : name;
        everywhere.add(id, done, counted);
        node.tell(() -> node.protocol().submitted(id,
                new TransactionRequest.Whole(statement, classes, keys, placement)));
    }

    // ------------------------------------------------------------------------------------------ what is too long

    private static long bytes(byte[] statement, ConflictClasses classes, KeySet keys) {
        return statement.length + (long) Long.BYTES * classes.size() + (long) KEY_BYTES * keys.size();
    }

    /** Whether a message with about so much in it can be ordered. What cannot be is refused before the protocol hears of it. */
    private boolean canBeOrdered(long bytes) {
        return bytes + FRAME_BYTES <= node.payloadBytesMax();
    }

    private EngineFailure tooLong(String what, long bytes) {
        return new EngineFailure("54000",
                what + " takes " + bytes + " bytes, and the cluster's order carries messages of at most "
                        + node.payloadBytesMax() + "; make several of it, or raise limits.transaction-bytes",
                false);
    }

    /** Why what an owner has executed cannot be ordered; null if it can. */
    @Nullable
    EngineFailure tooLong(WriteSet writes, List<Response> responses) {
        long bytes = writes.changes().length + (long) KEY_BYTES * writes.keys().size()
                + responses.stream().mapToLong(Response::bytesMax).sum();
        if (!canBeOrdered(bytes)) {
            return tooLong("what the request has changed and is answered", bytes);
        }
        return writes.keys().size() <= WriteSet.KEYS_MAX
                ? null
                : new EngineFailure("54000", "the request touches " + writes.keys().size() + " keys, more than "
                        + WriteSet.KEYS_MAX + "; make several of it", false);
    }

    // ------------------------------------------------------------------------------------------ victims

    /** The engine found that a local transaction makes an applier wait. */
    void onBlocked(long position, LocalTransaction holder) {
        ClientTransaction transaction = bySession.get(holder);
        if (transaction != null && position > node.pipeline().visible()) {
            transaction.giveWay(position);
        }
    }

    /**
     * The engine found that local transactions make another one wait. They give way to it if they must; a protocol that wants
     * to hear of it does.
     */
    void onBlocked(LocalTransaction waiter, Set<LocalTransaction> holders) {
        ClientTransaction waiting = bySession.get(waiter);
        if (waiting == null) {
            return;
        }
        Set<TransactionId> submitted = new LinkedHashSet<>();
        for (LocalTransaction holder : holders) {
            ClientTransaction transaction = bySession.get(holder);
            if (transaction != null) {
                transaction.giveWayTo(waiting);
                submitted.add(transaction.id());
            }
        }
        if (node.claims().has(Trait.HEARS_OF_WAITS)) {
            node.tell(() -> node.protocol().blocked(waiting.id(), submitted));
        }
    }

    /**
     * Which transactions that have executed and wait for their outcome somebody waits for who waits for these: for those of
     * them that do; and, if one of them waits for its turn at {@linkplain CommitAdmission admission}, for all whose place it
     * may get. Each of these may itself wait for that somebody at another node, and nobody else would ever end.
     */
    Set<TransactionId> asking(Set<LocalTransaction> sessions) {
        Set<TransactionId> asking = new LinkedHashSet<>();
        boolean queued = false;
        for (LocalTransaction session : sessions) {
            ClientTransaction transaction = bySession.get(session);
            if (transaction != null && transaction.isAsking()) {
                asking.add(transaction.id());
            }
            queued |= transaction != null && transaction.isQueued();
        }
        if (queued) {
            known.values().stream().filter(ClientTransaction::isAsking).map(ClientTransaction::id).forEach(asking::add);
        }
        return asking;
    }

    // ------------------------------------------------------------------------------------------ effects

    /** {@link tutti.core.protocol.ReplicaWorld#run}. */
    void run(TransactionId id, Priority priority) {
        ClientTransaction transaction = known.get(id);
        if (transaction == null) {
            throw new Defect(id + " is to run but is not known");
        }
        transaction.run(priority);
    }

    /** {@link tutti.core.protocol.ReplicaWorld#undertake}. */
    void undertake(TransactionId id, List<TransactionRequest.Whole> requests) {
        ExecutorSession session = new ExecutorSession(this, node.pipeline().executors(), requests);
        ClientTransaction transaction = new ClientTransaction(this, id, session, requests.getFirst());
        session.of(transaction);
        if (known.putIfAbsent(id, transaction) != null) {
            throw new Defect(id + " is to be undertaken but is known already");
        }
        bySession.put(session, transaction);
        transaction.run(Priority.ORDERED);
    }

    /** {@link tutti.core.protocol.ReplicaWorld#respond}. */
    void respond(TransactionId id, Response response) {
        everywhere.executed(id, new ExecuteResult(
                response.tookEffect() ? null : new EngineFailure(response.sqlState(), response.message(), false),
                response.content()));
    }

    /** {@link tutti.core.protocol.ReplicaWorld#commit}; false if it is none of this node. */
    boolean commit(TransactionId id, long position, WriteSet writes) {
        ClientTransaction transaction = known.get(id);
        if (transaction == null) {
            return false;
        }
        transaction.commit(position, writes);
        return true;
    }

    /** {@link tutti.core.protocol.ReplicaWorld#execute}: somebody here may be waiting for it. */
    void executing(TransactionId id, long position) {
        if (everywhere.contains(id) || known.containsKey(id)) {
            executing.put(position, id);
        }
    }

    /** What is executed everywhere was executed here, and is about to be visible. */
    void executed(long position, ExecuteResult result) {
        TransactionId id = executing.remove(position);
        if (id == null) {
            return;
        }
        ClientTransaction transaction = known.get(id);
        if (transaction != null) {
            transaction.executedEverywhere(result);
        }
        everywhere.executed(id, result);
    }

    /** What one has changed is left out everywhere; nothing happens if it is none of this node. */
    void leftOut(TransactionId id, EngineFailure why) {
        ClientTransaction transaction = known.get(id);
        if (transaction != null) {
            transaction.leftOut(new AbortReason.Inapplicable(why.sqlState(), why.message()));
        }
        everywhere.leftOut(id, why);
    }

    /** One that holds its locks is rolled back instead of committed; nothing happens if it is none of this node. */
    void takeBack(TransactionId id) {
        ClientTransaction transaction = known.get(id);
        if (transaction != null) {
            transaction.giveWay(0);
        }
    }

    /** {@link tutti.core.protocol.ReplicaWorld#abort}; nothing happens if it is none of this node. */
    void abort(TransactionId id) {
        ClientTransaction transaction = known.get(id);
        if (transaction != null) {
            transaction.abort();
        }
    }

    /** {@link tutti.core.protocol.ReplicaWorld#answer}. */
    void answer(TransactionId id, Outcome outcome) {
        ClientTransaction transaction = known.get(id);
        if (transaction != null) {
            transaction.answer(outcome);
        }
        if (!everywhere.answer(id, outcome) && transaction == null && id.node() == number
                && id.incarnation() == incarnation) {
            throw new Defect("the protocol answers " + outcome + " to " + id
                    + ", which was answered before or never asked");
        }
    }
}
