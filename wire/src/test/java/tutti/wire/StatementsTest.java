package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static tutti.wire.ScriptedNode.take;

import java.net.InetSocketAddress;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.protocol.TransactionRequest;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.engine.postgres.catalog.Table;
import tutti.engine.postgres.catalog.TableCatalog;

/** What protocols are told of statements, on a real server: what is read, which classes, and what lies outside of them. */
@Timeout(90)
class StatementsTest {
    private static EngineFixture fixture;
    private static InetSocketAddress address;

    @BeforeAll
    static void start() throws Exception {
        fixture = new EngineFixture(true, """
                CREATE TABLE account (id int PRIMARY KEY, balance int);
                CREATE TABLE audit (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, source int);
                CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES account ON DELETE CASCADE);
                CREATE TABLE label (name text PRIMARY KEY);
                CREATE TABLE part (id int PRIMARY KEY) PARTITION BY RANGE (id);
                CREATE TABLE part_low PARTITION OF part FOR VALUES FROM (0) TO (100);
                CREATE TABLE watched (id int PRIMARY KEY);
                CREATE VIEW names AS SELECT name FROM label;
                CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
                    'BEGIN INSERT INTO audit (source) VALUES (NEW.id); RETURN NULL; END';
                CREATE TRIGGER note AFTER INSERT ON watched FOR EACH ROW EXECUTE FUNCTION note();
                CREATE FUNCTION total() RETURNS bigint LANGUAGE sql AS 'SELECT sum(balance) FROM account';
                CREATE FUNCTION becomes() RETURNS text LANGUAGE sql AS
                    'SELECT set_config(''default_transaction_isolation'', ''serializable'', false)';
                INSERT INTO account VALUES (1, 10), (2, 20);
                INSERT INTO label VALUES ('a')""");
        address = frontEnd("repeatable read");
    }

    private static InetSocketAddress frontEnd(String isolation) throws Exception {
        return fixture.frontEnd(fixture.capture(),
                usual -> usual.withUsual("default_transaction_isolation", isolation));
    }

    @AfterAll
    static void stop() throws Exception {
        fixture.close();
    }

    @BeforeEach
    void reset() {
        fixture.node.needsReads = false;
        fixture.node.takesReads = false;
        fixture.node.needsClasses = false;
        fixture.node.atOnce = true;
        fixture.node.runs = true;
        fixture.node.begun.clear();
        fixture.node.submitted.clear();
    }

    private static Connection connect(String mode) throws SQLException {
        return EngineFixture.jdbc(address, mode);
    }

    private static void execute(Connection connection, String... statements) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private static String name(long hash) {
        return hash == TableCatalog.SCHEMA_KEY
                ? "everything"
                : fixture.engine.catalog().tables().stream().filter(table -> table.hash() == hash).map(Table::name)
                        .findFirst()
                        .orElse("row");
    }

    /** Tables that were scanned in capitals, tables of which rows were read as they are, and how many rows. */
    private static String reads() throws InterruptedException {
        KeySet keys = take(fixture.node.begun).reads.keys();
        TreeSet<String> tables = new TreeSet<>();
        int rows = 0;
        for (int i = 0; i < keys.size(); i++) {
            String name = name(keys.hash(i));
            if (keys.kind(i) == KeyKind.SCAN) {
                tables.add(name.toUpperCase(java.util.Locale.ROOT));
            } else if (name.equals("row")) {
                rows++;
            } else {
                tables.add(name);
            }
        }
        return String.join(" ", tables) + " " + rows;
    }

