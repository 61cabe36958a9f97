package tutti.engine.postgres;

import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.PostgresException;

/**
 * The engine's connection for questions, and the proof that the server has not lost commits since the engine read its position.
 *
 * <p>
 * After a crash the server may come back by itself, with fewer commits than were seen. A crash ends every session, and it empties
 * every unlogged table. So {@link #begin} writes a token into one, before the position is read, and as long as the connection
 * lasts there was no crash. When it ends, most likely a client has ended it (pg_terminate_backend): another one is made, and if the
 * token is still there, there was none either. If not, or if the server cannot be reached, it is lost, once and for good.
 *
 * <p>
 * Safe for use from any thread.
 */
final class AdminConnection {
    private static final Logger LOG = LoggerFactory.getLogger(AdminConnection.class);
    /** Of the advisory lock that a node holds on its database ("tutt"); of one that ends, the server frees it soon. */
    private static final int LOCK_CLASS = 0x74757474;
    /** A deadlock; and something that another session has dropped between two looks of one statement at the catalog, which the next statement does not see. */
    private static final Set<String> PASSING = Set.of("40P01", "XX000");
    private static final String LOCK_NOT_AVAILABLE = "55P03";
    /** How often a question is asked again after that; each time another session has got on. */
    static final int REPETITIONS_MAX = 100;
    private static final Duration LOCK_TIMEOUT = Duration.ofSeconds(10);
    /** Keeps other nodes away from the database, for as long as the connection lasts. */
    private static final String LOCK = "SET lock_timeout = '" + LOCK_TIMEOUT.toMillis()
            + "'; SELECT pg_catalog.pg_advisory_lock(" + LOCK_CLASS + ", 0); SET lock_timeout = 0";
    /**
     * In a deadlock it is this connection that gives way, and no client's session: it looks for one soon after it has begun to wait for a
     * lock, and gives up all that it has before a session that waits for these looks. Not before the engine is open: it waits for whom it has to.
     */
    private static final String GIVE_WAY = "SELECT pg_catalog.set_config('lock_timeout',"
            + " greatest(setting::pg_catalog.int4 / 2, 1)::pg_catalog.text, false), pg_catalog.set_config('deadlock_timeout',"
            + " greatest(setting::pg_catalog.int4 / 50, 1)::pg_catalog.text, false)"
            + " FROM pg_catalog.pg_settings WHERE name = 'deadlock_timeout'";
    private static final String OPEN = GIVE_WAY + "; " + CatalogReading.PREPARE;

    private final EventLoopGroup loops;
    private final BackendSettings settings;
    private final Runnable onLost;
    private CompletableFuture<BackendConnection> connection;
    private @Nullable String token;
    private boolean serverLost;
    private boolean closed;

    /**
     * Connects.
     *
     * @param settings of a superuser, to the database
     * @param onLost told once, if the server may have lost commits since {@link #begin}; from any thread
     */
    AdminConnection(EventLoopGroup loops, BackendSettings settings, Runnable onLost) {
        this.loops = loops;
        this.settings = OwnSessions.superuser(settings, "tutti engine");
        this.onLost = onLost;
        this.connection = watched(connect());
    }

    private CompletableFuture<BackendConnection> connect() {
        return BackendConnection.connect(loops.next(), settings).thenCompose(connected -> connected.query(LOCK)
                .handle((_, failed) -> {
                    if (failed != null) {
                        connected.abort();
                        throw failure(failed);
                    }
                    return connected;
                }));
    }

    private CompletionException failure(Throwable failed) {
        return new CompletionException(cause(failed) instanceof PostgresException refused
                && refused.fields().sqlState().equals("55P03")
                        ? new IllegalStateException("database " + settings.database() + " at " + settings.address()
                                + " is in use by another node; give each node a database server of its own, or stop the other",
                                refused)
                        : cause(failed));
    }

    private static Throwable cause(Throwable failed) {
        return failed instanceof CompletionException && failed.getCause() != null ? failed.getCause() : failed;
    }

    private CompletableFuture<BackendConnection> watched(CompletableFuture<BackendConnection> made) {
        CompletableFuture<Void> _ = made.thenCompose(BackendConnection::closed).whenComplete((_, _) -> gone(made));
        return made;
    }

