package tutti.jdbc;

import java.lang.reflect.Method;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tutti.jdbc.spi.Calls;
import tutti.jdbc.spi.StatementHost;

/**
 * The nodes that a {@link ClusterConnection} is connected to: one for its transactions, and another one for those that only
 * read if they go elsewhere. Chooses the one for the next transaction, takes the session's settings there, and waits there
 * until it shows what the read level promises.
 *
 * <p>
 * One thread at a time, except {@link #current}, {@link #abort}, {@link #close} and {@link #closed}.
 */
final class ConnectedNodes {
    private final Settings settings;
    private final Nodes nodes;
    private final SessionSettings session;
    private final NewestPosition seen;
    private volatile @Nullable NodeConnection writer;
    /** For read-only transactions, if they go elsewhere. */
    private volatile @Nullable NodeConnection reader;
    private volatile @Nullable NodeConnection current;
    /** Was opened to ask something. */
    private volatile @Nullable NodeConnection spare;
    private boolean autoCommit = true;
    private boolean readOnly;

    /** @param session what is taken along */
    ConnectedNodes(Settings settings, SessionSettings session) {
        this.settings = settings;
        this.nodes = new Nodes(settings);
        this.session = session;
        this.seen = settings.readLevel() == Settings.ReadLevel.CAUSAL
                ? NewestPosition.byAll(settings.hosts())
                : new NewestPosition();
    }

    /** Connects to the first one. */
    void connect() throws SQLException {
        NodeConnection first = nodes.open();
        writer = first;
        current = first;
        readOnly = first.connection().isReadOnly();
    }

    /** The one of the open transaction, or else of the last; null if there was none. */
    @Nullable
    NodeConnection current() {
        return current;
    }

    boolean autoCommit() {
        return autoCommit;
    }

    boolean readOnly() {
        return readOnly;
    }

    /** Whether pgjdbc has the node begin the next transaction as one that cannot change anything. */
    boolean beginsReadOnly() {
        return readOnly && !autoCommit && settings.enforcesReadOnly();
    }

    void setAutoCommit(boolean wanted) throws SQLException {
        autoCommit = wanted;
        for (NodeConnection each : usable()) {
            each.connection().setAutoCommit(wanted);
        }
    }

    void setReadOnly(boolean wanted) throws SQLException {
        for (NodeConnection each : usable()) {
            each.connection().setReadOnly(wanted);
        }
        readOnly = wanted;
    }

    private List<NodeConnection> usable() {
        return Stream.of(writer, reader).filter(each -> each != null && each.usable()).toList();
    }

    /** The session has seen what is visible at a position. */
    void saw(long position) {
        seen.saw(position);
    }

    /** Gives a connection up: its node is lost, or does not serve. */
    void giveUp(NodeConnection on) {
        on.node().failed(System.nanoTime());
        on.discard();
    }

    /** Closes all if the session has something at its node alone, and says what. */
    void checkPinned(SQLException failure) throws SQLException {
        String reason = session.pinnedBy();
        if (reason != null) {
            close();
            throw Failures.sessionLost("the connection to the node was lost, and with it what this session had there"
                    + " alone, by: " + reason + "; open another connection", failure);
        }
    }

    /** A new connection, on which nothing has been done, is used for what comes next. */
    private void keep(NodeConnection fresh) {
        NodeConnection before = spare;
        spare = fresh;
        if (before != null) {
            before.discard();
        }
        if (closed()) {
            fresh.discard();
        }
    }

    /** What has become of a transaction whose node was lost. */
    Resolution resolve(@Nullable String transaction) throws SQLException {
        return transaction == null
                ? Resolution.UNKNOWN
                : Resolution.ask(nodes, transaction, System.nanoTime() + settings.resolveNanos(), this::keep);
    }

    boolean closed() {
        return nodes.closed();
    }

    void close() {
        nodes.close();
        Stream.of(writer, reader, spare).filter(Objects::nonNull).forEach(NodeConnection::discard);
    }

    /** Aborts what goes on, as {@link java.sql.Connection#abort} does, and closes. */
    void abort(Method method, @Nullable Object @Nullable [] arguments) throws SQLException {
        nodes.close();
        for (NodeConnection each : usable()) {
            Calls.call(method, each.connection(), arguments);
        }
        close();
    }

