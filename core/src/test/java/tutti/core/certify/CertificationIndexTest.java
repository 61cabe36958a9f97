package tutti.core.certify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;

class CertificationIndexTest {
    private static final List<KeyKind> WRITTEN = Arrays.stream(KeyKind.values()).filter(KeyKind::writes).toList();

    private static KeySet key(long hash, KeyKind kind) {
        return new KeySet.Builder().add(hash, kind).build();
    }

    @Test
    void everyPairOfKindsConflictsAsTheTableSays() {
        for (KeyKind earlier : KeyKind.values()) {
            for (KeyKind later : KeyKind.values()) {
                CertificationIndex index = new CertificationIndex();
                if (!earlier.writes()) {
                    assertThrows(IllegalArgumentException.class, () -> index.note(key(7, earlier), 5));
                    continue;
                }
                index.note(key(7, earlier), 5);
                assertEquals(later.conflictsWith(earlier) ? 0 : -1, index.conflict(key(7, later), 4, 4),
                        later + " after " + earlier);
                assertEquals(-1, index.conflict(key(7, later), 5, 5), later + " that has seen " + earlier);
                assertEquals(-1, index.conflict(key(8, later), 0, 0), "another key");
            }
        }
    }

    @Test
    void exclusiveAndReadKeysLookBackToTheBeginningOthersOnlyToTheLastCommit() {
        CertificationIndex index = new CertificationIndex();
        index.note(key(1, KeyKind.REFERENCE), 10);
        index.note(key(2, KeyKind.UPDATE), 10);
        assertEquals(0, index.conflict(key(1, KeyKind.EXCLUSIVE), 9, 12));
        assertEquals(-1, index.conflict(key(1, KeyKind.EXCLUSIVE), 10, 12));
        assertEquals(-1, index.conflict(key(2, KeyKind.UPDATE), 9, 12));
        assertEquals(0, index.conflict(key(2, KeyKind.UPDATE), 8, 9));
        assertEquals(0, index.conflict(key(2, KeyKind.READ), 9, 12));
        assertEquals(-1, index.conflict(key(2, KeyKind.READ), 10, 12));
        assertEquals(-1, index.conflict(key(1, KeyKind.READ), 9, 12));
        assertEquals(0, index.conflict(key(1, KeyKind.SCAN), 9, 12));
    }

    @Test
    void namesTheLosingKeyAndTheWinner() {
        CertificationIndex index = new CertificationIndex();
        index.note(key(1, KeyKind.UPDATE), 3);
        index.note(key(2, KeyKind.UPDATE), 8);
        KeySet keys = new KeySet.Builder().add(1, KeyKind.UPDATE).add(2, KeyKind.EXCLUSIVE).build();
        assertEquals(1, index.conflict(keys, 5, 5));
        assertEquals(8, index.lastConflicting(2, KeyKind.EXCLUSIVE));
    }

    @Test
    void refusesQuestionsBelowTheFloor() {
        CertificationIndex index = new CertificationIndex();
        index.note(key(1, KeyKind.UPDATE), 10);
        index.forget(6);
        assertThrows(IllegalArgumentException.class, () -> index.conflict(key(1, KeyKind.UPDATE), 5, 5));
        assertThrows(IllegalArgumentException.class, () -> index.note(key(1, KeyKind.UPDATE), 9));
    }

