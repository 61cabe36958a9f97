package tutti.grid.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.grid.CommitProtocol;
import tutti.grid.GridConfig;
import tutti.grid.IsolationLevel;
import tutti.grid.view.Layout;
import tutti.runtime.real.FreePorts;

@Timeout(60)
class TopologyTest {
    @Test
    void nodesAndTheirSharesAreTold() throws Exception {
        List<InetSocketAddress> free = FreePorts.addresses(4);
        for (CommitProtocol protocol : List.of(CommitProtocol.TOM_3, CommitProtocol.GROUPS)) {
            Map<Integer, InetSocketAddress> nodes = new TreeMap<>();
            for (int node = 0; node < 4; node++) {
                nodes.put(node, free.get(node));
            }
            List<Grid> grids = new ArrayList<>();
            try {
                for (int node : nodes.keySet()) {
                    grids.add(Grid.open(GridConfig.of("shares", node, nodes,
                            List.of(GridConfig.CacheConfig.of("one", 1), GridConfig.CacheConfig.of("two", 2)),
                            protocol),
                            IsolationLevel.SERIALIZABLE));
                }
                Topology told = grids.getFirst().topology();
                assertEquals(List.of(0, 1, 2, 3), told.nodes().stream().map(Topology.Node::number).toList());
                assertEquals(Layout.Phase.STABLE, told.phase());
                assertFalse(told.lost());
                double two = told.nodes().stream().mapToDouble(node -> node.shares().getOrDefault("two", 0.0)).sum();
                assertEquals(2, two, 1e-6, told::toString);
                for (Topology.Node node : told.nodes()) {
                    InetSocketAddress address = free.get(node.number());
                    assertEquals(address.getHostString() + ':' + address.getPort(), node.address());
                    double share = node.shares().getOrDefault("two", 0.0);
                    assertTrue(share > 0.3 && share < 0.7, told::toString);
                }
                assertEquals(5, told.toString().lines().count(), told::toString);
                assertTrue(told.toString().contains("nothing is moved"), told::toString);
            } finally {
                grids.forEach(Grid::close);
            }
        }
    }
}
