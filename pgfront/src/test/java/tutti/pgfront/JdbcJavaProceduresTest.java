package tutti.pgfront;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tutti.engine.procedure.Procedures;
import tutti.wire.JavaRequests;

/** Procedures in Java at nodes with H2 and HSQLDB: executed once, by the owner of their log; bad calls have clear errors and change nothing. */
@Timeout(60)
class JdbcJavaProceduresTest {
    private static final Procedures PROCEDURES = Procedures.of(Map.of("move", Moves.class.getName()),
            JdbcJavaProceduresTest.class.getClassLoader());
    private static final JavaRequests AT_ALL = new JavaRequests(PROCEDURES, _ -> Set.of());

    @TempDir
    private Path directory;

    private static void run(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static String value(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet row = statement.executeQuery(sql)) {
            assertTrue(row.next());
            return row.getString(1);
        }
    }

    private static void refused(Connection connection, String sql, String state, String says) {
        SQLException refusal = assertThrows(SQLException.class, () -> run(connection, sql), sql);
        assertEquals(state, refusal.getSQLState(), refusal.getMessage());
        assertTrue(String.valueOf(refusal.getMessage()).contains(says), refusal.getMessage());
    }

    private static void schema(Connection client) throws SQLException {
        for (String sql : List.of("create table account (id int primary key, balance bigint not null)",
                "create table payment (id varchar(40) primary key, moment varchar(40), chance double precision)",
                "create table elsewhere (id int primary key)",
                "insert into account values (1, 100), (2, 100), (3, 100)")) {
            run(client, sql);
        }
    }

    @ParameterizedTest
    @EnumSource
    void theOwnerExecutesThem(EngineKind kind) throws Exception {
        try (JdbcNodes nodes = new JdbcNodes(kind, directory, 2, "hybrid", null, AT_ALL);
                Connection first = nodes.connect(0);
                Connection second = nodes.connect(1)) {
            schema(first);
            run(second, "set tutti.read_level = linearizable");
            for (Connection at : List.of(first, second)) {
                run(at, "call move(1, 2, 10)");
                run(at, "CALL Move(1, 1 + 1, cast('5' as int))");
                try (CallableStatement call = at.prepareCall("call move(?, ?, ?)");
                        PreparedStatement plain = at.prepareStatement("call move(?, ?::int, ?)")) {
                    call.setInt(1, 1);
                    call.setInt(2, 3);
                    call.setLong(3, 7);
                    call.execute();
                    plain.setInt(1, 1);
                    plain.setString(2, "3");
                    plain.setInt(3, 1);
                    plain.execute();
                }
            }
            assertEquals("54", value(second, "select balance from account where id = 1"));
            assertEquals("130", value(second, "select balance from account where id = 2"));
            assertEquals("116", value(second, "select balance from account where id = 3"));
            assertEquals("8", value(second, "select count(*) from payment where chance >= 0 and chance < 1"
                    + " and moment like '20%' and id like '________-____-4___-%'"));
            run(second, "set tutti.acknowledge = logged");
            run(second, "call move(2, 3, 30)");
            run(second, "call move(2, 3, 3000)");
            run(second, "reset tutti.acknowledge");
            run(second, "call move(3, 3, 1)"); // executed behind them
            assertEquals("146", value(second, "select balance from account where id = 3"));
            assertEquals(12, nodes.undertaken().stream().mapToLong(Long::longValue).sum(),
                    "with the rows of the schema");
        }
    }

    @ParameterizedTest
    @EnumSource
    void badCallsAreRefusedAndChangeNothing(EngineKind kind) throws Exception {
        try (JdbcNodes nodes = new JdbcNodes(kind, directory, 2, "hybrid", null, AT_ALL);
                Connection client = nodes.connect(0)) {
            schema(client);
            refused(client, "call move(1, 2, 1000)", "P0004", "account 1 has 100 only");
            refused(client, "call move(1, 99, 1)", "02000", "no account 99");
            refused(client, "call move(1, null, 1)", "22004", "is NULL");
            refused(client, "call move(1, 2)", "22023", "there are 2");
            refused(client, "call move()", "22023", "there are 0");
            refused(client, "call move(1, 2, 0)", "25006", "current_timestamp");
            refused(client, "call move(1, 2, -1)", "0A000", "rollback");
            refused(client, "call move(1, 2, -2)", "2F003", "ELSEWHERE");
            refused(client, "call move(1, 2, (select count(*) from elsewhere))", "2F003", "ELSEWHERE");
            refused(client, "call move(1, 2, -3)", "38000", "no such amount");
            refused(client, "call move(1, 2, -4)", "23505", "");
            refused(client, "call move(1, 2, -5)", "57014", "has not ended within 2 seconds");
            refused(client, "update account set balance = 0 where id = 1; call move(1, 2, 1)", "0A000", "called alone");
            refused(client, "begin; call move(1, 2, 1)", "0A000", "called alone");
            run(client, "rollback");
            run(client, "call move(1, 2, 1)");
            assertEquals("99", value(client, "select balance from account where id = 1"));
            assertEquals("0", value(client, "select count(*) from elsewhere"));
        }
    }

    @ParameterizedTest
    @EnumSource
    void whatCannotBeCalledIsNotOrdered(EngineKind kind) throws Exception {
        JavaRequests some = new JavaRequests(PROCEDURES, _ -> Set.of(1));
        try (JdbcNodes nodes = new JdbcNodes(kind, directory.resolve("some"), 2, "hybrid", null, some);
                Connection client = nodes.connect(0)) {
            schema(client);
            refused(client, "call move(1, 2, 1)", "55000", "not at node 1");
        }
        try (JdbcNodes nodes = new JdbcNodes(kind, directory.resolve("si"), 1, "si", null, AT_ALL);
                Connection client = nodes.connect(0)) {
            schema(client);
            refused(client, "call move(1, 2, 1)", "0A000", "use protocol hybrid");
        }
    }
}
