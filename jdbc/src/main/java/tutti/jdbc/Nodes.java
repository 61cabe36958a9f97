package tutti.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.postgresql.core.BaseConnection;

/** Opens connections to one of the nodes that a URL names, until it is closed. Safe for use by several threads. */
final class Nodes {
    private static final org.postgresql.Driver PGJDBC = new org.postgresql.Driver();
    private static final AtomicInteger TURN = new AtomicInteger();
    /** What looking for a node gets at least, even if there is no time left. */
    private static final long TRY_NANOS_MIN = TimeUnit.SECONDS.toNanos(5);
    /** From this on there is no limit. */
    private static final long LIMIT_NANOS_MAX = TimeUnit.DAYS.toNanos(1);
    private static final long PAUSE_NANOS_MIN = TimeUnit.MILLISECONDS.toNanos(10);
    private static final long PAUSE_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(160);

    private final Settings settings;
    private final List<Node> nodes;
    private volatile boolean closed;

    Nodes(Settings settings) {
        this.settings = settings;
        this.nodes = settings.hosts().stream().map(Node::at).collect(Collectors.toList());
    }

    /** From now on no node is looked for; who does that already may still find one. */
    void close() {
        closed = true;
    }

    boolean closed() {
        return closed;
    }

    /**
     * Connects to the first node that takes it.
     *
     * @throws SQLException the last node's error, if none does; at once if it would be the same everywhere
     */
    NodeConnection open() throws SQLException {
        return open(null, settings.loginNanos() == 0 ? Long.MAX_VALUE : settings.loginNanos());
    }

    /**
     * Likewise.
     *
     * @param avoided tried last; may be null
     * @param nanos how long it may take; each node gets an equal share of what is left
     */
    private NodeConnection open(@Nullable Node avoided, long nanos) throws SQLException {
        long begin = System.nanoTime();
        SQLException last = null;
        List<Node> order = settings.loadBalance().arrange(nodes, TURN.getAndIncrement(), System.nanoTime());
        if (avoided != null && order.remove(avoided)) {
            order.add(avoided);
        }
        int left = order.size();
        for (Node node : order) {
            if (closed) {
                throw Failures.closed("connection");
            }
            try {
                long share = Math.max(1, (nanos - (System.nanoTime() - begin)) / left--);
                return connect(node, settings.nodeNanos() == 0 ? share : Math.min(share, settings.nodeNanos()));
            } catch (SQLException failure) {
                if (Failures.REJECTED.equals(failure.getSQLState())
                        && settings.pgjdbc().getProperty("password", "").isEmpty()) {
                    throw Failures.noPassword(failure);
                }
                if (!Failures.anotherMayServe(failure)) {
                    throw failure;
                }
                node.failed(System.nanoTime());
                last = failure;
            }
        }
        throw Failures.noNode("none of the nodes " + nodes + " takes connections: are they running, and are these their"
                + " ports for PostgreSQL clients? The last one said: " + (last == null ? "" : said(last)), last);
    }

    /** A failure in words, with its cause, which has the host that is not known, and the like. */
    private static String said(SQLException failure) {
        Throwable cause = failure.getCause();
        return failure.getMessage()
                + (cause == null ? "" : " (" + cause.getClass().getSimpleName() + ": " + cause.getMessage() + ")");
    }

    /**
     * Connects to a node.
     *
     * @param nanos how long it may take; a node that stands still takes connections, and says nothing then
     */
    private NodeConnection connect(Node node, long nanos) throws SQLException {
        Properties properties = settings.forPgjdbc();
        if (nanos < LIMIT_NANOS_MAX) {
            properties.setProperty("loginTimeout", String.valueOf(Math.max(nanos / 1e9, 0.001)));
        }
        String database = settings.database().isEmpty()
                ? properties.getProperty("user", System.getProperty("user.name"))
                : settings.database();
        Node.Life before = node.life();
        long shownBefore = before == null ? -1 : before.shown();
        String url = "jdbc:postgresql://" + node.address() + "/"
                + java.net.URLEncoder.encode(database, java.nio.charset.StandardCharsets.UTF_8);
        Connection connection = several() && settings.silenceNanos() > 0
                ? whileItAnswers(node, url, properties)
                : connect(url, properties);
        return new NodeConnection(node, silent -> waits(node, silent), connection.unwrap(BaseConnection.class), before,
                shownBefore);
    }

    private static Connection connect(String url, Properties properties) throws SQLException {
        Connection connection = PGJDBC.connect(url, properties);
        if (connection == null) {
            throw new IllegalStateException("pgjdbc does not know its own URL");
        }
        return connection;
    }

    private SilentNodes.Waiting waits(Node node, Runnable silent) {
        return SilentNodes.begin(node, nodes, settings.silenceNanos(), silent);
    }

    /** Connects on a thread of its own, which is left to itself when the node says nothing any more. */
    private Connection whileItAnswers(Node node, String url, Properties properties) throws SQLException {
        CompletableFuture<Connection> opened = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            try {
                Connection connection = connect(url, properties);
                if (!opened.complete(connection)) {
                    connection.close();
                }
            } catch (SQLException | RuntimeException failure) {
                opened.completeExceptionally(failure);
            }
        }, "tutti-connects-to-" + node);
        thread.setDaemon(true);
        thread.start();
        SilentNodes.Waiting waiting = waits(node, () -> opened.completeExceptionally(
                Failures.noNode("node " + node + " says nothing, other nodes do", null)));
        try {
            return opened.get();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            opened.completeExceptionally(e);
            throw Failures.noNode("interrupted while it connected to node " + node, e);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof SQLException failure) {
                throw failure;
            }
            throw new IllegalStateException(e.getCause());
        } finally {
            waiting.close();
        }
    }

    /**
     * Connects as {@link #open}, trying again until a deadline.
     *
     * @param deadlineNanos of {@link System#nanoTime}
     */
    NodeConnection openUntil(long deadlineNanos, @Nullable Node avoided) throws SQLException {
        Pauses pauses = new Pauses(deadlineNanos);
        while (!closed) {
            try {
                return open(avoided, Math.max(TRY_NANOS_MIN, deadlineNanos - System.nanoTime()));
            } catch (SQLException failure) {
                if (!Failures.anotherMayServe(failure) || !pauses.next()) {
                    throw failure;
                }
            }
        }
        throw Failures.closed("connection");
    }

    /** Rests between tries: hardly any before the second one, longer ones later, until a deadline. Of one thread. */
    static final class Pauses {
        private final long deadlineNanos;
        private long nextNanos = PAUSE_NANOS_MIN;

        /** @param deadlineNanos of {@link System#nanoTime} */
        Pauses(long deadlineNanos) {
            this.deadlineNanos = deadlineNanos;
        }

        /** Rests; false if the deadline has come, or the thread is interrupted. */
        boolean next() {
            long left = deadlineNanos - System.nanoTime();
            if (left <= 0 || Thread.currentThread().isInterrupted()) {
                return false;
            }
            LockSupport.parkNanos(Math.min(left, nextNanos));
            nextNanos = Math.min(2 * nextNanos, PAUSE_NANOS_MAX);
            return !Thread.currentThread().isInterrupted();
        }
    }

    /** Which other nodes there are matters only if there are any. */
    boolean several() {
        return nodes.size() > 1;
    }
}
