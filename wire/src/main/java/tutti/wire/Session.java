package tutti.wire;

import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.protocol.ReplicaWorld.Priority;
import tutti.core.spi.Completion;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.AbortReason;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.node.Transactions;
import tutti.pgwire.Backend;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.FrameReader;
import tutti.wire.OpenTransaction.Extent;

/**
 * One client's session with its own connection to the engine. {@link ClientSide} and {@link BackendSide} read the two streams;
 * what they find is told to the objects that the session consists of, each of which keeps one part of its state:
 * <ul>
 * <li>{@link ClientCycle}: where the client's current cycle of messages stands;
 * <li>{@link ClientStream}: what goes to the client, and what of the engine's answers concerns it;
 * <li>{@link BackendRequests}: what the engine has been asked, by the client and by the node, and has not answered;
 * <li>{@link CurrentTransaction}: the open transaction, what it has done, and what the engine's side does with it;
 * <li>{@link DeferredExecution}, {@link CommitSequence}, {@link RollbackSequence}: how a transaction waits, commits and is rolled back;
 * <li>{@link Repetition}: how one that has lost is run again, unknown to its client;
 * <li>{@link OrderedStatements}, {@link SchemaChanges}: what every node executes, and what the capture has to be told of;
 * <li>{@link ClusterQuestions}: what the node is asked about the cluster.
 * </ul>
 * Here is what concerns several of them: the end of a cycle, and the end of the session. Everything happens on the event loop
 * that the client's and the engine's channel share.
 */
final class Session {
    private static final Logger LOG = LoggerFactory.getLogger(Session.class);

    private final SessionServices services;
    private final EventLoop loop;
    private final FrameReader clientReader;
    private final BackendConnection connection;
    private final boolean replicated;
    private final Modes modes;
    private final NotedReads notedReads;
    private final Map<String, String> parameters;
    private final ClientCycle cycle = new ClientCycle();
    private final ClientStream client;
    private final BackendRequests backend;
    private final CurrentTransaction transaction;
    private final DeferredExecution turns;
    private final CommitSequence commit;
    private final RollbackSequence rollback;
    private final Repetition repetition;
    private final LoadsAndChanges.OfSession loads;
    private final ChangesIntake changes;
    private final MessageIntake messages;
    private final OrderedStatements ordered;
    private final ClusterQuestions questions;
    private final ConcurrentIndex concurrentIndex;
    private final SchemaChanges schema;
    private final ShownToAll shownToAll;
    private final StatementTimes times;
    private final ReadLevel readLevel;
    private final SessionEnd ending;
    private boolean dismissed;
    private AbortReason.Failed end = new AbortReason.Failed("engine");

    /**
     * A session that is about to begin.
     *
     * @param parameters of the client's start-up packet, its "user" among them
     * @param replicated whether it is in the replicated database; otherwise it cannot change anything, and there is no capture
     */
    Session(SessionServices services, Channel client, FrameReader clientReader, BackendConnection connection,
            Map<String, String> parameters, boolean replicated) {
        this.replicated = replicated;
        this.services = services;
        this.loop = client.eventLoop();
        this.clientReader = clientReader;
        this.connection = connection;
        this.parameters = Map.copyOf(parameters);
        this.modes = new Modes(services.transactions());
        this.notedReads = new NotedReads(services.transactions());
        modes.begin(parameters);
        this.client = new ClientStream(client, connection.parameters(), connection.reader(),
                services.heldLimit());
        this.backend = new BackendRequests(services.own(), connection, clientReader, this::settle);
        this.times = new StatementTimes(services.transactions(), System::nanoTime);
        this.transaction = new CurrentTransaction(services.transactions(), times.trace(), new NodeControl(), loop,
                this::transactionOver,
                new ReportedParameters(services.transactions(), this.client, parameters));
        this.turns = new DeferredExecution(this);
        this.changes = new ChangesIntake(this, services.changes());
        this.messages = new MessageIntake(services.messages(), clientReader.gatherLimit(), clientReader::buffered);
        this.commit = new CommitSequence(this);
        this.rollback = new RollbackSequence(this);
        this.repetition = new Repetition(this, services.repetitions(), services.losers());
        this.loads = services.loads().new OfSession(this);
        this.client.overheardBy(repetition::heard);
        this.ordered = new OrderedStatements(this);
        this.questions = new ClusterQuestions(this);
        this.concurrentIndex = new ConcurrentIndex(this);
        this.schema = new SchemaChanges(this);
        this.shownToAll = new ShownToAll(this);
        this.readLevel = new ReadLevel(this, parameters);
        this.ending = new SessionEnd(this);
    }