    @Test
    void whatAWriterReadsIsToldWithItsWrites() throws Exception {
        fixture.node.needsReads = true;
        for (String mode : new String[]{"simple", "extended", "extendedForPrepared"}) {
            try (Connection connection = connect(mode)) {
                execute(connection, "select * from label", "update account set balance = 1 where id = 1");
                assertEquals("account 1", reads(), mode);
                for (int round = 0; round < 7; round++) {
                    try (PreparedStatement update = connection
                            .prepareStatement("update account set balance = ? where id = ?")) {
                        update.setInt(1, round + 10);
                        update.setInt(2, 2);
                        update.executeUpdate();
                    }
                    assertEquals("account 1", reads(), mode);
                }
                connection.setAutoCommit(false);
                execute(connection, "select * from names", "select total()",
                        "update account set balance = 2 where id = 1");
                connection.commit();
                assertEquals("ACCOUNT LABEL 0", reads(), mode);
                execute(connection, "select * from account where id in (1)",
                        "insert into label values ('" + mode + "')");
                connection.rollback();
                assertEquals(" 0", reads());
                execute(connection, "insert into label values ('" + mode + "')");
                connection.commit();
                assertEquals(" 0", reads());
                execute(connection, "prepare p as select * from account", "execute p",
                        "delete from label where name = '" + mode + "'");
                connection.commit();
                assertTrue(reads().contains("EVERYTHING"));
            }
        }
    }

    @Test
    void whatASerializableTransactionReadsIsToldThoughOthersNeedNotTell() throws Exception {
        fixture.node.takesReads = true;
        for (String mode : new String[]{"simple", "extended", "extendedForPrepared"}) {
            try (Connection connection = connect(mode)) {
                execute(connection, "select * from label", "update account set balance = 1 where id = 1");
                assertEquals(" 0", reads(), mode);
                execute(connection, "begin isolation level serializable", "select balance from account where id = 1",
                        "select * from names", "insert into label values ('" + mode + "')", "commit");
                assertEquals("LABEL account 1", reads(), mode);
                execute(connection, "update account set balance = 1 where id = 1");
                assertEquals(" 0", reads(), mode);
                execute(connection, "begin", "set transaction isolation level serializable",
                        "select balance from account where id = 2", "update account set balance = 3 where id = 1",
                        "commit and chain", "select balance from account where id = 2",
                        "update account set balance = 4 where id = 2", "commit");
                assertEquals("account 2", reads(), mode);
                assertEquals("account 1", reads(), mode);
                connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
                execute(connection, "update account set balance = 1 where id = 1");
                assertEquals("account 1", reads(), mode);
                connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
                execute(connection, "delete from label where name = '" + mode + "'");
                assertEquals(" 0", reads(), mode);
            }
        }
    }

    @Test
    void aSessionThatBeginsSerializableTellsItsReads() throws Exception {
        fixture.node.takesReads = true;
        try (Connection connection = connect("simple&options=-c%20default_transaction_isolation=serializable")) {
            execute(connection, "update account set balance = 2 where id = 1");
            assertEquals("account 1", reads());
            execute(connection, "begin isolation level repeatable read", "update account set balance = 3 where id = 1",
                    "commit");
            assertEquals(" 0", reads());
        }
    }

    @Test
    void anOperatorChoosesTheLevelOfThoseWhoAskForNone() throws Exception {
        fixture.node.takesReads = true;
        try (Connection connection = EngineFixture.jdbc(frontEnd("serializable"), "simple")) {
            execute(connection, "update account set balance = 2 where id = 1");
            assertEquals("account 1", reads());
        }
        try (Connection connection = EngineFixture.jdbc(frontEnd("read committed"), "simple");
                ResultSet level = connection.createStatement().executeQuery("show transaction_isolation")) {
            assertTrue(level.next());
            assertEquals("read committed", level.getString(1));
        }
    }

    @Test
    void whoBecomesSerializableUnnoticedHasReadEverything() throws Exception {
        fixture.node.takesReads = true;
        try (Connection connection = connect("simple")) {
            execute(connection, "select becomes()");
            assertEquals(" 0", reads());
            execute(connection, "begin", "select * from account where id = 1",
                    "update account set balance = 2 where id = 1", "commit");
            assertTrue(reads().startsWith("EVERYTHING"));
            execute(connection, "update account set balance = 3 where id = 1");
            assertEquals("account 1", reads(), "by now that is known");
        }
    }

