package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.cluster.ClusterSpec;
import tutti.jdbc.TuttiLog;
import tutti.jdbc.TuttiLog.Outcome;
import tutti.jdbc.TuttiLog.Ticket;
import tutti.jdbc.spi.Calls;

/** Transactions that choose where they are executed, and functions that say it, and what they touch. */
@Tag("long")
class ModesClusterTest {
    @TempDir
    private Path directory;

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static String value(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet row = statement.executeQuery(sql)) {
            return row.next() ? row.getString(1) : "nothing";
        }
    }

    private static SQLException refused(Connection connection, String sql, String state) {
        SQLException e = assertThrows(SQLException.class, () -> execute(connection, sql));
        assertEquals(state, e.getSQLState(), e.getMessage());
        return e;
    }

    /** All that there is to choose. */
    @Test
    @Timeout(150)
    void requestsChooseWhereTheyAreExecutedAndWhatTheyTouch() throws Exception {
        requestsChoose("nodo");
    }

    @Tag("long")
    @Test
    @Timeout(150)
    void requestsChooseWhereTheyAreExecuted() throws Exception {
        requestsChoose("si");
    }

    /** Whose requests are executed by the owners of their logs. */
    @Tag("long")
    @Test
    @Timeout(150)
    void requestsChooseWhereTheyAreExecutedAndWhatTheyTouchThoughLogsHaveOwners() throws Exception {
        requestsChoose("hybrid");
    }

    /** Whoever executes a request, and wherever, finds the time and the random values that were fixed when it was submitted. */
    @Tag("long")
    @Test
    @Timeout(150)
    void whatIsFixedAtSubmissionIsTheSameEverywhere() throws Exception {
        try (FaultCluster cluster = FaultCluster.start(FaultCluster.spec(directory, 2, "hybrid"));
                Connection connection = DriverManager.getConnection(cluster.node(0).jdbcUrl());
                Connection elsewhere = DriverManager.getConnection(cluster.node(1).jdbcUrl())) {
            execute(connection,
                    "create table event (id text primary key, at timestamptz not null, chance float8 not null,"
                            + " other float8 not null, name uuid not null unique)");
            execute(connection, "create procedure happens(id text) language sql as 'insert into event values"
                    + " (id, tutti_submitted(), tutti_random(1), tutti_random(2), tutti_uuid(1))'");
            execute(connection, "set tutti.mode = 'active'");
            execute(connection, "call happens('everywhere')");
            execute(connection, "reset tutti.mode");
            execute(connection, "create role anybody");
            execute(connection, "grant insert, select on event to anybody");
            execute(connection, "set role anybody");
            execute(connection, "call happens('owner')");
            execute(connection, "begin; call happens('block of anybody'); commit");
            execute(connection, "reset role");
            drawn(connection, cluster.node(1).jdbcUrl());
            execute(connection, "begin; call happens('block'); update event set other = tutti_random(2)"
                    + " where id = 'block' and at = tutti_submitted() and chance = tutti_random(1); commit");
            try (TuttiLog log = TuttiLog.over(DriverManager.getConnection(cluster.node(1).jdbcUrl()))) {
                for (int i = 0; i < 8; i++) {
                    Ticket ticket = log.submit("call happens(?)", "logged " + i);
                    assertEquals(Outcome.COMMITTED, log.await(ticket, Duration.ofMinutes(1)));
                }
                for (Ticket ticket : log.submitAll("call happens(?)", IntStream.range(0, 5)
                        .mapToObj(i -> new Object[]{"together " + i}).toList())) {
                    assertEquals(Outcome.COMMITTED, log.await(ticket, Duration.ofMinutes(1)));
                }
                List<Outcome> outcomes = new ArrayList<>();
                for (Ticket ticket : log.submitAll("call happens(?)",
                        List.of(new Object[]{"twice"}, new Object[]{"twice"}, new Object[]{"once"}))) {
                    outcomes.add(log.await(ticket, Duration.ofMinutes(1)));
                }
                assertEquals(List.of(Outcome.COMMITTED, Outcome.ABORTED, Outcome.COMMITTED), outcomes);
                assertTrue(refused(() -> log.submit("insert into event values ('no', now(), 1, 1, tutti_uuid(1))"),
                        "0A000").contains("tutti_submitted()"));
            }
            value(connection, "select tutti_wait()");
            value(elsewhere, "select tutti_wait()");
            String all = "select string_agg(e::text, ' ' order by id) from event as e";
            assertEquals(value(connection, all), value(elsewhere, all));
            assertEquals("19 19 19 14 19", value(connection, "select concat_ws(' ', count(*), count(distinct chance),"
                    + " count(distinct name), count(distinct at), count(*) filter (where chance <> other"
                    + " and chance >= 0 and chance < 1 and other >= 0 and other < 1"
                    + " and at between now() - interval '10 minutes' and now() + interval '1 minute')) from event"));
        }
    }

    /** Values of sequences that a procedure says it draws come from the node that is asked, and travel with the request. */
    private static void drawn(Connection connection, String otherNode) throws Exception {
        execute(connection, "create sequence ticket_number");
        execute(connection, "create table ticket (id int8 primary key, other int8 not null unique,"
                + " buyer text not null)");
        execute(connection, "create procedure buys(buyer text) language sql"
                + " set tutti.sequences = 'public.ticket_number 2' as 'insert into ticket values"
                + " (tutti_nextval(''ticket_number'', 1), tutti_nextval(''ticket_number'', 2), buyer)'");
        execute(connection, "create procedure wants(buyer text, number int) language sql"
                + " set tutti.sequences = 'ticket_number' as 'insert into ticket values"
                + " (tutti_nextval(''ticket_number''), -tutti_nextval(''ticket_number'', number), buyer)'");
        execute(connection, "grant insert on ticket to anybody");
        for (String mode : List.of("active", "default", "passive")) {
            execute(connection, "set tutti.mode = '" + mode + "'");
            execute(connection, "call buys('" + mode + "')");
        }
        execute(connection, "reset tutti.mode");
        assertEquals("1 2 3 4 5 6", value(connection,
                "select string_agg(id || ' ' || other, ' ' order by id) from ticket"));
        execute(connection, "begin; call buys('rolled back'); rollback");
        execute(connection, "begin; call buys('block'); update ticket set buyer = 'the same'"
                + " where id = tutti_nextval('ticket_number') and other = tutti_nextval('ticket_number', 2); commit");
        assertEquals("9 10", value(connection, "select concat(id, ' ', other) from ticket where buyer = 'the same'"));
        try (TuttiLog log = TuttiLog.over(DriverManager.getConnection(otherNode))) {
            List<Ticket> tickets = new ArrayList<>(List.of(log.submit("call buys(?)", "logged")));
            tickets.addAll(log.submitAll("call buys(?)", IntStream.range(0, 40)
                    .mapToObj(i -> new Object[]{"together " + i}).toList()));
            for (Ticket ticket : tickets) {
                assertEquals(Outcome.COMMITTED, log.await(ticket, Duration.ofMinutes(1)));
            }
        }
        for (String mode : List.of("active", "default")) {
            execute(connection, "set tutti.mode = '" + mode + "'");
            assertTrue(refused(() -> execute(connection, "call wants('" + mode + "', 2)"), "55000")
                    .contains("value 2 of sequence public.ticket_number was not drawn"));
        }
        try (Connection simple = DriverManager.getConnection(otherNode + "&preferQueryMode=simple")) {
            execute(simple, "set tutti.mode = 'active'");
            refused(() -> execute(simple, "set local tutti.submission = '1 x'; call buys('hidden')"), "55000");
        }
        refused(() -> execute(connection, "create table made as select tutti_nextval('ticket_number') as n"), "55000");
        execute(connection, "set role anybody");
        assertTrue(refused(() -> execute(connection, "call buys('anybody')"), "42501").contains("ticket_number"));
        execute(connection, "reset role");
        execute(connection, "grant usage on sequence ticket_number to anybody");
        execute(connection, "set role anybody");
        execute(connection, "call buys('anybody')");
        execute(connection, "reset role");
        execute(connection, "alter procedure wants set tutti.sequences = 'ticket_number 1001'");
        assertTrue(refused(() -> execute(connection, "call wants('nobody', 1)"), "22023").contains("1 to 1000"));
        execute(connection, "alter procedure wants set tutti.sequences = 'ticket'");
        refused(() -> execute(connection, "call wants('nobody', 1)"), "42809");
        execute(connection, "alter procedure wants set tutti.sequences = 'tickets'");
        refused(() -> execute(connection, "call wants('nobody', 1)"), "42P01");
        value(connection, "select tutti_wait()");
        try (Connection elsewhere = DriverManager.getConnection(otherNode)) {
            value(elsewhere, "select tutti_wait()");
            String all = "select string_agg(t::text, ' ' order by id) from ticket as t";
            assertEquals(value(connection, all), value(elsewhere, all));
            assertEquals("46 92", value(elsewhere, "select concat_ws(' ', count(*), (select count(distinct n) from"
                    + " (select id as n from ticket union all select other from ticket) as numbers)) from ticket"));
        }
    }

    /** Requests of nodes without a server are logged, too. */
    @Tag("long")
    @ParameterizedTest
    @ValueSource(strings = {"h2", "hsqldb"})
    @Timeout(150)
    void requestsAreLoggedWithEnginesInProcess(String engine) throws Exception {
        ClusterSpec spec = FaultCluster.with(FaultCluster.spec(directory, 2, "hybrid"), ClusterSpec.ENGINE, engine);
        try (FaultCluster cluster = FaultCluster.start(spec);
                Connection connection = DriverManager.getConnection(cluster.node(0).jdbcUrl())) {
            execute(connection, "create table audit (id int primary key, amount int)");
            Ticket committed;
            try (TuttiLog log = TuttiLog.over(DriverManager.getConnection(cluster.node(0).jdbcUrl()))) {
                committed = log.submit("insert into audit values (?, ?)", 1, 3);
                refused(() -> log.submit("insert into audit values (2, 1); insert into audit values (3, 1)"), "0A000");
                refused(() -> log.submit("insert into audits values (1, 1)"), "42P01");
                refused(() -> log.submit("select 1"), "0A000");
            }
            try (TuttiLog log = TuttiLog.over(DriverManager.getConnection(cluster.node(1).jdbcUrl()));
                    Connection elsewhere = DriverManager.getConnection(cluster.node(1).jdbcUrl())) {
                Ticket aborted = log.submit("insert into audit values (?, ?)", 1, 4);
                assertEquals(Outcome.ABORTED, log.await(aborted, Duration.ofMinutes(1)));
                assertEquals(Outcome.COMMITTED, log.outcome(committed));
                assertEquals("3", value(elsewhere, "select sum(amount) from audit"));
            }
        }
    }

    private void requestsChoose(String protocol) throws Exception {
        try (FaultCluster cluster = FaultCluster.start(FaultCluster.spec(directory, 2, protocol));
                Connection connection = DriverManager.getConnection(cluster.node(0).jdbcUrl())) {
            execute(connection, "create table account (id int primary key, balance int check (balance >= 0))");
            execute(connection, "create table seen (node int primary key)");
            execute(connection, "insert into account select i, 10 from generate_series(1, 100) as i");
            execute(connection, "create table filled as select i, random() as r from generate_series(1, 3) as i");
            assertEquals("3", value(connection, "select count(*) from filled"));
            execute(connection,
                    "create function grow(n int) returns bigint language plpgsql set tutti.mode = 'active' as"
                            + " 'begin update account set balance = balance + n; return (select sum(balance) from account); end'");
            assertEquals("1100", value(connection, "select grow(1)"));
            execute(connection, "set local tutti.mode = 'active'; update account set balance = balance + 1;"
                    + " update account set balance = balance * 2 where id = 7");
            try (PreparedStatement update = connection
                    .prepareStatement("update account set balance = ? where id = ? returning balance")) {
                execute(connection, "set tutti.mode = active");
                for (int i = 1; i <= 8; i++) {
                    update.setInt(1, i);
                    update.setInt(2, i);
                    try (ResultSet row = update.executeQuery()) {
                        assertTrue(row.next());
                        assertEquals(i, row.getInt(1));
                    }
                }
                update.setInt(1, -1);
                assertEquals("23514", assertThrows(SQLException.class, update::executeQuery).getSQLState());
            }
            refused(connection, "update account set balance = random() * 10", "25006");
            execute(connection, "reset tutti.mode");
            execute(connection, "update account set balance = balance where balance = random() * 10");
            assertEquals("1140", value(connection, "select sum(balance) from account"));
            if (!protocol.equals("si")) {
                functionsSayWhatTheyTouch(connection);
                columnsDivideTables(connection);
            }
            if (protocol.equals("hybrid")) {
                requestsAreLogged(connection, cluster.node(0).jdbcUrl(), cluster.node(1).jdbcUrl());
            }
            changesAreAppliedEverywhere(connection, cluster.node(1).jdbcUrl());
            if (protocol.equals("si")) {
                whoAsksIsSerializable(connection, cluster.node(1).jdbcUrl());
            }
            cluster.assertSame();
            assertEquals(1140, cluster.beneathValue(1, "select sum(balance) from account"));
        }
    }

    /** Whoever hears that something is applied can read it at another node at once. */
    private static void changesAreAppliedEverywhere(Connection connection, String other) throws SQLException {
        execute(connection, "set tutti.acknowledge = applied");
        try (Connection elsewhere = DriverManager.getConnection(other)) {
            execute(connection, "create table shown (n int primary key)");
            for (int i = 1; i <= 50; i++) {
                execute(connection, "insert into shown values (" + i + ")");
                assertEquals(Integer.toString(i), value(elsewhere, "select max(n) from shown"));
            }
        }
        execute(connection, "reset tutti.acknowledge");
    }

    /** Each takes what both have read together from a row of its own, at a node of its own. */
    private static void whoAsksIsSerializable(Connection connection, String other) throws SQLException {
        execute(connection, "create table pair (id int primary key, n int)");
        execute(connection, "set tutti.acknowledge = applied; insert into pair values (1, 50), (2, 50)");
        try (Connection elsewhere = DriverManager.getConnection(other)) {
            int left = 100;
            for (String level : new String[]{"repeatable read", "serializable"}) {
                String sum = Integer.toString(left--);
                execute(connection, "begin isolation level " + level);
                execute(elsewhere, "begin isolation level serializable");
                assertEquals("serializable", value(elsewhere, "show transaction_isolation"));
                assertEquals(sum, value(connection, "select sum(n) from pair"));
                assertEquals(sum, value(elsewhere, "select sum(n) from pair"));
                execute(connection, "update pair set n = n - 1 where id = 1");
                execute(elsewhere, "update pair set n = n - 1 where id = 2");
                execute(connection, "commit");
                assertTrue(refused(elsewhere, "commit", "40001").getMessage().contains("stale-read"));
            }
            execute(connection, "begin");
            execute(elsewhere, "begin isolation level serializable");
            assertEquals("98", value(connection, "select sum(n) from pair"));
            assertEquals("98", value(elsewhere, "select sum(n) from pair"));
            execute(elsewhere, "update pair set n = n - 1 where id = 2");
            execute(elsewhere, "commit");
            execute(connection, "update pair set n = n - 1 where id = 1");
            execute(connection, "commit");
            assertEquals("96", value(connection, "select sum(n) from pair"));
        }
        execute(connection, "reset tutti.acknowledge");
    }

    private static void functionsSayWhatTheyTouch(Connection connection) throws SQLException {
        execute(connection, "create function add(t text, n int) returns void language plpgsql as"
                + " $$ begin execute format('insert into %I values ($1)', t) using n; end $$");
        execute(connection, "alter function add(text, int) set tutti.classes = 'seen'");
        execute(connection, "select add('seen', 1)");
        assertTrue(refused(connection, "select add('account', 1000)", "2F003").getMessage().contains("account"));
        execute(connection, "create function look(t text) returns bigint language plpgsql set tutti.classes = 'seen' as"
                + " $$ declare n bigint; begin insert into seen values (2); execute 'select count(*) from ' || t into n;"
                + " return n; end $$");
        assertTrue(refused(connection, "select look('account')", "2F003").getMessage().contains("account"));
        assertEquals("2", value(connection, "select look('seen')"));
        assertEquals("2", value(connection, "select count(*) from seen"));
    }

    private static void refusedInBlock(Connection connection, String sql) throws SQLException {
        execute(connection, "set local tutti.classes = 'stock(1)'");
        assertEquals("2F003", assertThrows(SQLException.class, () -> execute(connection, sql)).getSQLState());
        connection.rollback();
    }

    /** Whoever has a class of the group may read it, and nobody changes it who has not all. */
    private static void sharedTable(Connection connection) throws SQLException {
        execute(connection, "create table price (item int primary key, amount int)");
        execute(connection, "comment on table price is 'tutti.class house/16'");
        execute(connection, "insert into price values (1, 5)");
        execute(connection,
                "create function look_up(h int) returns int language plpgsql set tutti.classes = 'stock($1)'"
                        + " as 'begin update stock set quantity = quantity - 1 where house = h;"
                        + " return (select amount from price where item = 1); end'");
        assertEquals("5", value(connection, "select look_up(1)"));
        execute(connection, "create function raise(h int) returns void language plpgsql set tutti.classes = 'price($1)'"
                + " as 'begin update price set amount = amount + 1; end'");
        SQLException refused = assertThrows(SQLException.class, () -> execute(connection, "select raise(1)"));
        assertEquals("2F003", refused.getSQLState(), refused.getMessage());
        assertTrue(refused.getMessage().contains("price"), refused.getMessage());
        execute(connection, "update price set amount = 6 where item = 1");
        assertEquals("6", value(connection, "select look_up(1)"));
    }

    private static void columnsDivideTables(Connection connection) throws SQLException {
        execute(connection, "create table stock (house int, item int, quantity int, primary key (house, item))");
        execute(connection, "comment on column stock.house is 'tutti.class house/16'");
        execute(connection, "insert into stock values (1, 1, 10), (2, 1, 10), (18, 1, 10)");
        execute(connection, "create function take(h int, other int) returns void language plpgsql"
                + " set tutti.classes = 'stock($1)' as 'begin update stock set quantity = quantity - 1"
                + " where house in (h, other); end'");
        try (PreparedStatement call = connection.prepareStatement("select take(?, ?)")) {
            call.setInt(1, 2);
            call.setInt(2, 18);
            call.execute();
            call.setInt(2, 1);
            SQLException e = assertThrows(SQLException.class, call::execute);
            assertEquals("2F003", e.getSQLState(), e.getMessage());
            assertTrue(e.getMessage().contains("house = 1"), e.getMessage());
        }
        execute(connection, "update stock set quantity = quantity - 1 where house = 18");
        sharedTable(connection);
        connection.setAutoCommit(false);
        execute(connection, "set local tutti.classes = 'stock(1)'");
        refusedInBlock(connection, "update stock set quantity = 0 where house = 2");
        refusedInBlock(connection, "select quantity from stock where house = 2");
        refusedInBlock(connection, "select sum(quantity) from stock");
        try (PreparedStatement read = connection
                .prepareStatement("select quantity from stock where house = ? and item = 1")) {
            execute(connection, "set local tutti.classes = 'stock(1)'");
            read.setInt(1, 17);
            read.execute();
            read.setInt(1, 2);
            assertEquals("2F003", assertThrows(SQLException.class, read::execute).getSQLState());
            connection.rollback();
        }
        execute(connection, "set local tutti.classes = 'stock(1)'");
        execute(connection, "update stock set quantity = 0 where house = 1");
        connection.commit();
        connection.setAutoCommit(true);
        assertEquals("0 9 8", value(connection,
                "select string_agg(quantity::text, ' ' order by house) from stock"));
    }

    private static String refused(Executable executable, String state) {
        SQLException e = assertThrows(SQLException.class, executable);
        assertEquals(state, e.getSQLState(), e.getMessage());
        return String.valueOf(e.getMessage());
    }

    /** Stored transactions, by CALL, whose clients hear that they are logged, and ask at another node. */
    private static void requestsAreLogged(Connection connection, String url, String other) throws SQLException {
        execute(connection, "create table audit (id int primary key, amount int)");
        execute(connection, "create procedure transfer(a int, b int, n int) language sql as"
                + " 'update account set balance = balance - n where id = a;"
                + " update account set balance = balance + n where id = b; insert into audit values (n, n)'");
        execute(connection,
                "create procedure now_and_then() language sql as 'insert into audit values (random() * 9, 0)'");
        execute(connection, "call transfer(5, 2, 1)");
        assertEquals("23505", assertThrows(SQLException.class, () -> execute(connection, "call transfer(5, 2, 1)"))
                .getSQLState());
        Ticket committed;
        try (TuttiLog log = TuttiLog.over(DriverManager.getConnection(url))) {
            committed = log.submit("call transfer(?, ?, ?)", 2, 1, 2);
            assertTrue(refused(() -> log.submit("call now_and_then()"), "0A000").contains("random()"));
            refused(() -> log.submit("call transfers(1, 2, 1)"), "42883");
            refused(() -> log.submit("select 1"), "0A000");
        }
        try (TuttiLog log = TuttiLog.over(DriverManager.getConnection(other));
                Connection elsewhere = DriverManager.getConnection(other)) {
            Ticket aborted = log.submit("call transfer(?, ?, ?)", 2, 1, 2);
            assertEquals(Outcome.ABORTED, log.await(aborted, Duration.ofMinutes(1)));
            assertEquals(Outcome.COMMITTED, log.outcome(committed));
            assertThrows(IllegalArgumentException.class, () -> new Ticket("1'); drop table audit"));
            assertEquals("3", value(elsewhere, "select sum(amount) from audit"));
        }
        try (Connection pooled = DriverManager.getConnection(other + "&reWriteBatchedInserts=true")) {
            Connection lent = Calls.proxy(Connection.class,
                    (self, method, arguments) -> method.getName().equals("close")
                            ? null
                            : Calls.call(method, pooled, arguments));
            try (TuttiLog log = TuttiLog.over(lent)) {
                for (Ticket ticket : log.submitAll("insert into audit values (?, ?)", IntStream.range(100, 164)
                        .mapToObj(i -> new Object[]{i, 0}).toList())) {
                    assertEquals(Outcome.COMMITTED, log.await(ticket, Duration.ofMinutes(1)));
                }
            }
            assertEquals("executed", value(pooled, "show tutti.acknowledge"));
            refused(pooled, "insert into audit values (163, 0)", "23505");
        }
    }
}
