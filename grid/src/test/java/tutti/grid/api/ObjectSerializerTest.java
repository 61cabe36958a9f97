package tutti.grid.api;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.Serializable;
import java.math.BigDecimal;
import java.time.DayOfWeek;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Any keys and values as bytes. */
@Timeout(60)
class ObjectSerializerTest {
    private static final ClassLoader LOADER = ObjectSerializerTest.class.getClassLoader();
    private static final Serializer<Object> KEYS = ObjectSerializer.ofKeys(LOADER);
    private static final Serializer<Object> VALUES = new ObjectSerializer(LOADER);

    private record Pair(Object first, Object second) implements Serializable {}

    /** Of the class and with the parts that it is made of, whatever it says is equal to it. */
    private static final class Name implements Serializable {
        private static final long serialVersionUID = 1;

        private final String name;
        private final String spelling;

        Name(String name, String spelling) {
            this.name = name;
            this.spelling = spelling;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Name that && that.name.equals(name);
        }

        @Override
        public int hashCode() {
            return name.hashCode();
        }
    }

    /** Equal objects, a new one each time it is asked. */
    private interface Making extends Function<Integer, Object> {}

    private static final List<Making> PARTS = List.of(i -> new String("LIS" + i), i -> Integer.valueOf(1000 + i),
            i -> Long.valueOf(1000L + i), i -> new BigDecimal("1.50"), i -> new UUID(1, i),
            i -> LocalDate.of(2026, 11, 30), i -> DayOfWeek.MONDAY, i -> new Pair(new String("a"), 1000 + i),
            i -> new byte[]{1, 2}, i -> new Object[]{new String("a"), new String("a")},
            i -> new ArrayList<>(List.of(1000 + i, 1000 + i)), i -> List.of(new Pair(1000 + i, LocalDate.EPOCH)));

    @Test
    void itDoesNotMatterWhichPartsOfAKeyAreTheSameObject() {
        for (Making part : PARTS) {
            Object one = part.apply(7);
            for (Making around : List.<Making>of(
                    i -> i == 0 ? new Pair(one, one) : new Pair(part.apply(7), part.apply(7)),
                    i -> i == 0 ? new Object[]{one, one} : new Object[]{part.apply(7), part.apply(7)},
                    i -> i == 0
                            ? List.of(one, new Pair(one, one))
                            : List.of(part.apply(7), new Pair(part.apply(7), part.apply(7))))) {
                byte[] same = KEYS.write(around.apply(0));
                assertArrayEquals(same, KEYS.write(around.apply(1)), () -> "of " + one.getClass());
                assertArrayEquals(same, KEYS.write(KEYS.read(same)), () -> "read, of " + one.getClass());
                assertTrue(Arrays.deepEquals(new Object[]{around.apply(1)}, new Object[]{KEYS.read(same)})
                        || one.getClass().isArray(), () -> "of " + one.getClass());
            }
        }
    }

    @Test
    void keysThatDifferStayDifferent() {
        List<Object> keys = List.of(new Pair("a", "b"), new Pair("a", "a"), new Pair("b", "a"), new Pair(1, 1L),
                new Pair(1L, 1), new Pair(1, 1), new Pair("a", null), new Pair(null, "a"),
                new Pair(new Pair("a", "b"), "a"), new Pair("a", new Pair("a", "b")),
                new Pair(new Pair("a", "b"), new Pair("a", "b")), new Pair(new Pair("a", "b"), new Pair("b", "a")));
        for (Object key : keys) {
            assertEquals(key, KEYS.read(KEYS.write(key)));
            for (Object other : keys) {
                assertEquals(key.equals(other), Arrays.equals(KEYS.write(key), KEYS.write(other)), key + ", " + other);
            }
        }
    }

    /** What says that it is equal to another, but has other fields, does not become the other. */
    @Test
    void noPartIsLost() {
        Pair read = (Pair) KEYS.read(KEYS.write(new Pair(new Name("tea", "Tea"), new Name("tea", "TEA"))));
        assertEquals("TEA", ((Name) read.second()).spelling);
    }

    /** Who changes one part of a value that it has read has not changed another one. */
    @Test
    void equalPartsOfAValueStayDifferentObjects() {
        int[][] read = (int[][]) VALUES.read(VALUES.write(new int[][]{{0}, {0}}));
        assertNotSame(read[0], read[1]);
    }

    /** As they were before keys had a form of their own. */
    @Test
    void whatHasNoEqualPartsIsWrittenAlikeAsKeyAndAsValue() {
        for (Object each : List.of("text", 7, LocalDate.EPOCH, new Pair("a", 1), List.of(new Pair("a", "b"), 2))) {
            assertArrayEquals(VALUES.write(each), KEYS.write(each), each::toString);
        }
        assertEquals(new Pair("a", "a"), VALUES.read(KEYS.write(new Pair("a", "a"))));
        assertEquals(new Pair("a", "a"), KEYS.read(VALUES.write(new Pair("a", "a"))));
    }

    @Test
    void aKeyMayHaveItselfAsAPartAndBeDeep() {
        List<Object> itself = new ArrayList<>();
        itself.add(itself);
        List<?> read = (List<?>) KEYS.read(KEYS.write(itself));
        assertSame(read, read.getFirst());
        Object deep = "bottom";
        for (int i = 0; i < 100; i++) {
            deep = i % 2 == 0 ? List.of(deep, deep) : new Pair(deep, deep);
        }
        byte[] bytes = KEYS.write(deep);
        assertArrayEquals(bytes, KEYS.write(KEYS.read(bytes)));
    }

    @Test
    void whatCannotBeWrittenIsToldSo() {
        for (Serializer<Object> each : List.of(KEYS, VALUES)) {
            String told = assertThrows(IllegalArgumentException.class,
                    () -> each.write(new Pair("a", List.of(new Object())))).getMessage();
            assertTrue(told.contains("java.io.Serializable") && told.contains("java.lang.Object"), told);
        }
    }
}
