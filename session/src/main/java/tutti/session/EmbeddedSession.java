package tutti.session;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.ReplicaWorld.Priority;
import tutti.core.protocol.TransactionRequest;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.AbortReason;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.engine.jdbc.BarrierResponse;
import tutti.engine.jdbc.BarrierStatement;
import tutti.engine.jdbc.ClientAnswer;
import tutti.engine.jdbc.ClientRequest;
import tutti.engine.jdbc.ClientEngine;
import tutti.engine.jdbc.ClientSession;
import tutti.engine.jdbc.reads.Footprint;
import tutti.engine.jdbc.reads.Footprints;
import tutti.engine.jdbc.rows.CapturedWrites;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.node.Transactions;
import tutti.node.trace.SessionTrace;

/**
 * A client of a node in the same virtual machine: transactions on the local engine, certified and ordered by the node when
 * they commit (docs/tour.md follows one). For one thread at a time; its methods
 * block.
 *
 * <p>
 * Errors have the SQLSTATEs that applications retry on: {@code 40001} for a transaction that lost to a concurrent one,
 * with table, key and winner in the message. After an error of class 40 every statement fails until {@link #rollback}.
 *
 * <p>
 * <b>Protocols.</b> What a transaction reads is told from its statements' texts and the schema: a row where a statement gives
 * its whole primary key, else all of a table that it names, or that comes along with what it names; and all tables where
 * that cannot be told ({@link tutti.engine.jdbc.reads.Footprints}). A statement that is a transaction by itself
 * ({@link #alone}) has the conflict classes of the tables that it names; a transaction of several those that its client
 * {@linkplain #declare declares}, and otherwise all: then it waits in its first statement until it is alone ({@code nodo},
 * {@code akara}). One that has changed something outside of its classes, or read it where the protocol is serializable,
 * fails at its commit with {@code 2F003}. Under {@code active} transactions may only read, and what changes something is
 * a statement for {@link #everywhere}.
 *
 * <p>
 * <b>Fresh snapshots.</b> A transaction that may write, and need not wait for its turn, begins when what was delivered to the node
 * before is visible ({@link DeliveredFirst}), so that nothing aborts it that it could have seen.
 */
public final class EmbeddedSession implements AutoCloseable {
    private final Transactions node;
    private final ClientSession session;
    private final long bytesMax;
    private volatile @Nullable Open current;
    private SessionTrace trace = SessionTrace.NONE;
    private boolean readOnly;
    /** What the client has said of the next transaction, or the open one; and where it was looked up. */
    private ConflictClasses classes = ConflictClasses.ALL;
    private @Nullable Footprints asOf;
    /** Whether it will change nothing, as its text says. */
    private boolean queries;
    /** Of the next transaction, if it has been asked for. */
    private @Nullable TransactionId name;
    /** Of the last one that had a name, which may be run again under it; null if it has been given back. */
    private @Nullable TransactionId last;
    /** Whether the next transaction is the last one, run again. */
    private boolean repeats;

    /** The transaction, as the node sees it. */
    private final class Open implements LocalTransaction {
        private final CompletableFuture<Outcome> outcome = new CompletableFuture<>();
        /** Completed by the outcome; fails when the client is not to wait for it any more. */
        private final CompletableFuture<Outcome> told = outcome.copy();
        /** Completed when it may run, or has been answered without that. */
        private final CompletableFuture<@Nullable Void> turn = new CompletableFuture<>();
        private Transactions.@Nullable Ticket ticket;
        private final @Nullable TransactionId name;

        Open(@Nullable TransactionId name) {
            this.name = name;
        }

        @Override
        public void run(Priority priority) {
            turn.complete(null);
        }

        @Override
        public void commit(long position, Completion<Void> done) {
            session.commit(position, done);
        }

        @Override
        public void rollback(Runnable done) {
            session.rollback(this, done);
        }

        @Override
        public void renewed() {
            ticket().renewed(node.visiblePosition());
        }

        @Override
        public void answer(Outcome told) {
            outcome.complete(told);
            turn.complete(null);
        }

        @Override
        public void doubtful(TransactionId known) {
            turn.completeExceptionally(LostTransaction.awaitsNoTurn());
            told.completeExceptionally(LostTransaction.inDoubt(node.names(), known));
        }

        Transactions.Ticket ticket() {
            Transactions.Ticket present = ticket;
            if (present == null) {
                throw new IllegalStateException("the transaction has not begun");
            }
            return present;
        }
    }

    /**
     * Opens a session.
     *
     * @param bytesMax how many bytes of changes one transaction may make
     * @throws SQLException if the engine is closed
     */
    public EmbeddedSession(Transactions node, ClientEngine engine, long bytesMax) throws SQLException {
        this.node = node;
        this.bytesMax = bytesMax;
        this.session = engine.openSession(() -> current);
        if (node.needsReads() || node.classesCoverReads()) {
            session.logReads();
        }
    }

