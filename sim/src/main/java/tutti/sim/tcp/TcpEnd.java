package tutti.sim.tcp;

import org.jspecify.annotations.Nullable;
import tutti.sim.host.Host;
import tutti.sim.kernel.Clock;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;

/**
 * One end of a TCP connection (RFC 9293): opening with three messages, two streams with windows, closing each stream by
 * itself, reset. Not simulated: urgent data, keep-alive, selective acknowledgments, path MTU discovery. It waits for nothing:
 * its owner is told when anything has changed.
 *
 * <p>
 * Thread rules: events and simulated threads of its host.
 */
public final class TcpEnd implements TcpSender.Wire {
    private static final long SYN_TIMEOUT = Nanos.SECOND;
    private static final int SYN_RETRIES_MAX = 6;
    private static final long DELAYED_ACK = 40 * Nanos.MILLI;
    private static final long LINGER = 60 * Nanos.SECOND;
    private static final byte[] NOTHING = {};

    /** How far it has come. The states of RFC 9293 between ESTABLISHED and CLOSED follow from the two streams. */
    public enum State {
        /** We asked. */
        SYN_SENT,
        /** They asked, and we answered. */
        SYN_RECEIVED,
        /** Both have answered. */
        OPEN,
        /** Both streams have ended; late segments are still answered. */
        TIME_WAIT,
        /** Over. */
        CLOSED
    }

    /** Why it has failed, in the words of the operating system. */
    public enum Failure {
        /** Nobody listens there. */
        REFUSED("Connection refused"),
        /** Nobody has answered while it was being opened. */
        UNANSWERED("Connection timed out"),
        /** What was sent was never acknowledged. */
        GIVEN_UP("Connection timed out"),
        /** The other side does not know of it, or wants no more of it. */
        RESET("Connection reset"),
        /** The other side still sends when this one has closed. */
        CLOSED("Socket closed");

        private final String words;

        Failure(String words) {
            this.words = words;
        }

        /** What programs are told. */
        public String words() {
            return words;
        }
    }

    /** Whose end it is. */
    public interface Owner {
        /** Has a segment carried to the other side. */
        void send(TcpSegment segment);

        /** Something has changed: it was opened, bytes have come or gone, it has ended or failed. */
        void changed();

        /** The other side has asked for it, and it is open now; returns whether there is room for it. */
        boolean admit();

        /**
         * It is over: segments for it need not be given to it any more. May be said twice.
         *
         * @param unanswered whether the other side had asked for it, and it was not open yet
         */
        void forget(boolean unanswered);
    }

    /**
     * What it is made with.
     *
     * @param host whose timers it uses
     * @param label of the timers
     * @param localPort port of this end
     * @param remotePort port of the other
     * @param mss bytes of data in a segment at most
     * @param first where its stream begins
     * @param receiveBuffer bytes that wait to be read at most
     */
    public record Settings(Host host, Label label, int localPort, int remotePort, int mss, long first,
            int receiveBuffer) {}

    private final Owner owner;
    private final Settings settings;
    private final Host host;
    private final TcpSender sender;
    private State state;
    private @Nullable TcpReceiver receiver;
    private @Nullable Failure failure;
    private Clock.@Nullable Timer timer;
    private Clock.@Nullable Timer ackTimer;
    private int retries;
    private long askedAt;
    private boolean unacknowledged;
    private int told;
    private boolean closed;
    private boolean inputShut;
    private boolean outputShut;
    private boolean endedFirst;

    /**
     * One that is not open.
     *
     * @param asked whether the other side has asked for it ({@link #answer}); if not, this one will ({@link #open})
     */
    public TcpEnd(Owner owner, Settings settings, boolean asked) {
        this.owner = owner;
        this.settings = settings;
        this.host = settings.host;
        this.state = asked ? State.SYN_RECEIVED : State.SYN_SENT;
        this.sender = new TcpSender(this, host, settings.label, settings.mss, settings.first + 1);
    }

    /** Port of this end. */
    public int localPort() {
        return settings.localPort;
    }

    /** Port of the other end. */
    public int remotePort() {
        return settings.remotePort;
    }

    /** How far it has come. */
    public State state() {
        return state;
    }

    /** Whether it is being opened. */
    public boolean isOpening() {
        return state == State.SYN_SENT || state == State.SYN_RECEIVED;
    }

    /** Why it has failed, or null if it has not. */
    public @Nullable Failure failure() {
        return failure;
    }

    /** Whether this side has closed it. */
    public boolean isClosed() {
        return closed;
    }

    // Sending.