    /** What the node asks of the open transaction goes to the sequence whose part it is. */
    private final class NodeControl implements OpenTransaction.Control {
        @Override
        public void run(OpenTransaction asked, Priority priority) {
            turns.run(asked, priority);
        }

        @Override
        public void commit(OpenTransaction asked, long position, Completion<Void> done) {
            commit.commit(asked, position, done);
        }

        @Override
        public void rollback(OpenTransaction asked, Runnable done) {
            rollback.rollback(asked, done);
        }

        @Override
        public void answer(OpenTransaction asked, Outcome outcome) {
            if (!ending.answer(asked, outcome)) {
                rollback.answer(asked, outcome);
            }
        }

        @Override
        public void doubtful(OpenTransaction asked, TransactionId name) {
            if (!ending.doubtful(asked, name)) {
                rollback.doubtful(asked, name);
            }
        }
    }

    // ------------------------------------------------------------------------------------------ what it consists of

    Transactions node() {
        return services.transactions();
    }

    Capture capture() {
        return services.capture();
    }

    /** What makes a write of a statement that looks like a read. */
    HiddenWords hidden() {
        return replicated ? capture().hidden() : HiddenWords.NONE;
    }

    KeptBytes.Shared kept() {
        return services.kept();
    }

    ClusterDatabases databases() {
        return services.databases();
    }

    SequenceSupply sequences() {
        return services.sequences();
    }

    ConcurrentIndex concurrentIndex() {
        return concurrentIndex;
    }

    /** How indexes are built beside the order; null if that is not possible at the moment. */
    PostgresFrontEnd.@Nullable IndexBuilding indexBuilding() {
        return services.registry().indexBuilding();
    }

    /** An error of the engine's as its client is to hear it. */
    ErrorFields named(ErrorFields error) {
        return services.registry().named(error);
    }

    Modes modes() {
        return modes;
    }

    NotedReads notedReads() {
        return notedReads;
    }

    /** Whether it is in the replicated database. */
    boolean replicated() {
        return replicated;
    }

    /** With which the client has started the session: "user" is its role. */
    Map<String, String> parameters() {
        return parameters;
    }

    ClientCycle cycle() {
        return cycle;
    }

    ClientStream client() {
        return client;
    }

    BackendRequests backend() {
        return backend;
    }

    CurrentTransaction transaction() {
        return transaction;
    }

    DeferredExecution turns() {
        return turns;
    }

    CommitSequence commit() {
        return commit;
    }

    RollbackSequence rollback() {
        return rollback;
    }

    Repetition repetition() {
        return repetition;
    }

    LoadsAndChanges.OfSession loads() {
        return loads;
    }

    MessageIntake messages() {
        return messages;
    }

    ChangesIntake changes() {
        return changes;
    }

    ShownToAll shownToAll() {
        return shownToAll;
    }

    ReadLevel readLevel() {
        return readLevel;
    }

    StatementTimes times() {
        return times;
    }

    OrderedStatements ordered() {
        return ordered;
    }

    ClusterQuestions questions() {
        return questions;
    }

    SchemaChanges schema() {
        return schema;
    }

    SessionEnd ending() {
        return ending;
    }

    /** The number of the engine's process. Any thread. */
    int processId() {
        return connection.processId();
    }

    /** The key for cancel requests. Any thread. */
    byte[] secretKey() {
        return connection.secretKey();
    }

    /** Runs something when the engine's connection is gone. Any thread; it runs on the event loop. */
    void whenClosed(Runnable task) {
        connection.closed().thenRun(task);
    }

    /** The open transaction, or null. Any thread. */
    @Nullable
    LocalTransaction openTransaction() {
        return transaction.local();
    }

    /** Tells the client what it wants to know beforehand, when it has been told of the session. */
    void introduced() {
        transaction.report();
    }

    // ------------------------------------------------------------------------------------------ streams

    /** Whether the client's next message has to wait. */
    boolean blocked() {
        return cycle.blocked() || transaction.state().busy() || backend.full() || readLevel.waiting();
    }

    /** Whether a message of the client's that is answered has to wait, also because the client does not read. */
    boolean mustWait() {
        return blocked() || !client.writable();
    }

    /** The client's next message waits. */
    void pauseClient() {
        clientReader.pause();
    }

    /** The engine's next message waits, because the client does not take what there is. */
    void pauseEngine() {
        connection.reader().pause();
    }

    /** The engine's messages are looked at, whether the client takes what there is or not. */
    void resumeEngine() {
        connection.reader().resume();
    }