    /** Who is told of transactions in case they are followed. */
    public void followedBy(SessionTrace follows) {
        trace = follows;
    }

    /** The engine's connection, to prepare statements and for metadata; see {@link ClientSession#connection()}. */
    public Connection connection() {
        return session.connection();
    }

    /** Whether the transactions that begin from now on may only read. */
    public void setReadOnly(boolean only) {
        readOnly = only;
        session.setReadOnly(only);
    }

    /** Whether transactions are serializable under the node's protocol; otherwise they have snapshot isolation. */
    public boolean serializable() {
        return node.serializable();
    }

    /** Whether it is of use to {@linkplain #declare declare} what a transaction will touch. */
    public boolean needsClasses() {
        return node.needsClasses();
    }

    /** What statements may touch, as of the last schema change. */
    public Footprints footprints() {
        return session.footprints();
    }

    /** Whether a transaction is open. */
    public boolean inTransaction() {
        return current != null;
    }

    /**
     * The name that the session's next transaction or schema change will have in the cluster, so that its client can ask for
     * it by that name whatever happens then.
     *
     * @return null while a transaction is open, and if the node does not name transactions beforehand
     */
    public @Nullable TransactionId nextName() {
        if (current != null) {
            return null;
        }
        if (repeats && last != null) {
            return last;
        }
        giveBackLast();
        if (name == null) {
            name = node.reserve();
        }
        return name;
    }

    private @Nullable TransactionId takeName() {
        giveBackLast();
        TransactionId taken = name;
        name = null;
        return taken;
    }

    private void giveBackLast() {
        TransactionId over = last;
        last = null;
        if (over != null) {
            node.release(over);
        }
    }

    /** No transaction is open any more. */
    private void over(Open open) {
        current = null;
        if (open.name != null) {
            last = open.name;
        }
    }

    /**
     * What is known of the transaction that has failed with an error of class 40.
     *
     * @return null if it cannot be run again, because the node has given it up or refuses it
     */
    public LostTransaction.@Nullable Loss loss(SQLException failed) {
        Open open = current;
        if (failed instanceof LostTransaction lost) {
            return lost.loss();
        }
        if (open == null) {
            return null;
        }
        return open.outcome.getNow(null) instanceof Outcome.Aborted(AbortReason reason)
                ? LostTransaction.Loss.of(reason, KeySet.EMPTY)
                : LostTransaction.Loss.UNKNOWN;
    }

    /** Under which the node knows the run that is open; one is. */
    public TransactionId run() {
        return java.util.Objects.requireNonNull(current, "a transaction is open").ticket().id();
    }

    /** Waits until nobody here holds rows that were lost, or the time is over; with no transaction open. */
    public void awaitFree(long[] rows, long millis) throws InterruptedException {
        KeySet.Builder wanted = new KeySet.Builder();
        for (long row : rows) {
            wanted.add(row, KeyKind.UPDATE);
        }
        session.awaitFree(wanted.build(), millis);
    }

    /** The next transaction is the one that was lost last, run again: its client has not heard of the loss, and knows it by its name. */
    public void runAgain() {
        rollback();
        repeats = true;
    }

    /**
     * Says which tables the next transaction will touch. Under protocols that order transactions by conflict classes it
     * waits only for those that touch one of them, too, and is held to it: if it has changed another table, or
     * read one where the protocol is serializable, its commit fails with {@code 2F003}. What comes along with these tables
     * (by views, triggers, cascades, foreign keys) is added. Under other protocols this means nothing.
     *
     * @param tables names, separated by commas; of views and the like, too
     * @throws SQLException with {@code 25001} if a transaction is open, {@code 42P01} if a name stands for nothing
     */
    public void declare(String tables) throws SQLException {
        if (!node.needsClasses()) {
            return;
        }
        if (current != null) {
            throw new SQLException("tutti.classes must be set before the first statement of a transaction", "25001");
        }
        Footprints footprints = session.footprints();
        Footprint declared = footprints.declared(tables);
        if (declared == null) {
            throw new SQLException(
                    "tutti.classes lists what is no table: " + String.join(", ", footprints.unknown(tables)), "42P01");
        }
        classes = declared.classes();
        asOf = footprints;
    }

    /** Executes one statement that is not of schema or transaction control; begins a transaction if none is open. */
    public <T extends @Nullable Object> T statement(ClientSession.Work<T> work) throws SQLException {
        return statement(null, List.of(), work);
    }

