package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.EventLoop;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.AbortReason;
import tutti.core.txn.Outcome;
import tutti.core.txn.WriteSet;
import tutti.pgwire.Backend;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.FrameReader;
import tutti.pgwire.Frontend;
import tutti.pgwire.QueryCollector;
import tutti.pgwire.QueryResult;

/**
 * One client's session: its transaction's way from the first statement to the answer. {@link ClientSide} and
 * {@link BackendSide} read the two streams and call in here where the front end has to step in.
 *
 * <p>
 * A client's messages are dealt with in cycles: a simple query, or extended-protocol messages up to Sync. One cycle is
 * under way at a time; further messages wait in the socket. Everything happens on the event loop that the client's and
 * the engine's channel share; the node's calls are handed over to it by {@link Branch}.
 */
final class Session {
    private static final Logger LOG = LoggerFactory.getLogger(Session.class);

    /** Where the client's current cycle stands. */
    enum Cycle {
        /** None is under way. */
        NONE,
        /** Extended-protocol messages have come, Sync has not. */
        OPEN,
        /** Complete; its ReadyForQuery is awaited. */
        BUSY
    }

    /** Which form of commit is under way. */
    enum Commit {
        /** The end of a cycle outside of a transaction block. */
        IMPLICIT,
        /** COMMIT as a simple query. */
        SIMPLE,
        /** COMMIT by Execute. */
        EXTENDED
    }

    /** What goes on when our own messages have been answered. */
    private interface Step {
        void ready();
    }

    final SessionServices services;
    final Capture capture;
    final OwnMessages own;
    final Operations operations = new Operations();
    final Held held;
    private final Channel client;
    private final Channel engine;
    private final FrameReader clientReader;
    private final BackendConnection connection;
    private final EventLoop loop;

    SessionState state = SessionState.IDLE;
    Cycle cycle = Cycle.NONE;
    /** The transaction was begun by us, for one cycle. */
    boolean implicit;
    /** Client messages are skipped up to Sync, as the engine does after an error. */
    boolean discard;
    /** At that Sync the transaction is made to fail, because the engine has rolled it back already. */
    boolean failAtSync;
    /** Client messages wait although the cycle is open. */
    boolean waiting;
    /** What is still to come from the engine for this cycle is not for the client. */
    boolean suppress;
    /** An error of this cycle has been passed on to the client. */
    boolean cycleFailed;
    /** Statements executed in this cycle. */
    int executed;
    boolean copyIn;
    boolean copyExpected;
    /** A COMMIT or ROLLBACK by Execute is under way in the engine; what follows it waits. */
    boolean settling;
    /** Warnings about the transaction status are ours to hide. */
    boolean hideWarnings;
    /** The closing messages have been sent with the cycle's own. */
    boolean closingSent;
    boolean prepared;
    private boolean preparing;
    /** Last transaction status of the engine. */
    byte status = Backend.IDLE;
    /** An error of our own messages. */
    @Nullable
    ErrorFields ownError;
    List<@Nullable String> ownRow = List.of();
    /** What the closing message returned. */
    byte @Nullable [] gathered;
    /** The transaction has sent a statement that may write. */
    boolean wrote;
    /** The transaction has changed the schema. */
    private boolean schemaChanged;
    /** Gathers the result of our query that is under way. */
    @Nullable
    QueryCollector collector;
    boolean commitSeen;
    /** The transaction was rolled back and its client, who has not heard, will at its next message. */
    @Nullable
    ErrorFields pendingAbort;
    /** What the client is told in place of the error that we provoke. */
    @Nullable
    ErrorFields refusal;
    @Nullable
    Script script;

    /** Read by the engine's threads too. */
    private volatile @Nullable Branch branch;
    /** One for each Sync or query of ours that is under way. */
    private final ArrayDeque<Step> steps = new ArrayDeque<>();
    private Commit commit = Commit.IMPLICIT;
    /** The client has asked for the commit that is under way. */
    private boolean commitAsked;
    private boolean chain;
    private @Nullable String chainBegin;
    private boolean rollbackWanted;
    private boolean rolledBack;
    private final List<Runnable> rollbackDone = new ArrayList<>();
    private @Nullable Completion<Void> commitDone;
    private @Nullable Outcome outcome;
    private int cancels;
    private @Nullable Runnable afterCancels;
    private boolean clientGone;

