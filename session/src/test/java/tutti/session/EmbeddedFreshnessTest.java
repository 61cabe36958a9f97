package tutti.session;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.protocol.Protocols;
import tutti.core.spi.Completion;
import tutti.engine.jdbc.JdbcEngine;
import tutti.engine.jdbc.h2.H2Database;
import tutti.node.ReplicaNode;
import tutti.node.Transactions;
import tutti.node.metrics.NodeMetrics;
import tutti.order.local.LocalOrderGroup;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;

/** A transaction that may write begins with all that its node has been delivered. */
@Timeout(60)
class EmbeddedFreshnessTest {
    private static final Set<Integer> ALONE = Set.of(0);

    @TempDir
    private Path directory;

    private JdbcEngine engine;
    private ReplicaNode node;
    /** What sessions have waited for. */
    private final List<Long> awaited = new ArrayList<>();

    @BeforeEach
    void start() throws Exception {
        engine = JdbcEngine.open(H2Database.inMemory());
        node = new ReplicaNode(ReplicaNode.Settings.defaults(0, ALONE, Protocols.STANDARD.choose("si")),
                RealMachine.INSTANCE, PathDirectory.of(directory),
                new LocalOrderGroup(RealMachine.INSTANCE, ALONE).openDirect(0), engine,
                world -> Protocols.STANDARD.choose("si").create(0, ALONE, world), NodeMetrics.NONE, (_, _) -> {});
        node.start();
        node.ready().get(20, TimeUnit.SECONDS);
        try (EmbeddedSession session = new EmbeddedSession(node, engine, 1 << 20)) {
            session.everywhere("CREATE TABLE ITEM (ID INTEGER PRIMARY KEY)");
        }
    }

    @AfterEach
    void stop() {
        node.close();
        engine.close();
    }

    /** The node, as if it had been delivered three more positions than it shows. */
    private Transactions lagging(boolean catchesUp) {
        return (Transactions) Proxy.newProxyInstance(Transactions.class.getClassLoader(),
                new Class<?>[]{Transactions.class}, (_, method, arguments) -> switch (method.getName()) {
                    case "arrivedPosition" -> node.visiblePosition() + 3;
                    case "await" -> {
                        awaited.add((Long) arguments[0]);
                        if (catchesUp) {
                            @SuppressWarnings("unchecked")
                            Completion<Long> done = (Completion<Long>) arguments[1];
                            done.succeeded((Long) arguments[0]);
                        }
                        yield null;
                    }
                    default -> method.invoke(node, arguments);
                });
    }

    private void insert(EmbeddedSession session, int id) throws SQLException {
        session.execute("INSERT INTO ITEM VALUES (?)", id);
        session.execute("INSERT INTO ITEM VALUES (?)", id + 1);
        session.commit();
    }

    @Test
    void whatMayWriteWaitsBeforeItsFirstStatement() throws Exception {
        long visible = node.visiblePosition();
        try (EmbeddedSession session = new EmbeddedSession(lagging(true), engine, 1 << 20)) {
            insert(session, 1);
            assertEquals(List.of(visible + 3), awaited);
            session.setReadOnly(true);
            session.statement(connection -> connection.createStatement().executeQuery("TABLE ITEM").next());
            session.commit();
            assertEquals(1, awaited.size());
        }
    }

    @Test
    void aNodeThatDoesNotCatchUpIsNotWaitedForForEver() throws Exception {
        try (EmbeddedSession session = new EmbeddedSession(lagging(false), engine, 1 << 20)) {
            insert(session, 1);
            insert(session, 3);
            assertEquals(2, awaited.size());
        }
    }
}
