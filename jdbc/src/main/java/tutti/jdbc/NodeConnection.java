package tutti.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.postgresql.core.BaseConnection;
import org.postgresql.core.TransactionState;
import org.postgresql.jdbc.PreferQueryMode;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;
import tutti.jdbc.spi.Target;

/** One of pgjdbc's connections, to one node; for one thread at a time. */
final class NodeConnection implements Target {
    private final Node node;
    private final Function<Runnable, SilentNodes.Waiting> wait;
    private final BaseConnection connection;
    private final Node.@Nullable Life life;
    private final AtomicBoolean discarded = new AtomicBoolean();
    /** Of a fresh session nothing has been set. */
    private long settings;

    /**
     * A session.
     *
     * @param wait begins to wait for the node; runs what it is given when the node says nothing
     * @param before the node's life as it was known before the session was opened
     * @param shownBefore what that had shown then
     */
    NodeConnection(Node node, Function<Runnable, SilentNodes.Waiting> wait, BaseConnection connection,
            Node.@Nullable Life before, long shownBefore) {
        this.node = node;
        this.wait = wait;
        this.connection = connection;
        String transaction = transaction();
        // Which life of the node it is of is part of the names of transactions.
        int end = transaction == null ? -1 : transaction.indexOf('.');
        this.life = end < 0 ? null : node.life(transaction.substring(0, end), told(), before, shownBefore);
        node.opened();
    }

    Node node() {
        return node;
    }

    /** The {@linkplain SessionSettings#version version} of the settings that the session has. */
    long settings() {
        return settings;
    }

    void hasSettings(long version) {
        settings = version;
    }

    @Override
    public Connection connection() {
        return connection;
    }

    /** The name, in the cluster, of the open transaction, or of the next one; null if the node does not tell names. */
    @Nullable
    String transaction() {
        return connection.getParameterStatus("tutti.transaction");
    }

    /** A position of the order that the node has shown to this session; -1 if it does not tell. */
    long position() {
        long position = told();
        if (life != null) {
            life.shows(position);
        }
        return position;
    }

    private long told() {
        String told = connection.getParameterStatus("tutti.position");
        return told == null ? -1 : Long.parseLong(told);
    }

    /** Whether the node tells positions and has not yet shown this one, to whichever session. */
    boolean behind(long seen) {
        long position = position();
        if (position < 0 || position >= seen) {
            return false;
        }
        return life == null || life.shown() < seen;
    }

    /** Whether a transaction is open, failed or not, as the node said last; of one that was given up none is. */
    boolean inTransaction() {
        return !discarded.get() && connection.getTransactionState() != TransactionState.IDLE;
    }

    /** Whether a transaction is open that has failed, as the node said last. */
    boolean inFailedTransaction() {
        return connection.getTransactionState() == TransactionState.FAILED;
    }

    /** Whether each statement is sent as a query of its own, which is a transaction outside of a block. */
    boolean simpleQueries() {
        return connection.getPreferQueryMode() == PreferQueryMode.SIMPLE;
    }

    @Override
    public boolean usable() {
        try {
            return !discarded.get() && !connection.isClosed();
        } catch (SQLException unknown) {
            return false;
        }
    }

    /** Whether, after this error, the connection is of no use any more. */
    boolean lostBy(SQLException failure) {
        return !usable() || fatal(failure) || Failures.ended(failure);
    }

    private static boolean fatal(SQLException failure) {
        ServerErrorMessage told = failure instanceof PSQLException psqlException
                ? psqlException.getServerErrorMessage()
                : null;
        String severity = told == null ? null : told.getSeverity();
        return "FATAL".equals(severity) || "PANIC".equals(severity);
    }

    /** To be held while the node's answer is waited for: if the node is silent, the call that waits fails as if the connection broke. */
    SilentNodes.Waiting waits() {
        return wait.apply(this::abort);
    }

    private void abort() {
        try {
            connection.abort(Runnable::run);
        } catch (SQLException lost) {
            java.util.logging.Logger.getLogger(NodeConnection.class.getPackageName())
                    .log(java.util.logging.Level.FINE, "a connection that is aborted", lost);
        }
    }

    /** Closes it without caring whether the node hears of it. May be called by any thread. */
    void discard() {
        if (discarded.getAndSet(true)) {
            return;
        }
        node.closed();
        try {
            connection.close();
        } catch (SQLException lost) {
            java.util.logging.Logger.getLogger(NodeConnection.class.getPackageName())
                    .log(java.util.logging.Level.FINE, "a connection that is given up", lost);
        }
    }
}