    /** Goes on with both sides' messages if it can, and flushes them. Called whenever something has happened. */
    void settle() {
        if (backend.idle()) {
            cycle.answered();
        }
        if (backend.idle() && !transaction.state().busy()) {
            cycle.answerKeptSync();
        }
        repetition.proceed();
        mayDismiss();
        if (connection.reader().paused()
                && (changes.underWay() ? changes.goesOn() : client.writable() || client.suppressed())) {
            connection.reader().resume();
        }
        if (clientReader.paused() && (!mustWait() || moreData()) && !repetition.running() && backend.writable()) {
            clientReader.resume();
        }
        if (!commit.sendsMore()) {
            backend.flush();
        }
        if (backend.writable()) {
            messages.gone();
        }
        if (!commit.underWay() || !client.writable()) {
            // what precedes the outcome of a commit goes with it, as the engine itself would send it: the client is woken once
            client.flush();
        }
    }

    /** Whether the engine takes data that the client copies into a table, and that or what must not come then is next: what was said again was a part of it. */
    private boolean moreData() {
        int next = clientReader.nextType();
        return cycle.copyRuns() && (next < 0 || ClientSide.copies((byte) next)
                || (cycle.takesDataOnly()
                        && (ClientSide.breaksCopy((byte) next) || ClientSide.copyIgnores((byte) next))));
    }

    /** Does something on the event loop, unless the session is over by then. From any thread. */
    void onLoop(Runnable task) {
        try {
            loop.execute(() -> {
                if (!transaction.is(SessionState.CLOSED)) {
                    task.run();
                    settle();
                } else if (ending.waitsForAll()) {
                    task.run();
                    client.flush();
                }
            });
        } catch (RejectedExecutionException stopped) {
            LOG.debug("answer after the event loop stopped", stopped);
        }
    }

    /** Does something after a time, on the event loop. */
    void later(int millis, Runnable task) {
        Future<?> _ = unlessCancelled(millis, task);
    }

    /** The same, unless it is cancelled before. */
    Future<?> unlessCancelled(int millis, Runnable task) {
        return loop.schedule(task, millis, TimeUnit.MILLISECONDS);
    }

    /** The client hears an error of the node's; its cycle has failed. */
    void error(ErrorFields fields) {
        cycle.fail();
        client.error(fields);
    }

    // ------------------------------------------------------------------------------------------ cycles

    /** A message has come that is not skipped: a cycle begins, if none is under way. */
    void cycleMayBegin() {
        if (cycle.begins()) {
            services.sequences().used();
            transaction.cycleBegins();
            cycle.inBlock(!backend.outsideOfTransaction());
        }
    }

    /** What was set for the transaction counts no more. */
    private void transactionOver() {
        modes.transactionOver();
        readLevel.transactionOver();
        questions.transactionOver();
        loads.loaded();
    }

    /**
     * Sends BEGIN ahead of statements outside of a transaction block.
     *
     * @param sync whether a Sync follows it, as a simple query needs it that takes data
     */
    void beginImplicit(boolean sync) {
        transaction.open(Extent.CYCLE);
        BackendRequests.Batch begin = backend.batch().begin();
        if (sync) {
            begin.sync(reply -> {
                ErrorFields failure = reply.error();
                if (failure != null) {
                    backend.failedAhead(failure);
                }
            });
        } else {
            begin.send();
        }
    }

    /** Has the engine look after its transaction. Returns what ends that. */
    Runnable watch(OpenTransaction running) {
        return services.registry().watch(loop, connection.processId(), running, () -> !backend.idle());
    }

    /** Has the engine see to it that COMMIT, which follows, ends in time. Returns what is run when it has. */
    Runnable limitCommit() {
        return services.registry().commits(loop, connection.processId());
    }

    /**
     * The engine has completed a client's simple query or Sync.
     *
     * @return whether the client gets to see the engine's ReadyForQuery
     */
    boolean clientReady() {
        cycle.noCopy();
        if (transaction.implicit()) {
            MultiStatementQuery script = cycle.script();
            if (commit.underWay()) {
                // goes on when the capture is closed
            } else if (script == null || transaction.rollbackWanted() || script.last() || cycle.failed()) {
                commit.cycleComplete();
            } else {
                script.next(false);
            }
            return false;
        }
        if (client.suppressed() && transaction.isOpen()) {
            rollback.begin();
            return false;
        }
        transaction.observed(backend.status());
        if (client.suppressed()) {
            client.show();
            error(RollbackSequence.answerLost());
            finishCycle(backend.status());
            return false;
        }
        if (cycle.script() != null || (transaction.unheardAbort() != null && backend.outsideOfTransaction())) {
            finishCycle(transaction.unheardAbort() == null ? backend.status() : Backend.IN_TRANSACTION);
            return false;
        }
        cycleOver();
        return true;
    }

