package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Places are given as far as there is room, in the order in which they were asked for. */
class MemoryRoomTest {
    private final MemoryRoom room = new MemoryRoom(100);
    private final List<String> given = new ArrayList<>();

    private MemoryRoom.Place ask(String name, long bytes) {
        return room.ask(bytes, () -> given.add(name));
    }

    @Test
    void smallOnesDoNotPassALargeOne() {
        MemoryRoom.Place first = ask("first", 60);
        MemoryRoom.Place large = ask("large", 50);
        MemoryRoom.Place small = ask("small", 10);
        assertTrue(first.given());
        assertFalse(large.given());
        assertFalse(small.given());
        assertEquals(2, room.waiting());
        assertEquals(60, room.taken());
        first.leave();
        assertEquals(List.of("large", "small"), given);
        assertEquals(60, room.taken());
        large.leave();
        large.leave();
        assertEquals(10, room.taken());
    }

    @Test
    void whoGivesUpWaitingLetsOthersPass() {
        MemoryRoom.Place first = ask("first", 60);
        MemoryRoom.Place large = ask("large", 50);
        ask("small", 10);
        large.leave();
        assertEquals(List.of("small"), given);
        assertEquals(70, room.taken());
        first.leave();
        assertEquals(10, room.taken());
    }

    @Test
    void whatIsLargerThanTheRoomIsAlone() {
        MemoryRoom.Place first = ask("first", 1);
        MemoryRoom.Place huge = ask("huge", 1000);
        first.leave();
        assertEquals(List.of("huge"), given);
        ask("next", 1);
        huge.leave();
        assertEquals(List.of("huge", "next"), given);
    }

    @Test
    void whoMustNotWaitIsCountedAllTheSame() {
        MemoryRoom.Place taken = room.insist(150);
        assertTrue(taken.given());
        MemoryRoom.Place next = ask("next", 1);
        assertFalse(next.given());
        taken.leave();
        assertTrue(next.given());
    }
}
