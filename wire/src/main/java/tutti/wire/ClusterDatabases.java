package tutti.wire;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.txn.KeySet;
import tutti.core.txn.TransactionId;
import tutti.engine.postgres.capture.Statement;
import tutti.engine.postgres.capture.Statement.DatabaseChange;
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
    private volatile PostgresFrontEnd.OtherDatabases others = PostgresFrontEnd.OtherDatabases.NONE;

    /** What sessions of another database share. */
    private record Served(PostgresFrontEnd.OtherDatabase of, SessionServices services) {}

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
    void others(PostgresFrontEnd.OtherDatabases known) {
        others = known;
    }

    /** What sessions of another database than the configured one share; null if the cluster has none of that name. */
    @Nullable
    SessionServices services(String name) {
        PostgresFrontEnd.OtherDatabase other = name.equals(configured) ? null : others.of(name);
        Served now = served.compute(name, (_, before) -> {
            if (before != null && before.of().equals(other)) {
                return before;
            }
            if (before != null) {
                before.services().sequences().close();
            }
            return other == null ? null : new Served(other, services.apply(other));
        });
        return now == null ? null : now.services();
    }

    /** Whether the cluster has made a database of that name. */
    boolean made(String name) {
        return !name.equals(configured) && others.of(name) != null;
    }

    void entered(int processId, String database) {
        sessions.put(processId, database);
    }

    void left(int processId) {
        sessions.remove(processId);
    }

    /** Why a database cannot be made, changed or dropped by a session; null if it can be tried. */
    @Nullable
    ErrorFields refusal(DatabaseStatement statement, int processId) {
        if (statement.refusal() != null) {
            return Errors.notSupported(statement.refusal());
        }
        DatabaseChange.Kind kind = statement.change().kind();
        String impossible = others.refusal(kind == DatabaseChange.Kind.CREATE, statement.ofSystem());
        if (impossible != null) {
            return Errors.notSupported(impossible);
        }
        String unable = node.refusal();
        if (unable != null) {
            return Errors.refused(unable);
        }
        return switch (kind) {
            case CREATE, ALTER -> null;
            case RENAME -> renaming(statement.change().name(), processId);
            case DROP -> dropping(statement.change().name(), statement.forced(), processId);
        };
    }

    private @Nullable ErrorFields renaming(String name, int processId) {
        if (name.equals(configured)) {
            return Errors.notSupported("database \"" + name
                    + "\" is the one that the nodes are configured with, and keeps its name");
        }
        if (name.equals(sessions.get(processId))) {
            return Errors.notSupported("current database cannot be renamed");
        }
        return sessions.containsValue(name) ? inUse(name) : null;
    }

    private @Nullable ErrorFields dropping(String name, boolean forced, int processId) {
        if (name.equals(sessions.get(processId))) {
            return Errors.error("55006", "cannot drop the currently open database");
        }
        return !forced && sessions.containsValue(name)
                ? inUse(name).with('H', "DROP DATABASE ... WITH (FORCE) sends them away.")
                : null;
    }

    private static ErrorFields inUse(String name) {
        return Errors.error("55006", "database \"" + name + "\" is being accessed by other users");
    }

    /** Has every node make, change or drop a database. */
    void change(DatabaseStatement statement, String role, @Nullable TransactionId name,
            Completion<ExecuteResult> done) {
        node.barrier(Statement.database(statement.change(), role).toBytes(), keys, name, done);
    }

    void close() {
        served.values().forEach(each -> each.services().sequences().close());
    }
}
