package tutti.session;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.protocol.Protocols;
import tutti.core.txn.TablePlacement;
import tutti.engine.jdbc.JdbcEngine;
import tutti.engine.jdbc.h2.H2Database;
import tutti.node.ApplySettings;
import tutti.node.ReplicaNode;
import tutti.node.TransactionNames;
import tutti.node.metrics.NodeMetrics;
import tutti.order.local.LocalOrderGroup;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;

/** The log of nodes in memory does not grow with what they have done. */
@Timeout(60)
class EmbeddedLogTest {
    private static final Set<Integer> ALL = Set.of(0, 1);
    private static final String TEXT = "x".repeat(2000);

    @TempDir
    private Path directory;

    @Test
    void whatAllNodesHaveIsForgotten() throws Exception {
        LocalOrderGroup group = new LocalOrderGroup(RealMachine.INSTANCE, ALL);
        List<JdbcEngine> engines = new ArrayList<>();
        List<ReplicaNode> nodes = new ArrayList<>();
        CompletableFuture<Throwable> failure = new CompletableFuture<>();
        for (int node : new int[]{0, 1}) {
            JdbcEngine engine = JdbcEngine.open(H2Database.inMemory());
            engine.lostWithLog();
            engines.add(engine);
            ReplicaNode replica = new ReplicaNode(
                    new ReplicaNode.Settings(node, ALL, TablePlacement.EVERYWHERE, Protocols.STANDARD.choose("si"),
                            new ApplySettings(2, 64, 0), 100, 1 << 24, 1 << 24, 5_000_000L, 20,
                            ReplicaNode.Retention.UNLIMITED, TransactionNames.PLAIN, 0),
                    RealMachine.INSTANCE, PathDirectory.of(directory.resolve("node" + node)),
                    group.open(node), engine, world -> Protocols.STANDARD.choose("si").create(node, ALL, world),
                    NodeMetrics.NONE, (cause, _) -> failure.complete(cause));
            nodes.add(replica);
            replica.start();
        }
        for (ReplicaNode node : nodes) {
            node.ready().get(20, TimeUnit.SECONDS);
        }
        try (EmbeddedSession session = new EmbeddedSession(nodes.getFirst(), engines.getFirst(), 1 << 20)) {
            session.everywhere("CREATE TABLE ITEM (ID INTEGER PRIMARY KEY, V VARCHAR(2000))");
            long ordered = 0;
            // Until what was ordered is many times what is kept: the log is bounded, whatever is done.
            for (int i = 0; ordered < 1_000_000 || group.logBytes() * 10 > ordered; i++) {
                assertNull(failure.getNow(null));
                session.execute("INSERT INTO ITEM VALUES (?, ?)", i, TEXT);
                session.commit();
                ordered += TEXT.length();
            }
            assertTrue(group.logBytes() < ordered);
        } finally {
            nodes.forEach(ReplicaNode::close);
            engines.forEach(JdbcEngine::close);
        }
    }
}
