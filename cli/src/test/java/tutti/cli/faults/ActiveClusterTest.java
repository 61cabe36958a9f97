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
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Active replication on real nodes: whole requests, executed by every node, with a node killed meanwhile. */
@Tag("long")
class ActiveClusterTest {
    @TempDir
    private Path directory;

    private FaultCluster cluster;

    private Connection connect(int node) throws SQLException {
        return DriverManager.getConnection(cluster.node(node).jdbcUrl() + "&socketTimeout=20");
    }

    private static String value(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet row = statement.executeQuery(sql)) {
            return row.next() ? row.getString(1) : "nothing";
        }
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static void refused(Connection connection, String sql, String why) {
        SQLException e = assertThrows(SQLException.class, () -> execute(connection, sql));
        assertEquals("25006", e.getSQLState(), e.getMessage());
        assertTrue(e.getMessage().contains(why), e.getMessage());
    }

    @Test
    @Timeout(150)
    void everyNodeExecutesEveryRequest() throws Exception {
        try (FaultCluster started = FaultCluster.start(FaultCluster.spec(directory, 3, "active"))) {
            cluster = started;
            try (Connection connection = connect(0)) {
                execute(connection, "create table account (id int primary key, balance int check (balance >= 0))");
                execute(connection, "create table entry (id int primary key, account int references account)");
                execute(connection, "create table audit (account int primary key, changes int)");
                execute(connection, "create function note() returns trigger language plpgsql as 'begin"
                        + " insert into audit values (new.id, 1) on conflict (account) do update set changes = audit.changes + 1;"
                        + " return null; end'");
                execute(connection, "create trigger note after update on account for each row execute function note()");
                execute(connection, "create function transfer(source int, target int, amount int) returns int language"
                        + " plpgsql as 'begin update account set balance = balance - amount where id = source;"
                        + " update account set balance = balance + amount where id = target;"
                        + " return (select balance from account where id = target); end'");
                execute(connection, "insert into account select i, 100 from generate_series(1, 4) as i");
                assertEquals("110", value(connection, "select transfer(1, 2, 10)"));
                assertEquals("2", value(connection, "select count(*) from audit"));
                execute(connection, "insert into entry values (1, 1); update account set balance = 90 where id = 2");
                SQLException child = assertThrows(SQLException.class,
                        () -> execute(connection, "insert into entry values (2, 99)"));
                assertEquals("23503", child.getSQLState());
                SQLException check = assertThrows(SQLException.class, () -> execute(connection,
                        "insert into entry values (3, 1); update account set balance = -1 where id = 1"));
                assertEquals("23514", check.getSQLState());
                assertEquals("1", value(connection, "select count(*) from entry"));
                refused(connection, "update account set balance = random() * 100", "random()");
                refused(connection, "begin; update account set balance = 1; commit", "whole request");
                assertEquals("380", value(connection, "select sum(balance) from account"));
            }
            transferWhileANodeIsKilled();
            cluster.assertSame();
            assertEquals(380, cluster.beneathValue(1, "select sum(balance) from account"));
        }
    }

    private void transferWhileANodeIsKilled() throws InterruptedException {
        AtomicBoolean stop = new AtomicBoolean();
        AtomicLong done = new AtomicLong();
        List<Thread> clients = new ArrayList<>();
        for (int node = 0; node < 3; node++) {
            int at = node;
            clients.add(Thread.ofVirtual().start(() -> {
                int next = at;
                while (!stop.get()) {
                    try (Connection connection = connect(next)) {
                        while (!stop.get()) {
                            try (PreparedStatement call = connection.prepareStatement("select transfer(?, ?, ?)")) {
                                call.setInt(1, at + 1);
                                call.setInt(2, at + 2);
                                call.setInt(3, 0);
                                call.execute();
                            }
                            done.incrementAndGet();
                        }
                    } catch (SQLException lost) {
                        next = (next + 1) % 3;
                    }
                }
            }));
        }
        for (int part = 0; part < 3; part++) {
            long before = done.get();
            FaultCluster.await("30 more", () -> done.get() >= before + 30);
            if (part == 0) {
                cluster.cluster.kill(0);
            } else if (part == 1) {
                cluster.cluster.startNode(0);
                cluster.awaitReady();
            }
        }
        stop.set(true);
        for (Thread client : clients) {
            client.join();
        }
    }
}
