package tutti.engine.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.engine.jdbc.hsqldb.HsqldbDatabase;

class HsqldbFilesTest {
    private static final int TRANSACTIONS = 400;
    private static final int BYTES_EACH = 10_000;

    @TempDir
    private Path directory;

    /** A script that is written while transactions run may hold a part of one; whatever the files say, only the engine has it written. */
    @Test
    void hsqldbDoesNotWriteItAnewByItself() throws Exception {
        Path files = directory.resolve("db");
        try (Connection before = DriverManager.getConnection("jdbc:hsqldb:file:" + files, "SA", "");
                Statement statement = before.createStatement()) {
            statement.execute("SET FILES LOG SIZE 1");
            statement.execute("CREATE TABLE T (ID INT PRIMARY KEY, V VARCHAR(20000))");
            statement.execute("SHUTDOWN");
        }
        try (EmbeddedDatabase database = HsqldbDatabase.inFiles(files);
                EmbeddedDatabase.Session session = database.openClient();
                PreparedStatement insert = session.connection().prepareStatement("INSERT INTO T VALUES (?, ?)")) {
            for (int i = 0; i < TRANSACTIONS; i++) {
                insert.setInt(1, i);
                insert.setString(2, "x".repeat(BYTES_EACH));
                insert.executeUpdate();
                session.connection().commit();
            }
            database.sync();
            long log = Files.size(directory.resolve("db.log"));
            assertTrue(log > (long) TRANSACTIONS * BYTES_EACH, () -> "the log has only " + log + " bytes");
        }
        try (EmbeddedDatabase database = HsqldbDatabase.inFiles(files);
                EmbeddedDatabase.Session session = database.openClient()) {
            assertEquals(TRANSACTIONS, rows(session));
        }
    }

    private static int rows(EmbeddedDatabase.Session session) throws SQLException {
        try (Statement statement = session.connection().createStatement();
                ResultSet rows = statement.executeQuery("SELECT COUNT(*) FROM T")) {
            rows.next();
            return rows.getInt(1);
        }
    }
}
