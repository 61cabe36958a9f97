package tutti.bookkeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;
import tutti.order.Orders;

class BookKeeperParametersTest {
    private static final String HOSTS = "a:2181,b:2181,c:2181";

    @Test
    void onlyZooKeeperMustBeNamed() {
        BookKeeperParameters found = BookKeeperParameters.of(Map.of("zookeeper", HOSTS), "orders");
        assertEquals("/tutti/orders", found.path());
        assertEquals("zk+hierarchical://a:2181;b:2181;c:2181/ledgers", found.metadataService());
        assertEquals(3, found.ensemble());
        assertEquals(3, found.writeQuorum());
        assertEquals(2, found.ackQuorum());
    }

    @Test
    void propertiesOfTheClientsArePassedOn() {
        BookKeeperParameters found = BookKeeperParameters.of(Map.of("zookeeper", HOSTS, "client.tlsProvider", "OpenSSL",
                "zookeeper-client.zookeeper.client.secure", "true"), "orders");
        assertEquals(Map.of("tlsProvider", "OpenSSL"), found.client());
        assertEquals(Map.of("zookeeper.client.secure", "true"), found.zookeeperClient());
    }

    private static String refusal(Map<String, String> parameters) {
        return String.valueOf(assertThrows(IllegalArgumentException.class,
                () -> Orders.STANDARD.descriptor("bookkeeper").check(parameters)).getMessage());
    }

    @Test
    void whatIsWrongIsRefusedInWordsThatSayWhatIsValid() {
        assertTrue(refusal(Map.of()).contains("host:port of each server of ZooKeeper"));
        assertTrue(refusal(Map.of("zookeeper", "a, b")).contains("zookeeper is 'a, b'"));
        assertTrue(refusal(Map.of("zookeeper", HOSTS, "ensembel", "3")).contains("nearest: ensemble"));
        assertTrue(refusal(Map.of("zookeeper", HOSTS, "path", "tutti")).contains("path is 'tutti'"));
        assertTrue(refusal(Map.of("zookeeper", HOSTS, "ensemble", "0")).contains("1 to 99"));
        assertTrue(refusal(Map.of("zookeeper", HOSTS, "ensemble", "three")).contains("1 to 99"));
        assertTrue(refusal(Map.of("zookeeper", HOSTS, "ensemble", "3", "write-quorum", "4"))
                .contains("1 to ensemble, which is 3"));
        assertTrue(refusal(Map.of("zookeeper", HOSTS, "write-quorum", "2", "ack-quorum", "3"))
                .contains("1 to write-quorum, which is 2"));
        assertTrue(String.valueOf(assertThrows(IllegalArgumentException.class,
                () -> Orders.STANDARD.descriptor("raft").check(Map.of("zookeeper", HOSTS))).getMessage())
                .contains("order raft has no parameters, but is given zookeeper"));
    }
}
