package tutti.cli.cluster;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.HashSet;
import java.util.Set;
import tutti.cli.Failure;

/** Finds ports of this machine that nobody listens on. What it has given away once it does not give away again. */
final class Ports {
    private static final int TRIES_MAX = 2000;

    private final Set<Integer> given = new HashSet<>();

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

    /** Whether a port is free and has not been given away; if so, it is now. */
    boolean take(int port) {
        if (given.contains(port) || !isFree(port)) {
            return false;
        }
        given.add(port);
        return true;
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
}
