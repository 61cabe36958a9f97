package tutti.minha.jdk.net;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketException;
import org.jspecify.annotations.Nullable;

/**
 * The mirror of {@link java.net.MulticastSocket}; a {@link DatagramSocket}, not one of the JDK's multicast sockets, which
 * cannot be made without a real socket.
 */
public class MulticastSocket extends DatagramSocket {
    private static final int TIME_TO_LIVE_MAX = 255;

    /** On any free port. */
    public MulticastSocket() throws IOException {
        this(new InetSocketAddress(0));
    }

    /** On a port. */
    public MulticastSocket(int port) throws IOException {
        this(new InetSocketAddress(port));
    }

    /** On an address of this machine; null is not yet. */
    public MulticastSocket(@Nullable SocketAddress at) throws IOException {
        super(at, true);
    }

    /** Sets the time to live, which has no effect. */
    @Override
    public void setTimeToLive(int of) {
        if (of < 0 || of > TIME_TO_LIVE_MAX) {
            throw new IllegalArgumentException("ttl out of range");
        }
        super.setTimeToLive(of);
    }

    /** The time to live. */
    public int getTimeToLive() {
        return timeToLive();
    }

    /** Joins a group. */
    public void joinGroup(InetAddress group) throws IOException {
        joinGroup(new InetSocketAddress(group, 0), null);
    }

    /** Leaves a group. */
    public void leaveGroup(InetAddress group) throws IOException {
        leaveGroup(new InetSocketAddress(group, 0), null);
    }

    /** Sets whether it does not receive what its own machine sends. */
    public void setLoopbackMode(boolean disable) throws SocketException {
        setLoopback(!disable);
    }

    /** Whether it does not receive what its own machine sends. */
    public boolean getLoopbackMode() throws SocketException {
        return !loopback();
    }
}