    Session(SessionServices services, Channel client, FrameReader clientReader, BackendConnection connection) {
        this.services = services;
        this.client = client;
        this.clientReader = clientReader;
        this.connection = connection;
        this.engine = connection.channel();
        this.loop = client.eventLoop();
        this.capture = services.capture();
        this.own = services.own();
        this.held = new Held(client, services.heldLimit());
    }

    /** The open transaction. Any thread. */
    @Nullable
    LocalTransaction transaction() {
        return branch;
    }

    // ------------------------------------------------------------------------------------------ output

    Channel client() {
        return client;
    }

    Channel engine() {
        return engine;
    }

    BackendConnection connection() {
        return connection;
    }

    FrameReader clientReader() {
        return clientReader;
    }

    /** Sends to the engine, after what the client sent before. */
    void toEngine(ByteBuf bytes) {
        clientReader.emitRun();
        engine.write(bytes, engine.voidPromise());
    }

    /** Sends to the client, after what the engine sent before. */
    void toClient(ByteBuf bytes) {
        connection.reader().emitRun();
        held.write(bytes);
    }

    ByteBuf buffer() {
        return engine.alloc().buffer();
    }

    void error(ErrorFields fields) {
        cycleFailed = true;
        ByteBuf out = buffer();
        Backend.errorResponse(out, fields);
        toClient(out);
    }

    /** Goes on with the client's messages if it can, and flushes both sides. Called whenever something has happened. */
    void settle() {
        if (connection.reader().paused() && (client.isWritable() || suppress)) {
            connection.reader().resume();
        }
        if (clientReader.paused() && !blocked() && engine.isWritable()) {
            clientReader.resume();
        }
        engine.flush();
        client.flush();
    }

    /** Whether the client's next message has to wait. */
    boolean blocked() {
        return cycle == Cycle.BUSY || waiting || state.compareTo(SessionState.CLOSING) >= 0
                || operations.size() > Operations.LIMIT - 64;
    }

    // ------------------------------------------------------------------------------------------ transactions

    void state(SessionState to) {
        state = state.to(to);
    }

    boolean inTransaction() {
        return state == SessionState.IN_TRANSACTION;
    }

    /** A transaction begins: from now on the node can ask for its rollback. */
    void openTransaction() {
        if (branch == null) {
            Branch opened = new Branch(this, loop);
            branch = opened;
            opened.ticket(services.transactions().begin(opened));
        }
        state(SessionState.IN_TRANSACTION);
    }

    /** The transaction is over in the engine, without having asked to commit. */
    void transactionEnded() {
        Branch ended = branch;
        if (ended != null) {
            forget();
            ended.ticket().ended();
        }
        wrote = false;
        schemaChanged = false;
        if (state != SessionState.CLOSED) {
            state(SessionState.IDLE);
        }
    }

    private void forget() {
        branch = null;
        rollbackWanted = false;
        rolledBack = false;
        outcome = null;
        commitDone = null;
        List<Runnable> waiters = List.copyOf(rollbackDone);
        rollbackDone.clear();
        waiters.forEach(Runnable::run);
    }

    /** Sends BEGIN ahead of a statement outside of a transaction block. */
    void beginImplicit(boolean sync) {
        implicit = true;
        openTransaction();
        ByteBuf out = buffer();
        writeBegin(out);
        if (sync) {
            own.sync(out, operations);
            steps.add(() -> {});
        }
        toEngine(out);
    }

    private void writeBegin(ByteBuf out) {
        prepareOwn(out);
        own.begin(out, operations);
    }

    private void prepareOwn(ByteBuf out) {
        if (!prepared && !preparing) {
            preparing = true;
            own.prepare(out, operations);
        }
    }