    /** The theory: a list of everything that was ever noted, searched in full. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void agreesWithAFullListOfWhatWasNoted(long seed) {
        record Noted(long position, KeySet keys) {}
        Random random = new Random(seed);
        int keySpace = 1 + random.nextInt(3000);
        CertificationIndex index = new CertificationIndex();
        List<Noted> all = new ArrayList<>();
        long position = 0;
        for (int step = 0; step < 3000; step++) {
            position += 1 + random.nextInt(3);
            KeySet.Builder builder = new KeySet.Builder();
            boolean reads = random.nextInt(4) == 0;
            for (int i = random.nextInt(6); i >= 0; i--) {
                long hash = random.nextInt(keySpace);
                builder.add(random.nextBoolean() ? hash : hash * 0x5851F42D4C957F2DL,
                        reads
                                ? KeyKind.of(random.nextInt(KeyKind.values().length))
                                : WRITTEN.get(random.nextInt(WRITTEN.size())));
            }
            KeySet keys = builder.build();
            long begun = Math.max(index.floor(), position - 1 - random.nextInt(200));
            long committed = begun + random.nextInt((int) (position - begun));
            int expected = -1;
            for (int i = 0; i < keys.size() && expected < 0; i++) {
                long since = switch (keys.kind(i)) {
                    case EXCLUSIVE, CREATED, GONE, READ, SCAN -> begun;
                    case UPDATE, REFERENCE, RELEASED -> committed;
                };
                for (Noted noted : all) {
                    for (int j = 0; j < noted.keys().size(); j++) {
                        if (noted.position() > since && noted.keys().hash(j) == keys.hash(i)
                                && keys.kind(i).conflictsWith(noted.keys().kind(j))) {
                            expected = i;
                        }
                    }
                }
            }
            assertEquals(expected, index.conflict(keys, begun, committed), "step " + step);
            if (!reads) {
                index.note(keys, position);
                all.add(new Noted(position, keys));
            }
            if (random.nextInt(10) == 0) {
                index.forget(position - 150);
                long floor = index.floor();
                all.removeIf(noted -> noted.position() <= floor);
            }
            if (random.nextInt(500) == 0) {
                index = copy(index);
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"1, 200", "2, 200", "3, 200", "4, 40"})
    void isBoundedAlikeByWhoeverHasNotedTheSame(long seed, int keysMax) {
        Random random = new Random(seed);
        CertificationIndex index = new CertificationIndex();
        CertificationIndex restored = new CertificationIndex();
        Map<Long, Long> last = new HashMap<>();
        long position = 0;
        for (int step = 0; step < 2000; step++) {
            position += 1 + random.nextInt(3);
            KeySet.Builder keys = new KeySet.Builder();
            for (int i = random.nextInt(random.nextInt(20) == 0 ? 150 : 4); i >= 0; i--) {
                long hash = random.nextInt(5000);
                keys.add(hash, KeyKind.of(random.nextInt(3)));
                last.put(hash, position);
            }
            KeySet noted = keys.build();
            for (CertificationIndex one : List.of(index, restored)) {
                one.note(noted, position);
                one.forget(position - 1000);
                one.bound(keysMax);
            }
            assertEquals(index.floor(), restored.floor(), "step " + step);
            long floor = index.floor();
            assertEquals(last.values().stream().filter(touched -> touched > floor).count(), index.live());
            assertTrue(index.live() <= Math.max(keysMax, noted.size()), index.live() + " keys");
            long lower = floor - 1;
            assertTrue(
                    lower < position - 1000
                            || last.values().stream().filter(touched -> touched > lower).count() > keysMax
                            || index.live() == last.values().stream().filter(touched -> touched > lower).count(),
                    "no higher than it must be");
            if (random.nextInt(50) == 0) {
                restored = copy(restored);
            }
        }
        assertTrue(index.bytes() < 60_000, index.bytes() + " bytes");
    }

    @Test
    void keepsWhatWasNotedLastHoweverMuchThatIs() {
        CertificationIndex index = new CertificationIndex();
        KeySet.Builder keys = new KeySet.Builder();
        for (int i = 0; i < 1000; i++) {
            keys.add(i, KeyKind.UPDATE);
        }
        index.note(key(5000, KeyKind.UPDATE), 3);
        index.note(keys.build(), 7);
        index.bound(10);
        assertEquals(3, index.floor());
        assertEquals(1000, index.live());
        assertEquals(0, index.conflict(key(7, KeyKind.UPDATE), 6, 6));
    }

    /** A replica that has been there all along knows at which positions keys were touched that were touched again since. */
    @Test
    void isBoundedAlikeThoughTheLastWriteSetAloneIsLarger() {
        CertificationIndex index = new CertificationIndex();
        index.note(key(1, KeyKind.UPDATE), 10);
        index.note(key(2, KeyKind.UPDATE), 20);
        index.note(key(2, KeyKind.UPDATE), 25);
        CertificationIndex restored = copy(index);
        KeySet.Builder more = new KeySet.Builder();
        for (int i = 2; i < 9; i++) {
            more.add(i, KeyKind.UPDATE);
        }
        KeySet noted = more.build();
        for (CertificationIndex one : List.of(index, restored)) {
            one.note(noted, 30);
            one.forget(5);
            one.bound(5);
            assertEquals(10, one.floor());
        }
        assertEquals(10, copy(index).floor());
    }