    /** A connection on which the next transaction sees what the read level promises. */
    NodeConnection atLevel(long deadline) throws SQLException {
        Nodes.Pauses pauses = new Nodes.Pauses(deadline);
        while (true) {
            NodeConnection on = forNextTransaction(deadline);
            boolean wait = switch (settings.readLevel()) {
                case LOCAL -> false;
                case SESSION, CAUSAL -> on.behind(seen.position());
                case LINEARIZABLE -> true;
            };
            if (!wait) {
                return on;
            }
            try {
                aside(on, target -> {
                    waitForLevel(on);
                    return null;
                });
                return on;
            } catch (SQLException failure) {
                if (!on.lostBy(failure) && !Failures.refusedNow(failure)) {
                    throw failure;
                }
                giveUp(on);
                if (!pauses.next()) {
                    throw failure;
                }
            }
        }
    }

    /** Does something where no transaction is open, and begins none. */
    @Nullable
    Object aside(NodeConnection on, StatementHost.Work work) throws SQLException {
        SilentNodes.Waiting waiting = on.waits();
        try {
            on.connection().setAutoCommit(true);
            return work.on(on);
        } finally {
            waiting.close();
            if (on.usable()) {
                on.connection().setAutoCommit(autoCommit);
            }
        }
    }

    private void waitForLevel(NodeConnection on) throws SQLException {
        try (Statement statement = on.connection().createStatement()) {
            if (settings.readLevel() == Settings.ReadLevel.LINEARIZABLE) {
                waitForAll(statement);
            } else {
                waitForSeen(on, statement);
            }
        }
    }

    private void waitForSeen(NodeConnection on, Statement statement) throws SQLException {
        long position = seen.position();
        try {
            statement.executeQuery("SELECT tutti_wait(" + position + ")").close();
        } catch (SQLException failure) {
            if (on.lostBy(failure)) {
                throw failure;
            }
            long visible = waitForAll(statement);
            if (visible < position) {
                seen.another(position, visible);
            }
        }
    }

    /** Returns the position that is visible then. */
    private static long waitForAll(Statement statement) throws SQLException {
        try (ResultSet reached = statement.executeQuery("SELECT tutti_wait()")) {
            reached.next();
            return reached.getLong(1);
        }
    }

    /** A connection for the next transaction, whatever it has seen; it is the current one then. */
    NodeConnection forNextTransaction(long deadline) throws SQLException {
        Nodes.Pauses pauses = new Nodes.Pauses(deadline);
        while (true) {
            NodeConnection on = chosen(deadline);
            try {
                bringSettings(on);
                current = on;
                return on;
            } catch (SQLException failure) {
                if (!on.lostBy(failure) && !Failures.refusedNow(failure)) {
                    throw failure;
                }
                giveUp(on);
                if (!pauses.next()) {
                    throw failure;
                }
            }
        }
    }

    private NodeConnection chosen(long deadline) throws SQLException {
        NodeConnection now = current;
        if (now != null && session.pinnedBy() != null) {
            if (!now.usable()) {
                checkPinned(Failures.closed("session"));
            }
            return now;
        }
        boolean reads = readOnly && settings.routing() != Settings.ReadOnlyRouting.SAME && nodes.several();
        NodeConnection last = reads ? reader : writer;
        if (last != null && last.usable()) {
            return last;
        }
        if (last != null) {
            giveUp(last);
        }
        NodeConnection avoided = reads && settings.routing() == Settings.ReadOnlyRouting.OTHER ? writer : null;
        NodeConnection fresh = avoided == null ? opened(deadline, last) : nodes.openUntil(deadline, avoided.node());
        if (reads) {
            reader = fresh;
        } else {
            writer = fresh;
        }
        if (closed()) {
            // by another thread, which may not have seen it
            fresh.discard();
            throw Failures.closed("connection");
        }
        return fresh;
    }

    private NodeConnection opened(long deadline, @Nullable NodeConnection lost) throws SQLException {
        NodeConnection fresh = spare;
        spare = null;
        if (fresh != null && fresh.usable()) {
            return fresh;
        }
        if (fresh != null) {
            fresh.discard();
        }
        return nodes.openUntil(deadline, lost == null ? null : lost.node());
    }

    /** The current connection has what the session has set; another one may not, if it has been set since it was that. */
    private void bringSettings(NodeConnection on) throws SQLException {
        NodeConnection before = current;
        if (on == before) {
            return;
        }
        long version = session.version();
        if (before != null) {
            before.hasSettings(version);
        }
        aside(on, target -> {
            if (on.settings() != version) {
                session.apply(on.connection());
                on.hasSettings(version);
            }
            on.connection().setReadOnly(readOnly);
            return null;
        });
    }

    @Override
    public String toString() {
        NodeConnection on = current;
        return on == null ? "no node" : on.node().toString();
    }
}
