package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.protocol.Replica.Priority;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.Outcome;
import tutti.core.txn.ReadSet;
import tutti.core.txn.WriteSet;
import tutti.pgwire.Backend;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.FrameReader;
import tutti.pgwire.Frontend;
import tutti.pgwire.QueryCollector;
import tutti.pgwire.QueryResult;

/**
 * How does a session's transaction end? Begins it, closes its capture, asks the node, commits or rolls back in the engine
 * as the node says, and tells the client once. The node's calls are handed over to the event loop by {@link Branch}.
 */
abstract class SessionTransaction extends SessionChannels {
    private static final Logger LOG = LoggerFactory.getLogger(SessionTransaction.class);

    SessionTransaction(SessionServices services, Channel client, FrameReader clientReader,
            BackendConnection connection) {
        super(services, client, clientReader, connection);
    }

    /** The cycle is over, or one statement of a script is; the client sees this transaction status. */
    abstract void finishCycle(byte shown);

    /** Asks the engine to cancel what it runs. */
    abstract void cancel();

    /** So that a late cancel never meets a later statement of ours. */
    abstract void whenNoCancels(Runnable task);

    /** The client is gone and nothing is left to do. */
    abstract void closeEngine();

    /** From the node: its turn has come, to run or to run again. */
    abstract void onRun(Branch asked, Priority priority);

    /** It is over before it has run. */
    abstract void loseTurn();

    /** What it has done is rolled back, and it is to run again. */
    abstract void repeatNow();

    /** Whether an error of the engine's lets the transaction be repeated. */
    abstract boolean repeatable(ErrorFields cause);