    @Test
    void keepsItsMemoryWithinFortyBytesPerLiveKey() {
        CertificationIndex index = new CertificationIndex();
        Random random = new Random(1);
        int window = 20_000;
        for (long position = 1; position <= 200_000; position++) {
            KeySet.Builder keys = new KeySet.Builder();
            for (int i = 0; i < 10; i++) {
                keys.add(random.nextLong(), KeyKind.UPDATE);
            }
            index.note(keys.build(), position);
            index.forget(position - window);
        }
        // Dropped keys are reclaimed when the table is rebuilt: a live window of 200,000 keys takes at most twice that.
        assertTrue(index.bytes() <= 40L * index.size() + 4096, index.bytes() + " bytes for " + index.size() + " keys");
        assertTrue(index.size() <= 2 * 10 * window, index.size() + " keys for " + 10 * window + " live");
    }

    /** Keys whose hashes are nearly the same have the same home, the last one: they need more room behind it. */
    @Test
    void holdsAnyNumberOfKeysThatCrowdAtTheEnd() {
        // Undoes the index's mixing: multiplying by the inverse of its odd factor, found with Newton's iteration.
        long factor = 0x9E3779B97F4A7C15L;
        long inverse = factor;
        for (int i = 0; i < 6; i++) {
            inverse *= 2 - factor * inverse;
        }
        CertificationIndex index = new CertificationIndex();
        int count = 5000;
        Random random = new Random(3);
        long[] hashes = random.ints(count, 0, Integer.MAX_VALUE).distinct().mapToLong(i -> -1L - i).toArray();
        for (int i = 0; i < hashes.length; i++) {
            hashes[i] *= inverse;
            index.note(key(hashes[i], KeyKind.UPDATE), i + 1);
        }
        assertEquals(hashes.length, index.size());
        CertificationIndex decoded = copy(index);
        for (int i = 0; i < hashes.length; i++) {
            assertEquals(i + 1, index.lastConflicting(hashes[i], KeyKind.UPDATE));
            assertEquals(i + 1, decoded.lastConflicting(hashes[i], KeyKind.UPDATE));
            assertEquals(0, index.lastConflicting(hashes[i] + inverse * (1L << 40), KeyKind.UPDATE));
        }
    }

    @Test
    void refusesAnEncodedIndexWhoseKeysAreNotInOrder() {
        CertificationIndex index = new CertificationIndex();
        index.note(new KeySet.Builder().add(1, KeyKind.UPDATE).add(2, KeyKind.UPDATE).build(), 1);
        CertificationIndex.Image image = index.image();
        int[] twice = image.slots().clone();
        System.arraycopy(twice, twice.length / 2, twice, 0, 2);
        assertThrows(IllegalArgumentException.class,
                () -> new CertificationIndex.Image(image.base(), image.floor(), image.newest(), twice));
        assertThrows(IllegalArgumentException.class,
                () -> new CertificationIndex.Image(image.base(), image.floor(), image.newest(), new int[5]));
        assertThrows(IllegalArgumentException.class,
                () -> new CertificationIndex.Image(image.base(), image.floor(), image.newest(), new int[]{1, 2}));
    }

    private static CertificationIndex copy(CertificationIndex index) {
        CertificationIndex.Image image = index.image();
        ByteBuffer bytes = ByteBuffer.allocate(CertificationIndex.Image.SCHEMA.size(image));
        CertificationIndex.Image.SCHEMA.write(image, bytes);
        return CertificationIndex.of(CertificationIndex.Image.SCHEMA.read(bytes.flip()));
    }
}
