package tutti.bookkeeper;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.spi.Order;
import tutti.order.OrderContract;
import tutti.order.OrderSettings;
import tutti.runtime.real.FreePorts;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;

/** What every order must do, with three real bookies. */
@Tag("long")
class BookKeeperOrderTest extends OrderContract {
    @TempDir
    private static Path shared;

    private static LocalStore store;
    private static int paths;

    @TempDir
    private Path directory;

    @BeforeAll
    static void open() throws Exception {
        store = new LocalStore(shared, 3);
    }

    @AfterAll
    static void close() {
        store.close();
    }

    /** Small ledgers and short timeouts. */
    static OrderSettings settings(LocalStore store, String path, int node, Map<Integer, InetSocketAddress> members,
            long queueBytes) {
        OrderSettings some = OrderSettings.of("test", node, members);
        return new OrderSettings(some.cluster(), "", List.of(), node, some.members(), some.voters(), queueBytes,
                1 << 16, 1 << 16, 1 << 16, Duration.ofMillis(500),
                Map.of("zookeeper", store.zookeeper(), "path", path, "ensemble", "3", "write-quorum", "3",
                        "ack-quorum", "2"));
    }

    static Map<Integer, InetSocketAddress> members(int nodes) throws Exception {
        Map<Integer, InetSocketAddress> members = new TreeMap<>();
        for (InetSocketAddress address : FreePorts.addresses(nodes)) {
            members.put(members.size(), address);
        }
        return members;
    }

    @Override
    protected Cluster cluster(int nodes, long queueBytes) throws Exception {
        Map<Integer, InetSocketAddress> members = members(nodes);
        String path = "/tutti/contract" + paths++;
        return new Cluster() {
            @Override
            public Order open(int node) throws Exception {
                return BookKeeperOrder.open(settings(store, path, node, members, queueBytes), RealMachine.INSTANCE,
                        PathDirectory.of(directory.resolve("node" + node)));
            }

            @Override
            public boolean tellsTruncationAtStart() {
                return false;
            }

            @Override
            public boolean needsMajorityOfNodes() {
                return false;
            }

            @Override
            public Runnable unable() {
                store.stopZooKeeper();
                return () -> {
                    try {
                        store.startZooKeeper();
                    } catch (Exception cannot) {
                        throw new AssertionError(cannot);
                    }
                };
            }
        };
    }
}
