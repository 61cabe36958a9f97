package tutti.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tutti.core.protocol.Protocols;
import tutti.engine.jdbc.CaptureMode;
import tutti.engine.jdbc.ClientEngine;
import tutti.engine.jdbc.EmbeddedDatabase;
import tutti.engine.jdbc.JdbcEngine;
import tutti.engine.jdbc.SequenceSteps;
import tutti.engine.jdbc.h2.H2Database;
import tutti.engine.jdbc.hsqldb.HsqldbDatabase;
import tutti.engine.macro.MacroDb;
import tutti.node.ReplicaNode;
import tutti.node.metrics.NodeMetrics;
import tutti.order.local.LocalOrderGroup;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;

/** Three nodes with databases in this virtual machine: what their clients see, and that they stay the same. */
@Timeout(120)
class EmbeddedClusterTest {
    private static final Set<Integer> ALL = Set.of(0, 1, 2);
    private static final int ACCOUNTS = 12;
    private static final int START_BALANCE = 100;
    private static final int CLIENTS = 6;
    private static final int TRANSACTIONS = 40;
    private static final long BYTES_MAX = 1 << 20;

    /** An engine to try. */
    enum Kind {
        H2, HSQLDB, MACRO_H2, MACRO_HSQLDB;

        ClientEngine open(int node) throws SQLException {
            return switch (this) {
                case H2 -> engine(node, H2Database.inMemory());
                case HSQLDB -> engine(node, HsqldbDatabase.inMemory());
                case MACRO_H2 -> MacroDb.open(engine(node, H2Database.inMemory()), H2Database::inMemory, 2,
                        MacroDb.Settings.DEFAULT);
                case MACRO_HSQLDB -> MacroDb.open(engine(node, HsqldbDatabase.inMemory()), HsqldbDatabase::inMemory, 1,
                        MacroDb.Settings.DEFAULT);
            };
        }

        private static JdbcEngine engine(int node, EmbeddedDatabase database) throws SQLException {
            return JdbcEngine.open(database, CaptureMode.NOTES, new SequenceSteps(node, 16));
        }
    }

    @TempDir
    private Path directory;

    private final LocalOrderGroup group = new LocalOrderGroup(RealMachine.INSTANCE, ALL);
    private final List<ClientEngine> engines = new ArrayList<>();
    private final List<ReplicaNode> nodes = new ArrayList<>();
    private final CompletableFuture<Throwable> failure = new CompletableFuture<>();

    private void start(Kind kind) throws Exception {
        for (int node : new int[]{0, 1, 2}) {
            ClientEngine engine = kind.open(node);
            engines.add(engine);
            ReplicaNode replica = new ReplicaNode(
                    ReplicaNode.Settings.defaults(node, ALL, Protocols.STANDARD.choose("si")), RealMachine.INSTANCE,
                    PathDirectory.of(directory.resolve("node" + node)),
                    group.openDirect(node),
                    engine, world -> Protocols.STANDARD.choose("si").create(node, ALL, world), NodeMetrics.NONE,
                    (cause, _) -> failure.complete(cause));
            nodes.add(replica);
            replica.start().get(20, TimeUnit.SECONDS);
        }
        for (ReplicaNode node : nodes) {
            node.ready().get(20, TimeUnit.SECONDS);
        }
        try (EmbeddedSession session = session(0)) {
            session.everywhere("CREATE TABLE ACCOUNT (ID INTEGER PRIMARY KEY, BALANCE INTEGER NOT NULL)");
            session.everywhere("CREATE TABLE LIST (ID INTEGER PRIMARY KEY, ELEMENTS VARCHAR(10000) NOT NULL)");
            session.everywhere("CREATE TABLE TRANSFER (ID VARCHAR(20) PRIMARY KEY, SOURCE INTEGER NOT NULL "
                    + "REFERENCES ACCOUNT(ID), AMOUNT INTEGER NOT NULL)");
            for (int account = 0; account < ACCOUNTS; account++) {
                update(session, "INSERT INTO ACCOUNT VALUES (?, ?)", account, START_BALANCE);
                update(session, "INSERT INTO LIST VALUES (?, ?)", account, "");
            }
            session.commit();
        }
        settled("SELECT COUNT(*) FROM ACCOUNT");
    }

    private EmbeddedSession session(int node) throws SQLException {
        return new EmbeddedSession(nodes.get(node), engines.get(node), BYTES_MAX);
    }

    @AfterEach
    void stop() {
        nodes.forEach(ReplicaNode::close);
        engines.forEach(ClientEngine::close);
        assertNull(failure.getNow(null));
    }

