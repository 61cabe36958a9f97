package tutti.wire;

import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.pgwire.Backend;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.QueryResult;

/**
 * How a session's transaction commits: its capture is closed, what it has changed is read and told to the node, the engine
 * commits when the node says so, and the client hears the outcome once. On the session's event loop.
 */
final class CommitSequence {
    private static final Logger LOG = LoggerFactory.getLogger(CommitSequence.class);
    /** How long COMMIT may execute what the client has left to it, while what was ordered behind it waits (docs/decisions/0181). */
    private static final int COMMIT_MILLIS_MAX = 1_000;

    /** What asks for a commit. */
    enum Form {
        /** The end of a cycle outside of a transaction block. */
        IMPLICIT,
        /** The same, where that is a simple query. */
        QUERY,
        /** COMMIT as a simple query. */
        SIMPLE,
        /** COMMIT by Execute. */
        EXTENDED;

        /** Whether the client has asked for it. */
        boolean asked() {
            return this == SIMPLE || this == EXTENDED;
        }

        /** Whether the client has sent a simple query, so that it knows of no unnamed statement any more. */
        boolean byQuery() {
            return this == SIMPLE || this == QUERY;
        }
    }

    /**
     * A commit that is under way.
     *
     * @param chain whether the client wants another transaction to begin at once
     * @param ofBlock whether the client knows of a transaction block, if it has asked for this
     * @param prepares what the client prepares it as; null if it wants it committed
     * @param portal as which the engine has bound a COMMIT of the client's that is what the client has prepared it as, as long as nothing runs of
     *            which nothing is proven; null if it has none
     */
    private record Commit(Form form, boolean chain, boolean ofBlock, @Nullable PreparedTransaction prepares,
            @Nullable String portal) {
        String tag() {
            return prepares == null ? "COMMIT" : "PREPARE TRANSACTION";
        }
    }

    private final Session session;
    private final CurrentTransaction transaction;
    private final BackendRequests backend;
    private final ClientStream client;
    private final ClientCycle cycle;
    private final Capture capture;
    private final CommitLocks locks;
    private @Nullable Commit commit;
    /** How the chained transaction begins; null until that is known. */
    private @Nullable String chainBegin;
    /** Whether it is not known yet if all rows have been seen in band. */
    private boolean awaitsRows;
    /** Whether the transaction is SERIALIZABLE, as the engine has it. */
    private boolean serializable;
    /** How many rows have been seen in band; -1 if they were captured by triggers. */
    private long rowsInBand = -1;
    /** The engine is about to change the schema; to be run when it has, or has not. */
    private Runnable schemaSettled = () -> {};
    /** Run when the engine's COMMIT is over, which may not last for ever. */
    private Runnable ended = () -> {};
    /** The node waits for the engine's COMMIT. */
    private @Nullable Completion<Void> done;
    /** Of the COMMIT for which it waits, if something of the client's can run in it. */
    private Future<?> limit = CompletableFuture.completedFuture(null);
    /** What the client is told beside its commit; null for nothing. */
    private @Nullable ErrorFields warning;

    CommitSequence(Session session) {
        this.session = session;
        this.transaction = session.transaction();
        this.backend = session.backend();
        this.client = session.client();
        this.cycle = session.cycle();
        this.capture = session.capture();
        this.locks = new CommitLocks(session, this::giveUp);
    }

    /** Whether the messages that close the capture have been sent, so that the rest follows from their answer. */
    boolean underWay() {
        return commit != null;
    }

    /** Whether what has been written to the engine can go with COMMIT, which follows: the engine is woken once. */
    boolean sendsMore() {
        return rowsInBand >= 0 && transaction.is(SessionState.CERTIFYING);
    }

    /** The client hears that what has asked to commit has, though the engine is gone. */
    void tellDone() {
        Commit done = commit;
        if (done != null && done.form().asked()) {
            client.complete(done.tag());
        }
    }

    /** Whether the client has asked for the commit that is under way. */
    boolean askedByClient() {
        return commit != null && commit.form().asked();
    }

    /** The transaction is rolled back and does not commit, or not this time. */
    void abandon() {
        commit = null;
        chainBegin = null;
        awaitsRows = false;
    }

    // ------------------------------------------------------------------------------------------ closing

