package tutti.grid.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.grid.CommitProtocol;
import tutti.grid.GridConfig;
import tutti.grid.GridException;
import tutti.grid.IsolationLevel;
import tutti.grid.store.Key;
import tutti.sim.net.LinkConfig;

/** Two groups of three simulated nodes far from each other, of which one is started anew while the last transaction is committed by the other group. */
class PresentTest {
    private static final int RESTARTED = 2;
    private static final int OTHER = 3;

    private final SimulatedNodes nodes = new SimulatedNodes(6, LinkConfig.WAN, (number, members) -> GridConfig
            .of("test", number, members, List.of(GridConfig.CacheConfig.of("cache", 3)), CommitProtocol.GROUPS));
    private final List<String> found = new ArrayList<>();

    PresentTest() {
        nodes.passMillis(2000);
    }

    private void write(int by, Key key) {
        nodes.node(by).loop().execute(() -> {
            GridTransaction transaction = nodes.node(by).begin(IsolationLevel.READ_COMMITTED, false);
            transaction.write(key, new byte[]{1});
            transaction.commit(new GridTransaction.Answer<>() {
                @Override
                public void is(Long stamp) {
                    found.add("committed");
                }

                @Override
                public void failed(GridException why) {
                    throw why;
                }
            });
        });
    }

    private void readByRestarted(Key key) {
        nodes.node(RESTARTED).loop().execute(() -> {
            GridTransaction snapshot = nodes.node(RESTARTED).begin(IsolationLevel.SERIALIZABLE, true);
            snapshot.read(key, new GridTransaction.Answer<>() {
                @Override
                public void is(GridTransaction.Value value) {
                    found.add("read " + (value.bytes() != null));
                }

                @Override
                public void failed(GridException why) {
                    found.add("failed " + why.reason());
                }
            });
        });
        nodes.passMillis(1000);
    }

    /** Then nothing is committed any more: what may be read has to be known all the same. */
    @ParameterizedTest
    @ValueSource(ints = {100, 250, 400, 550, 700, 850})
    void aLifeThatIsTakenInReadsSnapshotsThoughNobodyCommitsAnyMore(int afterMillis) {
        Key key = IntStream.range(0, 100).mapToObj(GridClient::key)
                .filter(one -> nodes.node(OTHER).owners().isOwner(OTHER, one)).findFirst().orElseThrow();
        write(OTHER, key);
        nodes.passMillis(1000);
        nodes.host(RESTARTED).crash();
        nodes.passMillis(3000);
        nodes.host(RESTARTED).boot();
        nodes.passMillis(afterMillis);
        write(OTHER, key);
        for (int i = 0; i < 100 && !nodes.node(RESTARTED).isMember(); i++) {
            nodes.passMillis(100);
        }
        assertTrue(nodes.node(RESTARTED).isMember());
        nodes.passMillis(3000);
        readByRestarted(key);
        assertEquals(List.of("committed", "committed", "read true"), found);
    }
}