    private void segment(long seq, boolean syn, boolean fin, boolean rst, byte[] data) {
        TcpReceiver from = receiver;
        long ack = from == null ? 0 : from.next();
        told = from == null ? settings.receiveBuffer : from.window();
        if (from != null) {
            unacknowledged = false;
            if (ackTimer != null) {
                ackTimer.cancel();
                ackTimer = null;
            }
        }
        owner.send(new TcpSegment(settings.localPort, settings.remotePort, seq, ack, from != null, syn, fin, rst, told,
                data));
    }

    @Override
    public void send(long seq, byte[] data, boolean fin) {
        segment(seq, false, fin, false, data);
    }

    private void acknowledge() {
        segment(sender.next(), false, false, false, NOTHING);
    }

    private void reset() {
        segment(sender.next(), false, false, true, NOTHING);
    }

    @Override
    public void giveUp() {
        fail(Failure.GIVEN_UP);
    }

    // Opening.

    /** Asks, again and again. */
    public void open() {
        askedAt = host.now();
        segment(settings.first, true, false, false, NOTHING);
        timer = host.after(SYN_TIMEOUT << retries, settings.label, this::openAgain);
    }

    private void openAgain() {
        timer = null;
        if (++retries > SYN_RETRIES_MAX) {
            fail(Failure.UNANSWERED);
        } else {
            open();
        }
    }

    /** They asked: answers, again and again. */
    public void answer(TcpSegment asked) {
        receiver = new TcpReceiver(asked.seq() + 1, settings.receiveBuffer);
        sender.open(asked.window(), asked.seq());
        open();
    }

    private void opened() {
        if (timer != null) {
            timer.cancel();
            timer = null;
        }
        if (retries == 0) {
            sender.measured(host.now() - askedAt);
        }
        state = State.OPEN;
        owner.changed();
    }

    // What arrives.

    /** A segment of this connection has come. */
    public void arrived(TcpSegment segment) {
        if (state == State.SYN_SENT) {
            arrivedAsking(segment);
            return;
        }
        TcpReceiver to = receiver;
        if (to == null || state == State.CLOSED) {
            return;
        }
        if (segment.rst()) {
            if (to.accepts(segment.seq(), 0)) {
                fail(state == State.SYN_RECEIVED ? Failure.REFUSED : Failure.RESET);
            }
            return;
        }
        if (segment.syn()) {
            if (state == State.SYN_RECEIVED) {
                segment(settings.first, true, false, false, NOTHING);
            } else {
                acknowledge();
            }
            return;
        }
        if (segment.hasAck() && !arrivedAck(segment)) {
            return;
        }
        if (!to.accepts(segment.seq(), segment.length())) {
            acknowledge();
        } else if (segment.length() > 0) {
            arrivedData(to, segment);
        }
        settleEnd();
    }

    private void arrivedAsking(TcpSegment segment) {
        if (segment.hasAck() && segment.ack() != settings.first + 1) {
            if (!segment.rst()) {
                owner.send(
                        new TcpSegment(settings.localPort, settings.remotePort, segment.ack(), 0, false, false, false,
                                true, 0, NOTHING));
            }
            return;
        }
        if (segment.rst()) {
            if (segment.hasAck()) {
                fail(Failure.REFUSED);
            }
            return;
        }
        if (segment.syn()) {
            receiver = new TcpReceiver(segment.seq() + 1, settings.receiveBuffer);
            sender.open(segment.window(), segment.seq());
            if (segment.hasAck()) {
                opened();
                acknowledge();
            } else {
                // Both asked at once.
                state = State.SYN_RECEIVED;
                segment(settings.first, true, false, false, NOTHING);
            }
        }
    }

    /** Returns whether there is anything left to look at. */
    private boolean arrivedAck(TcpSegment segment) {
        if (state == State.SYN_RECEIVED) {
            if (segment.ack() < settings.first + 1 || segment.ack() > sender.next()) {
                return false;
            }
            if (!owner.admit()) {
                // No room yet: they will send again, or our answer will be repeated.
                return false;
            }
            opened();
        }
        sender.acknowledged(segment.ack(), segment.window(), segment.seq(), segment.length() == 0);
        owner.changed();
        return state != State.CLOSED;
    }

    private void arrivedData(TcpReceiver to, TcpSegment segment) {
        if (closed && segment.data().length > 0) {
            // Nobody will read it: the other side should know.
            reset();
            fail(Failure.CLOSED);
            return;
        }
        boolean hadEnded = to.hasEnded();
        boolean patient = to.take(segment.seq(), segment.data(), segment.fin());
        if (to.hasEnded() && !hadEnded) {
            endedFirst = !sender.hasSentFin();
            patient = false;
        }
        if (!patient || unacknowledged) {
            acknowledge();
        } else {
            unacknowledged = true;
            ackTimer = host.after(DELAYED_ACK, settings.label, this::acknowledgeLate);
        }
        owner.changed();
    }

