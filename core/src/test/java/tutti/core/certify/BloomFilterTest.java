package tutti.core.certify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BloomFilterTest {
    @ParameterizedTest
    @ValueSource(doubles = {0.5, 0.1, 0.01, 0.001})
    void membersAreFoundAndOthersTakenForMembersAsOftenAsStated(double rate) {
        SplittableRandom random = new SplittableRandom(7);
        int wrong = 0;
        int asked = 0;
        for (int round = 0; round < 50; round++) {
            // Keys that follow one another are as good as random ones.
            long[] members = round % 2 == 0
                    ? random.longs(1 + random.nextInt(400)).toArray()
                    : LongStream.range(round, round + 200).toArray();
            BloomFilter filter = BloomFilter.of(members, rate);
            for (long member : members) {
                assertTrue(filter.mayContain(member));
            }
            for (int i = 0; i < 4000; i++) {
                wrong += filter.mayContain(1_000_000 + random.nextLong(1L << 60)) ? 1 : 0;
                asked++;
            }
        }
        double measured = (double) wrong / asked;
        assertTrue(measured < rate * 1.3, "stated " + rate + ", measured " + measured);
    }

    @Test
    void theEmptyOneContainsNothingAndTakesNoBits() {
        BloomFilter empty = BloomFilter.of(new long[0], 0.01);
        assertFalse(empty.mayContain(0));
        assertEquals(5, BloomFilter.SCHEMA.size(empty));
    }

    @Test
    void itIsReadBackAsItWas() {
        BloomFilter filter = BloomFilter.of(new long[]{1, 2, 3, 5, 8}, 0.01);
        ByteBuffer bytes = ByteBuffer.allocate(BloomFilter.SCHEMA.size(filter));
        BloomFilter.SCHEMA.write(filter, bytes);
        assertEquals(0, bytes.remaining());
        assertEquals(filter, BloomFilter.SCHEMA.read(bytes.flip()));
        assertThrows(IllegalArgumentException.class,
                () -> BloomFilter.SCHEMA.read(ByteBuffer.wrap(new byte[]{1, 0, 0, 1, 0})));
        assertThrows(IllegalArgumentException.class, () -> BloomFilter.of(new long[]{1}, 1));
    }
}
