package tutti.order;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Set;
import org.junit.jupiter.api.Test;
import tutti.core.schema.Versions;

class SpokenVersionsTest {
    private final SpokenVersions spoken = new SpokenVersions(new Versions(2, 5), Set.of(1, 2));

    @Test
    void whoHasNotBeenHeardIsTakenToSpeakTheOldest() {
        assertEquals(2, spoken.with(1));
        assertEquals(2, spoken.common());
        assertEquals(Set.of(1, 2), spoken.unheard());
        spoken.heard(1, new Versions(1, 4), Set.of());
        assertEquals(4, spoken.with(1));
        assertEquals(2, spoken.with(2));
        assertEquals(2, spoken.common());
        assertEquals(Set.of(2), spoken.unheard());
    }

    @Test
    void withOneTheNewestThatBothSpeakAndWithAllTheNewestThatAllDo() {
        spoken.heard(1, new Versions(1, 4), Set.of());
        spoken.heard(2, new Versions(3, 9), Set.of());
        assertEquals(4, spoken.with(1));
        assertEquals(5, spoken.with(2));
        assertEquals(4, spoken.common());
        spoken.heard(1, new Versions(3, 5), Set.of());
        assertEquals(5, spoken.common(), "it was upgraded");
        assertEquals(5, new SpokenVersions(new Versions(2, 5), Set.of()).common(), "it is alone");
    }

    @Test
    void withAForeignNodeThereIsNone() {
        spoken.heard(1, new Versions(6, 7), Set.of());
        assertEquals(0, spoken.with(1));
        spoken.heard(2, new Versions(1, 1), Set.of());
        assertEquals(0, spoken.with(2));
        assertEquals(2, spoken.common());
    }

    @Test
    void nodesWithoutACommonVersionTellEachOtherWhatTheySpeakAndWhoIsToBeUpgraded() {
        assertEquals("", SpokenVersions.foreign(1, new Versions(1, 4), new Versions(4, 6)));
        assertEquals("node 1 speaks wire versions 3 to 5, but you speak wire versions 1 to 2: upgrade your node to a"
                + " release that speaks a version of the other, one node after the other",
                SpokenVersions.foreign(1, new Versions(3, 5), new Versions(1, 2)));
        assertEquals(
                "node 1 speaks wire version 1, but you speak wire versions 2 to 3: upgrade node 1 to a release that"
                        + " speaks a version of the other, one node after the other",
                SpokenVersions.foreign(1, new Versions(1, 1), new Versions(2, 3)));
    }

    @Test
    void whatAllCanDoIsKnownWhenAllHaveSaidSo() {
        assertFalse(spoken.allCan("walk"));
        spoken.heard(1, new Versions(1, 5), Set.of("walk", "fly"));
        assertFalse(spoken.allCan("walk"), "one has not been heard");
        spoken.heard(2, new Versions(1, 5), Set.of("walk"));
        assertTrue(spoken.allCan("walk"));
        assertFalse(spoken.allCan("fly"));
        spoken.others(Set.of(1, 2, 3));
        assertFalse(spoken.allCan("walk"), "one has joined");
        spoken.others(Set.of(1));
        assertTrue(spoken.allCan("fly"));
        spoken.heard(1, new Versions(1, 5), Set.of());
        assertFalse(spoken.allCan("fly"), "it has gone back to an earlier release");
        assertTrue(new SpokenVersions(new Versions(2, 5), Set.of()).allCan("fly"), "it is alone");
    }
}
