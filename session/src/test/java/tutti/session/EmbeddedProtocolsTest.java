package tutti.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.Trait;
import tutti.engine.jdbc.ClientEngine;
import tutti.node.ReplicaNode;
import tutti.node.metrics.NodeMetrics;
import tutti.order.local.LocalOrderGroup;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;

/** Three nodes with databases in this virtual machine, under every protocol that there is. */
@Tag("long")
@Timeout(60)
class EmbeddedProtocolsTest {
    /** In order: the first primary is there before the others, and so nobody misses it. */
    private static final Set<Integer> ALL = new TreeSet<>(List.of(0, 1, 2));
    private static final int ACCOUNTS = 6;
    private static final int CLIENTS = 3;
    private static final int TRANSACTIONS = 15;
    private static final String TOTAL = "SELECT SUM(BALANCE) FROM ACCOUNT";

    @TempDir
    private Path directory;

    private final LocalOrderGroup group = new LocalOrderGroup(RealMachine.INSTANCE, ALL);
    private final List<ClientEngine> engines = new ArrayList<>();
    private final List<ReplicaNode> nodes = new ArrayList<>();
    private final CompletableFuture<Throwable> failure = new CompletableFuture<>();

    static Stream<Arguments> protocols() {
        return Protocols.STANDARD.names().stream()
                .flatMap(protocol -> Stream.of(EmbeddedClusterTest.Kind.MACRO_H2, EmbeddedClusterTest.Kind.HSQLDB)
                        .map(kind -> Arguments.of(protocol, kind)));
    }

    private void start(String protocol, EmbeddedClusterTest.Kind kind) throws Exception {
        start(protocol, Map.of(), kind);
    }

    private void start(String protocol, Map<String, String> parameters, EmbeddedClusterTest.Kind kind)
            throws Exception {
        ChosenProtocol chosen = Protocols.STANDARD.choose(protocol, parameters);
        for (int node : new int[]{0, 1, 2}) {
            ClientEngine engine = kind.open(node);
            engines.add(engine);
            ReplicaNode replica = new ReplicaNode(
                    ReplicaNode.Settings.defaults(node, ALL, chosen), RealMachine.INSTANCE,
                    PathDirectory.of(directory.resolve("node" + node)),
                    group.openDirect(node), engine, world -> chosen.create(node, ALL, world),
                    NodeMetrics.NONE, (cause, _) -> failure.complete(cause));
            nodes.add(replica);
            replica.start().get(20, TimeUnit.SECONDS);
        }
        for (ReplicaNode node : nodes) {
            node.ready().get(20, TimeUnit.SECONDS);
        }
    }

    @AfterEach
    void stop() {
        nodes.forEach(ReplicaNode::close);
        engines.forEach(ClientEngine::close);
        assertNull(failure.getNow(null));
    }

    private EmbeddedSession session(int node) throws SQLException {
        return new EmbeddedSession(nodes.get(node), engines.get(node), 1 << 20);
    }

