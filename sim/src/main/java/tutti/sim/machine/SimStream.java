package tutti.sim.machine;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import org.jspecify.annotations.Nullable;
import tutti.runtime.Network.Stream;
import tutti.runtime.Network.StreamListener;
import tutti.runtime.PeerIdentity;
import tutti.sim.kernel.Clock;
import tutti.sim.kernel.Nanos;
import tutti.sim.tcp.TcpEnd;
import tutti.sim.tcp.TcpSegment;

/**
 * One end of a connection. Two live in it: the operating system's part, which takes segments and acknowledges them whatever
 * the loop does, and the program's, which is told on its loop.
 */
final class SimStream implements Stream, TcpEnd.Owner {
    private static final String NOTHING_PROVEN = "it does not prove who it is";
    private final SimMachine machine;
    private final TcpStack stack;
    private final SimNetwork network;
    private final String remote;
    private final int port;
    private final TcpStack.@Nullable Listening accepting;
    /** In the order in which they were sent, which is that of their instants. */
    private final Deque<Sent> unsent = new ArrayDeque<>();
    private final Runnable serve = this::serve;
    private final Runnable flush = this::flush;
    private @Nullable StreamListener listener;
    private @Nullable TcpEnd end;
    private Clock.@Nullable Timer timeout;
    private @Nullable PeerIdentity peer;
    private long unsentBytes;
    private boolean serving;
    private boolean stands;
    /** It was never answered, and the program will be told so. */
    private boolean givenUp;
    private boolean paused;
    private boolean closed;

    /** Bytes that the program has sent, and from which instant on they may leave; none is later than any of the present task. */
    private static final class Sent {
        private final ByteBuffer bytes;
        private long fromNanos = Long.MAX_VALUE;

        Sent(ByteBuffer bytes) {
            this.bytes = bytes;
        }
    }

    /**
     * One end.
     *
     * @param remote name of the other host
     * @param port of the other end
     * @param accepting where it was asked for, or null
     * @param listener who is told, or null until it is accepted
     */
    SimStream(SimMachine machine, TcpStack stack, SimNetwork network, String remote, int port,
            TcpStack.@Nullable Listening accepting, @Nullable StreamListener listener) {
        this.machine = machine;
        this.stack = stack;
        this.network = network;
        this.remote = remote;
        this.port = port;
        this.accepting = accepting;
        this.listener = listener;
    }

    TcpEnd begin(TcpEnd made) {
        end = made;
        return made;
    }

    private TcpEnd end() {
        TcpEnd present = end;
        if (present == null) {
            throw new IllegalStateException("the connection with " + remote() + " has not begun");
        }
        return present;
    }

    private StreamListener listener() {
        StreamListener present = listener;
        if (present == null) {
            throw new IllegalStateException("nobody listens to the connection with " + remote());
        }
        return present;
    }

    String remoteHost() {
        return remote;
    }

    // The operating system's part.

    /** Asks, and gives up after a time. */
    void connect(long timeoutNanos) {
        if (closed) {
            return;
        }
        if (!stack.knows(remote)) {
            network.loop().execute(() -> tell("the host name " + remote + " is not known"));
            return;
        }
        stack.connect(this, remote, port);
        timeout = machine.host().after(timeoutNanos, network.loop().label(), () -> {
            if (!stands && !closed) {
                givenUp = true;
                end().abandon();
                network.loop().execute(() -> tell("no answer from " + remote() + " within "
                        + Nanos.text(timeoutNanos)));
            }
        });
    }

    void arrived(TcpSegment segment) {
        end().arrived(segment);
    }

    /** Whether a new connection may take its place; it is forgotten then. */
    boolean replaced() {
        TcpEnd present = end();
        if (present.isReplaceable()) {
            present.replaced();
            return true;
        }
        return false;
    }

    @Override
    public void send(TcpSegment segment) {
        stack.send(remote, segment);
    }

    @Override
    public boolean admit() {
        TcpStack.Listening from = accepting;
        if (from == null) {
            return true;
        }
        if (!stack.isListening(end().localPort(), from)) {
            return false;
        }
        network.add(this);
        network.loop().execute(() -> {
            stands = true;
            if (closed) {
                return;
            }
            if (isProven()) {
                listener = from.acceptor().accepted(this);
                changed();
            } else {
                close();
                from.acceptor().refused(remote(), NOTHING_PROVEN);
            }
        });
        return true;
    }

    @Override
    public void forget(boolean unanswered) {
        stack.forget(this, end());
        network.remove(this);
    }

