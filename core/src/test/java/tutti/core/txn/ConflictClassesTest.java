package tutti.core.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ConflictClassesTest {
    @Test
    void meetIfAClassIsInBoth() {
        ConflictClasses some = ConflictClasses.of(List.of(9L, -3L, 5L, 5L));
        assertEquals(3, some.size());
        assertTrue(some.meet(ConflictClasses.of(List.of(4L, 5L))));
        assertFalse(some.meet(ConflictClasses.of(List.of(4L, 6L, 10L))));
        assertTrue(some.meet(ConflictClasses.ALL));
        assertTrue(ConflictClasses.ALL.meet(some));
        assertTrue(some.contains(-3));
        assertFalse(some.contains(3));
        assertTrue(ConflictClasses.ALL.contains(3));
    }

    @Test
    void togetherTheyAreThoseOfEitherOnceEach() {
        List<List<Long>> sets = List.of(List.of(5L), List.of(-3L, 5L, 9L), List.of(4L, 6L, 10L), List.of(9L, 10L, 11L),
                List.of(Long.MIN_VALUE, Long.MAX_VALUE));
        for (List<Long> one : sets) {
            for (List<Long> other : sets) {
                Set<Long> either = new HashSet<>(one);
                either.addAll(other);
                assertEquals(ConflictClasses.of(either), ConflictClasses.of(one).union(ConflictClasses.of(other)));
            }
            assertTrue(ConflictClasses.of(one).union(ConflictClasses.ALL).all());
            assertTrue(ConflictClasses.ALL.union(ConflictClasses.of(one)).all());
        }
    }

    @Test
    void noClassesAreRefused() {
        assertThrows(IllegalArgumentException.class, () -> ConflictClasses.of(List.of()));
    }

    @Test
    void areReadBackAsTheyWereWritten() {
        for (ConflictClasses classes : List.of(ConflictClasses.ALL, ConflictClasses.of(List.of(7L, -1L)))) {
            ByteBuffer buffer = ByteBuffer.allocate(ConflictClasses.SCHEMA.size(classes));
            ConflictClasses.SCHEMA.write(classes, buffer);
            assertFalse(buffer.hasRemaining());
            assertEquals(classes, ConflictClasses.SCHEMA.read(buffer.flip()));
        }
    }

    @Test
    void nonsenseIsRefused() {
        assertThrows(IllegalArgumentException.class,
                () -> ConflictClasses.SCHEMA.read(ByteBuffer.allocate(13).put((byte) 0).putInt(2).putLong(1).flip()));
        assertThrows(IllegalArgumentException.class,
                () -> ConflictClasses.SCHEMA
                        .read(ByteBuffer.allocate(21).put((byte) 0).putInt(2).putLong(1).putLong(1).flip()));
        assertThrows(IllegalArgumentException.class, () -> ConflictClasses.SCHEMA.read(ByteBuffer.allocate(5)));
    }
}
