package tutti.pgfront;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.TransactionId;
import tutti.node.Transactions;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Frontend;
import tutti.session.LostTransaction;
import tutti.wire.ResultFingerprint;
import tutti.wire.RetryQueue;
import tutti.wire.SaidMessages;

/**
 * Keeps what a client has said and heard since its transaction began, so that the transaction can be run again if it loses, unknown to its
 * client: under the same conditions, and for the same reasons, as on a PostgreSQL node ({@code tutti.wire.Repetition}, where the argument stands).
 * {@link PgProtocol} says the messages again. What has been answered and not sent has not been heard, and is forgotten when the
 * transaction loses: so statements outside of a block, whose answers wait for the commit, can always be run again.
 *
 * <p>
 * Of a session's thread.
 */
final class Replay implements PgSession.Commits {
    private static final Logger LOG = LoggerFactory.getLogger(Replay.class);
    private static final long FIRST_PATIENCE_MILLIS = 50;
    private static final long PATIENCE_MILLIS = 1000;
    private static final long BOOKING_MILLIS = 2000;
    private static final ErrorFields CANCELLED = ErrorFields.of("ERROR", "57014",
            "canceling statement due to user request");

    /** How the sessions of a node run transactions again. */
    record Shared(Transactions node, int most, RetryQueue losers) {}

    /** Where it stands. */
    private enum State {
        /** The client speaks. */
        NONE,
        /** What the client has said is to be said again. */
        DUE,
        /** It is being said again. */
        RUNNING
    }

    private final Shared shared;
    private final ClientConnection client;
    private final PgSession session;
    private final SaidMessages said = new SaidMessages();
    private final ResultFingerprint heard = new ResultFingerprint();
    private State state = State.NONE;
    /** Something else has been answered than the client has heard. */
    private boolean differs;
    /** A message of the client's has come, and what ends its cycle has not been answered. */
    private boolean inCycle;
    /** What the client has sent last ends its cycle. */
    private boolean complete;
    private int times;
    private LostTransaction.Loss loss = LostTransaction.Loss.UNKNOWN;
    private ErrorFields cause = ErrorFields.of("ERROR", "40001", "");
    private boolean blockFails;
    private RetryQueue.@Nullable Place place;
    private Transactions.@Nullable Booking booking;
    /** What has to be booked before it is run again; 0 if nothing has. */
    private long toBook;
    /** What it waits for before it is run again, and whether its client has cancelled it meanwhile; under this object's lock. */
    private @Nullable CountDownLatch awaited;
    private boolean waits;
    private boolean cancelled;
    /** Up to where what is written has been heard, or will be in any case. */
    private int mark;

    Replay(Shared shared, ClientConnection client, PgSession session) {
        this.session = session;
        // Protocols that order first know better when to repeat.
        this.shared = shared.node().executesAtOnce() ? shared : new Shared(shared.node(), 0, shared.losers());
        this.client = client;
    }

    // ------------------------------------------------------------------------------------------ what the client says and hears

    /**
     * The client has sent a message.
     *
     * @param begins whether no transaction is open, nor a block
     */
    void said(byte type, ByteBuf body, boolean begins) {
        if (shared.most == 0) {
            return;
        }
        if (begins && !inCycle) {
            said.begin();
            heard.clear();
            times = 0;
            leave();
        }
        inCycle = true;
        complete = type == Frontend.SYNC || type == Frontend.QUERY;
        said.say(type, body, body.readerIndex(), body.readableBytes());
    }

    /** What ends the client's cycle has been answered. */
    void cycleOver() {
        inCycle = false;
    }

    @Override
    public void done() {
        spoil();
    }

    /** What has been said cannot be said again: data has been copied, or something has taken effect. */
    void spoil() {
        said.spoil();
        leave();
    }

    /** What is written is about to be sent. */
    void sending() {
        sent();
        mark = 0;
    }

    /** What is written will be sent in any case. */
    private void sent() {
        compare();
        ByteBuf out = client.out();
        if (said.repeatable() && out.writerIndex() > mark) {
            heard.add(out, mark, out.writerIndex() - mark);
        }
        mark = out.writerIndex();
    }

    /** The client is told something that is none of its transaction's answers; if there is something to be told. */
    void aside(Runnable writes) {
        if (!proven()) {
            return;
        }
        ByteBuf out = client.out();
        int before = out.writerIndex();
        writes.run();
        if (out.writerIndex() > before) {
            byte[] told = new byte[out.writerIndex() - before];
            out.getBytes(before, told);
            out.writerIndex(before);
            sent();
            out.writeBytes(told);
            mark = out.writerIndex();
        }
    }

    /** Compares what is answered again, as far as the client has heard it, and takes that away. */
    void compare() {
        ByteBuf out = client.out();
        int count = out.writerIndex() - mark;
        int old = (int) Math.min(heard.owed(), count);
        if (differs) {
            out.writerIndex(mark);
        } else if (old > 0 && !heard.same(out, mark, old)) {
            differs = true;
            out.writerIndex(mark);
        } else if (old > 0) {
            byte[] fresh = new byte[count - old];
            out.getBytes(mark + old, fresh);
            out.writerIndex(mark);
            out.writeBytes(fresh);
        }
    }

    /** Whether all that the client has heard has been answered again, or need not. */
    boolean proven() {
        return heard.owed() == 0 && !differs;
    }

    /** Whether something else has been answered. */
    boolean isInVain() {
        compare();
        return differs;
    }

