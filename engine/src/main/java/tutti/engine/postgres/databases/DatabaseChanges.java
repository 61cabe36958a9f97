package tutti.engine.postgres.databases;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.engine.postgres.OwnSessions;
import tutti.engine.postgres.apply.ServerTrouble;
import tutti.engine.postgres.capture.Statement;
import tutti.engine.postgres.capture.Statement.DatabaseChange;
import tutti.engine.postgres.catalog.Table;
import tutti.pgwire.Backend;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.PostgresException;

/**
 * Makes, changes and drops databases, each at its position of the order, when all before it is visible and nothing after it has begun.
 *
 * <p>
 * PostgreSQL neither makes nor drops one in a transaction, so neither can be committed together with the position. What has been begun is therefore noted in
 * {@code tutti.databases} of the configured database before, and what is there and unfinished after a crash is begun again when the position comes
 * again: a half-made database is dropped and made anew, one that was being dropped is dropped, whether it is still there or not. Whether a name is
 * taken is told by that table, too. A dropped database takes the positions with it that were recorded in it, so the one before its own is recorded in the
 * configured database first.
 */
final class DatabaseChanges {
    private static final Logger LOG = LoggerFactory.getLogger(DatabaseChanges.class);
    private static final Duration TIMEOUT = Duration.ofMinutes(5);
    /** How long who is connected to a database that is renamed may take to leave. */
    private static final Duration LEAVING = Duration.ofSeconds(10);

    private final EventLoopGroup loops;
    private final BackendSettings settings;
    private final ServerEngine server;

    DatabaseChanges(EventLoopGroup loops, BackendSettings settings, ServerEngine server) {
        this.loops = loops;
        this.settings = settings;
        this.server = server;
    }

    /** A database that has been made. */
    record Listed(long id, String name) {}