    /** Sends the closing messages, and goes on with the commit when they are answered. */
    void close(Commit form, boolean andChain) {
        commit = form;
        commitAsked = form != Commit.IMPLICIT;
        chain = andChain;
        closingSent = true;
        gathered = null;
        ownError = null;
        ByteBuf out = buffer();
        prepareOwn(out);
        own.closing(out, operations);
        own.sync(out, operations);
        steps.add(this::closed);
        toEngine(out);
        if (form != Commit.IMPLICIT) {
            state(SessionState.CLOSING);
        }
    }

    /** Our Sync, or our query, has been answered. */
    void ownReady(byte newStatus) {
        status = newStatus;
        steps.remove().ready();
    }

    /** An implicit transaction's cycle is complete and its closing has not been sent. */
    void implicitReady(byte newStatus) {
        status = newStatus;
        if (rollbackWanted) {
            startRollback();
        } else if (newStatus == Backend.IN_TRANSACTION) {
            close(Commit.IMPLICIT, false);
        } else {
            state(SessionState.CLOSING);
            closed();
        }
    }

    private void closed() {
        closingSent = false;
        if (state != SessionState.CLOSING) {
            state(SessionState.CLOSING);
        }
        if (rollbackWanted) {
            startRollback();
        } else if (status == Backend.IN_TRANSACTION) {
            captured();
        } else {
            giveUp(cycleFailed ? null : ownError);
        }
    }

    /** The commit fails, or its transaction had failed: rolls back and then tells the error, if it has not been told. */
    private void giveUp(@Nullable ErrorFields cause) {
        if (status == Backend.IDLE) {
            finishCommit(cause, false);
            return;
        }
        if (commit == Commit.EXTENDED && cause == null) {
            // an earlier message of the cycle failed, and the transaction block stays as it is
            state(SessionState.FAILED);
            commitAsked = false;
            waiting = false;
            discard = true;
            return;
        }
        ownRollback(() -> {
            rollbackComplete();
            finishCommit(cause, false);
        });
    }

    private void captured() {
        byte[] changes = gathered;
        gathered = null;
        if (changes == null) {
            captured(null);
        } else if (schemaChanged) {
            readCatalog(changes);
        } else {
            read(changes, null);
        }
    }

    private void read(byte[] changes, @Nullable QueryResult catalog) {
        Capture.Captured read;
        try {
            read = capture.close(changes, catalog);
        } catch (Capture.CatalogNeeded needed) {
            if (catalog == null) {
                readCatalog(changes);
            } else {
                LOG.error("captured changes name tables that do not exist", needed);
                giveUp(Errors.error("XX000", "the transaction's changes name tables that do not exist"));
            }
            return;
        } catch (Capture.CaptureException refused) {
            giveUp(refused.fields());
            return;
        }
        captured(read);
    }

    private void readCatalog(byte[] changes) {
        CompletableFuture<QueryResult> result = new CompletableFuture<>();
        QueryCollector collecting = new QueryCollector(result);
        collector = collecting;
        ByteBuf out = buffer();
        own.catalog(out, operations);
        steps.add(() -> {
            collector = null;
            collecting.ready(status);
            if (rollbackWanted) {
                startRollback();
            } else if (result.isCompletedExceptionally()) {
                giveUp(Errors.error("XX000", "the catalog could not be read: " + result.exceptionNow().getMessage()));
            } else {
                read(changes, result.resultNow());
            }
        });
        toEngine(out);
    }

    private void captured(Capture.@Nullable Captured read) {
        Branch committing = java.util.Objects.requireNonNull(branch, "a transaction is open");
        if (read != null) {
            committing.writes = read.writes();
            committing.describe = read.describe();
        }
        if (chain) {
            readCharacteristics(() -> execute(committing));
        } else {
            execute(committing);
        }
    }

    private void execute(Branch committing) {
        if (rollbackWanted) {
            committing.writes = WriteSet.EMPTY;
            startRollback();
        } else if (committing.writes.isEmpty()) {
            state(SessionState.COMMITTING);
            sendCommit(null, () -> finishCommit(commitSeen ? null : ownError, false));
        } else {
            state(SessionState.CERTIFYING);
            committing.ticket().executed(committing.writes);
        }
    }

