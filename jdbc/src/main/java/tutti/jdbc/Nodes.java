package tutti.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.postgresql.core.BaseConnection;

/** Opens connections to one of the nodes that a URL names. Safe for use by several threads. */
final class Nodes {
    private static final org.postgresql.Driver PGJDBC = new org.postgresql.Driver();
    private static final AtomicInteger TURN = new AtomicInteger();
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final Settings settings;
    private final List<Node> nodes;

    Nodes(Settings settings) {
        this.settings = settings;
        this.nodes = settings.hosts().stream().map(Node::at).collect(Collectors.toList());
    }

    /**
     * Connects to the first node that takes it.
     *
     * @param avoided tried last; may be null
     * @throws SQLException the last node's error, if none does; at once if it would be the same everywhere
     */
    Physical open(@Nullable Node avoided) throws SQLException {
        SQLException last = null;
        List<Node> order = settings.loadBalance().arrange(nodes, TURN.getAndIncrement(), System.nanoTime());
        if (avoided != null && order.remove(avoided)) {
            order.add(avoided);
        }
        for (Node node : order) {
            try {
                return connect(node);
            } catch (SQLException failure) {
                if (!Failures.anotherMayServe(failure)) {
                    throw failure;
                }
                node.failed(System.nanoTime());
                last = failure;
            }
        }
        throw Failures.noNode("none of the nodes " + nodes + " takes connections; the last one said: "
                + (last == null ? "" : last.getMessage()), last);
    }

    private Physical connect(Node node) throws SQLException {
        Properties properties = settings.forPgjdbc();
        String database = settings.database().isEmpty()
                ? properties.getProperty("user", System.getProperty("user.name"))
                : settings.database();
        Node.Life before = node.life();
        long shownBefore = before == null ? -1 : before.shown();
        Connection connection = PGJDBC.connect("jdbc:postgresql://" + node.address() + "/"
                + java.net.URLEncoder.encode(database, java.nio.charset.StandardCharsets.UTF_8), properties);
        if (connection == null) {
            throw new IllegalStateException("pgjdbc does not know its own URL");
        }
        return new Physical(node, connection.unwrap(BaseConnection.class), before, shownBefore);
    }

    /**
     * Connects as {@link #open}, trying again until a deadline.
     *
     * @param deadlineNanos of {@link System#nanoTime}
     */
    Physical openUntil(long deadlineNanos, @Nullable Node avoided) throws SQLException {
        while (true) {
            try {
                return open(avoided);
            } catch (SQLException failure) {
                if (!Failures.anotherMayServe(failure) || !pause(deadlineNanos)) {
                    throw failure;
                }
            }
        }
    }

    /** Waits a little; false if the deadline has come, or the thread is interrupted. */
    static boolean pause(long deadlineNanos) {
        long left = deadlineNanos - System.nanoTime();
        if (left <= 0 || Thread.currentThread().isInterrupted()) {
            return false;
        }
        LockSupport.parkNanos(Math.min(left, PAUSE_NANOS));
        return !Thread.currentThread().isInterrupted();
    }

    /** Which other nodes there are matters only if there are any. */
    boolean several() {
        return nodes.size() > 1;
    }
}
