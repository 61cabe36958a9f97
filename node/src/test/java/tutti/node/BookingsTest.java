package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.AbortReason;
import tutti.core.txn.TransactionId;

/** Who has booked the same comes one after the other, at whichever node, and waits for nobody who is not there any more. */
class BookingsTest extends ReplicaTrio {
    private static final long SECOND = 1_000_000_000L;
    private static final long SHORT_TIME = SECOND / 10;
    private static final long KEY = 5L << 32 | 7;

    private final class Booked implements Completion<Long> {
        final CompletableFuture<Long> come = new CompletableFuture<>();
        final Transactions.Booking booking;

        Booked(int node, long key) {
            booking = nodes.get(node).book(key, this);
            run(SHORT_TIME);
        }

        @Override
        public void succeeded(Long position) {
            come.complete(position);
        }

        @Override
        public void failed(EngineFailure failure) {
            throw new AssertionError(failure.toString());
        }
    }

    private void run(long nanos) {
        ((TestMachine) machine).runFor(nanos);
    }

    private TransactionId reserve(int node) {
        return Objects.requireNonNull(nodes.get(node).reserve());
    }

    @ParameterizedTest
    @ValueSource(strings = {"si", "dbsm", "postgres-r", "wice"})
    void oneComesAfterTheOther(String protocol) throws IOException {
        openAll(protocol);
        Booked first = new Booked(0, KEY);
        Booked second = new Booked(1, KEY);
        Booked third = new Booked(0, KEY);
        assertTrue(first.come.isDone());
        assertTrue(new Booked(2, KEY + 1).come.isDone(), "another key");
        TransactionId name = reserve(0);
        first.booking.isFor(name);
        new Client(0, name, true).committed();
        run(SHORT_TIME);
        assertTrue(second.come.isDone());
        first.booking.end();
        run(SHORT_TIME);
        assertFalse(third.come.isDone());
        second.booking.end();
        run(SHORT_TIME);
        assertTrue(third.come.isDone());
    }

    /** It is not over for others because one of its runs has lost. */
    @Test
    void whoLosesKeepsItsPlace() throws IOException {
        openAll("si");
        Booked first = new Booked(0, KEY);
        Booked second = new Booked(1, KEY);
        TransactionId lost = reserve(0);
        first.booking.isFor(lost);
        Client run = new Client(0, lost, false);
        run.ticket.failed(new AbortReason.Failed("first-updater"));
        new Client(1, "another", 77).committed();
        run(SHORT_TIME);
        assertFalse(second.come.isDone());
        TransactionId again = reserve(0);
        first.booking.isFor(again);
        new Client(0, again, true).committed();
        run(SHORT_TIME);
        assertTrue(second.come.isDone());
    }

    @Test
    void whoComesSeesAllBeforeIt() throws IOException {
        openAll("si");
        Booked first = new Booked(0, KEY);
        Booked second = new Booked(1, KEY);
        engines.get(1).hold();
        TransactionId name = reserve(0);
        first.booking.isFor(name);
        long position = new Client(0, name, true).committed();
        run(SHORT_TIME);
        assertFalse(second.come.isDone());
        engines.get(1).goOn();
        assertTrue(get(second.come) >= position);
    }

    @Test
    void whoGivesUpIsNotWaitedFor() throws IOException {
        openAll("si");
        Booked first = new Booked(0, KEY);
        Booked second = new Booked(1, KEY);
        Booked third = new Booked(2, KEY);
        second.booking.end();
        first.booking.end();
        run(SHORT_TIME);
        assertTrue(third.come.isDone());
        assertFalse(second.come.isDone());
    }

    @Test
    void aNodeThatBeginsANewLifeHasBookedNothing() throws IOException {
        openAll("si");
        Booked first = new Booked(0, KEY);
        Booked second = new Booked(1, KEY);
        nodes.get(0).close();
        openReady("si", 0);
        run(SHORT_TIME);
        assertTrue(second.come.isDone());
        second.booking.end();
        assertTrue(first.come.isDone());
        assertTrue(new Booked(0, KEY).come.isDone());
    }

    @Test
    void nobodyComesFirstForLong() throws IOException {
        openAll("si");
        new Booked(0, KEY);
        Booked second = new Booked(1, KEY);
        Booked third = new Booked(2, KEY);
        run(Bookings.TICKS_MAX * Bookings.TICK_NANOS - 2 * SHORT_TIME);
        assertFalse(second.come.isDone());
        run(Bookings.TICK_NANOS + 2 * SHORT_TIME);
        assertTrue(second.come.isDone());
        assertFalse(third.come.isDone());
        run((Bookings.TICKS_MAX + 1) * Bookings.TICK_NANOS);
        assertTrue(third.come.isDone());
    }

    @Test
    void whatOneNodeBooksOthersWantToo() throws IOException {
        openAll("si");
        assertFalse(nodes.get(0).wantsAny());
        nodes.get(0).want(KEY);
        run(SHORT_TIME);
        assertTrue(nodes.get(0).isWanted(KEY));
        assertFalse(nodes.get(1).wantsAny());
        new Booked(0, KEY);
        for (ReplicaNode node : nodes.values()) {
            assertTrue(node.isWanted(KEY) && node.mayBeWanted(5) && node.wantsAny());
            assertFalse(node.isWanted(KEY + 1) || node.mayBeWanted(6));
        }
    }

    @Test
    void ofWhatIsWantedTheLatestIsRemembered() throws IOException {
        openAll("si");
        for (int i = 0; i <= Bookings.WANTED_MAX; i++) {
            nodes.get(0).want((long) (i / 2) << 32 | i);
        }
        nodes.get(0).want(2);
        run(SHORT_TIME);
        assertFalse(nodes.get(0).isWanted(0));
        assertFalse(nodes.get(0).isWanted(1));
        assertTrue(nodes.get(0).isWanted(2) && nodes.get(0).mayBeWanted(0));
        assertEquals(true, nodes.get(0).isWanted((long) (Bookings.WANTED_MAX / 2) << 32 | Bookings.WANTED_MAX));
    }
}
