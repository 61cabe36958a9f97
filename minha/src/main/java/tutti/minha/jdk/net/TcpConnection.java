package tutti.minha.jdk.net;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import tutti.minha.Machine;
import tutti.sim.kernel.Nanos;
import tutti.sim.tcp.TcpEnd;
import tutti.sim.tcp.TcpSegment;
import tutti.sim.thread.SimThread;
import tutti.sim.thread.WaitList;

/**
 * One end of a TCP connection, for threads that wait for it.
 *
 * <p>
 * Thread rules: events and simulated threads of its machine; what waits is for threads.
 */
final class TcpConnection implements TcpEnd.Owner {
    private final TcpStack stack;
    private final InetAddress local;
    private final Machine peer;
    private final InetAddress remote;
    private final TcpEnd end;
    private final @Nullable TcpListener listener;
    private final WaitList changed = new WaitList();
    private int sendBuffer;

    /** Both ends as this one sees them. */
    record Ends(InetAddress local, int localPort, Machine peer, InetAddress remote, int remotePort) {}

    TcpConnection(TcpStack stack, Ends ends, long first, int sendBuffer, int receiveBuffer,
            @Nullable TcpListener listener) {
        this.stack = stack;
        this.local = ends.local();
        this.peer = ends.peer();
        this.remote = ends.remote();
        this.listener = listener;
        this.sendBuffer = sendBuffer;
        this.end = new TcpEnd(this, new TcpEnd.Settings(stack.machine().host(), stack.timerLabel(), ends.localPort(),
                ends.remotePort(), stack.mss(), first, receiveBuffer), listener != null);
    }

    InetAddress remote() {
        return remote;
    }

    InetAddress local() {
        return local;
    }

    int remotePort() {
        return end.remotePort();
    }

    int localPort() {
        return end.localPort();
    }

    Machine peer() {
        return peer;
    }

    // What its end asks for.

    @Override
    public void send(TcpSegment segment) {
        stack.send(this, segment);
    }

    @Override
    public void changed() {
        changed.wakeAll();
    }

    @Override
    public boolean admit() {
        return listener == null || listener.admit(this);
    }

    @Override
    public void forget(boolean unanswered) {
        if (unanswered && listener != null) {
            listener.dropped(this);
        }
        stack.remove(this);
    }

    // What happens to it.

    void open() {
        end.open();
    }

    void answer(TcpSegment asked) {
        end.answer(asked);
    }

    void arrived(TcpSegment segment) {
        end.arrived(segment);
    }

    boolean isReplaceable() {
        return end.isReplaceable();
    }

    void replaced() {
        end.replaced();
    }

    void abandon() {
        end.abandon();
    }

    void close(boolean now) {
        end.close(now);
    }

    // What threads call.

    /** Waits until it is open. */
    void awaitOpen(int timeoutMillis) throws IOException {
        long until = timeoutMillis == 0 ? Long.MAX_VALUE : SimThread.now() + timeoutMillis * Nanos.MILLI;
        while (end.isOpening()) {
            if (!await(until)) {
                abandon();
                throw new SocketTimeoutException("Connect timed out");
            }
        }
        requireNoFailure();
        if (end.isClosed()) {
            throw new SocketException("Socket closed");
        }
    }

    /** Waits for anything to change; false if time is up. */
    private boolean await(long until) {
        long left = until == Long.MAX_VALUE ? SimThread.FOREVER : until - SimThread.now();
        if (until != Long.MAX_VALUE && left <= 0) {
            return false;
        }
        try {
            changed.await(left, false);
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted where that cannot be", e);
        }
        return true;
    }

    private void requireNoFailure() throws IOException {
        TcpEnd.Failure failure = end.failure();
        if (failure != null) {
            throw switch (failure) {
                case REFUSED, UNANSWERED -> new ConnectException(failure.words());
                case GIVEN_UP, RESET, CLOSED -> new SocketException(failure.words());
            };
        }
    }

    int read(byte[] into, int offset, int length, int timeoutMillis) throws IOException {
        if (length == 0) {
            return 0;
        }
        long until = timeoutMillis == 0 ? Long.MAX_VALUE : SimThread.now() + timeoutMillis * Nanos.MILLI;
        while (true) {
            if (end.isClosed()) {
                throw new SocketException("Socket closed");
            }
            if (end.available() > 0) {
                return end.read(into, offset, length);
            }
            requireNoFailure();
            if (end.hasInputEnded()) {
                return -1;
            }
            if (!await(until)) {
                throw new SocketTimeoutException("Read timed out");
            }
        }
    }

    int available() {
        return end.available();
    }

    void write(byte[] bytes, int offset, int length) throws IOException {
        int done = 0;
        while (done < length) {
            requireWritable();
            int room = sendBuffer - end.queued();
            if (room <= 0) {
                await(Long.MAX_VALUE);
                continue;
            }
            int part = Math.min(room, length - done);
            end.write(Arrays.copyOfRange(bytes, offset + done, offset + done + part));
            done += part;
        }
    }

    private void requireWritable() throws IOException {
        if (end.isWritable()) {
            return;
        }
        if (end.isClosed()) {
            throw new SocketException("Socket closed");
        }
        if (end.isOutputShut()) {
            throw new SocketException("Socket output is shutdown");
        }
        requireNoFailure();
        throw new SocketException("Broken pipe");
    }

    void shutdownInput() {
        end.shutInput();
    }

    void shutdownOutput() {
        end.shutOutput();
    }

    void setNoDelay(boolean on) {
        end.setNoDelay(on);
    }

    void setSendBuffer(int size) {
        sendBuffer = size;
        changed.wakeAll();
    }

    @Override
    public String toString() {
        return end.localPort() + " to " + remote.getHostAddress() + ":" + end.remotePort() + " (" + end.state() + ")";
    }
}