    /** What it has read is older than what was visible when it began, from which on its reads are compared. */
    @ParameterizedTest
    @ValueSource(strings = {"simple", "extended"})
    void aSnapshotThatIsImportedIsReadOnly(String mode) throws Exception {
        fixture.node.takesReads = true;
        try (Connection exporter = connect("simple"); Connection connection = connect(mode)) {
            exporter.setAutoCommit(false);
            exporter.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            String taken;
            try (ResultSet snapshot = exporter.createStatement().executeQuery("select pg_export_snapshot()")) {
                assertTrue(snapshot.next());
                taken = "set transaction /* old */ snapshot '" + snapshot.getString(1) + "'";
            }
            execute(connection, "begin isolation level serializable", taken,
                    "update account set balance = 2 where id = 1");
            assertEquals("0A000", assertThrows(SQLException.class, () -> execute(connection, "commit")).getSQLState());
            execute(connection, "rollback", "begin isolation level serializable", taken, "select * from account",
                    "commit");
            execute(connection, "begin isolation level repeatable read", taken,
                    "update account set balance = 3 where id = 1", "commit");
            exporter.rollback();
        }
    }

    @Test
    void aSerializableTransactionIsNotPrepared() throws Exception {
        fixture.node.takesReads = true;
        try (Connection connection = connect("simple")) {
            execute(connection, "begin isolation level serializable", "update account set balance = 2 where id = 1");
            assertEquals("0A000", assertThrows(SQLException.class,
                    () -> execute(connection, "prepare transaction 'it'")).getSQLState());
        }
    }

    @Test
    void statementsSeeTheSchemaAsItIsByThen() throws Exception {
        fixture.node.needsReads = true;
        try (Connection connection = connect("extended")) {
            connection.setAutoCommit(false);
            execute(connection, "create table late (id int primary key)", "create view later as select id from late");
            connection.commit();
            take(fixture.node.begun);
            execute(connection, "select * from later", "update account set balance = 5 where id = 1");
            connection.commit();
            String reads = reads();
            assertTrue(reads.equals("LATE account 1") || reads.startsWith("EVERYTHING"), reads);
            // while the catalog is read anew everything counts as read: other tests are to find it read
            do {
                execute(connection, "update account set balance = 5 where id = 1");
                connection.commit();
                reads = reads();
            } while (reads.startsWith("EVERYTHING"));
            assertEquals("account 1", reads);
        }
    }

    private static String classes() throws InterruptedException {
        TransactionRequest request = take(fixture.node.submitted).request;
        assertNotNull(request);
        ConflictClasses classes = request.classes();
        TreeSet<String> names = new TreeSet<>();
        for (int i = 0; i < classes.size(); i++) {
            names.add(name(classes.hash(i)));
        }
        return (request instanceof TransactionRequest.Whole ? "whole " : "interactive ")
                + (classes.all() ? "all" : String.join(" ", names));
    }

    @Test
    void aRequestByItselfHasTheClassesOfItsText() throws Exception {
        fixture.node.atOnce = false;
        fixture.node.needsClasses = true;
        for (String mode : new String[]{"simple", "extended"}) {
            try (Connection connection = connect(mode)) {
                execute(connection, "update account set balance = 3 where id = (select count(*) from names)");
                assertEquals("whole account child label", classes(), mode);
                execute(connection, "insert into watched values (" + mode.length() + ")");
                assertEquals("whole audit watched", classes(), mode);
                execute(connection, "insert into part values (" + mode.length() + ")");
                assertEquals("whole part_low row", classes(), mode);
                execute(connection, "do 'begin update label set name = name; end'");
                assertEquals("whole label", classes(), mode);
                execute(connection, "do 'begin execute ''select 1''; end'");
                assertEquals("whole all", classes(), mode);
            }
        }
    }

