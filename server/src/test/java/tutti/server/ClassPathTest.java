package tutti.server;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a machine has that runs nodes: no measurements, no simulator, no clients. */
class ClassPathTest {
    @ParameterizedTest
    @ValueSource(strings = {"org.openjdk.jmh.Main", "org.jgroups.JChannel", "org.infinispan.Cache",
            "org.apache.ratis.server.RaftServer",
            "tutti.sim.kernel.Kernel",
            "tutti.workload.tpcc.TpccLoader", "tutti.bench.BenchCommand", "org.postgresql.Driver"})
    void whatNoNodeNeedsIsNotThere(String name) {
        assertThrows(ClassNotFoundException.class, () -> Class.forName(name));
    }

    @Test
    void whatANodeNeedsIsThere() throws ClassNotFoundException {
        assertNotNull(Class.forName("tutti.order.raft.RaftOrder"));
    }
}
