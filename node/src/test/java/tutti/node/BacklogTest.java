package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import tutti.core.spi.DurableLog;

class BacklogTest {
    private final List<String> asked = new ArrayList<>();
    private final Backlog backlog = new Backlog(100, new NotingLog());
    private Runnable beforeSuspension = () -> {};

    /** A log that only notes whether deliveries wait. */
    private final class NotingLog implements DurableLog {
        @Override
        public void suspend() {
            beforeSuspension.run();
            asked.add("suspend");
        }

        @Override
        public void resume() {
            asked.add("resume");
        }

        @Override
        public void start(long after, Reader reader) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void append(byte[] payload) {
            throw new UnsupportedOperationException();
        }

        @Override
        public int maxPayloadBytes() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void truncate(long position) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Status status() {
            return Status.NONE;
        }

        @Override
        public void close() {
            throw new UnsupportedOperationException();
        }
    }

    @Test
    void deliveriesWaitFromTheMessageThatExceedsTheBoundUntilThereIsRoom() {
        backlog.add(100);
        assertEquals(List.of(), asked);
        backlog.add(1);
        assertEquals(List.of("suspend"), asked);
        backlog.measured(101);
        assertEquals(List.of("suspend"), asked);
        backlog.measured(100);
        assertEquals(List.of("suspend", "resume"), asked);
    }

    @Test
    void roomThatIsMadeWhileDeliveriesAreBeingSuspendedIsNotMissed() {
        beforeSuspension = () -> backlog.measured(0);
        backlog.add(101);
        assertEquals(List.of("resume", "suspend", "resume"), asked);
    }
}
