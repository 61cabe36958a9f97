package tutti.engine.postgres.server;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;

/** Finds TCP ports that nobody listens on. */
public final class Ports {
    private Ports() {}

    /** A port that is free at the moment. */
    public static int free() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }
}