    /**
     * Finds out what the transaction has changed, and goes on with the commit when that is known: at once if all of it has been seen in
     * band.
     *
     * @param alone whether nothing is unanswered that could fail
     */
    void begin(Form form, boolean chain, boolean alone) {
        begin(new Commit(form, chain, true, null, null), alone);
    }

    /**
     * The same for COMMIT by Execute.
     *
     * @param implicit whether the client knows of no transaction block
     * @param portal what the engine has bound that COMMIT as, if it certainly has; otherwise null
     */
    void extended(boolean chain, boolean implicit, boolean alone, @Nullable String portal) {
        begin(new Commit(Form.EXTENDED, chain, !implicit, null, portal), alone);
    }

    /**
     * The same for PREPARE TRANSACTION (docs/decisions/0036): what it has changed is ordered, and kept by every node, so that the engine
     * can roll it back here.
     */
    void prepare(Form form, PreparedTransaction as) {
        begin(new Commit(form, false, true, as, null), false);
    }

    private void begin(Commit asked, boolean alone) {
        Form form = asked.form();
        session.times().trace().commits();
        commit = asked;
        chainBegin = null;
        rowsInBand = -1;
        InBandRows rows = transaction.work().inBand();
        serializable = false;
        // rows that come in band do not tell at which level the transaction is
        awaitsRows = rows.proven() && rows.complete() && (!session.notedReads().on() || session.node().needsReads());
        if (form.asked()) {
            transaction.becomes(SessionState.CLOSING);
        }
        boolean nothingFails = alone || backend.idle();
        if (!awaitsRows && session.replicated()) {
            backend.batch().closing(nothingFails, this::closed);
        } else if (nothingFails && backend.inTransaction()) {
            closed(backend.takeAhead());
        } else {
            // also where all has been answered at the client's Flush: that the engine is in a transaction it says at a Sync only
            backend.batch().sync(this::closed);
        }
    }

    /** The cycle of an implicit transaction is complete in the engine, and its closing has not been sent. */
    void cycleComplete() {
        if (transaction.rollbackWanted()) {
            session.rollback().begin();
        } else if (backend.inTransaction()) {
            begin(Form.IMPLICIT, false, false);
        } else {
            commit = new Commit(Form.IMPLICIT, false, true, null, null);
            closed(backend.takeAhead());
        }
    }

    private void closed(BackendReply reply) {
        transaction.becomes(SessionState.CLOSING);
        OpenTransaction closing = transaction.orNull();
        ErrorFields failure = reply.error();
        ErrorFields retry = closing == null ? null : closing.retry();
        if (retry == null && failure != null && session.turns().repeatable(failure)) {
            retry = failure;
        }
        if (retry == null && closing != null) {
            retry = repeats(closing, failure);
        }
        if (transaction.rollbackWanted()) {
            session.rollback().begin();
        } else if (retry != null && closing != null && !closing.repeatable()) {
            session.rollback().begin();
        } else if (retry != null) {
            session.turns().askForRepetition(retry);
        } else if (backend.inTransaction() && awaitsRows) {
            awaitsRows = false;
            inBand();
        } else if (backend.inTransaction()) {
            serializable = reply.serializable();
            captured(reply.changes());
        } else {
            giveUp(cycle.failed() ? null : failure);
        }
    }

    /** Why a transaction that the session can repeat must not commit now; null if it may, or fails. */
    private @Nullable ErrorFields repeats(OpenTransaction closing, @Nullable ErrorFields failure) {
        session.client().arrived();
        if (!session.repetition().proven()) {
            session.repetition().refuseCommit(closing);
        } else if (failure != null && session.repetition().repeats(failure)) {
            session.repetition().failed(closing, failure, 0);
        }
        return closing.retry();
    }

    /**
     * The commit fails, or its transaction had failed: rolls back.
     *
     * @param cause is told then; null if it has been told
     */
    void giveUp(@Nullable ErrorFields cause) {
        boolean toldBefore = cause == null && form() == Form.EXTENDED;
        if (toldBefore && backend.outsideOfTransaction()) {
            // an earlier message of the cycle failed, and there is no transaction block
            commit = null;
            transaction.ended();
            cycle.skip();
        } else if (toldBefore) {
            // the same, and the transaction block stays as it is
            commit = null;
            transaction.becomes(SessionState.FAILED);
            cycle.skip();
        } else if (backend.outsideOfTransaction()) {
            finish(cause, false);
        } else {
            session.rollback().inEngine(() -> {
                session.rollback().complete();
                finish(cause, false);
            });
        }
    }