    /** Likewise one that is described, see {@link ClientSession#statement(String, List, ClientSession.Work)}. */
    public <T extends @Nullable Object> T statement(@Nullable String sql,
            List<? extends @Nullable Object> parameters, ClientSession.Work<T> work) throws SQLException {
        begin();
        return session.statement(sql, parameters, work);
    }

    /**
     * Likewise one that will be the only one of its transaction: {@link #commit} or {@link #rollback} follows. What it will
     * touch need not be declared, and a query waits for nothing.
     *
     * @param sql its text, or that of several that {@code work} executes
     */
    public <T extends @Nullable Object> T alone(String sql, ClientSession.Work<T> work) throws SQLException {
        if (current == null && node.needsClasses()) {
            asOf = session.footprints();
            Footprint footprint = asOf.of(sql);
            classes = footprint.classes();
            queries = !footprint.changes();
        }
        return statement(work);
    }

    /** Executes a statement that changes rows, in the same way; answers how many. */
    public int execute(String sql, @Nullable Object... parameters) throws SQLException {
        begin();
        return session.execute(sql, parameters);
    }

    /**
     * Does something that only looks, outside of the transactions that the client knows, unless one is open: it waits for
     * nothing, and takes no {@linkplain #nextName name}.
     */
    public <T extends @Nullable Object> T aside(ClientSession.Work<T> work) throws SQLException {
        if (current != null || node.executesAtOnce()) {
            return statement(work);
        }
        Open open = new Open(null);
        open.ticket = node.begin(open);
        current = open;
        try {
            return session.statement(work);
        } finally {
            session.forget();
            over(open);
            open.ticket().ended();
        }
    }

    private Open open() {
        TransactionId again = repeats ? last : null;
        Open open = new Open(again == null ? takeName() : again);
        repeats = false;
        if (again == null) {
            open.ticket = node.begin(open, open.name);
            return open;
        }
        long since = node.hold();
        try {
            open.ticket = node.again(open, since, again);
        } finally {
            node.unhold(since);
        }
        return open;
    }

    private void begin() throws SQLException {
        if (current == null) {
            if (!readOnly && !queries && node.executesAtOnce()) {
                DeliveredFirst.await(node);
            }
            current = open();
            Open open = current;
            if (!readOnly && !queries && !node.executesAtOnce()) {
                open.ticket().submit(new TransactionRequest.Interactive(classes));
                try {
                    BlockingCompletion.await(open.turn);
                } catch (SQLException neverComes) {
                    rollback();
                    throw neverComes;
                }
                if (open.outcome.getNow(null) instanceof Outcome.Aborted(AbortReason reason)) {
                    ended(open);
                    throw LostTransaction.of(reason, CapturedWrites.NOTHING);
                }
                Footprints declaredFor = asOf;
                if (declaredFor != null && !declaredFor.equals(session.footprints())) {
                    rollback();
                    throw new SQLException(
                            "the schema was changed while the transaction waited for its turn; try again",
                            "40001");
                }
            }
        }
    }

    /** The node has answered. */
    private void ended(Open open) {
        forgetDeclared();
        over(open);
        session.forget();
    }

    private void forgetDeclared() {
        classes = ConflictClasses.ALL;
        asOf = null;
        queries = false;
    }

    /** Fails if the transaction has left its classes. */
    private void checkClasses(WriteSet writes) throws SQLException {
        if (queries) {
            throw new SQLException("the statement has changed rows though its text does not say so: have it run in a"
                    + " transaction with auto-commit off", "25006");
        }
        Footprints footprints = asOf;
        if (footprints == null || classes.all()) {
            return;
        }
        String written = footprints.outside(writes.keys(), classes);
        String read = node.classesCoverReads() ? footprints.outside(session.reads().tableKeys(), classes) : null;
        if (written != null || read != null) {
            throw new SQLException("the transaction has " + (written == null ? "read " + read : "changed " + written)
                    + ", which is not among the tables that it has declared: list all that it uses in tutti.classes",
                    "2F003");
        }
    }