    private void sendCommit(@Nullable String position, Step then) {
        commitSeen = false;
        ownError = null;
        ByteBuf out = buffer();
        own.commit(out, operations, position);
        own.sync(out, operations);
        steps.add(then);
        toEngine(out);
    }

    private void readCharacteristics(Step then) {
        ByteBuf out = buffer();
        Frontend.query(out, Chain.CHARACTERISTICS);
        operations.add(Operations.OWN_QUERY);
        steps.add(() -> {
            chainBegin = Chain.begin(ownRow);
            then.ready();
        });
        toEngine(out);
    }

    /** From the node: commit now. */
    void onCommit(Branch asked, long position, Completion<Void> done) {
        if (asked != branch || state != SessionState.CERTIFYING || rollbackWanted) {
            done.failed(new EngineFailure("08006", "the session that executed the transaction cannot commit it", true));
            return;
        }
        state(SessionState.COMMITTING);
        commitDone = done;
        whenNoCancels(() -> {
            if (state == SessionState.COMMITTING) {
                sendCommit(OwnMessages.lsn(position), this::committed);
            }
        });
        settle();
    }

    private void committed() {
        Completion<Void> done = java.util.Objects.requireNonNull(commitDone, "a commit is under way");
        commitDone = null;
        if (commitSeen) {
            if (ownError != null) {
                LOG.error("the session's replication origin was not released: {}", ownError);
                connection.abort();
            }
            state(SessionState.AWAITING_ANSWER);
            done.succeeded(null);
            tryAnswer();
            return;
        }
        ErrorFields cause = ownError == null ? Errors.error("XX000", "COMMIT did not commit") : ownError;
        LOG.warn("the engine refused a certified commit; the node applies the transaction instead: {}", cause);
        EngineFailure failure = new EngineFailure(cause.sqlState(), cause.message(), true);
        if (status == Backend.IDLE) {
            state(SessionState.AWAITING_ANSWER);
            done.failed(failure);
            tryAnswer();
        } else {
            ownRollback(() -> {
                state(SessionState.AWAITING_ANSWER);
                done.failed(failure);
                tryAnswer();
            });
        }
    }

    /** From the node: roll back now, whatever is going on. */
    void onRollback(Branch asked, Runnable done) {
        if (asked != branch || rolledBack || state == SessionState.CLOSED) {
            done.run();
            return;
        }
        rollbackDone.add(done);
        if (rollbackWanted) {
            return;
        }
        rollbackWanted = true;
        if (state == SessionState.CERTIFYING || (operations.size() == 0 && cycle == Cycle.NONE)) {
            startRollback();
        } else if (state != SessionState.COMMITTING && state != SessionState.ROLLING_BACK
                && state != SessionState.AWAITING_ANSWER) {
            interrupt();
        }
        settle();
    }

    /** Makes the engine stop what it is doing for this cycle. */
    private void interrupt() {
        suppress = true;
        connection.reader().resume();
        if (copyIn) {
            copyIn = false;
            ByteBuf out = buffer();
            Frontend.copyFail(out, "the transaction gives way to one that was ordered first");
            toEngine(out);
        }
        if (operations.size() > 0) {
            cancel();
        }
        if (cycle == Cycle.OPEN && !waiting) {
            waiting = true;
            ByteBuf out = buffer();
            own.sync(out, operations);
            steps.add(this::startRollback);
            toEngine(out);
        }
    }

    /** Nothing of the client's is running any more. */
    void startRollback() {
        ownRollback(() -> {
            rollbackComplete();
            state(SessionState.AWAITING_ANSWER);
            tryAnswer();
        });
    }

    private void rollbackComplete() {
        rolledBack = true;
        wrote = false;
        schemaChanged = false;
        List<Runnable> waiters = List.copyOf(rollbackDone);
        rollbackDone.clear();
        waiters.forEach(Runnable::run);
    }

    private void ownRollback(Step then) {
        if (state != SessionState.ROLLING_BACK) {
            state(SessionState.ROLLING_BACK);
        }
        whenNoCancels(() -> {
            if (state == SessionState.CLOSED) {
                return;
            }
            ByteBuf out = buffer();
            own.rollback(out, operations);
            hideWarnings = true;
            steps.add(() -> {
                hideWarnings = false;
                then.ready();
            });
            toEngine(out);
        });
    }

