package tutti.minha.jdk.net;

import java.net.InetAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.sim.kernel.Nanos;
import tutti.sim.tcp.TcpSegment;
import tutti.sim.thread.SimThread;
import tutti.sim.thread.WaitList;

/** A port where connections are accepted: those that were opened and not accepted yet wait here. */
final class TcpListener {
    private final TcpStack stack;
    private final InetAddress local;
    private final int port;
    private final int backlog;
    private final int receiveBuffer;
    private final Set<TcpConnection> opening = new LinkedHashSet<>();
    private final Deque<TcpConnection> opened = new ArrayDeque<>();
    private final WaitList acceptors = new WaitList();
    private boolean closed;

    TcpListener(TcpStack stack, InetAddress local, int port, int backlog, int receiveBuffer) {
        this.stack = stack;
        this.local = local;
        this.port = port;
        this.backlog = backlog;
        this.receiveBuffer = receiveBuffer;
    }

    int port() {
        return port;
    }

    boolean isFor(InetAddress address) {
        return local.isAnyLocalAddress() || local.equals(address);
    }

    /** They ask; if there is no room they are not answered, and will ask again. */
    void asked(TcpConnection.Ends ends, TcpSegment segment) {
        if (opening.size() + opened.size() >= backlog) {
            return;
        }
        TcpConnection connection = stack.add(ends, this, receiveBuffer);
        opening.add(connection);
        connection.answer(segment);
    }

    /** A connection is open; returns whether there is room for it. */
    boolean admit(TcpConnection connection) {
        if (closed || opened.size() >= backlog) {
            return false;
        }
        opening.remove(connection);
        opened.add(connection);
        acceptors.wakeOne();
        return true;
    }

    /** A connection that was being opened is gone. */
    void dropped(TcpConnection connection) {
        opening.remove(connection);
    }

    @Nullable
    TcpConnection accept(int timeoutMillis) throws SocketException, SocketTimeoutException {
        long end = timeoutMillis == 0 ? 0 : SimThread.now() + timeoutMillis * Nanos.MILLI;
        while (opened.isEmpty()) {
            if (closed) {
                throw new SocketException("Socket closed");
            }
            long left = timeoutMillis == 0 ? SimThread.FOREVER : end - SimThread.now();
            if (timeoutMillis != 0 && left <= 0) {
                throw new SocketTimeoutException("Accept timed out");
            }
            try {
                acceptors.await(left, false);
            } catch (InterruptedException e) {
                throw new IllegalStateException("interrupted where that cannot be", e);
            }
        }
        return opened.poll();
    }

    void close() {
        if (!closed) {
            closed = true;
            stack.unlisten(this);
            List.copyOf(opening).forEach(TcpConnection::abandon);
            opened.forEach(TcpConnection::abandon);
            opened.clear();
            acceptors.wakeAll();
        }
    }
}