    private boolean preparing() {
        return commit != null && commit.prepares() != null;
    }

    private Form form() {
        return commit == null ? Form.IMPLICIT : commit.form();
    }

    // ------------------------------------------------------------------------------------------ what was changed

    private void captured(byte @Nullable [] changes) {
        if (changes == null) {
            check();
        } else {
            locks.gather(() -> read(changes));
        }
    }

    private void read(byte[] changes) {
        if (transaction.work().mayHaveChanged(TransactionActivity.Change.SCHEMA)) {
            readCatalog(changes);
        } else {
            read(changes, List.of());
        }
    }

    /** All rows have come that come in band; if they are not all that were changed, the triggers are asked. */
    private void inBand() {
        InBandRows rows = transaction.work().inBand();
        if (rows.holdsFor(capture.schemaVersion())) {
            rowsInBand = rows.count();
            captured(rows.entries());
        } else {
            backend.batch().closing(true, this::closed);
        }
    }

    private void read(byte[] changes, List<@Nullable QueryResult> catalogs) {
        try {
            Capture.Captured read = capture.close(changes, catalogs);
            if (read.schemaChanged()) {
                // a function may have done that
                transaction.work().mayChange(TransactionActivity.Change.SCHEMA);
            }
            locks.add(read, preparing());
        } catch (Capture.CatalogNeeded needed) {
            if (catalogs.isEmpty()) {
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
        check();
    }

    private void readCatalog(byte[] changes) {
        backend.batch().catalog(reply -> unlessLost(reply, "the catalog",
                catalog -> read(changes, transaction.work().catalogs(catalog))));
    }

    private void unlessLost(BackendReply reply, String what, Consumer<QueryResult> then) {
        CompletableFuture<QueryResult> result = reply.result();
        if (transaction.rollbackWanted()) {
            session.rollback().begin();
        } else if (result.isCompletedExceptionally()) {
            giveUp(Errors.unreadable(what, result));
        } else {
            then.accept(result.resultNow());
        }
    }

    /** What it has used must lie in its classes, if they are what somebody says. */
    private void check() {
        OpenTransaction committing = transaction.get();
        if (!committing.vouched() || committing.classes().all() || !session.node().classesCoverReads()) {
            characteristics();
            return;
        }
        backend.batch().locks(reply -> unlessLost(reply, "the locks", locks -> {
            List<Long> used = locks.rows().stream()
                    .map(row -> Long.parseLong(Objects.requireNonNull(row.getFirst()))).toList();
            String table = capture.outside(used, committing.classes());
            if (table == null) {
                characteristics();
            } else {
                giveUp(outsideOfClasses(table, "used"));
            }
        }));
    }

    private void characteristics() {
        Commit current = commit;
        if (current != null && current.prepares() != null) {
            if (serializable) {
                giveUp(Errors.notSupported("a SERIALIZABLE transaction cannot be prepared: use REPEATABLE READ"));
            } else {
                askToPrepare(current.prepares());
            }
            return;
        }
        if (current == null || !current.chain()) {
            execute();
            return;
        }
        backend.batch().query(ChainedTransaction.CHARACTERISTICS, reply -> {
            chainBegin = ChainedTransaction.begin(reply.row());
            execute();
        });
    }

    private void askToPrepare(PreparedTransaction as) {
        backend.batch().query(as.preparing(), reply -> {
            ErrorFields failure = reply.error();
            if (transaction.rollbackWanted()) {
                session.rollback().begin();
            } else if (failure != null) {
                giveUp(failure);
            } else {
                keep(reply.row());
            }
        });
    }

    private void keep(List<@Nullable String> row) {
        OpenTransaction preparing = transaction.get();
        int changed = preparing.writes().keys().size();
        IntFunction<String> describe = preparing.describe();
        try {
            preparing.changed(capture.prepare(row, preparing.writes()),
                    key -> key < changed ? describe.apply(key) : "its identifier");
        } catch (Capture.CaptureException refused) {
            giveUp(refused.fields());
            return;
        }
        execute();
    }

    // ------------------------------------------------------------------------------------------ the node

    private void execute() {
        OpenTransaction committing = transaction.get();
        if (session.ending().begun()) {
            return; // its client has been told that its session has ended: this is not to commit
        }
        if (committing.rollbackWanted()) {
            committing.changedNothing();
            session.rollback().begin();
            return;
        }
        if (committing.writes().isEmpty()) {
            transaction.becomes(SessionState.COMMITTING);
            BackendRequests.Answered then = reply -> finish(reply.committed() ? null : reply.error(), false);
            if (rowsInBand < 0) {
                // COMMIT executes the queries of cursors WITH HOLD, behind the capture; after an error the engine would skip a simple query
                backend.batch().once("SET LOCAL transaction_read_only = on", SentMessage.OWN_EXECUTE).commit(null)
                        .sync(then);
            } else {
                commit(backend.batch(), then);
            }
            return;
        }
        ErrorFields refusal = refusal(committing);
        if (refusal == null) {
            refusal = session.notedReads().refusal(transaction.work(), serializable);
        }
        if (refusal != null) {
            committing.changedNothing();
            giveUp(refusal);
        } else {
            transaction.becomes(SessionState.CERTIFYING);
            session.repetition().asks(committing.ticket().id());
            session.times().trace().asks(committing.ticket().id(), committing.writes());
            committing.asks();
            committing.ticket().executed(committing.writes(),
                    locks.reads(session.notedReads().told(transaction.work(), serializable), preparing()));
        }
    }

    private @Nullable ErrorFields refusal(OpenTransaction committing) {
        if (!committing.handedIn()) {
            return session.node().executesAtOnce()
                    ? null
                    : Errors.error(Errors.READ_ONLY, "the transaction has changed something, though it could not be"
                            + " told from its statements")
                            .with('H', "Begin it with a statement that shows it, or with BEGIN.");
        }
        String outside = committing.classes().all() ? null : capture.outside(committing.writes(), committing.classes());
        return outside == null ? null : outsideOfClasses(outside, "changed");
    }

    private static ErrorFields outsideOfClasses(String table, String what) {
        return Errors.error(Errors.OUTSIDE_OF_CLASSES, "the transaction has " + what + " " + table
                + ", which is not among the conflict classes that it was ordered by")
                .with('H', "List every table that it touches: SET LOCAL tutti.classes = 'one, another' as the first"
                        + " statement; or declare nothing, which means all.");
    }

    /** From the node: commit now. */
    void commit(OpenTransaction asked, long position, Completion<Void> whenDone) {
        if (!transaction.is(asked) || !transaction.is(SessionState.CERTIFYING) || asked.rollbackWanted()) {
            whenDone.failed(
                    new EngineFailure("08006", "the session that executed the transaction cannot commit it", true));
            return;
        }
        transaction.becomes(SessionState.COMMITTING);
        done = whenDone;
        Commit current = commit;
        if (current != null && current.prepares() != null) {
            session.rollback().inEngine(this::prepared);
            session.settle();
            return;
        }
        if (transaction.work().mayHaveChanged(TransactionActivity.Change.SCHEMA)) {
            Capture.SchemaChange change = capture.schemaChanges();
            schemaSettled = change.over();
            CompletableFuture<Void> _ = change.alone()
                    .thenRun(() -> session.onLoop(() -> commitInEngine(position, whenDone)));
        } else {
            commitInEngine(position, whenDone);
        }
        session.settle();
    }

    private void commitInEngine(long position, Completion<Void> whenDone) {
        backend.whenNoCancels(() -> {
            if (transaction.is(SessionState.COMMITTING)) {
                ended = session.limitCommit();
                commit(backend.batch().record(position, rowsInBand),
                        reply -> backend.whenNoCancels(() -> committed(reply)));
                if (rowsInBand < 0) {
                    limit = session.unlessCancelled(COMMIT_MILLIS_MAX,
                            () -> backend.interrupt(() -> !whenDone.equals(done)));
                }
            }
        });
    }

    private void commit(BackendRequests.Batch last, BackendRequests.Answered then) {
        if (form().byQuery()) {
            last.commitByQuery(then);
        } else {
            last.commit(portal()).sync(then);
        }
    }

    /** The client's own COMMIT, if nothing has run that might have put something else in its place, or nothing there: a query of the node's own ends an unnamed one. */
    private @Nullable String portal() {
        return commit == null || rowsInBand < 0 || session.modes().locksInCluster() ? null : commit.portal();
    }

    /** It is rolled back here, where nothing of it is to be seen before it is committed: the node keeps it as all others do. */
    private void prepared() {
        Completion<Void> waiting = Objects.requireNonNull(done, "a commit is under way");
        done = null;
        transaction.get().rollbackDone();
        transaction.becomes(SessionState.AWAITING_ANSWER);
        waiting.failed(new EngineFailure("25001", "the transaction is prepared, not committed", true));
        session.rollback().tryAnswer();
    }

    private void settleSchema() {
        Runnable settled = schemaSettled;
        schemaSettled = () -> {};
        settled.run();
    }

    private @Nullable Completion<Void> over() {
        Completion<Void> waiting = done;
        done = null;
        limit.cancel(false);
        ended.run();
        settleSchema();
        return waiting;
    }

    private void committed(BackendReply reply) {
        Completion<Void> waiting = over();
        if (waiting == null) {
            return; // the engine's connection has been lost since
        }
        ErrorFields error = reply.error();
        if (reply.committed()) {
            if (error != null) {
                LOG.error("the commit was followed by an error: {}", error);
                session.abortEngine();
            }
            transaction.becomes(SessionState.AWAITING_ANSWER);
            waiting.succeeded(null);
            session.rollback().tryAnswer();
            return;
        }
        ErrorFields cause = error == null ? Errors.error("XX000", "COMMIT did not commit") : error;
        LOG.warn("the engine refused a certified commit; the node applies the transaction instead: {}", cause);
        warning = Errors.sessionUndone(cause);
        Runnable failed = () -> {
            transaction.get().rollbackDone();
            transaction.becomes(SessionState.AWAITING_ANSWER);
            waiting.failed(new EngineFailure(cause.sqlState(), cause.message(), true));
            session.rollback().tryAnswer();
        };
        if (backend.outsideOfTransaction()) {
            failed.run();
        } else {
            session.rollback().inEngine(failed);
        }
    }

    /** The engine's connection is gone. Returns whether the node waited for its COMMIT, and has been told. */
    boolean engineLost() {
        Completion<Void> waiting = over();
        if (waiting == null) {
            return false;
        }
        waiting.failed(new EngineFailure("08006", "the connection to PostgreSQL was lost during COMMIT", true));
        return true;
    }

    // ------------------------------------------------------------------------------------------ the end

    /**
     * The outcome is known, and the client hears it.
     *
     * @param cause null if it has committed, or if the client has heard why it has not
     * @param decided whether the node has decided it
     */
    void finish(@Nullable ErrorFields cause, boolean decided) {
        Commit over = commit;
        commit = null;
        session.changes().leave();
        session.repetition().transactionEnded();
        OpenTransaction ended = transaction.forget();
        if (ended != null && (!decided || ended.writes().isEmpty())) {
            ended.ticket().ended();
        }
        if (transaction.work().mayHaveChanged(TransactionActivity.Change.SCHEMA) && cause == null) {
            capture.schemaChanged();
        }
        transaction.workOver();
        transaction.becomes(SessionState.IDLE);
        if (client.gone()) {
            backend.close();
            return;
        }
        ErrorFields aside = warning;
        warning = null;
        if (cause == null) {
            client.release();
            client.notice(aside);
        } else {
            client.drop();
        }
        if (over != null && !over.ofBlock()) {
            client.notice(Errors.NO_TRANSACTION);
        }
        if (cause != null) {
            session.error(cause);
        }
        if (over == null || !over.form().asked()) {
            session.finishCycle(Backend.IDLE);
            return;
        }
        if (cause == null) {
            client.complete(over.tag());
        }
        if (over.chain() && cause == null) {
            chain(over);
        } else {
            afterCommit(over, cause != null);
        }
    }

    private void chain(Commit over) {
        transaction.openNext();
        cycle.await();
        backend.batch().query(chainBegin == null ? "BEGIN" : chainBegin, _ -> afterCommit(over, false));
    }

    private void afterCommit(Commit over, boolean failed) {
        chainBegin = null;
        if (over.form() == Form.SIMPLE) {
            session.finishCycle(backend.status());
        } else if (failed) {
            cycle.skip();
        } else {
            cycle.proceed();
        }
    }
}