    private static String value(EmbeddedSession session, String sql) throws SQLException {
        return session.statement(connection -> {
            try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
                rows.next();
                return rows.getString(1);
            }
        });
    }

    /** What every node shows when it has made visible what any has been told of. */
    private String everywhere(String sql) throws Exception {
        long last = nodes.stream().mapToLong(ReplicaNode::deliveredPosition).max().orElse(0);
        Set<String> seen = new TreeSet<>();
        for (int node = 0; node < nodes.size(); node++) {
            while (nodes.get(node).visiblePosition() < last) {
                assertNull(failure.getNow(null));
                Thread.onSpinWait();
            }
            try (EmbeddedSession session = session(node)) {
                session.setReadOnly(true);
                seen.add(value(session, sql));
                session.commit();
            }
        }
        return String.join(" or ", seen);
    }

    @ParameterizedTest
    @MethodSource("protocols")
    void transfersKeepTheTotalAndTheNodesTheSame(String protocol, EmbeddedClusterTest.Kind kind) throws Exception {
        start(protocol, kind);
        ChosenProtocol chosen = Protocols.STANDARD.choose(protocol);
        try (EmbeddedSession session = session(0)) {
            session.everywhere("CREATE TABLE ACCOUNT (ID INTEGER PRIMARY KEY, BALANCE INTEGER NOT NULL)");
            if (chosen.has(Trait.WHOLE_ONLY)) {
                statementsForAll(session);
                return;
            }
            for (int account = 0; account < ACCOUNTS; account++) {
                session.execute("INSERT INTO ACCOUNT VALUES (?, 100)", account);
            }
            session.commit();
        }
        everywhere(TOTAL);
        try (ExecutorService threads = Executors.newFixedThreadPool(CLIENTS)) {
            List<Future<Integer>> clients = new ArrayList<>();
            for (int i = 0; i < CLIENTS; i++) {
                int client = i;
                clients.add(threads.submit(() -> transfers(client, chosen.has(Trait.ONE_PRIMARY) ? 0 : client)));
            }
            for (Future<Integer> client : clients) {
                assertEquals(TRANSACTIONS, client.get());
            }
        }
        assertEquals(String.valueOf(100 * ACCOUNTS), everywhere(TOTAL));
        assertEquals(String.valueOf(CLIENTS * TRANSACTIONS + ACCOUNTS - 1),
                everywhere("SELECT MAX(ID) FROM ACCOUNT"));
        for (int account = 0; account < ACCOUNTS; account++) {
            assertTrue(everywhere("SELECT BALANCE FROM ACCOUNT WHERE ID = " + account).matches("-?\\d+"));
        }
    }

    private int transfers(int client, int node) throws SQLException {
        Random random = new Random(client);
        int done = 0;
        try (EmbeddedSession session = session(node)) {
            for (int attempt = 0; done < TRANSACTIONS && attempt < 10_000; attempt++) {
                int from = random.nextInt(ACCOUNTS);
                try {
                    session.execute("UPDATE ACCOUNT SET BALANCE = BALANCE - 1 WHERE ID = ?", from);
                    session.execute("UPDATE ACCOUNT SET BALANCE = BALANCE + 1 WHERE ID = ?", (from + 1) % ACCOUNTS);
                    session.execute("INSERT INTO ACCOUNT VALUES (?, 0)", ACCOUNTS + client * TRANSACTIONS + done);
                    session.commit();
                    done++;
                } catch (SQLException lost) {
                    session.rollback();
                    assertEquals("40", String.valueOf(lost.getSQLState()).substring(0, 2), lost::toString);
                }
            }
        }
        return done;
    }

    /** Where transactions may only read, every node executes what changes something. */
    private void statementsForAll(EmbeddedSession session) throws Exception {
        session.everywhere("INSERT INTO ACCOUNT VALUES (1, 100), (2, 100)");
        session.everywhere("UPDATE ACCOUNT SET BALANCE = BALANCE + ID");
        assertThrows(SQLException.class, () -> session.everywhere("INSERT INTO ACCOUNT VALUES (1, 100)"));
        SQLException refusal = assertThrows(SQLException.class, () -> {
            session.execute("UPDATE ACCOUNT SET BALANCE = 0");
            session.commit();
        });
        assertEquals("0A000", refusal.getSQLState(), refusal.getMessage());
        session.rollback();
        assertEquals("203", everywhere(TOTAL));
    }

    // ------------------------------------------------------------------------------------------ what is read

    private static final String ON_CALL = "SELECT COUNT(*) FROM DOCTOR WHERE ON_CALL = 1";
    private static final String LEAVE = "UPDATE DOCTOR SET ON_CALL = 0 WHERE ID = ";

    private void doctors() throws Exception {
        try (EmbeddedSession session = session(0)) {
            session.everywhere("CREATE TABLE DOCTOR (ID INTEGER PRIMARY KEY, ON_CALL INTEGER NOT NULL)");
            session.everywhere("CREATE TABLE PATIENT (ID INTEGER PRIMARY KEY, N INTEGER NOT NULL)");
            session.everywhere("CREATE VIEW PRESENT AS SELECT ID FROM DOCTOR WHERE ON_CALL = 1");
            session.execute("INSERT INTO DOCTOR VALUES (1, 1), (2, 1), (3, 0)");
            session.execute("INSERT INTO PATIENT VALUES (1, 0), (2, 0)");
            session.commit();
        }
        everywhere(ON_CALL);
    }

    private static String state(SqlAction action) {
        try {
            action.run();
            return "";
        } catch (SQLException failed) {
            return failed.getSQLState();
        }
    }

    /** Something that may fail. */
    @FunctionalInterface
    private interface SqlAction {
        void run() throws SQLException;
    }

    /** Each of two doctors sees that the other one is on call, and leaves. */
    @ParameterizedTest
    @EnumSource(names = {"H2", "HSQLDB", "MACRO_H2"})
    void underDbsmNoWriteSkewAndNoConflictBetweenOtherRows(EmbeddedClusterTest.Kind kind) throws Exception {
        start("dbsm", kind);
        doctors();
        for (String query : List.of(ON_CALL, "SELECT COUNT(*) FROM PRESENT")) {
            try (EmbeddedSession one = session(0); EmbeddedSession other = session(1)) {
                assertEquals("2", value(one, query));
                assertEquals("2", value(other, query));
                one.execute(LEAVE + 1);
                other.execute(LEAVE + 2);
                one.commit();
                assertEquals("40001", state(other::commit));
                other.rollback();
                one.execute("UPDATE DOCTOR SET ON_CALL = 1 WHERE ID = 1");
                one.commit();
            }
            everywhere(ON_CALL);
        }
        try (EmbeddedSession one = session(0); EmbeddedSession other = session(1)) {
            // the same by rows that are named
            assertEquals("1", value(one, "SELECT ON_CALL FROM DOCTOR WHERE ID = 2"));
            assertEquals("1", value(other, "SELECT ON_CALL FROM DOCTOR WHERE ID = 1"));
            one.execute(LEAVE + 1);
            other.execute(LEAVE + 2);
            one.commit();
            assertEquals("40001", state(other::commit));
            other.rollback();
            everywhere(ON_CALL);
            // a row that is not there yet
            assertEquals("0", value(one, "SELECT COUNT(*) FROM PATIENT WHERE ID = 7"));
            other.execute("INSERT INTO PATIENT VALUES (7, 0)");
            other.commit();
            one.execute("UPDATE DOCTOR SET ON_CALL = 1 WHERE ID = 1");
            assertEquals("40001", state(one::commit));
            one.rollback();
            everywhere(ON_CALL);
            // and what does not meet goes on
            assertEquals("0", value(one, "SELECT N FROM PATIENT WHERE ID = 1"));
            one.execute("UPDATE PATIENT SET N = 1 WHERE ID = ?", 1);
            other.execute("UPDATE PATIENT SET N = 1 WHERE ID = ?", 2);
            other.execute("INSERT INTO DOCTOR VALUES (4, 0)");
            other.commit();
            one.commit();
        }
        assertEquals("3", everywhere("SELECT SUM(N) + 1 FROM PATIENT"));
    }

    @ParameterizedTest
    @MethodSource("byClasses")
    void transactionsThatDeclareOtherTablesDoNotWaitForEachOther(String protocol, boolean readsToo,
            EmbeddedClusterTest.Kind kind) throws Exception {
        start(protocol, protocol.equals("akara") && readsToo ? Map.of("isolation", "serializable") : Map.of(), kind);
        doctors();
        try (EmbeddedSession one = session(0); EmbeddedSession other = session(1)) {
            one.declare("doctor");
            one.execute(LEAVE + 1);
            assertEquals("25001", state(() -> one.declare("patient")));
            other.declare("PUBLIC.PATIENT");
            other.execute("UPDATE PATIENT SET N = 1 WHERE ID = 1");
            other.commit();
            // a statement by itself has the tables that it names, and others need not be declared
            other.alone("UPDATE PATIENT SET N = 2 WHERE ID = 1",
                    connection -> connection.createStatement().executeUpdate("UPDATE PATIENT SET N = 2 WHERE ID = 1"));
            other.commit();
            one.commit();
            one.declare("doctor");
            one.execute("UPDATE PATIENT SET N = 3 WHERE ID = 1");
            assertEquals("2F003", state(one::commit));
            one.declare("present");
            assertEquals("2", value(one, "SELECT N FROM PATIENT WHERE ID = 1"));
            one.execute(LEAVE + 2);
            assertEquals(readsToo ? "2F003" : "", state(one::commit));
            assertEquals("42P01", state(() -> one.declare("doctor, nurse")));
            // what is declared is for one transaction
            one.execute("UPDATE PATIENT SET N = 4 WHERE ID = 1");
            one.execute(LEAVE + 2);
            one.commit();
        }
        assertEquals("4", everywhere("SELECT MAX(N) FROM PATIENT"));
        assertEquals("0", everywhere(ON_CALL));
    }

    static Stream<Arguments> byClasses() {
        return Stream.of(Arguments.of("nodo", true, EmbeddedClusterTest.Kind.H2),
                Arguments.of("nodo", true, EmbeddedClusterTest.Kind.MACRO_HSQLDB),
                Arguments.of("akara", false, EmbeddedClusterTest.Kind.HSQLDB),
                Arguments.of("akara", true, EmbeddedClusterTest.Kind.MACRO_H2));
    }
}