    /** From the node: the end. */
    void onAnswer(Branch asked, Outcome end) {
        if (asked != branch) {
            return;
        }
        outcome = end;
        tryAnswer();
        settle();
    }

    private void tryAnswer() {
        Outcome end = outcome;
        Branch answered = branch;
        if (end == null || answered == null || state != SessionState.AWAITING_ANSWER) {
            return;
        }
        ErrorFields fields = Errors.of(end, answered.describe);
        boolean asked = !answered.writes.isEmpty();
        if (asked || commitAsked) {
            suppress = false;
            finishCommit(fields, true);
        } else {
            pushedOut(fields == null ? Errors.error("XX000", "committed without having asked") : fields);
        }
    }

    /** The transaction was rolled back before it asked to commit. */
    private void pushedOut(ErrorFields fields) {
        forget();
        wrote = false;
        schemaChanged = false;
        suppress = false;
        boolean wasImplicit = implicit;
        implicit = false;
        closingSent = false;
        state(SessionState.IDLE);
        switch (cycle) {
            case NONE -> pendingAbort = fields;
            case BUSY -> {
                held.drop();
                error(fields);
                if (wasImplicit) {
                    finishCycle(Backend.IDLE);
                } else {
                    failBlock();
                }
            }
            case OPEN -> {
                held.drop();
                error(fields);
                waiting = false;
                discard = true;
                failAtSync = !wasImplicit;
            }
        }
        if (clientGone) {
            closeEngine();
        }
    }

    /** Opens a transaction block in the engine that is going to fail, as the client has to see one. */
    void openFailing() {
        ByteBuf out = buffer();
        writeBegin(out);
        toEngine(out);
    }

    /** Opens a transaction block in the engine and makes it fail, as the client has to see one; ends the cycle. */
    void failBlock() {
        state(SessionState.FAILED);
        ByteBuf out = buffer();
        writeBegin(out);
        own.invalidParse(out, operations, Operations.OWN_PARSE);
        own.sync(out, operations);
        steps.add(() -> finishCycle(Backend.FAILED));
        toEngine(out);
    }

    /** The commit's outcome is known: the client hears it. */
    private void finishCommit(@Nullable ErrorFields cause, boolean askedNode) {
        Branch over = branch;
        if (over != null) {
            forget();
            if (!askedNode || over.writes.isEmpty()) {
                over.ticket().ended();
            }
        }
        if (schemaChanged && cause == null) {
            capture.schemaChanged();
        }
        wrote = false;
        schemaChanged = false;
        boolean wasImplicit = implicit;
        implicit = false;
        commitAsked = false;
        state(SessionState.IDLE);
        if (clientGone) {
            closeEngine();
            return;
        }
        if (wasImplicit && commit == Commit.IMPLICIT) {
            if (cause != null) {
                held.drop();
                error(cause);
            } else {
                held.release();
            }
            finishCycle(Backend.IDLE);
            return;
        }
        if (cause != null) {
            held.drop();
            error(cause);
        } else {
            held.release();
            ByteBuf out = buffer();
            Backend.commandComplete(out, "COMMIT");
            toClient(out);
        }
        if (chain && cause == null) {
            chain(chainBegin == null ? "BEGIN" : chainBegin);
        } else {
            afterCommit(cause != null);
        }
    }

    private void afterCommit(boolean failed) {
        chain = false;
        chainBegin = null;
        if (commit == Commit.SIMPLE) {
            finishCycle(status);
        } else {
            waiting = false;
            discard = failed;
        }
    }

    private void chain(String begin) {
        openTransaction();
        waiting = true;
        ByteBuf out = buffer();
        Frontend.query(out, begin);
        operations.add(Operations.OWN_QUERY);
        steps.add(() -> afterCommit(false));
        toEngine(out);
    }

    // ------------------------------------------------------------------------------------------ cycles

