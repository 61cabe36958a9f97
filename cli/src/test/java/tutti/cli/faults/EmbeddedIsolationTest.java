package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.check.CheckResult;
import tutti.check.isolation.Isolation;
import tutti.check.listappend.ListAppendCheck;
import tutti.embedded.EmbeddedNodes;
import tutti.workload.client.ClientOptions;
import tutti.workload.listappend.ListAppendOptions;
import tutti.workload.listappend.ListAppendRun;

/**
 * Three nodes with H2 or HSQLDB in this virtual machine under protocols that claim serializability from what statements
 * say that they read and touch: clients append to lists and read others, and what they saw must be serializable.
 */
class EmbeddedIsolationTest {
    private static final ListAppendOptions LISTS = new ListAppendOptions(8, 40, 2, 5, 50, 2);
    private static final int TRANSACTIONS = 300;

    @ParameterizedTest
    @ValueSource(strings = {"h2:mem:isolation?protocol=dbsm", "hsqldb:mem:isolation?protocol=dbsm&secondaries=1",
            "h2:mem:isolation?protocol=nodo&secondaries=1",
            "hsqldb:mem:isolation?protocol=akara&protocol.isolation=serializable"})
    @Timeout(90)
    void whatClientsSeeIsSerializable(String node) throws Exception {
        List<String> urls = IntStream.range(0, 3)
                .mapToObj(id -> "jdbc:tutti:embedded:" + node + "&nodes=3&node=" + id).toList();
        try {
            ListAppendRun.createTables(urls.getFirst(), LISTS);
            for (String url : urls) {
                awaitTables(url);
            }
            ListAppendRun lists = ListAppendRun.start(ClientOptions.of(urls, 6, Duration.ofMinutes(1), 5), LISTS);
            FaultCluster.await("transactions", () -> lists.clients().committed() >= TRANSACTIONS);
            lists.clients().stop();
            assertTrue(lists.clients().result().failure().isEmpty(), lists.clients().result().text());
            CheckResult checked = ListAppendCheck.check(lists.history(), Isolation.SERIALIZABLE);
            assertTrue(checked.passed(), checked::text);
        } finally {
            for (String url : urls) {
                EmbeddedNodes.stop(url);
            }
        }
    }

    private static void awaitTables(String url) {
        FaultCluster.await("tables", () -> {
            try (Connection connection = DriverManager.getConnection(url);
                    PreparedStatement query = connection
                            .prepareStatement("SELECT COUNT(*) FROM INFORMATION_SCHEMA.TABLES"
                                    + " WHERE TABLE_NAME LIKE 'LIST_APPEND%'");
                    ResultSet rows = query.executeQuery()) {
                assertTrue(rows.next());
                return rows.getInt(1) == 2;
            } catch (SQLException failed) {
                if (String.valueOf(failed.getSQLState()).startsWith("40")) {
                    // The tables are being made, and that ends what looks at them.
                    return false;
                }
                throw new IllegalStateException(failed);
            }
        });
    }
}
