package tutti.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.jdbc.TuttiLog.NotAllLoggedException;
import tutti.jdbc.TuttiLog.Outcome;
import tutti.jdbc.TuttiLog.Ticket;
import tutti.jdbc.spi.Calls;

/** What request logs ask of connections, at nodes that follow a script. */
class TuttiLogTest {
    private static ScriptedNode hybrid() throws IOException {
        return node("'logged'", ScriptedNode.DONE);
    }

    private static ScriptedNode node(String when, String answer) throws IOException {
        return new ScriptedNode(query -> query.contains(when)
                ? answer
                : query.startsWith("SHOW")
                        ? "applied"
                        : query.contains("current_setting")
                                ? ""
                                : query.contains("tutti_outcome") ? "in progress" : ScriptedNode.DONE);
    }

    private static Connection connect(ScriptedNode node, String properties) throws SQLException {
        return Objects.requireNonNull(new TuttiDriver().connect("jdbc:tutti://" + node.address()
                + "/x?user=me&password=word&sslmode=disable&preferQueryMode=simple" + properties, new Properties()));
    }

    /** As a pool's: closed, it can be used on. Its batches are told to a list, and each of their rows is logged. */
    private static Connection pooled(Connection connection, List<List<Integer>> batches) {
        return Calls.proxy(Connection.class, (self, method, arguments) -> switch (method.getName()) {
            case "close" -> null;
            case "prepareStatement" -> logging(batches);
            default -> Calls.call(method, connection, arguments);
        });
    }

    private static PreparedStatement logging(List<List<Integer>> batches) {
        List<Integer> parameters = new ArrayList<>();
        List<Integer> rows = new ArrayList<>();
        return Calls.proxy(PreparedStatement.class, (self, method, arguments) -> {
            switch (method.getName()) {
                case "setObject" -> parameters.add((Integer) Objects.requireNonNull(arguments)[1]);
                case "clearParameters" -> parameters.clear();
                case "addBatch" -> rows.add(parameters.size());
                case "executeBatch" -> {
                    batches.add(List.copyOf(rows));
                    rows.clear();
                    return new int[0];
                }
                case "getWarnings" -> {
                    SQLWarning first = new SQLWarning("notices");
                    batches.get(batches.size() - 1)
                            .forEach(row -> first.setNextWarning(new SQLWarning("logged as 0:1.7")));
                    return first;
                }
                default -> {
                }
            }
            return null;
        });
    }

    private static List<Object[]> rows(int count) {
        return IntStream.range(0, count).mapToObj(i -> new Object[]{i}).toList();
    }

    @Test
    void aPoolHasItsSessionBackAsItWas() throws Exception {
        try (ScriptedNode node = hybrid(); Connection connection = connect(node, "")) {
            try (TuttiLog log = TuttiLog.over(pooled(connection, new ArrayList<>()))) {
                log.submitAll("CALL p(?)", rows(1));
                log.submitAll("CALL p(?)", rows(1));
            }
            List<String> heard = node.heard();
            assertEquals(List.of("RESET tutti.requests", "SET tutti.acknowledge = 'applied'"),
                    heard.subList(heard.size() - 2, heard.size()).stream().sorted().toList());
            assertFalse(connection.isClosed());
        }
    }

