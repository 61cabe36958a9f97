package tutti.grid.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tutti.grid.CommitProtocol;
import tutti.grid.GridConfig;
import tutti.grid.store.Key;
import tutti.grid.store.Store;
import tutti.grid.store.Version;

/** What a node keeps of others, and tells them, as it stands between two messages. Each wrong way is found by one of these instants. */
class L1StepsTest {
    private static final int OWNER = 1;
    private static final Key KEY = GridClient.key(1);
    private static final Version VERSION = new Version(5, new byte[]{1}, Version.NEVER);

    private static L1 node(L1.Factory factory) {
        return factory
                .of(GridConfig.of("test", 0, Map.of(0, new InetSocketAddress(InetAddress.getLoopbackAddress(), 1)),
                        List.of(GridConfig.CacheConfig.of("cache", 1).withL1BytesMax(1000)), CommitProtocol.TOM_3));
    }

    private static List<String> look(L1.Factory factory) {
        List<String> wrong = new ArrayList<>();
        L1 keeper = node(factory);
        keeper.heard(OWNER, 10, 0);
        keeper.keep(OWNER, KEY, VERSION);
        if (keeper.find(KEY, 10, false, 0) == null) {
            wrong.add("asks for what is known");
        }
        if (keeper.find(KEY, 11, false, 0) != null) {
            wrong.add("answers for a stamp that the owner's clock has not seen");
        }
        if (keeper.find(KEY, 4, false, 0) != null) {
            wrong.add("answers a snapshot by what was written later");
        }
        if (keeper.find(KEY, 10, false, Long.MAX_VALUE) != null) {
            wrong.add("answers though the owner was not heard for long");
        }
        keeper.invalidated(KEY);
        if (keeper.find(KEY, 10, false, 0) != null) {
            wrong.add("answers by what is written");
        }
        keeper.keep(OWNER, KEY, VERSION);
        keeper.installed();
        keeper.heard(OWNER, 10, 0);
        if (keeper.find(KEY, 10, false, 0) != null) {
            wrong.add("answers by what was kept in an earlier view");
        }

        L1 owner = node(factory);
        Store store = new Store();
        List<Integer> told = new ArrayList<>();
        store.onAnnounced(key -> owner.written(key, (node, _) -> told.add(node)));
        store.apply(KEY, VERSION);
        if (!owner.answered(3, KEY, VERSION, store, (_, _) -> {})
                || owner.answered(3, KEY, Version.ABSENT, store, (_, _) -> {})) {
            wrong.add("lets what is not the newest be kept, or not what is");
        }
        store.announce(KEY, () -> 7);
        if (!told.equals(List.of(3))) {
            wrong.add("has told " + told + " of what is about to be written");
        }
        if (owner.answered(3, KEY, VERSION, store, (_, _) -> {})) {
            wrong.add("lets be kept what is about to be written");
        }
        return wrong;
    }

    @Test
    void whatIsKeptIsWhatItsOwnerWouldAnswer() {
        assertEquals(List.of(), look(L1::new));
    }

    @ParameterizedTest
    @EnumSource
    void whatIsWrongIsFound(L1Test.Kind kind) {
        assertNotEquals(List.of(), look(L1Test.wrong(kind)));
    }
}
