package tutti.engine.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.engine.postgres.catalog.KeyHash;

/**
 * Executes statements that every replica executes, alone: schema changes, above all.
 *
 * <p>
 * <b>Exactly once.</b> Both engines commit by themselves before and after a schema change, so its effects and its position are
 * two commits. Before it, a row with the position and a hash of the schema is written. If that row is found when the
 * database is opened and the position is not, then the schema tells whether the change was made: it differs from the hash
 * if and only if it was. A statement that changes rows is in one commit with its position anyway.
 *
 * <p>
 * Safe for use from any thread.
 */
final class Barriers {
    /** Makes the table of the row that is written before. */
    static final String TABLE = "CREATE TABLE IF NOT EXISTS TUTTI.BARRIER (POSITION BIGINT PRIMARY KEY, "
            + "SCHEMA_HASH BIGINT NOT NULL)";
    private static final Logger LOG = LoggerFactory.getLogger(Barriers.class);

    private final JdbcEngine engine;

    Barriers(JdbcEngine engine) {
        this.engine = engine;
    }

    /** When the database is opened: a schema change may have been made and its position lost. */
    void settle(EmbeddedDatabase.Session admin) throws SQLException {
        Connection connection = admin.connection();
        long position;
        long hash;
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT POSITION, SCHEMA_HASH FROM TUTTI.BARRIER")) {
            if (!rows.next()) {
                admin.commit();
                return;
            }
            position = rows.getLong(1);
            hash = rows.getLong(2);
        }
        boolean made = position > JdbcEngine.readPosition(connection) && schemaHash(connection) != hash;
        try (Statement statement = connection.createStatement();
                PreparedStatement insert = connection.prepareStatement(JdbcEngine.RECORD)) {
            if (made) {
                insert.setLong(1, position);
                insert.executeUpdate();
            }
            statement.executeUpdate("DELETE FROM TUTTI.BARRIER");
        }
        admin.commit();
        LOG.info("{}: the schema change at position {} {} before the database went down", engine.database().name(),
                position,
                made ? "had been made" : "had not been made");
    }

    /** Executes a barrier, on an applier's session, alone. */
    ExecuteResult execute(EmbeddedDatabase.Session session, long position, BarrierStatement barrier,
            JdbcEngine.Step record, BooleanSupplier closed) throws SQLException, InterruptedException {
        engine.schemaLock().writeLock().lock();
        boolean first = false;
        try {
            while (!first) {
                first = engine.gate().first().tryLock(StatementGate.FIRST_MILLIS, TimeUnit.MILLISECONDS);
                if (!first) {
                    giveWay(position, closed);
                }
            }
            awaitNobody(position, closed);
            Connection connection = session.connection();
            announce(connection, position);
            session.commit();
            BarrierResponse response = BarrierResponse.success();
            try (Statement statement = connection.createStatement()) {
                String before = connection.getSchema();
                connection.setSchema(barrier.schema());
                try {
                    statement.execute(barrier.sql());
                } finally {
                    connection.setSchema(before);
                }
            } catch (SQLException refused) {
                session.rollback();
                if (JdbcEngine.failure(refused).transientFailure()) {
                    throw refused;
                }
                response = BarrierResponse.refused(refused);
            }
            SQLException refusal = response.error();
            if (refusal == null) {
                record.run();
            }
            try (Statement statement = connection.createStatement()) {
                statement.executeUpdate("DELETE FROM TUTTI.BARRIER");
            }
            session.commit();
            engine.schemaChanged(session);
            return new ExecuteResult(refusal == null ? null : JdbcEngine.failure(refusal), response.toBytes());
        } finally {
            if (first) {
                engine.gate().first().unlock();
            }
            engine.schemaLock().writeLock().unlock();
        }
    }

    /** Names all open local transactions to the listener. */
    private void giveWay(long position, BooleanSupplier closed) throws SQLException {
        if (closed.getAsBoolean()) {
            throw new SQLException("the applier was closed", "57P01");
        }
        engine.opened().tellBlocked(position, null);
    }

    /** Notes that a barrier is about to be executed, as {@link #execute} does first. */
    void announce(Connection connection, long position) throws SQLException {
        try (Statement delete = connection.createStatement();
                PreparedStatement insert = connection
                        .prepareStatement("INSERT INTO TUTTI.BARRIER (POSITION, SCHEMA_HASH) VALUES (?, ?)")) {
            delete.executeUpdate("DELETE FROM TUTTI.BARRIER");
            insert.setLong(1, position);
            insert.setLong(2, schemaHash(connection));
            insert.executeUpdate();
        }
    }

    /** Has all open local transactions end: a schema change would wait for each of them that has read the table. */
    private void awaitNobody(long position, BooleanSupplier closed) throws SQLException, InterruptedException {
        while (true) {
            long ended = engine.gate().ended();
            if (engine.opened().sessions().stream()
                    .noneMatch(session -> session.open() && session.transaction() != null)) {
                return;
            }
            giveWay(position, closed);
            engine.gate().awaitEnd(ended);
        }
    }

    private long schemaHash(Connection connection) throws SQLException {
        return KeyHash.seed(engine.database().schema(connection));
    }
}
