package tutti.cluster;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketException;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tutti.command.Failure;

/**
 * Finds ports of this machine that nobody listens on, and keeps them for one cluster until it is closed. Between the
 * choice of a port and the moment a node listens there, and while a killed node is away, nobody listens; so that no other
 * cluster takes the port then, its UDP namesake at another loopback address is held meanwhile, which no two processes can hold
 * at a time and which ends with its process. (A system that has one loopback address only has it held there; an order over UDP
 * is not for clusters on one such machine.) Not for several threads.
 */
final class Ports implements AutoCloseable {
    private static final int TRIES_MAX = 2000;
    private static final InetAddress GUARDS = guards();

    private final Map<Integer, DatagramSocket> held = new HashMap<>();

    /** The first free port from {@code from} upwards. */
    int firstFree(int from) {
        for (int port = from; port < from + TRIES_MAX && port <= 65535; port++) {
            if (take(port)) {
                return port;
            }
        }
        throw new Failure("no port from " + from + " to " + Math.min(65535, from + TRIES_MAX - 1) + " is free",
                "choose others with --base-port");
    }

    /** Whether a port is free and has not been given to this or another cluster; if so, it is now. */
    boolean take(int port) {
        if (held.containsKey(port)) {
            return false;
        }
        DatagramSocket guard = guard(port);
        if (guard == null) {
            return false;
        }
        if (!isFree(port)) {
            guard.close();
            return false;
        }
        held.put(port, guard);
        return true;
    }

    private static @Nullable DatagramSocket guard(int port) {
        try {
            return new DatagramSocket(port, GUARDS);
        } catch (SocketException _) {
            return null;
        }
    }

    private static InetAddress guards() {
        try {
            InetAddress other = InetAddress.getByAddress(new byte[]{127, 84, 85, 84});
            new DatagramSocket(0, other).close();
            return other;
        } catch (IOException _) {
            return InetAddress.getLoopbackAddress();
        }
    }

    private static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket()) {
            socket.setReuseAddress(true);
            socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 1);
            return true;
        } catch (IOException _) {
            return false;
        }
    }

    /** Gives all of them up. */
    @Override
    public void close() {
        held.values().forEach(DatagramSocket::close);
        held.clear();
    }
}
