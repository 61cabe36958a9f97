package tutti.node.embedded;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Replica.Priority;
import tutti.core.protocol.Request;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.AbortReason;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.engine.jdbc.BarrierResponse;
import tutti.engine.jdbc.BarrierStatement;
import tutti.engine.jdbc.ClientEngine;
import tutti.engine.jdbc.ClientSession;
import tutti.engine.jdbc.rows.CapturedWrites;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.node.Transactions;

/**
 * A client of a node in the same virtual machine: transactions on the local engine, certified and ordered by the node when
 * they commit (DESIGN section 3, "The life of a transaction on a real engine"). For one thread at a time; its methods
 * block.
 *
 * <p>
 * Errors have the SQLSTATEs that applications retry on: {@code 40001} for a transaction that lost to a concurrent one,
 * with table, key and winner in the message. After an error of class 40 every statement fails until {@link #rollback}.
 *
 * <p>
 * <b>Protocols.</b> These sessions do not find out what a transaction reads, nor before it runs what it will touch. To a
 * protocol that must know, a transaction that may write has read the whole database, or will touch all of it: so it is
 * aborted by whatever was committed meanwhile ({@code dbsm}), or waits in its first statement until it is alone
 * ({@code nodo}, {@code akara}). Under {@code active} transactions may only read, and what changes something is a statement
 * for {@link #everywhere}.
 */
public final class EmbeddedSession implements AutoCloseable {
    /** Every write set refers to the schema. */
    private static final ReadSet EVERYTHING = new ReadSet.Builder().scan(TableCatalog.SCHEMA_KEY).build();

    private final Transactions node;
    private final ClientSession session;
    private final long bytesMax;
    private volatile @Nullable Open current;
    private boolean readOnly;
    /** Of the next transaction, if it has been asked for. */
    private @Nullable TransactionId name;

    /** The transaction, as the node sees it. */
    private final class Open implements LocalTransaction {
        private final CompletableFuture<Outcome> outcome = new CompletableFuture<>();
        /** Completed when it may run, or has been answered without that. */
        private final CompletableFuture<@Nullable Void> turn = new CompletableFuture<>();
        private Transactions.@Nullable Ticket ticket;

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
        if (name == null) {
            name = node.reserve();
        }
        return name;
    }

    private @Nullable TransactionId takeName() {
        TransactionId taken = name;
        name = null;
        return taken;
    }

    /** Executes one statement that is not of schema or transaction control; begins a transaction if none is open. */
    public <T extends @Nullable Object> T statement(ClientSession.Work<T> work) throws SQLException {
        begin();
        return session.statement(work);
    }

    /** Executes a statement that changes rows, in the same way; answers how many. */
    public int execute(String sql, @Nullable Object... parameters) throws SQLException {
        begin();
        return session.execute(sql, parameters);
    }

    private void begin() throws SQLException {
        if (current == null) {
            Open open = new Open();
            open.ticket = node.begin(open, takeName());
            current = open;
            if (!readOnly && !node.executesAtOnce()) {
                open.ticket().submit(Request.Interactive.UNDECLARED);
                await(open.turn);
                if (open.outcome.getNow(null) instanceof Outcome.Aborted(AbortReason reason)) {
                    ended();
                    throw error(reason, CapturedWrites.NOTHING);
                }
            }
        }
    }

    /** The node has answered. */
    private void ended() {
        current = null;
        session.forget();
    }

    /**
     * Commits.
     *
     * @throws SQLException if it did not; then it has been rolled back, everywhere
     */
    public void commit() throws SQLException {
        Open open = current;
        if (open == null) {
            return;
        }
        CapturedWrites captured;
        try {
            captured = session.capture();
            WriteSet writes = captured.writes();
            if (writes.changes().length > bytesMax) {
                throw new SQLException(
                        "the transaction changed " + writes.changes().length + " bytes of rows, more than "
                                + bytesMax + "; make several of it",
                        "54000");
            }
            if (writes.isEmpty()) {
                session.commitUnchanged();
                open.ticket().ended();
                current = null;
                return;
            }
        } catch (SQLException failed) {
            rollback();
            throw failed;
        }
        open.ticket().executed(captured.writes(), node.needsReads() ? EVERYTHING : ReadSet.EMPTY);
        Outcome outcome = await(open.outcome);
        ended();
        if (outcome instanceof Outcome.Aborted(AbortReason reason)) {
            throw error(reason, captured);
        }
    }

    private static <T> T await(CompletableFuture<T> told) throws SQLException {
        try {
            return told.get();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new SQLException("interrupted while waiting for the outcome; it is not known", "08007", interrupted);
        } catch (ExecutionException failed) {
            throw failed.getCause() instanceof SQLException cause ? cause : new SQLException(failed.getCause());
        }
    }

    private static SQLException error(AbortReason reason, CapturedWrites captured) {
        return switch (reason) {
            case AbortReason.LostCertification lost -> new SQLException(
                    "could not commit: a concurrent transaction, at position " + lost.winner() + ", changed "
                            + captured.describe(lost.key()) + "; try again",
                    "40001");
            case AbortReason.Failed(String label) when label.equals("unavailable") -> new SQLException(
                    "could not commit: the node does not accept writes at the moment; try again, or at another node",
                    "57P03");
            case AbortReason.Refused(String why) -> new SQLException(why, "0A000");
            default -> new SQLException("could not commit because of a concurrent transaction (" + reason.label()
                    + "); try again", "40001");
        };
    }

    /** Rolls back whatever is open. */
    public void rollback() {
        Open open = current;
        if (open == null) {
            return;
        }
        session.forget();
        current = null;
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
        CompletableFuture<ExecuteResult> result = new CompletableFuture<>();
        node.barrier(new BarrierStatement(schema, sql).toBytes(),
                new KeySet.Builder().add(TableCatalog.SCHEMA_KEY, KeyKind.EXCLUSIVE).build(), takeName(),
                new Completion<>() {
                    @Override
                    public void succeeded(ExecuteResult value) {
                        result.complete(value);
                    }

                    @Override
                    public void failed(EngineFailure failure) {
                        result.completeExceptionally(new SQLException(failure.message(), failure.sqlState()));
                    }
                });
        BarrierResponse response = BarrierResponse.of(await(result).response());
        SQLException error = response == null ? null : response.error();
        if (error != null) {
            throw error;
        }
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
