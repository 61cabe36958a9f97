package tutti.minha.jdk.net;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import tutti.minha.Machine;
import tutti.sim.kernel.Clock;
import tutti.sim.kernel.Nanos;
import tutti.sim.thread.SimThread;
import tutti.sim.thread.WaitList;

/**
 * One end of a TCP connection (RFC 9293), as far as programs can see it: opening with three messages, two streams with
 * windows, closing each stream by itself, reset. Not simulated: urgent data, keep-alive, selective acknowledgments, path MTU
 * discovery.
 *
 * <p>
 * Thread rules: events and simulated threads of its machine; what waits is for threads.
 */
final class TcpConnection implements TcpSender.Wire {
    private static final long SYN_TIMEOUT = Nanos.SECOND;
    private static final int SYN_RETRIES_MAX = 6;
    private static final long DELAYED_ACK = 40 * Nanos.MILLI;
    private static final long LINGER = 60 * Nanos.SECOND;
    private static final byte[] NOTHING = {};

    /** How far it has come. The states of RFC 9293 between ESTABLISHED and CLOSED follow from the two streams. */
    enum State {
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

    private final TcpStack stack;
    private final Machine machine;
    private final InetAddress local;
    private final int localPort;
    private final Machine peer;
    private final InetAddress remote;
    private final int remotePort;
    private final long first;
    private final TcpSender sender;
    private final @Nullable TcpListener listener;
    private final WaitList changed = new WaitList();
    private int receiveBuffer;
    private int sendBuffer;
    private State state;
    private @Nullable TcpReceiver receiver;
    private @Nullable IOException failure;
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

    /** Both ends as this one sees them. */
    record Ends(InetAddress local, int localPort, Machine peer, InetAddress remote, int remotePort) {}

    TcpConnection(TcpStack stack, Ends ends, long first, int sendBuffer, int receiveBuffer,
            @Nullable TcpListener listener) {
        this.stack = stack;
        this.machine = stack.machine();
        this.local = ends.local();
        this.localPort = ends.localPort();
        this.peer = ends.peer();
        this.remote = ends.remote();
        this.remotePort = ends.remotePort();
        this.first = first;
        this.listener = listener;
        this.sendBuffer = sendBuffer;
        this.receiveBuffer = receiveBuffer;
        this.state = listener == null ? State.SYN_SENT : State.SYN_RECEIVED;
        this.sender = new TcpSender(this, machine.host(), stack.timerLabel(), stack.mss(), first + 1);
    }

    InetAddress remote() {
        return remote;
    }

    InetAddress local() {
        return local;
    }

    int remotePort() {
        return remotePort;
    }

    int localPort() {
        return localPort;
    }

    Machine peer() {
        return peer;
    }

    State state() {
        return state;
    }

    // Sending.

    private void segment(long seq, boolean syn, boolean fin, boolean rst, byte[] data) {
        TcpReceiver from = receiver;
        long ack = from == null ? 0 : from.next();
        told = from == null ? receiveBuffer : from.window();
        if (from != null) {
            unacknowledged = false;
            if (ackTimer != null) {
                ackTimer.cancel();
                ackTimer = null;
            }
        }
        stack.send(this, new TcpSegment(localPort, remotePort, seq, ack, from != null, syn, fin, rst, told, data));
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
        fail(new SocketException("Connection timed out"));
    }

    // Opening.

    /** Asks, again and again; its thread waits in {@link #awaitOpen}. */
    void open() {
        askedAt = machine.host().now();
        segment(first, true, false, false, NOTHING);
        timer = machine.host().after(SYN_TIMEOUT << retries, stack.timerLabel(), this::openAgain);
    }

    private void openAgain() {
        timer = null;
        if (++retries > SYN_RETRIES_MAX) {
            fail(new ConnectException("Connection timed out"));
        } else {
            open();
        }
    }