    /** The client's Sync needs no answer of the engine's: it would only say again what it has said last. */
    void readyAtOnce() {
        if (clientReady()) {
            client.ready(backend.status());
        }
    }

    /** The engine has completed an Execute of the client's that ends its transaction, and perhaps begins another. */
    void transactionEnded(boolean another) {
        repetition.transactionEnded();
        transaction.ended();
        backend.transactionEnded(another);
        if (client.suppressed() && !cycle.busy()) {
            client.show();
            error(RollbackSequence.answerLost());
            cycle.skip();
        } else {
            cycle.ended();
        }
        if (another && !client.suppressed()) {
            transaction.openNext();
        }
    }

    /** The engine has completed a simple query of the client's that ends its transaction. */
    void transactionEndedByQuery() {
        repetition.transactionEnded();
        transaction.ended();
    }

    /** The cycle is over, or one statement of a script is; the client sees this transaction status. */
    void finishCycle(byte shown) {
        MultiStatementQuery running = cycle.script();
        if (running != null && running.next(cycle.failed())) {
            return;
        }
        client.release();
        client.ready(shown);
        cycleOver();
    }

    private void cycleOver() {
        cycle.over();
        times.over(transaction.isOpen());
        forgetCycle();
    }

    /** Nothing is left of the cycle. */
    void forgetCycle() {
        cycle.forget();
        transaction.cycleOver();
        backend.cycleOver();
        client.cycleOver();
        questions.cycleOver();
        modes.requestOver();
    }

    // ------------------------------------------------------------------------------------------ cancelling, the end

    /**
     * The node stops: the client is sent away when no transaction is open and nothing is under way. From any thread.
     *
     * @param now whether it is not waited for that; only a commit that is under way is
     */
    void dismiss(boolean now) {
        onLoop(() -> {
            dismissed = true;
            if (now && !transaction.state().outlivesClient() && !transaction.is(SessionState.CLOSED)) {
                client.end(FrontEnd.SHUT_DOWN);
                dismissed = false;
            }
        });
    }

    private void mayDismiss() {
        if (dismissed && transaction.is(SessionState.IDLE) && cycle.none() && backend.idle()) {
            client.end(FrontEnd.SHUT_DOWN);
            dismissed = false;
        }
    }

    /** A client's cancel request. Nothing that commits is cancelled. From any thread; completed when it has reached the engine. */
    CompletableFuture<Void> cancelByClient() {
        CompletableFuture<Void> none = CompletableFuture.completedFuture(null);
        return none.thenComposeAsync(_ -> {
            if (repetition.cancelled() || turns.cancelled() || questions.cancelled()
                    || concurrentIndex.cancelled() || loads.cancelled()) {
                settle();
                return none;
            }
            return transaction.state().executing() ? backend.cancel() : none;
        }, loop);
    }

    /** The client is gone. What has asked to commit is finished first. */
    void clientClosed() {
        client.clientGone();
        if (transaction.state().outlivesClient()) {
            resumeEngine();
        } else {
            backend.close();
        }
        ending.clientGone();
    }

    /** The front end, whose loops run, is about to close. From any thread. */
    void cutOff() {
        loop.execute(ending::cutOff);
    }

    /** Why a transaction fails because the session has ended. */
    AbortReason.Failed end() {
        return end;
    }

    boolean engineActive() {
        return connection.channel().isActive();
    }

    /** Ends the engine's connection at once. */
    void abortEngine() {
        connection.abort();
    }

    /** The engine's connection is gone, and with it the transaction. */
    void engineClosed() {
        if (transaction.is(SessionState.CLOSED)) {
            return;
        }
        repetition.leave();
        loads.leave();
        changes.leave();
        messages.close();
        boolean byAll = transaction.is(SessionState.BARRIER);
        OpenTransaction lost = transaction.orNull();
        boolean asked = lost != null && lost.asked();
        boolean rollbackKnown = lost != null && lost.rollbackAsked();
        end = new AbortReason.Failed(client.gone() ? "disconnect" : "engine");
        transaction.closed();
        times.end();
        transaction.forget();
        if (lost != null && !commit.engineLost() && !asked && !rollbackKnown) {
            lost.ticket().failed(end);
        }
        ending.engineGone(asked ? lost : null, byAll);
    }
}
