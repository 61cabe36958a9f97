package tutti.engine.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.engine.jdbc.h2.H2Database;

/** What a crash leaves of an H2 database that is being written while others commit. */
class H2WholeWritesTest {
    private static final int TABLES = 12;
    private static final int WRITERS = 4;
    private static final int CRASHES = 25;

    @TempDir
    private Path directory;

    /** H2 by itself leaves parts of transactions in about every fourth of these files. */
    @Test
    void aCrashLeavesWholeTransactionsAndNoRowThatNobodyCanChange() throws Exception {
        AtomicBoolean ended = new AtomicBoolean();
        try (H2Database database = H2Database.inFile(directory.resolve("written"));
                ExecutorService threads = Executors.newFixedThreadPool(WRITERS)) {
            makeTables(database);
            List<Future<?>> writers = new ArrayList<>();
            for (int writer = 0; writer < WRITERS; writer++) {
                int own = writer;
                writers.add(threads.submit(() -> write(database, own, ended)));
            }
            try {
                for (int crash = 0; crash < CRASHES; crash++) {
                    database.sync();
                    look(copy(crash));
                }
            } finally {
                ended.set(true);
            }
            for (Future<?> writer : writers) {
                writer.get();
            }
        }
    }

    private static void makeTables(H2Database database) throws SQLException {
        try (EmbeddedDatabase.Session session = database.openClient();
                Statement statement = session.connection().createStatement()) {
            for (int table = 0; table < TABLES; table++) {
                statement.execute("CREATE TABLE T" + table + " (ID INT PRIMARY KEY, N BIGINT, SEEN INT)");
                statement.execute("CREATE INDEX I" + table + " ON T" + table + " (N)");
                statement.execute("INSERT INTO T" + table + " SELECT X, 0, 0 FROM SYSTEM_RANGE(0, " + WRITERS + ")");
            }
            session.commit();
        }
    }

    /** Each transaction changes its row in every table, and every seventh is rolled back. */
    private static Void write(H2Database database, int row, AtomicBoolean ended) throws SQLException {
        SplittableRandom random = new SplittableRandom(row);
        try (EmbeddedDatabase.Session session = database.openApplier()) {
            List<PreparedStatement> updates = new ArrayList<>();
            for (int table = 0; table < TABLES; table++) {
                updates.add(session.connection()
                        .prepareStatement("UPDATE T" + table + " SET N = ? WHERE ID = " + row));
            }
            for (long number = 1; !ended.get(); number++) {
                int first = random.nextInt(TABLES);
                for (int at = 0; at < TABLES; at++) {
                    PreparedStatement update = updates.get((first + at) % TABLES);
                    update.setLong(1, number);
                    update.executeUpdate();
                }
                if (number % 7 == 0) {
                    session.rollback();
                } else {
                    session.commit();
                }
            }
        }
        return null;
    }

    /** What is in the file while others write; H2 adds to its end only. */
    private Path copy(int crash) throws IOException {
        Path files = directory.resolve("crash" + crash);
        Files.copy(directory.resolve("written.mv.db"), Path.of(files + ".mv.db"));
        return files;
    }

    private static void look(Path files) throws SQLException {
        H2Database database = H2Database.inFile(files);
        try (EmbeddedDatabase.Session session = database.openClient()) {
            Connection connection = session.connection();
            for (int row = 0; row < WRITERS; row++) {
                TreeSet<Long> numbers = new TreeSet<>();
                for (int table = 0; table < TABLES; table++) {
                    try (Statement statement = connection.createStatement();
                            ResultSet rows = statement.executeQuery("SELECT N FROM T" + table + " WHERE ID = " + row)) {
                        rows.next();
                        numbers.add(rows.getLong(1));
                    }
                }
                assertEquals(1, numbers.size(), () -> "parts of transactions " + numbers + " in " + files);
                assertEquals(numbers.first() == 0, numbers.first() % 7 == 0, () -> numbers + " was rolled back");
            }
            try (Statement statement = connection.createStatement()) {
                for (int table = 0; table < TABLES; table++) {
                    assertEquals(WRITERS + 1, statement.executeUpdate("UPDATE T" + table + " SET SEEN = 1"));
                }
            }
            session.rollback();
        } finally {
            database.crash();
        }
    }
}