    /** Waits until it is open. */
    void awaitOpen(int timeoutMillis) throws IOException {
        long end = timeoutMillis == 0 ? Long.MAX_VALUE : SimThread.now() + timeoutMillis * Nanos.MILLI;
        while (state == State.SYN_SENT || state == State.SYN_RECEIVED) {
            if (!await(end)) {
                abandon();
                throw new SocketTimeoutException("Connect timed out");
            }
        }
        if (failure != null) {
            throw copy(failure);
        }
        if (closed) {
            throw new SocketException("Socket closed");
        }
    }

    /** Waits for anything to change; false if time is up. */
    private boolean await(long end) {
        long left = end == Long.MAX_VALUE ? SimThread.FOREVER : end - SimThread.now();
        if (end != Long.MAX_VALUE && left <= 0) {
            return false;
        }
        try {
            changed.await(left, false);
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted where that cannot be", e);
        }
        return true;
    }

    /** The same failure, with the stack of who hears of it now. */
    private static IOException copy(IOException failure) {
        IOException copy = failure instanceof ConnectException
                ? new ConnectException(failure.getMessage())
                : new SocketException(failure.getMessage());
        copy.initCause(failure);
        return copy;
    }

    /** They asked: answers, again and again. */
    void answer(TcpSegment asked) {
        receiver = new TcpReceiver(asked.seq() + 1, receiveBuffer);
        sender.open(asked.window(), asked.seq());
        open();
    }

    private void opened() {
        if (timer != null) {
            timer.cancel();
            timer = null;
        }
        if (retries == 0) {
            sender.measured(machine.host().now() - askedAt);
        }
        state = State.OPEN;
        changed.wakeAll();
    }

    // What arrives.

    /** A segment of this connection has come. */
    void arrived(TcpSegment segment) {
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
                fail(new SocketException(state == State.SYN_RECEIVED ? "Connection refused" : "Connection reset"));
            }
            return;
        }
        if (segment.syn()) {
            if (state == State.SYN_RECEIVED) {
                segment(first, true, false, false, NOTHING);
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
        if (segment.hasAck() && segment.ack() != first + 1) {
            if (!segment.rst()) {
                stack.send(this, new TcpSegment(localPort, remotePort, segment.ack(), 0, false, false, false, true, 0,
                        NOTHING));
            }
            return;
        }
        if (segment.rst()) {
            if (segment.hasAck()) {
                fail(new ConnectException("Connection refused"));
            }
            return;
        }
        if (segment.syn()) {
            receiver = new TcpReceiver(segment.seq() + 1, receiveBuffer);
            sender.open(segment.window(), segment.seq());
            if (segment.hasAck()) {
                opened();
                acknowledge();
            } else {
                // Both asked at once.
                state = State.SYN_RECEIVED;
                segment(first, true, false, false, NOTHING);
            }
        }
    }

    /** Returns whether there is anything left to look at. */
    private boolean arrivedAck(TcpSegment segment) {
        if (state == State.SYN_RECEIVED) {
            if (segment.ack() < first + 1 || segment.ack() > sender.next()) {
                return false;
            }
            if (listener != null && !listener.admit(this)) {
                // No room yet: they will send again, or our answer will be repeated.
                return false;
            }
            opened();
        }
        sender.acknowledged(segment.ack(), segment.window(), segment.seq(), segment.length() == 0);
        changed.wakeAll();
        return state != State.CLOSED;
    }

    private void arrivedData(TcpReceiver to, TcpSegment segment) {
        if (closed && segment.data().length > 0) {
            // Nobody will read it: the other side should know.
            reset();
            fail(new SocketException("Socket closed"));
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
            ackTimer = machine.host().after(DELAYED_ACK, stack.timerLabel(), this::acknowledgeLate);
        }
        changed.wakeAll();
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
                timer = machine.host().after(LINGER, stack.timerLabel(), this::drop);
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
            timer = machine.host().after(LINGER, stack.timerLabel(), this::drop);
        }
        changed.wakeAll();
    }

    // The end.

