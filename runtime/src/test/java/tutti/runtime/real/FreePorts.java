package tutti.runtime.real;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Addresses of the loopback interface at which nobody listens. Their ports are none of those that the system gives to whoever
 * asks for any, so they are still free when a node begins to listen, or comes back after a while.
 */
public final class FreePorts {
    private static final int FIRST = 10_000;
    private static final int COUNT = 10_000;

    private FreePorts() {}

    /** So many, all different. */
    public static List<InetSocketAddress> addresses(int count) throws IOException {
        List<ServerSocket> held = new ArrayList<>();
        try {
            while (held.size() < count) {
                int port = FIRST + ThreadLocalRandom.current().nextInt(COUNT);
                try {
                    held.add(new ServerSocket(port, 1, InetAddress.getLoopbackAddress()));
                } catch (BindException taken) {
                    // Another one is tried.
                }
            }
            return held.stream().map(one -> new InetSocketAddress(one.getInetAddress(), one.getLocalPort())).toList();
        } finally {
            for (ServerSocket socket : held) {
                socket.close();
            }
        }
    }
}