    /** A pool would hand it out. */
    @Test
    void aSessionThatCannotBeSetAsItWasIsOfNoUse() throws Exception {
        try (ScriptedNode node = node("= 'applied'", ScriptedNode.FAILS); Connection connection = connect(node, "")) {
            TuttiLog.over(pooled(connection, new ArrayList<>())).close();
            assertTrue(connection.isClosed());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aTransactionThatIsOpenIsNeitherCommittedNorLeft(boolean inWords) throws Exception {
        try (ScriptedNode node = hybrid();
                Connection connection = connect(node, "");
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(inWords);
            statement.execute(inWords ? "BEGIN" : "INSERT INTO t VALUES (1)");
            assertEquals("25001",
                    assertThrows(SQLException.class, () -> TuttiLog.over(connection)).getSQLState());
            assertFalse(node.heard().contains("COMMIT"), node.heard()::toString);
            assertTrue(connection.isClosed());
        }
    }

    @Test
    void aConnectionOfNoUseIsClosed() throws Exception {
        try (ScriptedNode node = node("'logged'", ScriptedNode.FAILS); Connection connection = connect(node, "")) {
            assertThrows(SQLException.class, () -> TuttiLog.over(connection));
            assertTrue(connection.isClosed());
        }
    }

    @Test
    void noRowHasParametersOfTheOneBefore() throws Exception {
        List<List<Integer>> batches = new ArrayList<>();
        try (ScriptedNode node = hybrid(); TuttiLog log = TuttiLog.over(pooled(connect(node, ""), batches))) {
            log.submitAll("CALL p(?, ?)", List.of(new Object[]{1, 2}, new Object[]{3}));
            assertEquals(List.of(List.of(2, 1)), batches);
        }
    }

    /** pgjdbc would make one statement of several, and the node one request. */
    @ParameterizedTest
    @CsvSource({"'', 1", "&reWriteBatchedInserts=true, 3"})
    void rowsThatWouldBecomeOneRequestTravelOneByOne(String properties, int times) throws Exception {
        List<List<Integer>> batches = new ArrayList<>();
        try (ScriptedNode node = hybrid(); TuttiLog log = TuttiLog.over(pooled(connect(node, properties), batches))) {
            assertEquals(3, log.submitAll("INSERT INTO t VALUES (?)", rows(3)).size());
            assertEquals(times, batches.size());
        }
    }

    /** The first error counts, and what is known of tickets. */
    @Test
    void whatCannotBeToldDoesNotHideTheError() throws Exception {
        AtomicBoolean second = new AtomicBoolean();
        SQLException lost = new SQLException("lost", "08006");
        try (ScriptedNode node = hybrid(); Connection connection = connect(node, "")) {
            Connection losing = Calls.proxy(Connection.class, (self, method, arguments) -> {
                if (!method.getName().equals("prepareStatement")) {
                    return Calls.call(method, connection, arguments);
                }
                PreparedStatement logging = logging(new ArrayList<>());
                return Calls.proxy(PreparedStatement.class, (statement, called, given) -> {
                    if (second.get()
                            && (called.getName().equals("executeBatch") || called.getName().equals("getWarnings"))) {
                        throw called.getName().equals("executeBatch") ? lost : new SQLException("closed", "08003");
                    }
                    second.compareAndSet(false, called.getName().equals("getWarnings"));
                    return Calls.call(called, logging, given);
                });
            });
            TuttiLog log = TuttiLog.over(losing);
            NotAllLoggedException failure = assertThrows(NotAllLoggedException.class,
                    () -> log.submitAll("CALL p(?)", rows(101)));
            assertEquals(lost, failure.getCause());
            assertEquals(100, failure.tickets().stream().filter(Optional::isPresent).count());
            assertEquals(101, failure.tickets().size());
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {Long.MAX_VALUE, Long.MAX_VALUE / 1_000_000_000, Long.MAX_VALUE / 1_000_000_000 - 1})
    @Timeout(20)
    void patienceMayBeEndless(long seconds) throws Exception {
        AtomicBoolean asked = new AtomicBoolean();
        try (ScriptedNode node = new ScriptedNode(query -> query.startsWith("SHOW")
                ? "executed"
                : !query.contains("tutti_outcome")
                        ? ScriptedNode.DONE
                        : asked.getAndSet(true) ? "committed" : "in progress");
                TuttiLog log = TuttiLog.over(connect(node, ""))) {
            assertEquals(Outcome.COMMITTED, log.await(new Ticket("0:1.7"), Duration.ofSeconds(seconds)));
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {0, -1, Long.MIN_VALUE})
    void patienceMayBeNone(long seconds) throws Exception {
        try (ScriptedNode node = hybrid(); TuttiLog log = TuttiLog.over(connect(node, ""))) {
            assertEquals(Outcome.IN_PROGRESS, log.await(new Ticket("0:1.7"), Duration.ofSeconds(seconds)));
        }
    }
}