    private void fail(IOException cause) {
        if (failure == null && state != State.TIME_WAIT) {
            failure = cause;
        }
        drop();
    }

    /** Forgets the connection. */
    private void drop() {
        if (state == State.SYN_RECEIVED && listener != null) {
            listener.dropped(this);
        }
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
        stack.remove(this);
        changed.wakeAll();
    }

    /** Ends it at once, and tells the other side if it knows of the connection. */
    void abandon() {
        if (state == State.OPEN || state == State.SYN_RECEIVED) {
            reset();
        }
        closed = true;
        drop();
    }

    /** A new connection asks for the same ports. */
    boolean isReplaceable() {
        return state == State.TIME_WAIT;
    }

    void replaced() {
        drop();
    }

    /**
     * Closes both streams for this side: what was written still goes out, and if something was not read, or {@code now}, the
     * other side is told by a reset. Does not wait.
     */
    void close(boolean now) {
        if (closed) {
            return;
        }
        TcpReceiver to = receiver;
        if (state == State.SYN_SENT || now || (to != null && to.available() > 0)) {
            abandon();
            return;
        }
        closed = true;
        changed.wakeAll();
        if (state == State.OPEN || state == State.SYN_RECEIVED) {
            sender.finish();
            settleEnd();
        }
    }

    // What threads call.

    int read(byte[] into, int offset, int length, int timeoutMillis) throws IOException {
        if (length == 0) {
            return 0;
        }
        long end = timeoutMillis == 0 ? Long.MAX_VALUE : SimThread.now() + timeoutMillis * Nanos.MILLI;
        while (true) {
            if (closed) {
                throw new SocketException("Socket closed");
            }
            TcpReceiver from = receiver;
            if (from != null && !inputShut && from.available() > 0) {
                int read = from.read(into, offset, length);
                tellRoom(from);
                return read;
            }
            if (failure != null) {
                throw copy(failure);
            }
            if (inputShut || (from != null && from.hasEnded()) || state == State.CLOSED) {
                return -1;
            }
            if (!await(end)) {
                throw new SocketTimeoutException("Read timed out");
            }
        }
    }

    /** Tells the other side of room that it does not know of, when it is worth a message. */
    private void tellRoom(TcpReceiver from) {
        int window = from.window();
        int worth = Math.min(stack.mss(), receiveBuffer / 2);
        if (state == State.OPEN && !from.hasEnded() && told < worth && window >= worth) {
            acknowledge();
        }
    }

    int available() {
        TcpReceiver from = receiver;
        return from == null || inputShut ? 0 : from.available();
    }

    void write(byte[] bytes, int offset, int length) throws IOException {
        int done = 0;
        while (done < length) {
            requireWritable();
            int room = sendBuffer - sender.queued();
            if (room <= 0) {
                await(Long.MAX_VALUE);
                continue;
            }
            int part = Math.min(room, length - done);
            sender.add(Arrays.copyOfRange(bytes, offset + done, offset + done + part));
            done += part;
        }
    }

    private void requireWritable() throws IOException {
        if (closed) {
            throw new SocketException("Socket closed");
        }
        if (outputShut) {
            throw new SocketException("Socket output is shutdown");
        }
        if (failure != null) {
            throw copy(failure);
        }
        if (state == State.CLOSED || state == State.TIME_WAIT) {
            throw new SocketException("Broken pipe");
        }
    }

    void shutdownInput() {
        inputShut = true;
        if (receiver != null) {
            receiver.discard();
        }
        changed.wakeAll();
    }

    void shutdownOutput() {
        if (!outputShut && state == State.OPEN) {
            outputShut = true;
            sender.finish();
            changed.wakeAll();
        }
    }

    void setNoDelay(boolean on) {
        sender.setNoDelay(on);
    }

    void setSendBuffer(int size) {
        sendBuffer = size;
        changed.wakeAll();
    }

    @Override
    public String toString() {
        return localPort + " to " + remote.getHostAddress() + ":" + remotePort + " (" + state + ")";
    }
}