    /**
     * Commits.
     *
     * @return whether something has changed
     * @throws SQLException if it did not; then it has been rolled back, everywhere
     */
    public boolean commit() throws SQLException {
        Open open = current;
        if (open == null) {
            forgetDeclared();
            return false;
        }
        CapturedWrites captured;
        trace.commits();
        try {
            captured = session.capture();
            WriteSet writes = captured.writes();
            if (writes.changes().length > bytesMax) {
                throw new SQLException(
                        "the transaction changed " + writes.changes().length + " bytes of rows, more than "
                                + bytesMax + "; make several of it",
                        "54000");
            }
            if (writes.keys().size() > WriteSet.KEYS_MAX) {
                throw new SQLException("the transaction touches " + writes.keys().size() + " keys, more than "
                        + WriteSet.KEYS_MAX + "; make several of it", "54000");
            }
            if (writes.isEmpty()) {
                session.commitUnchanged();
                open.ticket().ended();
                forgetDeclared();
                over(open);
                return false;
            }
            checkClasses(writes);
        } catch (SQLException failed) {
            LostTransaction.Loss loss = "40001".equals(failed.getSQLState()) ? loss(failed) : null;
            rollback();
            throw loss == null ? failed : new LostTransaction(String.valueOf(failed.getMessage()), loss, failed);
        }
        trace.asks(open.ticket().id(), captured.writes());
        open.ticket().executed(captured.writes(), node.needsReads() ? session.reads() : ReadSet.EMPTY);
        Outcome outcome;
        try {
            outcome = BlockingCompletion.await(open.told);
        } catch (SQLException doubt) {
            if (open.told.isCompletedExceptionally()) {
                ended(open);
            }
            throw doubt;
        }
        ended(open);
        if (outcome instanceof Outcome.Aborted(AbortReason reason)) {
            throw LostTransaction.of(reason, captured);
        }
        return true;
    }

    /**
     * Waits until all that is visible at this node is so at the others.
     *
     * @param patienceNanos how long at most, in nanoseconds
     * @return the nodes that did not show it in time
     */
    public Set<Integer> awaitElsewhere(long patienceNanos) throws SQLException {
        BlockingCompletion<Set<Integer>> missing = new BlockingCompletion<>();
        node.awaitElsewhere(node.visiblePosition(), patienceNanos, missing);
        return missing.await();
    }

    /** Rolls back whatever is open. */
    public void rollback() {
        Open open = current;
        repeats = false;
        forgetDeclared();
        if (open == null) {
            return;
        }
        session.forget();
        over(open);
        open.ticket().failed(new AbortReason.Failed("user"));
    }

    /**
     * Has every replica execute a statement that changes the schema, or for other reasons cannot be replicated by its
     * rows.
     *
     * @throws SQLException what the engines said, all alike; {@code 25001} if a transaction is open
     */
    public void everywhere(String sql) throws SQLException {
        if (current != null) {
            throw new SQLException("a schema change is a transaction of its own: commit or roll back first", "25001");
        }
        String schema = session.connection().getSchema();
        BlockingCompletion<ExecuteResult> result = new BlockingCompletion<>();
        node.barrier(new BarrierStatement(schema, sql).toBytes(),
                new KeySet.Builder().add(TableCatalog.SCHEMA_KEY, KeyKind.EXCLUSIVE).build(), trace.orders(takeName()),
                result);
        BarrierResponse response = BarrierResponse.of(result.await().response());
        SQLException error = response == null ? null : response.error();
        if (error != null) {
            throw error;
        }
    }

    /** Whether {@link #undertaken} and {@link #logged} may be called: the protocol has owners, and no transaction is open. */
    public boolean undertakes() {
        return current == null && node.undertakes();
    }

    /**
     * Has the owner of its log, wherever that is, execute a request of one statement, or call of a procedure in Java, that does not depend on anything
     * that only this session has. It is a transaction by itself; its effects are visible here afterwards.
     *
     * @param touches what it may touch
     * @return how many rows it has changed
     * @throws SQLException what the owner's engine said
     */
    public long undertaken(ClientRequest request, Footprint touches) throws SQLException {
        BlockingCompletion<ExecuteResult> result = new BlockingCompletion<>();
        node.undertake(request.toBytes(), touches.classes(), trace.orders(takeName()), result);
        ExecuteResult executed = result.await();
        EngineFailure refusal = executed.refusal();
        if (refusal != null) {
            throw new SQLException(refusal.message(), refusal.sqlState());
        }
        return ClientAnswer.of(executed.response()).parts().getFirst() instanceof ClientAnswer.Changed(long rows)
                ? rows
                : 0;
    }

    /**
     * Likewise, but returns as soon as the request is logged: then it will be executed once, whatever becomes of this node. Waits before
     * that while the node has too many that have not been executed.
     *
     * @return its name, by which what became of it can be asked for at any node
     * @throws SQLException if it was not logged, or {@code 08007} if that is not known
     */
    public TransactionId logged(ClientRequest request, Footprint touches) throws SQLException {
        BlockingCompletion<TransactionId> logged = new BlockingCompletion<>();
        node.log(request.toBytes(), touches.classes(), takeName(), logged);
        return logged.await();
    }

    /** Rolls back and closes. */
    @Override
    public void close() {
        rollback();
        TransactionId unused = takeName();
        if (unused != null) {
            node.release(unused);
        }
        session.close();
    }
}