    private static void sqlState(String expected, Connection connection, String... statements) {
        SQLException e = assertThrows(SQLException.class, () -> {
            execute(connection, statements);
            connection.commit();
        });
        assertEquals(expected, e.getSQLState(), e.getMessage());
    }

    @Test
    void aBlockHasTheClassesThatItDeclaresAndMayNotLeaveThem() throws Exception {
        fixture.node.atOnce = false;
        fixture.node.needsClasses = true;
        for (String mode : new String[]{"simple", "extended"}) {
            try (Connection connection = connect(mode)) {
                connection.setAutoCommit(false);
                execute(connection, "update account set balance = 3 where id = 1");
                connection.commit();
                assertEquals("interactive all", classes(), mode);

                execute(connection, "set local tutti.classes = 'account, public.label'",
                        "update account set balance = 4 where id = 1", "select * from names");
                connection.commit();
                assertEquals("interactive account child label", classes(), mode);

                sqlState("2F003", connection, "set local tutti.classes = 'label'",
                        "update account set balance = 5 where id = 1");
                assertEquals("interactive label", classes(), mode);
                sqlState("2F003", connection, "set local tutti.classes = 'label'", "select total()",
                        "insert into label values ('new')");
                assertEquals("interactive label", classes(), mode);
                sqlState("42P01", connection, "set local tutti.classes = 'label, labl'");
                connection.rollback();
                sqlState("25001", connection, "select 1", "set local tutti.classes = 'label'");
                connection.rollback();
                assertInstanceOf(TransactionRequest.Interactive.class, take(fixture.node.submitted).request);
                assertTrue(fixture.node.submitted.isEmpty());
            }
        }
        try (Connection connection = EngineFixture.jdbc(fixture.server.address(), "simple");
                var row = connection.createStatement()
                        .executeQuery("select balance, (select count(*) from label) from account where id = 1")) {
            assertTrue(row.next());
            assertEquals(4, row.getInt(1));
            assertEquals(1, row.getInt(2));
        }
    }

    private static String value(PreparedStatement statement) throws SQLException {
        try (ResultSet row = statement.executeQuery()) {
            assertTrue(row.next());
            return row.getString(1);
        }
    }

    @Test
    void whatTheNodeKnowsIsAskedByFunctionsWithLiteralsAndParameters() throws Exception {
        for (String mode : new String[]{"simple", "extended", "extendedForPrepared"}) {
            try (Connection connection = connect(mode);
                    PreparedStatement wait = connection.prepareStatement("SELECT tutti_wait(?)");
                    PreparedStatement seventeen = connection.prepareStatement("SELECT * FROM tutti_wait(17)");
                    PreparedStatement outcome = connection.prepareStatement("select tutti_outcome(?)")) {
                for (int round = 1; round < 8; round++) {
                    wait.setLong(1, round);
                    assertEquals(String.valueOf(round), value(wait), mode);
                    assertEquals("17", value(seventeen), mode);
                    wait.setInt(1, round + 100);
                    assertEquals(String.valueOf(round + 100), value(wait), mode);
                    outcome.setString(1, "1:2." + round);
                    assertEquals(round % 2 == 0 ? "committed" : "aborted", value(outcome), mode);
                }
                wait.setNull(1, Types.BIGINT);
                assertNull(value(wait));
                outcome.setString(1, "it's none");
                assertEquals("22023", assertThrows(SQLException.class, () -> value(outcome)).getSQLState());
                for (String alone : new String[]{"SELECT tutti_wait(100000), 4",
                        "SELECT tutti_outcome('1:2.2') || ''"}) {
                    sqlState("0A000", connection, alone);
                }
                execute(connection, "SELECT tutti_position() + 1", "SELECT tutti_wait(0) + 1");
            }
        }
    }
}
