package tutti.check.isolation;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import tutti.check.history.History;

class SerialReadsCheckTest {
    private static final History WRITE_SKEW = new HistoryOf().read(1, "x", 0).read(1, "y", 0).write(1, "x").commit(1, 1)
            .read(2, "x", 0).read(2, "y", 0).write(2, "y").commit(2, 2).history();

    private static String check(History history, int... serializable) {
        return SerialReadsCheck
                .check(history,
                        t -> IntStream.of(serializable).anyMatch(serial -> history.id(t).serial() == serial))
                .violations().stream().map(violation -> violation.rule() + ": " + violation.text()).findFirst()
                .orElse("sound");
    }

    @Test
    void whoCommitsLaterHasSeenWhoCameBeforeIfItIsToBeSerializable() {
        assertEquals("sound", check(WRITE_SKEW));
        assertEquals("sound", check(WRITE_SKEW, 1));
        assertEquals("stale read: T0:0.2 committed at 2 and had read x before T0:0.1 wrote it at 1",
                check(WRITE_SKEW, 2));
        assertEquals(check(WRITE_SKEW, 2), check(WRITE_SKEW, 1, 2));
    }

    @Test
    void itHasSeenTheLastVersionItsOwnOneApart() {
        assertEquals("sound", check(new HistoryOf().write(1, "x").commit(1, 1).read(2, "x", 1).write(2, "x")
                .read(2, "x", 2).commit(2, 2).write(3, "x").commit(3, 3).history(), 1, 2, 3));
        assertEquals("stale read: T0:0.3 committed at 3 and had read x before T0:0.2 wrote it at 2",
                check(new HistoryOf().write(1, "x").commit(1, 1).write(2, "x").commit(2, 2).read(3, "x", 1)
                        .write(3, "y").commit(3, 3).history(), 3));
    }

    @Test
    void whatWasAbortedMustNotHaveBeenRead() {
        assertEquals("G1a (aborted read)", check(new HistoryOf().write(1, "x").abort(1).read(2, "x", 1).write(2, "y")
                .commit(2, 1).history(), 2).replaceAll(":.*", ""));
    }
}
