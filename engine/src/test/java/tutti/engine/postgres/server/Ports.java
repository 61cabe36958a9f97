package tutti.engine.postgres.server;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Finds TCP ports that nobody listens on. They are none of those that the system gives to whoever asks for any, so they are
 * still free when a server begins to listen, or comes back after a while.
 */
public final class Ports {
    private static final int FIRST = 10_000;
    private static final int COUNT = 10_000;

    private Ports() {}

    /** A port that is free. */
    public static int free() throws IOException {
        while (true) {
            int port = FIRST + ThreadLocalRandom.current().nextInt(COUNT);
            try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                return socket.getLocalPort();
            } catch (BindException taken) {
                // Another one is tried.
            }
        }
    }
}
