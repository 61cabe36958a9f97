package tutti.wire;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.txn.KeySet;
import tutti.core.txn.TransactionId;
import tutti.engine.postgres.capture.Statement;
import tutti.node.Transactions;
import tutti.pgwire.ErrorFields;

/** The databases that sessions are in, can be in, make and drop. Safe for use from any thread. */
final class ClusterDatabases {
    private final String configured;
    private final Transactions node;
    private final KeySet keys;
    private final Function<PostgresFrontEnd.OtherDatabase, SessionServices> services;
    private final Map<String, Served> served = new ConcurrentHashMap<>();
    /** By the process of the engine that serves a session. */
    private final Map<Integer, String> sessions = new ConcurrentHashMap<>();
    private volatile Function<String, PostgresFrontEnd.@Nullable OtherDatabase> others = _ -> null;
    private volatile BooleanSupplier mayChange = () -> false;

    /** What sessions of another database share. */
    private record Served(long id, SessionServices services) {}

    /**
     * Of the configured database alone.
     *
     * @param services makes what sessions of another one share
     */
    ClusterDatabases(String configured, Transactions node, KeySet keys,
            Function<PostgresFrontEnd.OtherDatabase, SessionServices> services) {
        this.configured = configured;
        this.node = node;
        this.keys = keys;
        this.services = services;
    }

    /** As {@link PostgresFrontEnd#others}. */
    void others(Function<String, PostgresFrontEnd.@Nullable OtherDatabase> known, BooleanSupplier allowed) {
        others = known;
        mayChange = allowed;
    }

    /** What sessions of another database than the configured one share; null if the cluster has none of that name. */
    @Nullable
    SessionServices services(String name) {
        PostgresFrontEnd.OtherDatabase other = name.equals(configured) ? null : others.apply(name);
        Served now = served.compute(name, (_, before) -> {
            if (other != null && before != null && before.id() == other.id()) {
                return before;
            }
            if (before != null) {
                before.services().sequences().close();
            }
            return other == null ? null : new Served(other.id(), services.apply(other));
        });
        return now == null ? null : now.services();
    }

    /** Whether the cluster has made a database of that name. */
    boolean made(String name) {
        return !name.equals(configured) && others.apply(name) != null;
    }

    void entered(int processId, String database) {
        sessions.put(processId, database);
    }

    void left(int processId) {
        sessions.remove(processId);
    }

    /** Why a database cannot be made or dropped by a session; null if it can be tried. */
    @Nullable
    ErrorFields refusal(DatabaseStatement statement, int processId) {
        if (statement.refusal() != null) {
            return Errors.notSupported(statement.refusal());
        }
        if (!mayChange.getAsBoolean()) {
            return Errors
                    .notSupported("databases are not made or dropped before every node of the cluster is up, and of a"
                            + " release that keeps several");
        }
        String unable = node.refusal();
        if (unable != null) {
            return Errors.refused(unable);
        }
        String name = statement.change().name();
        if (statement.change().creates()) {
            return null;
        }
        if (name.equals(sessions.get(processId))) {
            return Errors.error("55006", "cannot drop the currently open database");
        }
        return !statement.forced() && sessions.containsValue(name)
                ? Errors.error("55006", "database \"" + name + "\" is being accessed by other users")
                        .with('H', "DROP DATABASE ... WITH (FORCE) sends them away.")
                : null;
    }

    /** Has every node make or drop a database. */
    void change(DatabaseStatement statement, String role, @Nullable TransactionId name,
            Completion<ExecuteResult> done) {
        node.barrier(Statement.database(statement.change(), role).toBytes(), keys, name, done);
    }

    void close() {
        served.values().forEach(each -> each.services().sequences().close());
    }
}
