package tutti.engine.postgres;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.capture.CaptureReader;
import tutti.engine.postgres.capture.CapturedWriteSet;
import tutti.engine.postgres.catalog.CatalogQuery;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.pgwire.BackendConnection;

/** A client's session as a front end would run it: statements, then capture, then commit. */
public final class LocalSession implements AutoCloseable {
    private final String database;
    private final Connection connection;

    /** Connects to a database in which capture is installed. */
    public LocalSession(String database) throws SQLException {
        this.database = database;
        this.connection = TestServer.jdbc(database);
    }

    /** The connection. */
    public Connection connection() {
        return connection;
    }

    /** Executes in the open transaction. */
    public LocalSession execute(String... statements) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
        return this;
    }

    /** What {@code tutti.finish} returns. */
    public byte @Nullable [] gather() throws SQLException {
        try (PreparedStatement finish = connection.prepareStatement("SELECT tutti.finish(?, '00000000000000ab')")) {
            finish.setBytes(1, TestServer.CLUSTER_SECRET.getBytes(StandardCharsets.UTF_8));
            try (ResultSet rows = finish.executeQuery()) {
                rows.next();
                return rows.getBytes(1);
            }
        }
    }

    /** The captured changes as text. */
    public String gathered() throws SQLException {
        byte[] gathered = gather();
        return gathered == null ? "" : new String(gathered, StandardCharsets.UTF_8);
    }

    /** The captured write set, before the commit. */
    public CapturedWriteSet capture() throws Exception {
        byte[] gathered = gather();
        if (gathered == null) {
            throw new AssertionError("nothing was captured");
        }
        boolean serializable = gathered.length > 0 && gathered[0] == 'z';
        return CaptureReader.read(catalog(database),
                serializable ? Arrays.copyOfRange(gathered, 1, gathered.length) : gathered);
    }

    /** Executes, captures and commits. */
    public WriteSet commit(String... statements) throws Exception {
        execute(statements);
        WriteSet writes = capture().writes();
        connection.commit();
        return writes;
    }

    /** The catalog as committed. */
    public static TableCatalog catalog(String database) throws Exception {
        BackendConnection connection = TestServer.connect(database);
        TableCatalog catalog = CatalogQuery.read(TestServer.execute(connection, CatalogQuery.SQL));
        connection.close();
        return catalog;
    }

    /** Rolls back and closes. */
    @Override
    public void close() throws SQLException {
        connection.rollback();
        connection.close();
    }
}
