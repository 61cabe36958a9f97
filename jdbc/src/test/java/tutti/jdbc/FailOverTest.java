package tutti.jdbc;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.StringReader;
import java.sql.BatchUpdateException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLClientInfoException;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.PGConnection;
import tutti.jdbc.spi.Calls;
import tutti.jdbc.spi.ResultSetHandler;
import tutti.jdbc.spi.StatementHost;
import tutti.jdbc.spi.Target;

/** What clients are told when a node is lost while it commits for them, by nodes that follow a script. */
class FailOverTest {
    private static final String QUESTION = "SELECT tutti_outcome('" + ScriptedNode.TRANSACTION + "')";

    /** Goes when it is asked to do something. */
    private static ScriptedNode dying(String when) throws IOException {
        return new ScriptedNode(query -> query.startsWith(when) ? ScriptedNode.DIES : ScriptedNode.DONE);
    }

    /** Answers the question with one word after the other. */
    private static ScriptedNode knowing(String... words) throws IOException {
        Deque<String> answers = new ArrayDeque<>(List.of(words));
        return new ScriptedNode(query -> query.equals(QUESTION) ? answers.remove() : ScriptedNode.DONE);
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Connection connect(ScriptedNode... nodes) throws SQLException {
        return connect("", nodes);
    }

    /** @param properties more of them, as in a URL */
    private static Connection connect(String properties, ScriptedNode... nodes) throws SQLException {
        String hosts = Arrays.stream(nodes).map(ScriptedNode::address).collect(Collectors.joining(","));
        String url = "jdbc:tutti://" + hosts
                + "/x?user=me&password=word&sslmode=disable&preferQueryMode=simple&loadBalance=false" + properties;
        return Objects.requireNonNull(new TuttiDriver().connect(url, new Properties()));
    }

    private static void insertAndCommit(ScriptedNode... nodes) throws SQLException {
        try (Connection connection = connect(nodes);
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            assertEquals(1, statement.executeUpdate("INSERT INTO t VALUES (1)"));
            connection.commit();
        }
    }

    @Test
    void whatHasCommittedThoughItsNodeIsLostCounts() throws Exception {
        try (ScriptedNode lost = dying("COMMIT"); ScriptedNode other = knowing("committed")) {
            insertAndCommit(lost, other);
            assertTrue(lost.heard().contains("COMMIT"), lost.heard()::toString);
            assertTrue(other.heard().contains(QUESTION), other.heard()::toString);
        }
    }

    @ParameterizedTest
    @CsvSource({"aborted, 40001", "unknown, 08007"})
    void whatHasNotCommittedOrNobodyKnowsIsAnError(String told, String state) throws Exception {
        try (ScriptedNode lost = dying("COMMIT"); ScriptedNode other = knowing(told)) {
            SQLException failure = assertThrows(SQLException.class, () -> insertAndCommit(lost, other));
            assertEquals(state, failure.getSQLState());
        }
    }

    @Test
    void whatIsInProgressIsAskedAgain() throws Exception {
        try (ScriptedNode lost = dying("COMMIT"); ScriptedNode other = knowing("in progress", "committed")) {
            insertAndCommit(lost, other);
            assertEquals(2, other.heard().stream().filter(QUESTION::equals).count());
        }
    }

    @Test
    void anotherIsAskedIfOneIsLostThatWasAsked() throws Exception {
        try (ScriptedNode lost = dying("COMMIT");
                ScriptedNode second = dying("SELECT tutti_outcome");
                ScriptedNode third = knowing("aborted")) {
            SQLException failure = assertThrows(SQLException.class, () -> insertAndCommit(lost, second, third));
            assertEquals("40001", failure.getSQLState());
            assertTrue(second.heard().contains(QUESTION), second.heard()::toString);
        }
    }

    /** What was lost was the first statement, so nobody has seen anything of the transaction. */
    @Test
    void aTransactionThatHasOnlyBegunGoesOnElsewhere() throws Exception {
        try (ScriptedNode lost = dying("INSERT"); ScriptedNode other = knowing()) {
            insertAndCommit(lost, other);
            assertTrue(other.heard().contains("COMMIT"), other.heard()::toString);
            assertTrue(other.heard().stream().noneMatch(QUESTION::equals), other.heard()::toString);
        }
    }

    /** Its connections stay open, so only that it says nothing tells. */
    @Test
    @Timeout(20)
    void aNodeThatStandsStillIsGivenUp() throws Exception {
        try (ScriptedNode still = new ScriptedNode(query -> query.equals("COMMIT")
                ? ScriptedNode.STANDS_STILL
                : ScriptedNode.DONE); ScriptedNode other = knowing("committed")) {
            insertAndCommit(still, other);
            assertTrue(other.heard().contains(QUESTION), other.heard()::toString);
        }
    }

    /** However long one is ready to wait. */
    @Test
    @Timeout(20)
    void aNodeThatStandsStillIsNotWaitedForByWhoAsksWhetherAConnectionIsValid() throws Exception {
        try (ScriptedNode still = new ScriptedNode(query -> query.isEmpty()
                ? ScriptedNode.STANDS_STILL
                : ScriptedNode.DONE); ScriptedNode other = knowing(); Connection connection = connect(still, other)) {
            assertTrue(connection.isValid(0));
            assertTrue(other.heard().contains(""), other.heard()::toString);
        }
    }

    /** COMMIT of a transaction that has failed rolls back what it has set, as ROLLBACK does. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void settingsOfATransactionThatHasFailedAreNotTakenAlong(boolean inWords) throws Exception {
        try (ScriptedNode first = new ScriptedNode(query -> switch (query) {
            case "SELECT 0" -> ScriptedNode.FAILS;
            case "SELECT 2" -> ScriptedNode.DIES;
            default -> ScriptedNode.DONE;
        });
                ScriptedNode other = knowing();
                Connection connection = connect(first, other);
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute("SET x TO 1");
            assertThrows(SQLException.class, () -> statement.execute("SELECT 0"));
            if (inWords) {
                statement.execute("COMMIT");
            } else {
                connection.commit();
            }
            statement.execute("SELECT 1");
            connection.commit();
            statement.execute("SELECT 2");
            assertFalse(other.heard().contains("SET x TO 1"), other.heard()::toString);
        }
    }

    @Test
    @Timeout(20)
    void aNodeThatStandsStillIsNotWaitedForByWhoConnects() throws Exception {
        try (ScriptedNode still = new ScriptedNode(query -> ScriptedNode.STANDS_STILL);
                ScriptedNode other = knowing()) {
            still.standStill();
            insertAndCommit(still, other);
            assertTrue(other.heard().contains("COMMIT"), other.heard()::toString);
        }
    }

    /** A node that is there may take its time: only who says nothing at all is given up. */
    @Test
    @Timeout(20)
    void aStatementMayTakeLongAtANodeThatIsThere() throws Exception {
        CountDownLatch done = new CountDownLatch(1);
        try (ScriptedNode slow = new ScriptedNode(query -> {
            if (query.startsWith("INSERT")) {
                await(done);
            }
            return ScriptedNode.DONE;
        }); ScriptedNode other = knowing()) {
            int questions = 4;
            slow.onConnection(count -> {
                if (count > questions) {
                    done.countDown();
                }
            });
            insertAndCommit(slow, other);
            assertTrue(slow.heard().contains("COMMIT"), slow.heard()::toString);
            assertTrue(other.heard().isEmpty(), other.heard()::toString);
        }
    }

    private static void copy(Connection connection) throws SQLException, IOException {
        connection.unwrap(PGConnection.class).getCopyAPI().copyIn("COPY t FROM STDIN", new StringReader("1\n2\n"));
    }

    /** Takes rows, and goes when it is asked to do something else. */
    private static ScriptedNode copying(String dies) throws IOException {
        return new ScriptedNode(query -> query.startsWith("COPY")
                ? ScriptedNode.COPIES
                : query.startsWith(dies) ? ScriptedNode.DIES : ScriptedNode.DONE);
    }

    /** pgjdbc begins a transaction for it, of which this driver is not told. */
    @Test
    void rowsThatAreCopiedAreRolledBackWithTheirTransaction() throws Exception {
        try (ScriptedNode node = copying("nothing"); Connection connection = connect(node)) {
            connection.setAutoCommit(false);
            copy(connection);
            assertThrows(SQLException.class, () -> connection.setReadOnly(true));
            connection.rollback();
            assertTrue(node.heard().contains("ROLLBACK"), node.heard()::toString);
            copy(connection);
            connection.setAutoCommit(true);
            assertEquals("COMMIT", node.heard().get(node.heard().size() - 1));
        }
    }

    @Test
    void aStatementBehindRowsThatAreLostIsNotTheFirstOfItsTransaction() throws Exception {
        try (ScriptedNode lost = copying("INSERT");
                ScriptedNode other = knowing();
                Connection connection = connect(lost, other);
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            copy(connection);
            SQLException failure = assertThrows(SQLException.class,
                    () -> statement.executeUpdate("INSERT INTO t VALUES (3)"));
            assertEquals("40001", failure.getSQLState());
            assertEquals("40001",
                    assertThrows(SQLException.class, () -> connection.unwrap(PGConnection.class)).getSQLState());
            connection.rollback();
            assertEquals(List.of(), other.heard());
        }
    }

    @Test
    void theCommitOfRowsThatAreCopiedIsAskedAbout() throws Exception {
        try (ScriptedNode lost = copying("COMMIT");
                ScriptedNode other = knowing("committed");
                Connection connection = connect(lost, other)) {
            connection.setAutoCommit(false);
            copy(connection);
            connection.commit();
            assertTrue(other.heard().contains(QUESTION), other.heard()::toString);
        }
    }

    /** pgjdbc has the node execute something for them. */
    @Test
    void questionsBeginNoTransaction() throws Exception {
        try (ScriptedNode node = new ScriptedNode(
                query -> query.contains("pg_get_keywords") ? "abort" : ScriptedNode.DONE);
                Connection connection = connect(node)) {
            connection.setAutoCommit(false);
            assertEquals("abort", connection.getMetaData().getSQLKeywords());
            assertTrue(connection.isValid(0));
            assertTrue(node.heard().contains(""), node.heard()::toString);
            assertFalse(node.heard().contains("BEGIN"), node.heard()::toString);
        }
    }

    /** What a framework asks before it begins anything. */
    @ParameterizedTest
    @ValueSource(strings = {ScriptedNode.DIES, ScriptedNode.STANDS_STILL})
    @Timeout(20)
    void questionsGoToAnotherNode(String end) throws Exception {
        try (ScriptedNode lost = new ScriptedNode(
                query -> query.startsWith("SHOW TRANSACTION") ? end : ScriptedNode.DONE);
                ScriptedNode other = new ScriptedNode(
                        query -> query.startsWith("SHOW TRANSACTION") ? "repeatable read" : ScriptedNode.DONE);
                Connection connection = connect(lost, other)) {
            assertEquals(Connection.TRANSACTION_REPEATABLE_READ, connection.getTransactionIsolation());
        }
    }

    /** pgjdbc has transactions be read-only, and with auto-commit there are none that it begins. */
    @Test
    void aStatementThatCommitsByItselfIsAskedAboutOnReadOnlyConnections() throws Exception {
        try (ScriptedNode lost = dying("INSERT");
                ScriptedNode other = knowing("committed");
                Connection connection = connect(lost, other);
                Statement statement = connection.createStatement()) {
            connection.setReadOnly(true);
            SQLException failure = assertThrows(SQLException.class,
                    () -> statement.executeUpdate("INSERT INTO t VALUES (1)"));
            assertEquals("08007", failure.getSQLState());
            assertTrue(other.heard().stream().noneMatch(query -> query.startsWith("INSERT")), other.heard()::toString);
        }
    }

    @ParameterizedTest
    @CsvSource({"SELECT f(), COMMIT, true", "SELECT f(), SELECT g(), true", "SET TRANSACTION READ WRITE, COMMIT, false",
            "SET TRANSACTION READ WRITE, SELECT g(), false", "SET transaction_read_only = off, COMMIT, false"})
    void whatIsReadOnlyGoesOnElsewhereUnlessItMayHaveChangedSomething(String first, String dies, boolean goesOn)
            throws Exception {
        try (ScriptedNode lost = dying(dies);
                ScriptedNode other = knowing("aborted");
                Connection connection = connect(lost, other);
                Statement statement = connection.createStatement()) {
            connection.setReadOnly(true);
            connection.setAutoCommit(false);
            statement.execute(first);
            statement.execute("INSERT INTO t VALUES (1)");
            Executable more = () -> {
                statement.execute("SELECT g()");
                connection.commit();
            };
            if (goesOn) {
                assertDoesNotThrow(more);
            } else {
                assertEquals("40001", assertThrows(SQLException.class, more).getSQLState());
            }
            assertEquals(!goesOn && dies.equals("COMMIT"), other.heard().contains(QUESTION), other.heard()::toString);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"COMMIT", "SELECT g()"})
    void aReadOnlyConnectionMayWriteIfNobodyIsToPreventIt(String dies) throws Exception {
        try (ScriptedNode lost = dying(dies);
                ScriptedNode other = knowing("aborted");
                Connection connection = connect("&readOnlyMode=ignore", lost, other);
                Statement statement = connection.createStatement()) {
            connection.setReadOnly(true);
            connection.setAutoCommit(false);
            statement.execute("INSERT INTO t VALUES (1)");
            SQLException failure = assertThrows(SQLException.class, () -> {
                statement.execute("SELECT g()");
                connection.commit();
            });
            assertEquals("40001", failure.getSQLState());
        }
    }

    /** As {@code setReadOnly} has them, with whichever property of pgjdbc's. */
    @Test
    void aConnectionThatIsOpenedReadOnlyIsThat() throws Exception {
        try (ScriptedNode lost = dying("SELECT 1");
                ScriptedNode other = knowing();
                Connection connection = connect("&readOnly=true", lost, other);
                Statement statement = connection.createStatement()) {
            assertTrue(connection.isReadOnly());
            connection.setAutoCommit(false);
            statement.execute("SELECT 1");
            assertTrue(other.heard().contains("BEGIN READ ONLY"), other.heard()::toString);
        }
    }

    /** Rows are copied in a transaction that pgjdbc begins for that, and not read-only. */
    @Test
    void rowsThatAreCopiedOnAReadOnlyConnectionAreAskedAbout() throws Exception {
        try (ScriptedNode lost = copying("COMMIT");
                ScriptedNode other = knowing("aborted");
                Connection connection = connect(lost, other)) {
            connection.setReadOnly(true);
            connection.setAutoCommit(false);
            copy(connection);
            assertEquals("40001", assertThrows(SQLException.class, connection::commit).getSQLState());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"/* shop */ COMMIT", "-- shop\nEND", "SELECT 1; /* a /* b */ c */ COMMIT"})
    void aCommitBehindACommentIsAskedAbout(String commit) throws Exception {
        try (ScriptedNode lost = dying(commit.substring(0, 7));
                ScriptedNode other = knowing("committed");
                Connection connection = connect(lost, other);
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute("INSERT INTO t VALUES (1)");
            SQLException failure = assertThrows(SQLException.class, () -> statement.execute(commit));
            assertEquals("08007", failure.getSQLState());
        }
    }

    @Test
    void aRollbackBehindACommentIsOne() throws Exception {
        try (ScriptedNode lost = dying("SELECT g()");
                ScriptedNode other = knowing();
                Connection connection = connect(lost, other);
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute("INSERT INTO t VALUES (1)");
            assertThrows(SQLException.class, () -> statement.execute("SELECT g()"));
            statement.execute("/* shop */ ROLLBACK");
            statement.execute("INSERT INTO t VALUES (2)");
            connection.commit();
        }
    }

    /** Its connections are two of the cluster's, and one session of the application's. */
    @Test
    void whatIsSetIsSetWhereverTransactionsGo() throws Exception {
        try (ScriptedNode node = knowing();
                ScriptedNode other = knowing();
                Connection connection = connect("&readOnlyRouting=other", node, other);
                Statement statement = connection.createStatement()) {
            connection.setReadOnly(true);
            statement.execute("SELECT 1");
            connection.setReadOnly(false);
            connection.setAutoCommit(false);
            statement.execute("SET search_path = a");
            connection.commit();
            connection.setReadOnly(true);
            statement.execute("SELECT 2");
            List<String> heard = other.heard();
            assertTrue(heard.indexOf("SET search_path = a") > heard.indexOf("SELECT 1"), heard::toString);
            assertTrue(heard.indexOf("SELECT 2") > heard.indexOf("SET search_path = a"), heard::toString);
            statement.execute("SET TimeZone = 'UTC'");
            connection.commit();
            connection.setReadOnly(false);
            statement.execute("SELECT 3");
            connection.commit();
            connection.setReadOnly(true);
            statement.execute("SELECT 4");
            assertEquals(1, node.heard().stream().filter("SET TimeZone = 'UTC'"::equals).count());
            assertEquals(1, other.heard().stream().filter("SET TimeZone = 'UTC'"::equals).count());
            assertTrue(node.heard().contains("SELECT 3"), node.heard()::toString);
            assertTrue(other.heard().contains("SELECT 4"), other.heard()::toString);
            connection.commit();
            connection.setReadOnly(false);
            statement.execute("SELECT 5");
            assertFalse(node.heard().get(node.heard().size() - 3).startsWith("SET"), node.heard()::toString);
        }
    }

    @Test
    void aSecondConnectionThatIsLostWhileItIsNotUsedIsReplaced() throws Exception {
        try (ScriptedNode node = knowing();
                ScriptedNode other = dying("SET search_path");
                Connection connection = connect("&readOnlyRouting=other", node, other);
                Statement statement = connection.createStatement()) {
            connection.setReadOnly(true);
            statement.execute("SELECT 1");
            connection.setReadOnly(false);
            statement.execute("SET search_path = a");
            connection.setReadOnly(true);
            statement.execute("SELECT 2");
            assertTrue(node.heard().contains("SELECT 2"), node.heard()::toString);
            assertEquals(0, Node.at(address(other)).connections());
        }
    }

    private static HostPort address(ScriptedNode node) {
        String[] parts = node.address().split(":", -1);
        return new HostPort(parts[0], Integer.parseInt(parts[1]));
    }

    /** Nor is it where a temporary table is. */
    @Test
    void aSessionWithSomethingOfItsOwnStaysWhereThatIs() throws Exception {
        try (ScriptedNode node = knowing();
                ScriptedNode other = knowing();
                Connection connection = connect("&readOnlyRouting=other", node, other);
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TEMP TABLE mine (id int)");
            connection.setReadOnly(true);
            statement.execute("SELECT id FROM mine");
            assertTrue(node.heard().contains("SELECT id FROM mine"), node.heard()::toString);
        }
    }

    @Test
    void settingsAreTakenAlongInTheirOrder() throws Exception {
        try (ScriptedNode lost = dying("SELECT 1");
                ScriptedNode other = knowing();
                Connection connection = connect(lost, other);
                Statement statement = connection.createStatement()) {
            statement.execute("SET search_path = a");
            connection.setSchema("b");
            connection.setAutoCommit(false);
            connection.setSchema("c");
            connection.rollback();
            statement.execute("SELECT 1");
            List<String> heard = other.heard();
            assertTrue(heard.indexOf("SET search_path = a") < heard.indexOf("SET SESSION search_path TO 'b'"),
                    heard::toString);
            assertFalse(heard.contains("SET SESSION search_path TO 'c'"), heard::toString);
        }
    }

    /** JDBC knows no other failure of it. */
    @Test
    void clientInfoFailsAsClientInfo() throws Exception {
        try (ScriptedNode lost = dying("SELECT g()"); ScriptedNode other = knowing()) {
            Connection connection = connect(lost, other);
            connection.setAutoCommit(false);
            try (Statement statement = connection.createStatement()) {
                statement.execute("INSERT INTO t VALUES (1)");
                assertThrows(SQLException.class, () -> statement.execute("SELECT g()"));
            }
            assertEquals("40001", assertThrows(SQLClientInfoException.class,
                    () -> connection.setClientInfo("ApplicationName", "x")).getSQLState());
            connection.close();
            assertEquals("08003", assertThrows(SQLClientInfoException.class,
                    () -> connection.setClientInfo(new Properties())).getSQLState());
        }
    }

    @Test
    void whatIsNotAbortedStaysOpen() throws Exception {
        try (ScriptedNode node = knowing(); Connection connection = connect(node)) {
            assertThrows(SQLException.class, () -> connection.abort(null));
            assertFalse(connection.isClosed());
        }
    }

    /** By another thread, as a pool does that shuts down. */
    @Test
    @Timeout(20)
    void whatIsClosedWhileANodeIsLookedForExecutesNothing() throws Exception {
        try (ScriptedNode lost = dying("INSERT"); ScriptedNode other = knowing("aborted")) {
            Connection connection = connect(lost, other);
            other.onConnection(count -> assertDoesNotThrow(connection::close));
            try (Statement statement = connection.createStatement()) {
                SQLException failure = assertThrows(SQLException.class,
                        () -> statement.executeUpdate("INSERT INTO t VALUES (1)"));
                assertTrue(Objects.requireNonNull(failure.getSQLState()).startsWith("08"), failure::getSQLState);
            }
            assertTrue(other.heard().stream().noneMatch(query -> query.startsWith("INSERT")), other.heard()::toString);
            assertEquals(0, Node.at(address(other)).connections());
        }
    }

    /** Nodes are not looked for any more. */
    @Test
    @Timeout(20)
    void whatIsClosedDoesNotWaitForANode() throws Exception {
        AtomicReference<Connection> closes = new AtomicReference<>();
        try (ScriptedNode lost = new ScriptedNode(query -> {
            if (!query.startsWith("INSERT")) {
                return ScriptedNode.DONE;
            }
            new Thread(() -> assertDoesNotThrow(() -> closes.get().close())).start();
            return ScriptedNode.DIES;
        })) {
            Connection connection = connect(lost);
            closes.set(connection);
            try (Statement statement = connection.createStatement()) {
                assertThrows(SQLException.class, () -> statement.executeUpdate("INSERT INTO t VALUES (1)"));
            }
        }
    }

    /** pgjdbc changes a row by a statement of its own. */
    @ParameterizedTest
    @CsvSource({"committed, 08007", "aborted, 40001"})
    void rowsThatAreChangedThroughAResultSetAreAskedAbout(String outcome, String state) throws Exception {
        try (ScriptedNode lost = dying("UPDATE");
                ScriptedNode other = knowing(outcome);
                Connection connection = connect(lost, other)) {
            StatementHost host = (StatementHost) Proxy.getInvocationHandler(connection);
            Target on = host.somewhere();
            ResultSet rows = ResultSetHandler.wrap(Calls.proxy(ResultSet.class, (self, method, arguments) -> {
                try (Statement own = on.connection().createStatement()) {
                    return own.executeUpdate("UPDATE t SET a = 1");
                }
            }), null, host, on);
            assertEquals(state, assertThrows(SQLException.class, rows::updateRow).getSQLState());
            assertEquals("24000", assertThrows(SQLException.class, rows::updateRow).getSQLState());
        }
    }

    /** What is sent as a batch with auto-commit may be several transactions, of which the first one's outcome says nothing. */
    @ParameterizedTest
    @CsvSource({"dies, 08007", "refuses, 57P03"})
    void aBatchOfWhichAPartHasCommittedIsNeitherRepeatedNorToldAsDone(String answer, String state) throws Exception {
        try (ScriptedNode lost = new ScriptedNode(
                query -> query.equals("INSERT INTO t VALUES (2)") ? answer : ScriptedNode.DONE);
                ScriptedNode other = knowing("committed", "committed");
                Connection connection = connect(lost, other);
                Statement statement = connection.createStatement()) {
            lost.countTransactions();
            statement.addBatch("INSERT INTO t VALUES (1)");
            statement.addBatch("INSERT INTO t VALUES (2)");
            BatchUpdateException failure = assertThrows(BatchUpdateException.class, statement::executeBatch);
            assertEquals(state, failure.getSQLState());
            assertEquals(2, failure.getUpdateCounts().length);
            assertTrue(other.heard().stream().noneMatch(query -> query.startsWith("INSERT")), other.heard()::toString);
        }
    }

    /** Under {@code hybrid} each of them is logged by itself, and the first one may have been refused. */
    @Test
    void aBatchOfSeparateRequestsIsNotRepeated() throws Exception {
        try (ScriptedNode lost = dying("INSERT");
                ScriptedNode other = knowing("aborted");
                Connection connection = connect(lost, other);
                Statement statement = connection.createStatement()) {
            statement.execute("SET tutti.requests = 'statement'");
            statement.addBatch("INSERT INTO t VALUES (1)");
            statement.addBatch("INSERT INTO t VALUES (2)");
            assertEquals("08007", assertThrows(BatchUpdateException.class, statement::executeBatch).getSQLState());
            assertTrue(other.heard().stream().noneMatch(query -> query.startsWith("INSERT")), other.heard()::toString);
        }
    }

    @Test
    void aTextOfSeveralTransactionsIsNotRepeatedWhereOneIsRefused() throws Exception {
        try (ScriptedNode refuses = new ScriptedNode(
                query -> query.contains("(2)") ? ScriptedNode.REFUSES : ScriptedNode.DONE);
                ScriptedNode other = knowing("committed");
                Connection connection = connect(refuses, other);
                Statement statement = connection.createStatement()) {
            SQLException failure = assertThrows(SQLException.class,
                    () -> statement.execute("INSERT INTO t VALUES (1); COMMIT; INSERT INTO t VALUES (2)"));
            assertEquals("08007", failure.getSQLState());
            assertTrue(other.heard().stream().noneMatch(query -> query.contains("INSERT")), other.heard()::toString);
        }
    }
}