    /**
     * The engine has completed a client's simple query or Sync.
     *
     * @return whether the client gets to see the engine's ReadyForQuery
     */
    boolean cycleReady(byte newStatus) {
        settling = false;
        copyIn = false;
        copyExpected = false;
        if (implicit) {
            status = newStatus;
            if (!closingSent) {
                Script running = script;
                if (running == null || rollbackWanted || running.last() || cycleFailed) {
                    implicitReady(newStatus);
                } else {
                    running.next(false);
                }
            }
            return false;
        }
        if (suppress && branch != null) {
            status = newStatus;
            startRollback();
            return false;
        }
        plainReady(newStatus);
        if (suppress) {
            // the transaction ended by itself while it was being interrupted; its answer is lost
            suppress = false;
            error(Errors.error("40001", "the transaction gave way to one that was ordered first"));
            finishCycle(newStatus);
            return false;
        }
        if (script != null || (pendingAbort != null && newStatus == Backend.IDLE)) {
            finishCycle(pendingAbort == null ? newStatus : Backend.IN_TRANSACTION);
            return false;
        }
        cycleOver();
        return true;
    }

    /** The engine has completed a client's simple query or Sync that needs nothing from us but attention. */
    private void plainReady(byte newStatus) {
        status = newStatus;
        if (newStatus == Backend.IDLE) {
            if (branch != null) {
                transactionEnded();
            } else if (state != SessionState.IDLE) {
                state(SessionState.IDLE);
            }
        } else if (newStatus == Backend.FAILED) {
            state(SessionState.FAILED);
        } else if (branch == null || state == SessionState.IDLE) {
            openTransaction();
        } else {
            state(SessionState.IN_TRANSACTION);
        }
    }

    /** The cycle is over, or one statement of a script is. */
    void finishCycle(byte shown) {
        Script running = script;
        if (running != null && running.next(cycleFailed)) {
            return;
        }
        script = null;
        ByteBuf out = buffer();
        Backend.readyForQuery(out, shown);
        held.release();
        toClient(out);
        cycleOver();
    }

    void cycleOver() {
        cycle = Cycle.NONE;
        waiting = false;
        discard = false;
        cycleFailed = false;
        hideWarnings = false;
        closingSent = false;
        copyIn = false;
        refusal = null;
        preparing = false;
        settling = false;
        copyExpected = false;
        failAtSync = false;
        suppress = false;
        executed = 0;
    }

    // ------------------------------------------------------------------------------------------ barriers

    /** Has a statement executed by all replicas; no transaction is open. */
    void barrier(String sql, boolean simple) {
        waiting = true;
        ownRow = List.of();
        ownError = null;
        ByteBuf out = buffer();
        prepareOwn(out);
        own.settings(out, operations);
        own.sync(out, operations);
        steps.add(() -> {
            if (ownError != null || cycleFailed) {
                barrierOver(cycleFailed ? null : ownError, simple);
                return;
            }
            state(SessionState.BARRIER);
            services.transactions().barrier(capture.statement(sql, ownRow), capture.barrierKeys(),
                    new Completion<ExecuteResult>() {
                        @Override
                        public void succeeded(ExecuteResult result) {
                            onLoop(() -> {
                                cycleFailed = !result.tookEffect();
                                toClient(buffer().writeBytes(result.response()));
                                barrierOver(null, simple);
                            });
                        }

                        @Override
                        public void failed(EngineFailure failure) {
                            onLoop(() -> barrierOver(Errors.error(failure.sqlState(), failure.message()), simple));
                        }
                    });
        });
        toEngine(out);
    }

    /** Has the transaction's next statement, which changes the schema, captured; then sends it. */
    void schemaInBlock(String sql, ByteBuf message, byte operation) {
        wrote = true;
        schemaChanged = true;
        waiting = true;
        ownRow = List.of();
        ownError = null;
        ByteBuf out = buffer();
        prepareOwn(out);
        own.settings(out, operations);
        own.sync(out, operations);
        steps.add(() -> {
            if (schemaRefused(message, operation)) {
                return;
            }
            ByteBuf allowing = buffer();
            own.allow(allowing, operations, capture.statement(sql, ownRow));
            own.sync(allowing, operations);
            steps.add(() -> {
                if (!schemaRefused(message, operation)) {
                    waiting = false;
                    toEngine(message);
                    operations.add(operation);
                }
            });
            toEngine(allowing);
        });
        toEngine(out);
    }