    private BackendConnection connect(BackendSettings to) throws IOException, InterruptedException {
        try {
            return BackendConnection.connect(loops.next(), OwnSessions.superuser(to, "tutti databases")).get(
                    TIMEOUT.toSeconds(),
                    TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException failed) {
            throw new IOException("cannot connect to PostgreSQL at " + settings.address() + ": " + failed.getMessage(),
                    failed);
        }
    }

    /** Those that are neither half made nor half dropped. Blocks. */
    List<Listed> open() throws IOException, InterruptedException {
        BackendConnection connection = connect(settings);
        try {
            return connection.execute("SELECT id, name FROM tutti.databases WHERE state = 'open' ORDER BY id", TIMEOUT)
                    .rows().stream()
                    .map(row -> new Listed(Long.parseLong(String.valueOf(row.get(0))), String.valueOf(row.get(1))))
                    .toList();
        } finally {
            connection.close();
        }
    }

    /** As {@link tutti.core.spi.Engine.Applier#execute}; on a thread of its own. */
    void execute(long position, Statement statement, Completion<ExecuteResult> done) {
        Thread.ofVirtual().name("database at " + position).start(() -> {
            ExecuteResult result;
            try {
                result = executed(position, statement);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                done.failed(trouble("57P01", "the node is stopping"));
                return;
            } catch (PostgresException refused) {
                done.failed(trouble(refused.sqlState(), refused.fields().toString()));
                return;
            } catch (IOException | RuntimeException failed) {
                LOG.warn("a database cannot be made or dropped", failed);
                done.failed(trouble("08006", String.valueOf(failed.getMessage())));
                return;
            }
            done.succeeded(result);
        });
    }

    private static EngineFailure trouble(String sqlState, String message) {
        return new EngineFailure(sqlState, message, EngineFailure.Kind.TROUBLE);
    }

    private ExecuteResult executed(long position, Statement statement) throws IOException, InterruptedException {
        DatabaseChange change = statement.databaseChange();
        BackendConnection connection = connect(settings);
        // a client's transaction may have changed rights to the database
        ScheduledFuture<?> watch = server.configured().watch(loops.next(), position, connection.processId());
        try {
            return switch (change.kind()) {
                case CREATE -> create(connection, position, change, statement.role());
                case ALTER -> alter(connection, position, change.sql(), statement.role());
                case RENAME -> rename(connection, position, change, statement.role());
                case DROP -> drop(connection, position, change, statement.role());
            };
        } finally {
            watch.cancel(false);
            connection.close();
        }
    }

    private static @Nullable String ask(BackendConnection connection, String sql)
            throws IOException, InterruptedException {
        return connection.execute(sql, TIMEOUT).value();
    }

    private static ExecuteResult refused(String sqlState, String message) {
        return new ExecuteResult(new EngineFailure(sqlState, message, false), new byte[0]);
    }

    private static ExecuteResult done(String tag, @Nullable ErrorFields notice) {
        ByteBuf message = Unpooled.buffer();
        if (notice != null) {
            Backend.noticeResponse(message, notice);
        }
        Backend.commandComplete(message, tag);
        return ExecuteResult.done(ByteBufUtil.getBytes(message));
    }

    private static String record(long position) {
        return "INSERT INTO tutti.applied (position) VALUES (" + position + ") ON CONFLICT DO NOTHING";
    }

    /** The client's statement, with its role's rights. PostgreSQL does that in a transaction. */
    private static ExecuteResult alter(BackendConnection connection, long position, String sql, String role)
            throws IOException, InterruptedException {
        return inTransaction(connection, "SET LOCAL ROLE " + Table.quote(role) + "; " + sql + "; SET LOCAL ROLE none; "
                + record(position));
    }

    private static ExecuteResult inTransaction(BackendConnection connection, String statements)
            throws IOException, InterruptedException {
        try {
            connection.execute("BEGIN; " + statements + "; COMMIT", TIMEOUT);
        } catch (PostgresException failed) {
            if (!saysOfStatement(failed.fields())) {
                throw failed;
            }
            connection.execute("ROLLBACK", TIMEOUT);
            return refused(failed.sqlState(), failed.fields().message());
        }
        return done("ALTER DATABASE", null);
    }

    /** Nobody may be connected to it meanwhile, not even the node. What is there keeps its positions, its tag and its keys. */
    private ExecuteResult rename(BackendConnection connection, long position, DatabaseChange change, String role)
            throws IOException, InterruptedException {
        String from = change.name();
        String to = change.sql();
        String id = ask(connection, "SELECT id FROM tutti.databases WHERE name = " + Table.literal(from));
        if (id == null) {
            return unknown(connection, from, "renamed");
        }
        if (isTaken(connection, to)) {
            return refused("42P04", "database \"" + to + "\" already exists");
        }
        if (!owns(connection, from, role)) {
            return refused("42501", "must be owner of database " + from);
        }
        if (ask(connection, "SELECT 1 FROM pg_catalog.pg_roles WHERE (rolcreatedb OR rolsuper) AND rolname = "
                + Table.literal(role)) == null) {
            return refused("42501", "permission denied to rename database");
        }
        if (hasAny(from, "placed")) {
            return hasPlaced(from, "renamed");
        }
        connection.execute(record(position - 1), TIMEOUT);
        server.leave(Long.parseLong(id));
        String now = from;
        try {
            connection.execute("SELECT pg_catalog.pg_terminate_backend(pid, " + LEAVING.toMillis()
                    + ") FROM pg_catalog.pg_stat_activity WHERE datname = " + Table.literal(from), TIMEOUT);
            ExecuteResult result = inTransaction(connection, "UPDATE tutti.databases SET name = " + Table.literal(to)
                    + " WHERE id = " + id + "; ALTER DATABASE " + Table.quote(from) + " RENAME TO " + Table.quote(to)
                    + "; " + record(position));
            now = result.tookEffect() ? to : from;
            return result;
        } finally {
            openAgain(Long.parseLong(id), now);
        }
    }

    /** The next life opens all. */
    private void openAgain(long id, String name) throws IOException, InterruptedException {
        boolean opened = false;
        try {
            server.open(id, name, settings.inDatabase(name));
            opened = true;
        } finally {
            if (!opened) {
                server.lost();
            }
        }
    }

    private static boolean isTaken(BackendConnection connection, String name) throws IOException, InterruptedException {
        return ask(connection, "SELECT 1 FROM pg_catalog.pg_database WHERE datname = " + Table.literal(name)
                + " UNION ALL SELECT 1 FROM tutti.databases WHERE name = " + Table.literal(name)) != null;
    }

    private static boolean owns(BackendConnection connection, String database, String role)
            throws IOException, InterruptedException {
        return "t".equals(ask(connection, "SELECT pg_catalog.pg_has_role(r.oid, d.datdba, 'USAGE')"
                + " FROM pg_catalog.pg_database d, pg_catalog.pg_roles r WHERE d.datname = " + Table.literal(database)
                + " AND r.rolname = " + Table.literal(role)));
    }

    private ExecuteResult create(BackendConnection connection, long position, DatabaseChange change, String role)
            throws IOException, InterruptedException {
        String name = Table.literal(change.name());
        boolean begun = ask(connection, "SELECT 1 FROM tutti.databases WHERE state = 'making' AND id = " + position
                + " AND name = " + name) != null;
        if (!begun) {
            dropUnfinished(connection);
            if (isTaken(connection, change.name())) {
                return refused("42P04", "database \"" + change.name() + "\" already exists");
            }
            if (Integer.parseInt(String.valueOf(ask(connection,
                    "SELECT pg_catalog.count(*) FROM tutti.databases"))) >= ServerEngine.DATABASES_MAX) {
                return refused("54000", "a cluster has at most " + ServerEngine.DATABASES_MAX
                        + " databases besides the configured one: drop one, or use schemas");
            }
            connection.execute("INSERT INTO tutti.databases VALUES (" + position + ", " + name + ", 'making')",
                    TIMEOUT);
        } else {
            dropServers(connection, change.name());
        }
        try {
            // with this role's rights
            connection.execute("SET ROLE " + Table.quote(role), TIMEOUT);
            connection.execute(change.sql(), TIMEOUT);
        } catch (PostgresException failed) {
            if (!saysOfStatement(failed.fields())) {
                throw failed;
            }
            connection.execute("RESET ROLE", TIMEOUT);
            connection.execute("DELETE FROM tutti.databases WHERE id = " + position, TIMEOUT);
            return refused(failed.sqlState(), failed.fields().message());
        }
        connection.execute("RESET ROLE", TIMEOUT);
        server.open(position, change.name(), settings.inDatabase(change.name()));
        connection.execute("BEGIN; UPDATE tutti.databases SET state = 'open' WHERE id = " + position + "; "
                + record(position) + "; COMMIT", TIMEOUT);
        return done("CREATE DATABASE", null);
    }

    /** Whether the server's error is the statement's result, which is the same at all nodes. */
    private static boolean saysOfStatement(ErrorFields failed) {
        String kind = failed.sqlState().substring(0, 2);
        return ServerTrouble.of(failed) == ServerTrouble.NONE && !kind.equals("53") && !kind.equals("55")
                && !kind.equals("57") && !kind.equals("58");
    }

    private ExecuteResult drop(BackendConnection connection, long position, DatabaseChange change, String role)
            throws IOException, InterruptedException {
        String name = Table.literal(change.name());
        List<List<@Nullable String>> found = connection.execute(
                "SELECT id, state FROM tutti.databases WHERE name = " + name, TIMEOUT).rows();
        if (found.isEmpty()) {
            return absent(connection, position, change);
        }
        long id = Long.parseLong(String.valueOf(found.getFirst().getFirst()));
        if (!"dropping".equals(found.getFirst().get(1))) {
            if (!owns(connection, change.name(), role)) {
                return refused("42501", "must be owner of database " + change.name());
            }
            if (hasAny(change.name(), "placed")) {
                return hasPlaced(change.name(), "dropped");
            }
            if (hasAny(change.name(), "prepared")) {
                return refused("55006", "database \"" + change.name()
                        + "\" is being used by prepared transactions: COMMIT PREPARED or ROLLBACK PREPARED them there");
            }
            connection.execute("BEGIN; UPDATE tutti.databases SET state = 'dropping' WHERE id = " + id + "; "
                    + record(position - 1) + "; COMMIT", TIMEOUT);
        }
        server.forget(id);
        dropServers(connection, change.name());
        connection.execute("BEGIN; DELETE FROM tutti.databases WHERE id = " + id + "; " + record(position)
                + "; COMMIT", TIMEOUT);
        return done("DROP DATABASE", null);
    }

    /** Whether there is something in a table of the node's own there: what clients have prepared, or tables that are placed. */
    private boolean hasAny(String database, String table) throws IOException, InterruptedException {
        BackendConnection there = connect(settings.inDatabase(database));
        try {
            return ask(there, "SELECT 1 FROM tutti." + table + " LIMIT 1") != null;
        } finally {
            there.close();
        }
    }

    /** Nodes know such tables by their database's name, and of no placement that nobody can forget. */
    private static ExecuteResult hasPlaced(String database, String what) {
        return refused("55006", "database \"" + database
                + "\" has tables that are kept on some nodes only, and cannot be " + what
                + ": drop them, and forget where they were (`tutti tables place TABLE --nodes all --database "
                + database
                + "`)");
    }

    private static ExecuteResult absent(BackendConnection connection, long position, DatabaseChange change)
            throws IOException, InterruptedException {
        ExecuteResult unknown = unknown(connection, change.name(), "dropped");
        if (!change.lenient() || !"3D000".equals(Objects.requireNonNull(unknown.refusal()).sqlState())) {
            return unknown;
        }
        connection.execute(record(position), TIMEOUT);
        return done("DROP DATABASE", ErrorFields.of("NOTICE", "00000",
                "database \"" + change.name() + "\" does not exist, skipping"));
    }

    private static ExecuteResult unknown(BackendConnection connection, String name, String what)
            throws IOException, InterruptedException {
        return ask(connection, "SELECT 1 FROM pg_catalog.pg_database WHERE datname = " + Table.literal(name)) == null
                ? refused("3D000", "database \"" + name + "\" does not exist")
                : refused("0A000", "database \"" + name + "\" was not made through a node, and is not " + what
                        + " through one: it must be " + what + " at every node's PostgreSQL");
    }

    /** What this node had begun at positions that were left out in the end: no other node has it, and a later database may have the name. */
    private static void dropUnfinished(BackendConnection connection) throws IOException, InterruptedException {
        for (List<@Nullable String> row : connection
                .execute("SELECT id, name FROM tutti.databases WHERE state = 'making'", TIMEOUT).rows()) {
            dropServers(connection, Objects.requireNonNull(row.get(1)));
            connection.execute("DELETE FROM tutti.databases WHERE id = " + row.getFirst(), TIMEOUT);
        }
    }

    /** With the roles that the node has made for it. Clients that are connected to it are sent away. */
    private static void dropServers(BackendConnection connection, String name)
            throws IOException, InterruptedException {
        String id = ask(connection, "SELECT oid FROM pg_catalog.pg_database WHERE datname = " + Table.literal(name));
        connection.execute("DROP DATABASE IF EXISTS " + Table.quote(name) + " WITH (FORCE)", TIMEOUT);
        if (id != null) {
            for (List<@Nullable String> row : connection
                    .execute("SELECT pg_catalog.quote_ident(rolname) FROM pg_catalog.pg_roles"
                            + " WHERE rolname ~ '^tutti_(applier|executor)_" + id + "(_|$)'", TIMEOUT)
                    .rows()) {
                connection.execute("DROP ROLE " + row.getFirst(), TIMEOUT);
            }
        }
    }
}