    private void acknowledgeLate() {
        ackTimer = null;
        if (state != State.CLOSED) {
            acknowledge();
        }
    }

    /** Goes on to the end when both streams have ended. */
    private void settleEnd() {
        TcpReceiver to = receiver;
        if (state != State.OPEN || to == null || !sender.isDone()) {
            return;
        }
        if (!to.hasEnded()) {
            if (closed && timer == null) {
                // Nobody here waits for the end of their stream: it is not waited for for ever.
                timer = host.after(LINGER, settings.label, this::drop);
            }
            return;
        }
        if (endedFirst) {
            drop();
        } else {
            state = State.TIME_WAIT;
            if (timer != null) {
                timer.cancel();
            }
            timer = host.after(LINGER, settings.label, this::drop);
        }
        owner.changed();
    }

    // The end.

    private void fail(Failure cause) {
        if (failure == null && state != State.TIME_WAIT) {
            failure = cause;
        }
        drop();
    }

    /** Forgets the connection. */
    private void drop() {
        boolean unanswered = state == State.SYN_RECEIVED;
        state = State.CLOSED;
        sender.stop();
        if (timer != null) {
            timer.cancel();
            timer = null;
        }
        if (ackTimer != null) {
            ackTimer.cancel();
            ackTimer = null;
        }
        owner.forget(unanswered);
        owner.changed();
    }

    /** Ends it at once, and tells the other side if it knows of the connection. */
    public void abandon() {
        if (state == State.OPEN || state == State.SYN_RECEIVED) {
            reset();
        }
        closed = true;
        drop();
    }

    /** Whether a new connection may take its ports. */
    public boolean isReplaceable() {
        return state == State.TIME_WAIT;
    }

    /** A new connection takes its ports. */
    public void replaced() {
        drop();
    }

    /**
     * Closes both streams for this side: what was written still goes out, and if something was not read, or {@code now}, the
     * other side is told by a reset. Does not wait.
     */
    public void close(boolean now) {
        if (closed) {
            return;
        }
        TcpReceiver to = receiver;
        if (state == State.SYN_SENT || now || (to != null && to.available() > 0)) {
            abandon();
            return;
        }
        closed = true;
        owner.changed();
        if (state == State.OPEN || state == State.SYN_RECEIVED) {
            sender.finish();
            settleEnd();
        }
    }

    // What programs do with it.

    /** Bytes that can be read now. */
    public int available() {
        TcpReceiver from = receiver;
        return from == null || inputShut ? 0 : from.available();
    }

    /** Whether there will be nothing more to read. */
    public boolean hasInputEnded() {
        TcpReceiver from = receiver;
        return inputShut || (from != null && from.hasEnded()) || state == State.CLOSED;
    }

    /** Reads what can be read now, at most so much; returns how much. */
    public int read(byte[] into, int offset, int length) {
        TcpReceiver from = receiver;
        if (from == null || inputShut) {
            return 0;
        }
        int read = from.read(into, offset, length);
        // Tells the other side of room that it does not know of, when it is worth a message.
        int worth = Math.min(settings.mss, settings.receiveBuffer / 2);
        if (state == State.OPEN && !from.hasEnded() && told < worth && from.window() >= worth) {
            acknowledge();
        }
        return read;
    }

    /** Bytes that were written and not acknowledged. */
    public int queued() {
        return sender.queued();
    }

    /** Whether what is written now goes anywhere. */
    public boolean isWritable() {
        return !closed && !outputShut && failure == null && state != State.CLOSED && state != State.TIME_WAIT;
    }

    /** Whether this side has ended its stream and goes on reading. */
    public boolean isOutputShut() {
        return outputShut;
    }

    /** Writes bytes, which must not be modified any more; there is no bound. */
    public void write(byte[] bytes) {
        sender.add(bytes);
    }

    /** Reads nothing more. */
    public void shutInput() {
        inputShut = true;
        if (receiver != null) {
            receiver.discard();
        }
        owner.changed();
    }

    /** Ends the stream of this side behind what was written. */
    public void shutOutput() {
        if (!outputShut && state == State.OPEN) {
            outputShut = true;
            sender.finish();
            owner.changed();
        }
    }

    /** Whether small segments are sent at once (no Nagle's algorithm). */
    public void setNoDelay(boolean on) {
        sender.setNoDelay(on);
    }

    @Override
    public String toString() {
        return settings.localPort + " to " + settings.remotePort + " (" + state + ")";
    }
}
