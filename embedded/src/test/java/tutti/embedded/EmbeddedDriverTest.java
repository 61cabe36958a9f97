package tutti.embedded;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLClientInfoException;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import tutti.keys.ClusterAuthority;
import tutti.runtime.real.TestKeys;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.engine.macro.MacroDb;
import tutti.runtime.real.FreePorts;

/** The driver's embedded form, as an application uses it. */
@Timeout(120)
class EmbeddedDriverTest {
    @TempDir
    private Path directory;

    private static String value(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet results = statement.executeQuery(sql)) {
            return results.next() ? results.getString(1) : null;
        }
    }

    private static void awaitValue(Connection connection, String sql, String expected) throws Exception {
        BlockingQueue<String> nothing = new LinkedBlockingQueue<>();
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (!expected.equals(value(connection, sql))) {
            assertTrue(System.nanoTime() < deadline, () -> sql + " does not become " + expected);
            nothing.poll(10, TimeUnit.MILLISECONDS);
        }
    }

    private static String failure(org.junit.jupiter.api.function.Executable action) {
        return assertThrows(SQLException.class, action).getSQLState();
    }

    /** With what the others have, since the log need not hold it any more. */
    @ParameterizedTest
    @ValueSource(strings = {"h2", "hsqldb"})
    void aNodeInMemoryThatWasStoppedBeginsWithACopy(String engine) throws Exception {
        String url = "jdbc:tutti:embedded:" + engine + ":mem:copied?nodes=3&secondaries=1&node=";
        try (Connection connection = DriverManager.getConnection(url + 0)) {
            try (Statement statement = connection.createStatement()) {
                statement.execute("CREATE TABLE item (id INTEGER PRIMARY KEY)");
                statement.execute("INSERT INTO item VALUES (1), (2)");
            }
            EmbeddedNodes.stop(url + 2);
            try (Statement statement = connection.createStatement()) {
                statement.execute("INSERT INTO item VALUES (3)");
            }
            try (Connection again = DriverManager.getConnection(url + 2);
                    Statement statement = again.createStatement()) {
                awaitValue(again, "SELECT COUNT(*) FROM item", "3");
                statement.execute("INSERT INTO item VALUES (4)");
            }
            awaitValue(connection, "SELECT COUNT(*) FROM item", "4");
        } finally {
            for (int node = 0; node < 3; node++) {
                EmbeddedNodes.stop(url + node);
            }
        }
        // What nobody has any more is gone.
        try (Connection anew = DriverManager.getConnection(url + 0); Statement statement = anew.createStatement()) {
            statement.execute("CREATE TABLE item (id INTEGER PRIMARY KEY)");
            assertEquals("0", value(anew, "SELECT COUNT(*) FROM item"));
        } finally {
            for (int node = 0; node < 3; node++) {
                EmbeddedNodes.stop(url + node);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2:mem:work", "hsqldb:mem:work", "h2:mem:macro?secondaries=1",
            "h2:mem:vote?protocol=postgres-r", "h2:mem:locks?protocol=2pc"})
    void transactions(String engine) throws Exception {
        String url = "jdbc:tutti:embedded:" + engine;
        try (Connection connection = DriverManager.getConnection(url)) {
            try (Statement statement = connection.createStatement()) {
                assertFalse(statement.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, name VARCHAR(20))"));
                assertEquals(0, statement.getUpdateCount());
                assertFalse(statement.getMoreResults());
                assertEquals(-1, statement.getUpdateCount());
                assertEquals(1, statement.executeUpdate("INSERT INTO item VALUES (1, 'one')"));
            }
            connection.setAutoCommit(false);
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO item VALUES (?, ?)")) {
                assertEquals(connection, insert.getConnection());
                for (int i = 2; i < 5; i++) {
                    insert.setInt(1, i);
                    insert.setString(2, "batch");
                    insert.addBatch();
                }
                assertEquals(3, insert.executeBatch().length);
                Savepoint savepoint = connection.setSavepoint();
                insert.setInt(1, 5);
                insert.setString(2, "undone");
                insert.executeUpdate();
                connection.rollback(savepoint);
                assertEquals("25001",
                        failure(() -> connection.createStatement().execute("CREATE TABLE no (i INTEGER)")));
                connection.commit();
                insert.setInt(1, 6);
                insert.executeUpdate();
                connection.rollback();
            }
            connection.setReadOnly(true);
            assertEquals("4", value(connection, "SELECT COUNT(*) FROM item"));
            connection.commit();
            connection.setReadOnly(false);
            try (ResultSet tables = connection.getMetaData().getTables(null, null, "ITEM", null)) {
                assertTrue(tables.next());
            }
            assertEquals("0A000", failure(() -> connection.createStatement().execute("BEGIN")));
            assertEquals("23505",
                    failure(() -> connection.createStatement().execute("INSERT INTO item VALUES (1, '')")));
            connection.rollback();
        } finally {
            EmbeddedNodes.stop(url);
        }
    }

    /** Transactions that declare other tables run side by side; each is held to what it has declared. */
    @ParameterizedTest
    @ValueSource(strings = {"h2:mem:classes?protocol=nodo",
            "hsqldb:mem:classes?protocol=akara&protocol.isolation=serializable"})
    void tablesCanBeDeclared(String engine) throws Exception {
        String url = "jdbc:tutti:embedded:" + engine;
        try (Connection one = DriverManager.getConnection(url + "&classes=item");
                Connection other = DriverManager.getConnection(url)) {
            for (String table : List.of("item", "word")) {
                run(one, "CREATE TABLE " + table + " (id INTEGER PRIMARY KEY)");
            }
            assertEquals("25000", failure(() -> run(other, "SET LOCAL tutti.classes = 'word'")));
            one.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            one.setAutoCommit(false);
            other.setAutoCommit(false);
            run(one, "INSERT INTO item VALUES (1)");
            run(other, "set local TUTTI.classes to 'word'");
            run(other, "INSERT INTO word VALUES (1)");
            assertEquals("25001", failure(() -> run(other, "SET LOCAL tutti.classes = 'item'")));
            other.commit();
            other.setClientInfo("tutti.classes", "word");
            assertEquals("word", other.getClientInfo("tutti.classes"));
            run(other, "INSERT INTO word VALUES (2)");
            other.commit();
            other.setAutoCommit(true);
            run(other, "INSERT INTO word VALUES (3)");
            one.commit();
            run(one, "INSERT INTO word VALUES (4)");
            assertEquals("2F003", failure(one::commit));
            one.rollback();
            assertEquals("3", value(one, "SELECT COUNT(*) FROM word"));
            run(one, "INSERT INTO item VALUES (2)");
            assertEquals("2F003", failure(one::commit));
            one.rollback();
            run(one, "SET LOCAL tutti.classes = 'item, word'");
            assertEquals("3", value(one, "SELECT COUNT(*) FROM word"));
            run(one, "INSERT INTO item VALUES (2)");
            one.commit();
            run(one, "SET LOCAL tutti.classes = 'item'");
            one.rollback();
            assertEquals("42P01", failure(() -> run(one, "SET LOCAL tutti.classes = 'nothing'")));
        } finally {
            EmbeddedNodes.stop(url);
        }
    }

    @Test
    void rowsOfResultsAreChangedInTransactionsOnly() throws Exception {
        String url = "jdbc:tutti:embedded:h2:mem:updatable";
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE,
                        ResultSet.CONCUR_UPDATABLE)) {
            run(connection, "CREATE TABLE item (id INTEGER PRIMARY KEY, n INTEGER)");
            run(connection, "INSERT INTO item VALUES (1, 0)");
            for (boolean byItself : new boolean[]{true, false}) {
                connection.setAutoCommit(byItself);
                ResultSet rows = statement.executeQuery("SELECT id, n FROM item");
                assertTrue(rows.next());
                rows.updateInt(2, 7);
                if (byItself) {
                    assertEquals("0A000", failure(rows::updateRow));
                } else {
                    rows.updateRow();
                    connection.commit();
                }
            }
            assertEquals("7", value(connection, "SELECT n FROM item"));
        } finally {
            EmbeddedNodes.stop(url);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2:mem:threads", "hsqldb:mem:threads"})
    void severalThreadsUseOneConnection(String engine) throws Exception {
        String url = "jdbc:tutti:embedded:" + engine;
        try (Connection connection = DriverManager.getConnection(url)) {
            run(connection, "CREATE TABLE item (id INTEGER PRIMARY KEY)");
            List<SQLException> failures = new java.util.concurrent.CopyOnWriteArrayList<>();
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                int first = 100 * i;
                threads.add(Thread.ofPlatform().start(() -> {
                    for (int id = first; id < first + 25; id++) {
                        try {
                            run(connection, "INSERT INTO item VALUES (" + id + ")");
                        } catch (SQLException failed) {
                            failures.add(failed);
                        }
                    }
                }));
            }
            for (Thread thread : threads) {
                thread.join();
            }
            assertEquals(List.of(), failures);
            assertEquals("100", value(connection, "SELECT COUNT(*) FROM item"));
        } finally {
            EmbeddedNodes.stop(url);
        }
    }

    private static void run(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    @Test
    void nodesOfOneNameAreACluster() throws Exception {
        List<String> urls = new ArrayList<>();
        for (int node = 0; node < 3; node++) {
            urls.add("jdbc:tutti:embedded:h2:mem:three?nodes=3&node=" + node);
        }
        try (Connection one = DriverManager.getConnection(urls.get(0));
                Connection two = DriverManager.getConnection(urls.get(1));
                Connection three = DriverManager.getConnection(urls.get(2))) {
            try (Statement statement = one.createStatement()) {
                statement.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, n INTEGER)");
                statement.execute("INSERT INTO item VALUES (1, 0)");
            }
            awaitValue(two, "SELECT COUNT(*) FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME = 'ITEM'", "1");
            awaitValue(three, "SELECT COUNT(*) FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME = 'ITEM'", "1");
            awaitValue(two, "SELECT COUNT(*) FROM item", "1");
            two.setAutoCommit(false);
            three.setAutoCommit(false);
            two.createStatement().execute("UPDATE item SET n = n + 1");
            awaitValue(three, "SELECT n FROM item", "0");
            three.createStatement().execute("UPDATE item SET n = n + 1");
            two.commit();
            assertEquals("40001", failure(three::commit));
            three.rollback();
            awaitValue(one, "SELECT n FROM item", "1");
        } finally {
            for (String url : urls) {
                EmbeddedNodes.stop(url);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2", "hsqldb"})
    void whatIsInFilesIsThereAgain(String engine) throws Exception {
        String url = "jdbc:tutti:embedded:" + engine + ":"
                + directory.resolve("node with space").toString().replace(" ", "%20");
        for (int life = 0; life < 2; life++) {
            try (Connection connection = DriverManager.getConnection(url);
                    Statement statement = connection.createStatement()) {
                if (life == 0) {
                    statement.execute("CREATE TABLE item (id INTEGER PRIMARY KEY)");
                }
                statement.execute("INSERT INTO item VALUES (" + life + ")");
                assertEquals(Integer.toString(life + 1), value(connection, "SELECT COUNT(*) FROM item"));
            } finally {
                EmbeddedNodes.stop(url);
            }
        }
    }

    @Tag("long")
    @Test
    void membersReachEachOtherOverTheNetwork() throws Exception {
        List<Integer> ports = FreePorts.addresses(3).stream().map(InetSocketAddress::getPort).toList();
        String members = String.join(",", ports.stream().map(port -> "127.0.0.1:" + port).toList());
        List<String> urls = new ArrayList<>();
        List<Thread> starts = new ArrayList<>();
        ClusterAuthority authority = ClusterAuthority.create(Instant.now());
        for (int node = 0; node < 3; node++) {
            String url = "jdbc:tutti:embedded:h2:" + directory.resolve("node" + node) + "?node=" + node + "&members="
                    + members;
            String withoutKeys = url;
            assertEquals("08001", failure(() -> DriverManager.getConnection(withoutKeys)));
            TestKeys.write(directory.resolve("node" + node).resolve("keys"), authority.issue(node, Instant.now()),
                    authority.certificate());
            urls.add(url);
            starts.add(Thread.ofPlatform().start(() -> {
                try {
                    DriverManager.getConnection(url).close();
                } catch (SQLException failed) {
                    throw new IllegalStateException(failed);
                }
            }));
        }
        for (Thread start : starts) {
            start.join();
        }
        try (Connection one = DriverManager.getConnection(urls.get(0));
                Connection three = DriverManager.getConnection(urls.get(2))) {
            one.createStatement().execute("CREATE TABLE item (id INTEGER PRIMARY KEY)");
            one.createStatement().execute("INSERT INTO item VALUES (7)");
            awaitValue(three, "SELECT COUNT(*) FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME = 'ITEM'", "1");
            awaitValue(three, "SELECT COUNT(*) FROM item", "1");
        } finally {
            for (String url : urls) {
                EmbeddedNodes.stop(url);
            }
        }
    }

    @Test
    void aConnectionHasPropertiesOfItsOwn() throws Exception {
        String url = "jdbc:tutti:embedded:h2:mem:own";
        try (Connection writer = DriverManager.getConnection(url + "?secondaries=0&transactionBytes=100000");
                Connection reader = DriverManager.getConnection(url + "?readOnly=true");
                Connection small = DriverManager.getConnection(url + "?secondaries=0&transactionBytes=64")) {
            writer.createStatement().execute("CREATE TABLE own (id INT PRIMARY KEY, v VARCHAR(1000))");
            assertTrue(reader.isReadOnly());
            assertEquals("25006", failure(() -> reader.createStatement().execute("INSERT INTO own VALUES (1, 'a')")));
            String large = "INSERT INTO own VALUES (1, '" + "x".repeat(1000) + "')";
            assertEquals("54000", failure(() -> small.createStatement().execute(large)));
            assertEquals(1, writer.createStatement().executeUpdate(large));
        }
    }

    @Tag("long")
    @ParameterizedTest
    @ValueSource(strings = {"h2:mem:long", "h2:"})
    void aTransactionMayBeAsLongAsItsConnectionAllows(String place) throws Exception {
        String url = "jdbc:tutti:embedded:" + place + (place.endsWith(":") ? directory.resolve("long") : "");
        try (Connection connection = DriverManager.getConnection(url);
                PreparedStatement insert = prepared(connection)) {
            int bytes = 1 << 20;
            connection.setAutoCommit(false);
            for (int i = 0; i < 24; i++) {
                insert.setInt(1, i);
                insert.setString(2, "x".repeat(bytes));
                insert.executeUpdate();
            }
            connection.commit();
            assertEquals(Long.toString(24L * bytes), value(connection, "SELECT SUM(LENGTH(v)) FROM pages"));
            connection.commit();
            for (int i = 24; i < 57; i++) {
                insert.setInt(1, i);
                insert.executeUpdate();
            }
            assertEquals("54000", failure(connection::commit));
            connection.rollback();
            assertEquals("24", value(connection, "SELECT COUNT(*) FROM pages"), "it goes on");
        }
    }

    private static PreparedStatement prepared(Connection connection) throws SQLException {
        connection.createStatement().execute("CREATE TABLE pages (id INT PRIMARY KEY, v VARCHAR)");
        return connection.prepareStatement("INSERT INTO pages VALUES (?, ?)");
    }

    @ParameterizedTest
    @ValueSource(strings = {"hsqldb:mem:copies", "h2:"})
    void copiesAreMadeAndGivenUpWhileConnectionsWrite(String place) throws Exception {
        String url = "jdbc:tutti:embedded:" + place + (place.endsWith(":") ? directory.resolve("copied") : "");
        assertEquals("08003", failure(() -> EmbeddedNodes.secondaries(url, 1)), "it does not run");
        try (Connection connection = DriverManager.getConnection(url);
                Connection first = DriverManager.getConnection(url + "?readOnly=true");
                Connection second = DriverManager.getConnection(url + "?readOnly=true");
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, v INTEGER)");
            statement.execute("INSERT INTO item VALUES (0, 0)");
            CompletableFuture<MacroDb.Status> made = CompletableFuture.supplyAsync(() -> {
                try {
                    return EmbeddedNodes.secondaries(url, 2);
                } catch (SQLException failed) {
                    throw new IllegalStateException(failed);
                }
            });
            for (int i = 1; i < 30 || !made.isDone(); i++) {
                statement.execute("INSERT INTO item VALUES (" + i + ", 1)");
                statement.execute("UPDATE item SET v = v + 1 WHERE id = " + i / 2);
            }
            assertEquals(2, made.get().secondaries().size());
            String sum = "SELECT COUNT(*) * 1000000 + SUM(v) FROM item";
            String expected = value(connection, sum);
            awaitCaughtUp(url);
            long before = EmbeddedNodes.secondaries(url).readsAtSecondaries();
            first.setAutoCommit(false);
            second.setAutoCommit(false);
            assertEquals(expected, value(first, sum));
            assertEquals(expected, value(second, sum));
            assertEquals(before + 2, EmbeddedNodes.secondaries(url).readsAtSecondaries());
            assertEquals(List.of(), EmbeddedNodes.secondaries(url, 0).secondaries());
            assertEquals(expected, value(second, sum), "its reader goes on to the end");
            first.rollback();
            assertEquals(expected, value(first, sum), "at the primary");
            assertEquals("22023", failure(() -> EmbeddedNodes.secondaries(url, 65)));
        } finally {
            EmbeddedNodes.stop(url);
        }
    }

    private static void awaitCaughtUp(String url) throws Exception {
        BlockingQueue<String> nothing = new LinkedBlockingQueue<>();
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (true) {
            MacroDb.Status now = EmbeddedNodes.secondaries(url);
            if (now.secondaries().stream().allMatch(at -> at == now.position())) {
                return;
            }
            assertTrue(System.nanoTime() < deadline, () -> "secondaries do not follow: " + now);
            nothing.poll(1, TimeUnit.MILLISECONDS);
        }
    }

    @Test
    void whatIsWrongIsSaid() throws Exception {
        for (String wrong : List.of("oracle:mem:x", "h2", "h2:mem:", "h2:mem:x?nod=1", "h2:mem:x?node=1",
                "h2:mem:x?node=a", "h2:mem:x?members=a:1", "h2:/tmp/x?security=no",
                "h2:/tmp/x?security=none&members=192.0.2.1:1,192.0.2.2:1", "h2:/tmp/x?nodes=2", "h2:/tmp/x?members=a",
                "h2:mem:x?protocol=none", "h2:mem:x?protocol.isolation=none",
                "h2:mem:x?protocol=akara&protocol.is=a", "h2:mem:x?readOnly=yes")) {
            assertEquals("22023", failure(() -> DriverManager.getConnection("jdbc:tutti:embedded:" + wrong)), wrong);
        }
        try (Connection connection = DriverManager.getConnection("jdbc:tutti:embedded:h2:mem:wrong")) {
            for (int isolation : new int[]{Connection.TRANSACTION_NONE, 3, 77, -1}) {
                assertEquals("22023", failure(() -> connection.setTransactionIsolation(isolation)));
            }
            assertEquals("22023", failure(() -> connection.isValid(-1)));
            assertTrue(connection.isValid(1));
            for (String other : List.of("protocol=nodo", "secondaries=1", "nodes=2",
                    "protocol.isolation=serializable")) {
                assertEquals("22023", failure(
                        () -> DriverManager.getConnection("jdbc:tutti:embedded:h2:mem:wrong?" + other)), other);
            }
        }
        assertEquals(10, DriverManager.getDriver("jdbc:tutti:embedded:h2:mem:x")
                .getPropertyInfo("jdbc:tutti:embedded:h2:mem:x", null).length);
    }

    /** The interface of JDBC declares nothing else. */
    @Test
    void whatCannotBeSetOfAClientIsToldAsJdbcSays() throws SQLException {
        String url = "jdbc:tutti:embedded:h2:mem:client";
        Connection connection = DriverManager.getConnection(url);
        try {
            assertThrows(SQLException.class, () -> connection.abort(null));
            assertTrue(connection.isValid(1));
            connection.close();
            for (Executable setting : List.<Executable>of(() -> connection.setClientInfo("ApplicationName", "x"),
                    () -> connection.setClientInfo(new Properties()))) {
                assertEquals("08003", assertThrows(SQLClientInfoException.class, setting).getSQLState());
            }
        } finally {
            EmbeddedNodes.stop(url);
        }
    }

    /** So that a pool gives it up. */
    @ParameterizedTest
    @ValueSource(strings = {"h2", "hsqldb"})
    void aConnectionWhoseNodeHasStoppedIsNotValid(String engine) throws SQLException {
        String url = "jdbc:tutti:embedded:" + engine + ":mem:stopped";
        try (Connection connection = DriverManager.getConnection(url)) {
            assertTrue(connection.isValid(1));
            EmbeddedNodes.stop(url);
            try (Connection another = DriverManager.getConnection(url)) {
                assertTrue(another.isValid(1));
                assertFalse(connection.isValid(1));
                assertEquals("08006", failure(() -> connection.createStatement().execute("VALUES 1")));
            }
        } finally {
            EmbeddedNodes.stop(url);
        }
    }

    /** That a statement is executed. */
    public static final class Running {
        private static volatile CountDownLatch now = new CountDownLatch(1);

        /** Called by the statement. */
        public static int run(int value) {
            now.countDown();
            return value;
        }
    }

    /** A statement beside which its connection is closed ends as it says. */
    @Test
    void nobodyIsToldOfWhatWasRolledBack() throws Exception {
        String url = "jdbc:tutti:embedded:h2:mem:closed";
        try (Connection watcher = DriverManager.getConnection(url); Statement watch = watcher.createStatement()) {
            watch.execute("CREATE TABLE item (id INTEGER PRIMARY KEY)");
            watch.execute("CREATE ALIAS run FOR '" + Running.class.getName() + ".run'");
            for (int round = 0; round < 300; round++) {
                int base = round * 10;
                Running.now = new CountDownLatch(1);
                Connection connection = DriverManager.getConnection(url);
                FutureTask<Boolean> told = new FutureTask<>(() -> {
                    try (Statement statement = connection.createStatement()) {
                        return statement.executeUpdate("INSERT INTO item SELECT run(X) + " + base
                                + " FROM SYSTEM_RANGE(1, 10)") == 10;
                    } catch (SQLException closed) {
                        assertEquals("08003", closed.getSQLState(), closed::getMessage);
                        return false;
                    } finally {
                        Running.now.countDown();
                    }
                });
                Thread.ofPlatform().daemon().start(told);
                Running.now.await();
                connection.close();
                String expected = told.get(30, TimeUnit.SECONDS) ? "10" : "0";
                assertEquals(expected, value(watcher, "SELECT COUNT(*) FROM item WHERE id > " + base),
                        "round " + round);
            }
        } finally {
            EmbeddedNodes.stop(url);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2", "hsqldb"})
    void secondariesAnswerInTheSchemaThatIsSet(String engine) throws Exception {
        String url = "jdbc:tutti:embedded:" + engine + ":mem:tenants?secondaries=1";
        try (Connection connection = DriverManager.getConnection(url)) {
            try (Statement statement = connection.createStatement()) {
                for (String tenant : List.of("A", "B")) {
                    statement.execute("CREATE SCHEMA " + tenant);
                    statement.execute("CREATE TABLE " + tenant + ".item (name VARCHAR(10) PRIMARY KEY)");
                    statement.execute("INSERT INTO " + tenant + ".item VALUES ('" + tenant + "')");
                }
            }
            connection.setReadOnly(true);
            MacroDb.Status status = EmbeddedNodes.secondaries(url);
            while (!status.secondaries().equals(List.of(status.position()))) {
                Thread.onSpinWait();
                status = EmbeddedNodes.secondaries(url);
            }
            for (String tenant : List.of("A", "B", "A")) {
                connection.setSchema(tenant);
                assertEquals(tenant, value(connection, "SELECT name FROM item"));
            }
            assertEquals(status.readsAtSecondaries() + 3, EmbeddedNodes.secondaries(url).readsAtSecondaries());
        } finally {
            EmbeddedNodes.stop(url);
        }
    }
}