    /** A whole request has failed for reasons that may not hold when it runs again, or with priority. */
    abstract void askForRepetition(ErrorFields cause);

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
            begin(opened);
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
        nothingWritten();
        if (state != SessionState.CLOSED) {
            state(SessionState.IDLE);
        }
    }

    /** Where to note what the transaction reads. */
    ReadSet.Builder readSet() {
        ReadSet.Builder seen = read;
        if (seen == null) {
            seen = new ReadSet.Builder();
            read = seen;
        }
        return seen;
    }

    /** What the transaction has read, if somebody wants to know. */
    private ReadSet reads() {
        ReadSet.Builder seen = read;
        return seen == null ? ReadSet.EMPTY : seen.build();
    }

    void nothingWritten() {
        read = null;
        wrote = false;
        wroteRows = false;
        schemaChanged = false;
        catalogs.clear();
    }

    void forget() {
        branch = null;
        handedIn = false;
        readOnly = false;
        declared = null;
        declaredPartly = false;
        vouched = false;
        repeat = null;
        repeatPending = false;
        retry = null;
        turn = null;
        Runnable watched = watch;
        if (watched != null) {
            watch = null;
            watched.run();
        }
        modes.transactionOver();
        rollbackWanted = false;
        rolledBack = false;
        outcome = null;
        commitDone = null;
        List<Runnable> waiters = List.copyOf(rollbackDone);
        rollbackDone.clear();
        waiters.forEach(Runnable::run);
        report();
    }

    /** Sends BEGIN ahead of a statement outside of a transaction block. */
    void beginImplicit(boolean sync) {
        implicit = true;
        commit = Commit.IMPLICIT;
        openTransaction();
        ByteBuf out = buffer();
        writeBegin(out);
        if (sync) {
            own.sync(out, operations);
            steps.add(() -> {});
        }
        toEngine(out);
    }

    void writeBegin(ByteBuf out) {
        prepareOwn(out);
        own.begin(out, operations);
    }

    void prepareOwn(ByteBuf out) {
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

    void closed() {
        closingSent = false;
        if (state != SessionState.CLOSING) {
            state(SessionState.CLOSING);
        }
        ErrorFields failure = retry == null && ownError != null && repeatable(ownError) ? ownError : retry;
        if (rollbackWanted) {
            startRollback();
        } else if (failure != null) {
            askForRepetition(failure);
        } else if (status == Backend.IN_TRANSACTION) {
            captured();
        } else {
            giveUp(cycleFailed ? null : ownError);
        }
    }

    /** The commit fails, or its transaction had failed: rolls back and then tells the error, if it has not been told. */
    void giveUp(@Nullable ErrorFields cause) {
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

    void captured() {
        byte[] changes = gathered;
        gathered = null;
        if (changes == null) {
            captured(null);
        } else if (schemaChanged) {
            readCatalog(changes);
        } else {
            read(changes, List.of());
        }
    }

    void read(byte[] changes, List<@Nullable QueryResult> inside) {
        Capture.Captured read;
        try {
            read = capture.close(changes, inside);
        } catch (Capture.CatalogNeeded needed) {
            if (inside.isEmpty()) {
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

    void readCatalog(byte[] changes) {
        readCatalog(result -> {
            if (rollbackWanted) {
                startRollback();
            } else if (result.isCompletedExceptionally()) {
                giveUp(Errors.error("XX000", "the catalog could not be read: " + result.exceptionNow().getMessage()));
            } else {
                List<@Nullable QueryResult> inside = new ArrayList<>(catalogs);
                inside.add(result.resultNow());
                read(changes, inside);
            }
        });
    }

    /** Reads the catalog as the transaction sees it. */
    void readCatalog(Consumer<CompletableFuture<QueryResult>> then) {
        ByteBuf out = buffer();
        own.catalog(out, operations);
        collect(out, then);
    }

    /** Sends a question of ours, which ends with Sync, and goes on with the answer. */
    private void collect(ByteBuf out, Consumer<CompletableFuture<QueryResult>> then) {
        CompletableFuture<QueryResult> result = new CompletableFuture<>();
        QueryCollector collecting = new QueryCollector(result);
        collector = collecting;
        steps.add(() -> {
            collector = null;
            collecting.ready(status);
            then.accept(result);
        });
        toEngine(out);
    }

    void captured(Capture.@Nullable Captured read) {
        Branch committing = java.util.Objects.requireNonNull(branch, "a transaction is open");
        if (read != null) {
            committing.writes = read.writes();
            committing.describe = read.describe();
        }
        if (vouched && !classes.all() && services.transactions().classesCoverReads()) {
            checkUsed(committing);
        } else {
            characteristics(committing);
        }
    }

    /** What a transaction has used must lie in the classes that its client has declared. */
    private void checkUsed(Branch committing) {
        ByteBuf out = buffer();
        own.locks(out, operations);
        collect(out, result -> {
            if (rollbackWanted) {
                startRollback();
            } else if (result.isCompletedExceptionally()) {
                giveUp(Errors.error("XX000", "the locks could not be read: " + result.exceptionNow().getMessage()));
            } else {
                List<Long> used = result.resultNow().rows().stream()
                        .map(row -> Long.parseLong(java.util.Objects.requireNonNull(row.getFirst()))).toList();
                String table = capture.outside(used, classes);
                if (table == null) {
                    characteristics(committing);
                } else {
                    giveUp(outsideOfClasses(table, "used"));
                }
            }
        });
    }

    private void characteristics(Branch committing) {
        if (chain) {
            readCharacteristics(() -> execute(committing));
        } else {
            execute(committing);
        }
    }

    void execute(Branch committing) {
        if (rollbackWanted) {
            committing.writes = WriteSet.EMPTY;
            startRollback();
            return;
        }
        if (committing.writes.isEmpty()) {
            state(SessionState.COMMITTING);
            sendCommit(null, () -> finishCommit(commitSeen ? null : ownError, false));
            return;
        }
        String outside = outside(committing);
        if (outside != null) {
            committing.writes = WriteSet.EMPTY;
            giveUp(outsideOfClasses(outside, "changed"));
        } else if (!handedIn && !services.transactions().executesAtOnce()) {
            committing.writes = WriteSet.EMPTY;
            giveUp(Errors.error(Errors.READ_ONLY, "the transaction has changed something, though it could not be told"
                    + " from its statements").with('H', "Begin it with a statement that shows it, or with BEGIN."));
        } else {
            state(SessionState.CERTIFYING);
            committing.ticket().executed(committing.writes, reads());
        }
    }

    private @Nullable String outside(Branch committing) {
        return classes.all() || !handedIn ? null : capture.outside(committing.writes, classes);
    }

    private static ErrorFields outsideOfClasses(String table, String what) {
        return Errors.error(Errors.OUTSIDE_OF_CLASSES, "the transaction has " + what + " " + table
                + ", which is not among the conflict classes that it was ordered by")
                .with('H', "List every table that it touches: SET LOCAL tutti.classes = 'one, another' as the first"
                        + " statement; or declare nothing, which means all.");
    }

    void sendCommit(@Nullable String position, Step then) {
        commitSeen = false;
        ownError = null;
        ByteBuf out = buffer();
        own.commit(out, operations, position);
        own.sync(out, operations);
        steps.add(then);
        toEngine(out);
    }

    void readCharacteristics(Step then) {
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
                sendCommit(Long.toString(position), this::committed);
            }
        });
        settle();
    }

    void committed() {
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
        if (turn != null) {
            loseTurn();
        } else if (state == SessionState.CERTIFYING || (operations.size() == 0 && cycle == Cycle.NONE)) {
            startRollback();
        } else if (state != SessionState.COMMITTING && state != SessionState.ROLLING_BACK
                && state != SessionState.AWAITING_ANSWER) {
            interrupt();
        }
        settle();
    }

    /** Makes the engine stop what it is doing for this cycle. */
    void interrupt() {
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
            if (repeatPending) {
                repeatNow();
            } else {
                tryAnswer();
            }
        });
    }

    void rollbackComplete() {
        rolledBack = true;
        nothingWritten();
        List<Runnable> waiters = List.copyOf(rollbackDone);
        rollbackDone.clear();
        waiters.forEach(Runnable::run);
    }

    void ownRollback(Step then) {
        if (state != SessionState.ROLLING_BACK) {
            state(SessionState.ROLLING_BACK);
        }
        whenNoCancels(() -> {
            if (state == SessionState.CLOSED) {
                return;
            }
            ByteBuf out = buffer();
            if (repeat != null && prepared) {
                own.rollbackPrepared(out, operations);
            } else {
                own.rollback(out, operations);
            }
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
        if (turn != null) {
            loseTurn();
        }
        tryAnswer();
        settle();
    }

    void tryAnswer() {
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
    void pushedOut(ErrorFields fields) {
        forget();
        nothingWritten();
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
    void finishCommit(@Nullable ErrorFields cause, boolean askedNode) {
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
        nothingWritten();
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

    void afterCommit(boolean failed) {
        chain = false;
        chainBegin = null;
        if (commit == Commit.SIMPLE) {
            finishCycle(status);
        } else {
            waiting = false;
            discard = failed;
        }
    }

    void chain(String begin) {
        hold();
        openTransaction();
        waiting = true;
        ByteBuf out = buffer();
        Frontend.query(out, begin);
        operations.add(Operations.OWN_QUERY);
        steps.add(() -> afterCommit(false));
        toEngine(out);
    }
}