    private static int update(EmbeddedSession session, String sql, Object... parameters) throws SQLException {
        return session.statement(connection -> {
            try (PreparedStatement statement = connection.prepareStatement(sql)) {
                for (int i = 0; i < parameters.length; i++) {
                    statement.setObject(i + 1, parameters[i]);
                }
                return statement.executeUpdate();
            }
        });
    }

    private static String query(EmbeddedSession session, String sql) throws SQLException {
        return session.statement(connection -> {
            StringBuilder all = new StringBuilder();
            try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
                while (rows.next()) {
                    for (int i = 1; i <= rows.getMetaData().getColumnCount(); i++) {
                        all.append(rows.getString(i)).append(i == rows.getMetaData().getColumnCount() ? ';' : ',');
                    }
                }
            }
            return all.toString();
        });
    }

    /** Waits until every node shows what has been committed at any, and answers what they show, which must be the same. */
    private String settled(String sql) throws Exception {
        long last = nodes.stream().mapToLong(ReplicaNode::deliveredPosition).max().orElse(0);
        for (ReplicaNode node : nodes) {
            while (node.visiblePosition() < last) {
                assertNull(failure.getNow(null));
                Thread.onSpinWait();
            }
        }
        Set<String> seen = new java.util.HashSet<>();
        for (int node : ALL) {
            try (EmbeddedSession session = session(node)) {
                session.setReadOnly(true);
                seen.add(query(session, sql));
                session.commit();
            }
        }
        assertEquals(1, seen.size(), seen::toString);
        return seen.iterator().next();
    }

    /** Repeats a transaction until it commits; answers how often it had to. */
    private static int retry(EmbeddedSession session, Callable<Void> work) throws Exception {
        for (int lost = 0;; lost++) {
            try {
                work.call();
                session.commit();
                return lost;
            } catch (SQLException failed) {
                session.rollback();
                assertEquals("40", String.valueOf(failed.getSQLState()).substring(0, 2), failed::toString);
            }
        }
    }

    private static <T> List<T> inParallel(List<Callable<T>> clients) throws Exception {
        try (ExecutorService threads = Executors.newFixedThreadPool(clients.size())) {
            List<T> results = new ArrayList<>();
            for (Future<T> future : threads.invokeAll(clients)) {
                results.add(future.get());
            }
            return results;
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void transfersKeepTheTotalAndTheReplicasTheSame(Kind kind) throws Exception {
        start(kind);
        List<Callable<Integer>> clients = new ArrayList<>();
        for (int i = 0; i < CLIENTS; i++) {
            int client = i;
            clients.add(() -> {
                Random random = new Random(client);
                int lost = 0;
                try (EmbeddedSession session = session(client % 3)) {
                    for (int transaction = 0; transaction < TRANSACTIONS; transaction++) {
                        int from = random.nextInt(ACCOUNTS);
                        int to = (from + 1 + random.nextInt(ACCOUNTS - 1)) % ACCOUNTS;
                        int amount = random.nextInt(10);
                        String id = client + "." + transaction;
                        lost += retry(session, () -> {
                            update(session, "UPDATE ACCOUNT SET BALANCE = BALANCE - ? WHERE ID = ?", amount, from);
                            assertEquals(ACCOUNTS * START_BALANCE - amount + ";",
                                    query(session, "SELECT SUM(BALANCE) FROM ACCOUNT"));
                            update(session, "UPDATE ACCOUNT SET BALANCE = BALANCE + ? WHERE ID = ?", amount, to);
                            update(session, "INSERT INTO TRANSFER VALUES (?, ?, ?)", id, from, amount);
                            return null;
                        });
                    }
                }
                return lost;
            });
        }
        inParallel(clients);
        assertEquals(ACCOUNTS * START_BALANCE + ";", settled("SELECT SUM(BALANCE) FROM ACCOUNT"));
        assertEquals(CLIENTS * TRANSACTIONS + ";", settled("SELECT COUNT(*) FROM TRANSFER"));
        settled("SELECT * FROM ACCOUNT ORDER BY ID");
        settled("SELECT * FROM TRANSFER ORDER BY ID");
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void noAppendIsLost(Kind kind) throws Exception {
        start(kind);
        List<Callable<Map<Integer, List<String>>>> clients = new ArrayList<>();
        for (int i = 0; i < CLIENTS; i++) {
            int client = i;
            clients.add(() -> {
                Random random = new Random(100 + client);
                Map<Integer, List<String>> appended = new TreeMap<>();
                try (EmbeddedSession session = session(client % 3)) {
                    for (int transaction = 0; transaction < TRANSACTIONS; transaction++) {
                        int list = random.nextInt(3);
                        String element = client + "-" + transaction;
                        retry(session, () -> {
                            String before = query(session, "SELECT ELEMENTS FROM LIST WHERE ID = " + list);
                            update(session, "UPDATE LIST SET ELEMENTS = ? WHERE ID = ?",
                                    before.substring(0, before.length() - 1) + element + " ", list);
                            return null;
                        });
                        appended.computeIfAbsent(list, _ -> new ArrayList<>()).add(element);
                    }
                }
                return appended;
            });
        }
        List<Map<Integer, List<String>>> appended = inParallel(clients);
        for (int list = 0; list < 3; list++) {
            int key = list;
            List<String> elements = List
                    .of(settled("SELECT ELEMENTS FROM LIST WHERE ID = " + list).replace(";", "").split(" "));
            assertEquals(appended.stream().mapToInt(of -> of.getOrDefault(key, List.of()).size()).sum(),
                    elements.size());
            for (Map<Integer, List<String>> of : appended) {
                List<String> own = of.getOrDefault(list, List.of());
                assertEquals(own, elements.stream().filter(own::contains).toList(), "in the order of their client");
            }
        }
    }

    /** Whoever comes second is refused, by its engine at once or by certification. */
    @ParameterizedTest
    @EnumSource(Kind.class)
    void aParentAndItsChildAreNeverPartedByConcurrentTransactions(Kind kind) throws Exception {
        start(kind);
        for (int node : new int[]{0, 1}) {
            try (EmbeddedSession parent = session(0); EmbeddedSession child = session(node)) {
                update(parent, "DELETE FROM ACCOUNT WHERE ID = 5");
                refused(child, parent, "INSERT INTO TRANSFER VALUES ('x', 5, 1)");
                query(parent, "SELECT 1 FROM ACCOUNT WHERE ID = 6");
                update(child, "INSERT INTO TRANSFER VALUES ('y', 6, 1)");
                refused(parent, child, "DELETE FROM ACCOUNT WHERE ID = 6");
            }
            assertEquals("y;", settled("SELECT ID FROM TRANSFER"));
            assertEquals("6;", settled("SELECT ID FROM ACCOUNT WHERE ID IN (5, 6)"));
            try (EmbeddedSession session = session(0)) {
                update(session, "DELETE FROM TRANSFER");
                update(session, "INSERT INTO ACCOUNT VALUES (5, ?)", START_BALANCE);
                session.commit();
            }
            settled("SELECT COUNT(*) FROM TRANSFER");
        }
    }

    private static void refused(EmbeddedSession second, EmbeddedSession first, String statement) throws SQLException {
        SQLException refusal = assertThrows(SQLException.class, () -> {
            update(second, statement);
            first.commit();
            second.commit();
        });
        assertTrue(refusal.getSQLState().startsWith("40") || refusal.getSQLState().startsWith("23"),
                refusal::toString);
        second.rollback();
        first.commit();
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aSchemaChangeIsMadeEverywhereAndARefusedOneNowhere(Kind kind) throws Exception {
        start(kind);
        try (EmbeddedSession session = session(1)) {
            session.everywhere("ALTER TABLE ACCOUNT ADD COLUMN NOTE VARCHAR(20)");
            assertThrows(SQLException.class, () -> session.everywhere("ALTER TABLE ACCOUNT ADD COLUMN NOTE INTEGER"));
            update(session, "UPDATE ACCOUNT SET NOTE = 'hello' WHERE ID = 1");
            session.commit();
        }
        assertEquals("1,hello;", settled("SELECT ID, NOTE FROM ACCOUNT WHERE NOTE IS NOT NULL"));
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void nodesGiveDifferentValuesFromSequences(Kind kind) throws Exception {
        start(kind);
        try (EmbeddedSession session = session(0)) {
            session.everywhere("CREATE TABLE ENTRY (ID BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, "
                    + "NODE INTEGER)");
            session.everywhere("CREATE SEQUENCE NUMBERS START WITH 100 INCREMENT BY 5");
        }
        for (int round = 0; round < 5; round++) {
            settled("SELECT COUNT(*) FROM ENTRY");
            for (int node = 0; node < ALL.size(); node++) {
                try (EmbeddedSession session = session(node)) {
                    for (int i = 0; i < 2; i++) {
                        session.execute("INSERT INTO ENTRY (NODE) VALUES (?)", node);
                        session.execute("INSERT INTO ACCOUNT VALUES (NEXT VALUE FOR NUMBERS, ?)", node);
                        session.commit();
                    }
                }
            }
        }
        assertEquals("30;", settled("SELECT COUNT(*) FROM ENTRY"));
        assertEquals(30 + ACCOUNTS + ";", settled("SELECT COUNT(*) FROM ACCOUNT"));
    }
}