    private boolean schemaRefused(ByteBuf message, byte operation) {
        ErrorFields cause = ownError;
        if (rollbackWanted) {
            message.release();
            startRollback();
            return true;
        }
        if (cause == null && status == Backend.IN_TRANSACTION) {
            return false;
        }
        message.release();
        waiting = false;
        if (cause != null && !cycleFailed) {
            error(cause);
        }
        if (operation == Operations.EXECUTE) {
            discard = true;
        } else if (implicit) {
            implicitReady(status);
        } else {
            finishCycle(status);
        }
        return true;
    }

    private void onLoop(Runnable task) {
        try {
            loop.execute(() -> {
                if (state != SessionState.CLOSED) {
                    task.run();
                    settle();
                }
            });
        } catch (RejectedExecutionException stopped) {
            LOG.debug("answer after the event loop stopped", stopped);
        }
    }

    private void barrierOver(@Nullable ErrorFields cause, boolean simple) {
        if (state == SessionState.BARRIER) {
            state(SessionState.IDLE);
        }
        if (cause != null) {
            error(cause);
        }
        waiting = false;
        if (clientGone) {
            closeEngine();
        } else if (simple) {
            finishCycle(Backend.IDLE);
        } else {
            discard = cycleFailed;
        }
    }

    // ------------------------------------------------------------------------------------------ cancelling, the end

    /** A client's cancel request. Nothing that commits is cancelled. */
    void cancelByClient() {
        if (state == SessionState.IN_TRANSACTION || state == SessionState.FAILED || state == SessionState.IDLE) {
            if (operations.size() > 0) {
                cancel();
            }
        }
    }

    private void cancel() {
        cancels++;
        connection.cancel().whenComplete((_, _) -> {
            cancels--;
            Runnable next = afterCancels;
            if (cancels == 0 && next != null) {
                afterCancels = null;
                next.run();
                settle();
            }
        });
    }

    /** So that a late cancel never meets a later statement of ours. */
    private void whenNoCancels(Runnable task) {
        if (cancels == 0) {
            task.run();
        } else {
            afterCancels = task;
        }
    }

    /** The client is gone. What has asked to commit is finished first. */
    void clientClosed() {
        clientGone = true;
        held.drop();
        switch (state) {
            case CERTIFYING, COMMITTING, ROLLING_BACK, AWAITING_ANSWER, BARRIER -> connection.reader().resume();
            default -> closeEngine();
        }
    }

    private void closeEngine() {
        if (operations.size() > 0) {
            cancel();
        }
        connection.close();
    }

    /** The engine's connection is gone, and with it the transaction. */
    void engineClosed(@Nullable ErrorFields lastError) {
        if (state == SessionState.CLOSED) {
            return;
        }
        SessionState before = state;
        state(SessionState.CLOSED);
        Branch lost = branch;
        Completion<Void> committing = commitDone;
        boolean asked = lost != null && !lost.writes.isEmpty();
        boolean toldToRollBack = rollbackWanted;
        if (lost != null) {
            forget();
            if (committing != null) {
                committing.failed(
                        new EngineFailure("08006", "the connection to PostgreSQL was lost during COMMIT", true));
            } else if (!asked && !toldToRollBack) {
                lost.ticket().failed(new AbortReason.Failed(clientGone ? "disconnect" : "engine"));
            }
        }
        held.drop();
        if (client.isActive()) {
            ByteBuf out = buffer();
            if (lastError == null) {
                String what = before.compareTo(SessionState.CERTIFYING) >= 0 && asked
                        ? "; the transaction that was committing may have been committed"
                        : "; the transaction was rolled back";
                Backend.errorResponse(out, Errors.fatal("08006", "the connection to PostgreSQL was lost" + what));
            }
            client.writeAndFlush(out).addListener(ChannelFutureListener.CLOSE);
        }
    }
}