    /** Whether it is proven, so that the transaction may commit. */
    @Override
    public boolean may() {
        compare();
        differs |= heard.owed() > 0;
        return !differs;
    }

    // ------------------------------------------------------------------------------------------ what others change meanwhile

    /** It can if it has booked nothing so far. */
    @Override
    public boolean mayBook() {
        return state == State.NONE && booking == null && repeats();
    }

    /** It is {@link #lost}, so that it begins anew when what it has to book comes. */
    void books(long key) {
        toBook = key;
    }

    /** If it commits, what it has booked is over. */
    @Override
    public void asks(TransactionId run) {
        Transactions.Booking booked = booking;
        if (booked != null) {
            booked.isFor(run);
        }
    }

    private void book() throws InterruptedException {
        CountDownLatch come = new CountDownLatch(1);
        booking = shared.node.book(toBook, whenThere(come));
        toBook = 0;
        await(come, BOOKING_MILLIS);
    }

    // ------------------------------------------------------------------------------------------ a loss

    /** Whether a transaction that is lost now can be run again. */
    boolean repeats() {
        return times < shared.most && said.repeatable() && !differs && !client.isClosed()
                && (times > 0 || said.undone());
    }

    /**
     * The transaction is lost, and rolled back: it is run again.
     *
     * @param why what its client hears if that is in vain
     * @param block whether the client has to see a block that has failed then
     */
    void lost(LostTransaction.Loss what, ErrorFields why, boolean block) {
        if (state == State.NONE) {
            blockFails = block;
            cause = why;
        }
        loss = what;
        state = State.DUE;
        forgetUnsent();
    }

    private void forgetUnsent() {
        client.out().writerIndex(mark);
    }

    boolean due() {
        return state == State.DUE;
    }

    /** Waits until it is of use to begin again, and begins. */
    void begin() throws InterruptedException {
        waits(true);
        try {
            await();
        } finally {
            waits(false);
        }
    }

    private synchronized void waits(boolean now) {
        if (now) {
            cancelled = false;
        } else if (cancelled) {
            cause = CANCELLED;
            differs = true;
        }
        waits = now;
    }

    /** From any thread: the client cancels what it waits for. It hears so if its transaction waits to be run again. */
    synchronized void cancel() {
        if (waits) {
            cancelled = true;
            CountDownLatch latch = awaited;
            if (latch != null) {
                latch.countDown();
            }
        }
    }

    private void await(CountDownLatch latch, long millis) throws InterruptedException {
        synchronized (this) {
            if (cancelled) {
                return;
            }
            awaited = latch;
        }
        boolean _ = latch.await(millis, TimeUnit.MILLISECONDS);
    }

    private void await() throws InterruptedException {
        state = State.RUNNING;
        if (toBook != 0) {
            book();
            heard.again();
            return;
        }
        times++;
        shared.node.repeats();
        LOG.debug("a transaction is run again, for the {}. time: {}", times, cause.message());
        RetryQueue.Place mine = place == null ? shared.losers.enter() : place;
        place = mine;
        CountDownLatch turn = new CountDownLatch(1);
        mine.whenItsTurn(loss.keys(), turn::countDown);
        await(turn, times == 1 ? FIRST_PATIENCE_MILLIS : PATIENCE_MILLIS);
        session.awaitFree(loss.keys(), PATIENCE_MILLIS);
        if (loss.winner() > shared.node.visiblePosition()) {
            awaitVisible(loss.winner());
        }
        heard.again();
    }

    /** Before the winner is visible, it would lose again. */
    private void awaitVisible(long position) throws InterruptedException {
        CountDownLatch visible = new CountDownLatch(1);
        shared.node.await(position, whenThere(visible));
        await(visible, PATIENCE_MILLIS);
    }

    private static Completion<Long> whenThere(CountDownLatch there) {
        return new Completion<>() {
            @Override
            public void succeeded(Long visiblePosition) {
                there.countDown();
            }

            @Override
            public void failed(EngineFailure failure) {
                there.countDown();
            }
        };
    }

    /** What is to be said again. */
    SaidMessages messages() {
        return said;
    }

    /** The name of the statement that the message prepares, as the client knows it; empty if it has none. */
    String prepares(int at) {
        return new String(said.name(at).getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
    }

    /** Whether the next message may be said again. */
    boolean goesOn() {
        return state == State.RUNNING && !differs;
    }

    /**
     * All has been said again, or it is of no use.
     *
     * @return whether it was in vain, so that the client has to hear of the loss
     */
    boolean ended() {
        if (state == State.DUE) {
            return false;
        }
        state = State.NONE;
        compare();
        if (proven()) {
            return false;
        }
        forgetUnsent();
        heard.forgive();
        differs = false;
        spoil();
        shared.node.repeatedInVain();
        return true;
    }

    /** What the client hears if it was in vain. */
    ErrorFields cause() {
        return cause;
    }

    /** Whether the client waits for the end of its cycle then. */
    boolean isCycleComplete() {
        return complete;
    }

    /** Whether it has to see a block that has failed then. */
    boolean blockFails() {
        return blockFails;
    }

    /** Whoever waits for its turn need not wait for this session. */
    void leave() {
        RetryQueue.Place left = place;
        place = null;
        if (left != null) {
            left.leave();
        }
        Transactions.Booking booked = booking;
        booking = null;
        toBook = 0;
        if (booked != null) {
            booked.end();
        }
    }
}
