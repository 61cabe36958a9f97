package tutti.grid.store;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RingTest {
    private static final int KEYS = 20_000;

    private static Key key(int number) {
        return new Key(0, ByteBuffer.allocate(Integer.BYTES).putInt(number).array());
    }

    private static Set<Integer> nodes(int count) {
        return IntStream.range(0, count).boxed().collect(Collectors.toCollection(TreeSet::new));
    }

    @Test
    void everyKeyHasAsManyDifferentOwnersAsItsDegreeAndNodesHaveEqualShares() {
        Ring ring = new Ring(nodes(10), 3);
        int[] owned = new int[10];
        for (int i = 0; i < KEYS; i++) {
            int[] owners = ring.owners(key(i).hash(), 3);
            assertEquals(3, Arrays.stream(owners).distinct().count());
            Arrays.stream(owners).forEach(owner -> owned[owner]++);
        }
        int fair = 3 * KEYS / 10;
        for (int count : owned) {
            assertTrue(count > 0.75 * fair && count < 1.25 * fair, Arrays.toString(owned));
        }
    }

    @Test
    void aNodeLessMovesOnlyWhatItHad() {
        Ring before = new Ring(nodes(8), 2);
        Set<Integer> left = nodes(8);
        left.remove(3);
        Ring after = new Ring(left, 2);
        int moved = 0;
        for (int i = 0; i < KEYS; i++) {
            int[] old = before.owners(key(i).hash(), 2);
            int[] now = after.owners(key(i).hash(), 2);
            if (Arrays.stream(old).noneMatch(owner -> owner == 3)) {
                assertArrayEquals(old, now, "key " + i + " stays where it is");
            } else {
                moved++;
                int stays = Arrays.stream(old).filter(owner -> owner != 3).findFirst().orElseThrow();
                assertTrue(Arrays.stream(now).anyMatch(owner -> owner == stays), "its other owner stays");
            }
        }
        assertTrue(moved > KEYS / 5 && moved < KEYS / 3, moved + " keys moved, a quarter is the least");
    }

    @Test
    void aDegreeAboveTheNumberOfNodesGivesAllOfThem() {
        assertEquals(2, new Ring(nodes(2), 4).owners(1, 4).length);
    }

    @Test
    void moreOwnersThanTheRingWasMadeForAreRefused() {
        Ring ring = new Ring(nodes(5), 2);
        assertThrows(IllegalArgumentException.class, () -> ring.owners(1, 3));
        assertThrows(IllegalArgumentException.class, () -> new Ring(nodes(5), 0));
    }
}