    /** The connection, or the one that is being made in its place; fails if the server is lost. */
    CompletableFuture<BackendConnection> connection() {
        synchronized (this) {
            return closed
                    ? CompletableFuture.failedFuture(new IOException("the engine is closed"))
                    : serverLost
                            ? CompletableFuture.failedFuture(new IOException("the server at " + settings.address()
                                    + " went away or restarted; the node must recover before it is used again"))
                            : connection;
        }
    }

    /** From now on the connection may be replaced, gives way to sessions, and can read the catalog. */
    CompletableFuture<Void> begin(String fresh) {
        return connection().thenCompose(
                connected -> connected.query("INSERT INTO tutti.life VALUES ('" + fresh + "'); " + OPEN))
                .thenAccept(_ -> {
                    synchronized (this) {
                        token = fresh;
                    }
                });
    }

    /**
     * Asks a question. It is asked again if the connection is ended meanwhile, once; after a deadlock, or when what it looks at is dropped meanwhile,
     * {@value #REPETITIONS_MAX} times at most; and for as long as it meets a lock that a session keeps, since it gives up its own meanwhile, and lets others be asked.
     */
    <T> CompletableFuture<T> ask(Function<BackendConnection, CompletableFuture<T>> question) {
        CompletableFuture<T> answered = new CompletableFuture<>();
        ask(question, answered, 0);
        return answered;
    }

    private <T> void ask(Function<BackendConnection, CompletableFuture<T>> question, CompletableFuture<T> answered,
            int repetitions) {
        CompletableFuture<BackendConnection> current = connection();
        CompletableFuture<Void> _ = current.thenCompose(question).handle((answer, failed) -> {
            if (failed == null) {
                answered.complete(answer);
            } else if (cause(failed) instanceof PostgresException refused
                    && refused.fields().severity().equals("ERROR")) {
                boolean passing = PASSING.contains(refused.sqlState());
                if (passing ? repetitions < REPETITIONS_MAX : refused.sqlState().equals(LOCK_NOT_AVAILABLE)) {
                    ask(question, answered, passing ? repetitions + 1 : repetitions);
                } else {
                    answered.completeExceptionally(refused);
                }
            } else {
                gone(current);
                connection().thenCompose(question).whenComplete((again, lost) -> {
                    if (lost == null) {
                        answered.complete(again);
                    } else {
                        answered.completeExceptionally(cause(lost));
                    }
                });
            }
            return null;
        });
    }

    /** A connection has ended: this very one. */
    @SuppressWarnings("ReferenceEquality")
    private void gone(CompletableFuture<BackendConnection> which) {
        CompletableFuture<BackendConnection> next;
        synchronized (this) {
            if (closed || serverLost || connection != which) {
                return;
            }
            String expected = token;
            if (expected == null || which.isCompletedExceptionally()) {
                serverLost = true;
                next = null;
            } else {
                LOG.warn("the connection to PostgreSQL at {} has been ended: connecting again", settings.address());
                next = connect().thenCompose(connected -> sameLife(connected, expected));
                connection = next;
            }
        }
        if (next == null) {
            LOG.error("the connection to PostgreSQL at {} is lost", settings.address());
            onLost.run();
        } else {
            watched(next);
        }
    }

    private CompletableFuture<BackendConnection> sameLife(BackendConnection connected, String expected) {
        return connected.query(OPEN + "; SELECT token FROM tutti.life").handle((found, failed) -> {
            if (failed != null || !expected.equals(found.value())) {
                connected.abort();
                throw new CompletionException(new IOException(
                        "the server at " + settings.address() + " has crashed, and may have lost commits"));
            }
            return connected;
        });
    }

    /** The server is not to be used any more. */
    void lost() {
        synchronized (this) {
            if (serverLost || closed) {
                return;
            }
            serverLost = true;
        }
        LOG.error("PostgreSQL at {} is lost", settings.address());
        onLost.run();
    }

    /** Whether the server is lost. */
    boolean isLost() {
        synchronized (this) {
            return serverLost;
        }
    }

    /** Whether it is closed. */
    boolean isClosed() {
        synchronized (this) {
            return closed;
        }
    }

    /** Closes the connection. */
    void close() {
        CompletableFuture<BackendConnection> current;
        synchronized (this) {
            closed = true;
            current = connection;
        }
        CompletableFuture<Void> _ = current.thenAccept(BackendConnection::close);
    }
}
