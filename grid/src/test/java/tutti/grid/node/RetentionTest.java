package tutti.grid.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import tutti.grid.CommitProtocol;
import tutti.grid.GridConfig;
import tutti.grid.GridException;
import tutti.grid.IsolationLevel;
import tutti.grid.store.Key;
import tutti.sim.net.LinkConfig;

/** Three nodes of a group on simulated machines, of which some crash, while much is written. */
class RetentionTest {
    private static final Key KEY = new Key(0, new byte[]{1});
    private static final int VALUE_BYTES = 1 << 16;
    private static final int KEPT_BYTES_MAX = 1 << 20;

    private final SimulatedNodes nodes = new SimulatedNodes(3, LinkConfig.LAN, (number, members) -> GridConfig
            .of("test", number, members, List.of(GridConfig.CacheConfig.of("cache", 3)), CommitProtocol.GROUPS)
            .withUnsentBytesMax(KEPT_BYTES_MAX));

    RetentionTest() {
        passSeconds(1);
    }

    private void passSeconds(int seconds) {
        nodes.passMillis(1000L * seconds);
    }

    /** Writes a key so often, one time after the other. */
    private void write(int times) {
        GridTransaction next = nodes.node(0).begin(IsolationLevel.READ_COMMITTED, false);
        next.write(KEY, new byte[VALUE_BYTES]);
        next.commit(new GridTransaction.Answer<>() {
            @Override
            public void is(Long stamp) {
                if (times > 1) {
                    write(times - 1);
                }
            }

            @Override
            public void failed(GridException why) {
                throw why;
            }
        });
    }

    /** Its group was smaller when it crashed: what is left of it can go on without nobody. */
    @Test
    void aMemberOfAGroupOfTwoThatIsStartedAnewSaysThatItCannotBeTakenIn() {
        nodes.host(2).crash();
        passSeconds(3);
        nodes.node(0).loop().execute(() -> nodes.node(0).remove(2, new GridTransaction.Answer<>() {
            @Override
            public void is(GridNode removed) {
                // It goes on.
            }

            @Override
            public void failed(GridException why) {
                throw why;
            }
        }));
        passSeconds(1);
        nodes.host(1).crash();
        passSeconds(3);
        nodes.host(1).boot();
        passSeconds(3);
        GridException why = nodes.node(1).ended();
        assertTrue(why != null && String.valueOf(why.getMessage()).contains("was there before"), String.valueOf(why));
    }

    /** After 5 s of silence at most, where time alone would have it given up after 20. */
    @Test
    void ofWhatIsWrittenWhileAMemberIsAwayNotMoreIsKeptThanMayBe() {
        nodes.host(2).crash();
        passSeconds(3);
        nodes.node(0).loop().execute(() -> write(8));
        passSeconds(1);
        for (int left : List.of(0, 1)) {
            assertTrue(nodes.node(left).status().bytes() > 7 * VALUE_BYTES, "it is kept for who may come back");
        }
        nodes.node(0).loop().execute(() -> write(16));
        passSeconds(1);
        for (int left : List.of(0, 1)) {
            GridStatus status = nodes.node(left).status();
            assertTrue(status.bytes() < 2 * VALUE_BYTES && status.kept() < 4, status.toString());
        }
        nodes.host(2).boot();
        passSeconds(3);
        assertTrue(nodes.node(2).isMember());
        assertEquals(nodes.node(0).newest(KEY).stamp(), nodes.node(2).newest(KEY).stamp());
        nodes.node(0).loop().execute(() -> write(1));
        passSeconds(1);
        assertEquals(nodes.node(0).newest(KEY).stamp(), nodes.node(2).newest(KEY).stamp(), "it takes part");
    }
}