    @Override
    public void changed() {
        TcpEnd present = end();
        if (closed || givenUp || listener == null) {
            return;
        }
        if (!unsent.isEmpty()) {
            flush();
        }
        boolean news = present.failure() != null || (!stands && !present.isOpening())
                || (!paused && (present.available() > 0 || present.hasInputEnded()));
        if (news && !serving) {
            serving = true;
            network.loop().execute(serve);
        }
    }

    /**
     * Gives the operating system what it has room for. A task is ahead of its event, and the next one begins where it ended: what
     * they have sent must not leave before their time has come, for then others would hear of what was not done yet.
     */
    void flush() {
        TcpEnd to = end();
        if (!to.isWritable() || to.isOpening()) {
            return;
        }
        int room = (int) Math.min(due(), TcpStack.bufferBytes() - to.queued());
        if (room <= 0) {
            return;
        }
        byte[] bytes = new byte[room];
        int done = 0;
        while (done < room) {
            ByteBuffer first = unsent.element().bytes;
            int part = Math.min(first.remaining(), room - done);
            first.get(bytes, done, part);
            done += part;
            if (!first.hasRemaining()) {
                unsent.remove();
            }
        }
        unsentBytes -= room;
        to.write(bytes);
    }

    /** How many bytes may leave now. */
    private long due() {
        long now = machine.kernel().now();
        long bytes = 0;
        for (Sent sent : unsent) {
            if (sent.fromNanos > now) {
                break;
            }
            bytes += sent.bytes.remaining();
        }
        return bytes;
    }

    // The program's part.

    private void serve() {
        serving = false;
        TcpEnd from = end();
        if (closed || givenUp) {
            return;
        }
        if (!stands && !from.isOpening() && from.failure() == null) {
            stands = true;
            cancelTimeout();
            if (isProven()) {
                listener().connected();
            } else {
                listener().distrusted(NOTHING_PROVEN);
                tell(NOTHING_PROVEN);
                from.close(false);
                return;
            }
        }
        TcpEnd.Failure failure = from.failure();
        if (failure != null) {
            tell(failure.words());
        } else if (!closed && !paused && from.available() > 0) {
            byte[] bytes = network.buffer();
            int length = from.read(bytes, 0, bytes.length);
            listener().received(ByteBuffer.wrap(bytes, 0, length).slice());
        } else if (!closed && !paused && from.hasInputEnded()) {
            tell("the other end closed the connection");
            from.close(false);
        }
        changed();
    }

    /**
     * Whether each end may know the other, where they have to. What the other host is now, it has been since the connection was
     * asked for: it ends with the life in which it began.
     */
    private boolean isProven() {
        if (network.identity() != null) {
            peer = machine.network().host(remote).identity();
            return peer != null;
        }
        return true;
    }

    private void tell(String why) {
        if (!closed) {
            closed = true;
            drop();
            listener().closed(why);
        }
    }

    private void drop() {
        cancelTimeout();
        unsent.clear();
        unsentBytes = 0;
        network.remove(this);
    }

    private void cancelTimeout() {
        if (timeout != null) {
            timeout.cancel();
            timeout = null;
        }
    }

    @Override
    public String remote() {
        return remote + ":" + port;
    }

    @Override
    public @Nullable PeerIdentity peer() {
        return peer;
    }

    @Override
    public void send(ByteBuffer bytes) {
        if (closed || !stands || !bytes.hasRemaining() || machine.isGone()) {
            return;
        }
        unsent.add(new Sent(bytes.duplicate()));
        unsentBytes += bytes.remaining();
        network.flushLater(this);
    }

    /** At the end of a task: what was sent in it leaves at the end of its time. */
    void leave() {
        long ahead = machine.ahead();
        long from = machine.now();
        for (Iterator<Sent> latest = unsent.descendingIterator(); latest.hasNext();) {
            Sent sent = latest.next();
            if (sent.fromNanos != Long.MAX_VALUE) {
                break;
            }
            sent.fromNanos = from;
        }
        if (ahead == 0) {
            flush();
        } else {
            machine.later(ahead, network.loop().label(), flush);
        }
    }

    @Override
    public long unsentBytes() {
        return unsentBytes;
    }

    @Override
    public void read(boolean wanted) {
        paused = !wanted;
        if (wanted && end != null) {
            changed();
        }
    }

    @Override
    public void close() {
        if (closed || machine.isGone()) {
            return;
        }
        closed = true;
        drop();
        TcpEnd present = end;
        long ahead = machine.ahead();
        if (present != null && ahead == 0) {
            present.close(false);
        } else if (present != null) {
            machine.later(ahead, network.loop().label(), () -> present.close(false));
        }
    }

    @Override
    public String toString() {
        return "connection of " + machine.host().name() + " with " + remote();
    }
}
