package tutti.workload.tpcc;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** A port that passes connections on to a server, until it is cut: then they break and new ones are refused. */
final class BreakableLink implements AutoCloseable {
    private final int target;
    private final int port;
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private ServerSocket listener;

    BreakableLink(int target) throws IOException {
        this.target = target;
        listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        port = listener.getLocalPort();
        accept(listener);
    }

    int port() {
        return port;
    }

    void cut() throws IOException {
        listener.close();
        for (Socket socket : sockets) {
            socket.close();
        }
        sockets.clear();
    }

    void mend() throws IOException {
        listener = new ServerSocket();
        listener.setReuseAddress(true);
        listener.bind(new java.net.InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        accept(listener);
    }

    @Override
    public void close() throws IOException {
        cut();
    }

    private void accept(ServerSocket from) {
        Thread.ofVirtual().start(() -> {
            while (!from.isClosed()) {
                try {
                    Socket client = from.accept();
                    Socket server = new Socket(InetAddress.getLoopbackAddress(), target);
                    client.setTcpNoDelay(true);
                    server.setTcpNoDelay(true);
                    sockets.add(client);
                    sockets.add(server);
                    Thread.ofVirtual().start(() -> copy(client, server));
                    Thread.ofVirtual().start(() -> copy(server, client));
                } catch (IOException e) {
                    if (!from.isClosed()) {
                        throw new AssertionError("link to port " + target + " failed", e);
                    }
                }
            }
        });
    }

    private static void copy(Socket from, Socket to) {
        try (from; to) {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            in.transferTo(out);
        } catch (IOException _) {
            // One side is gone, which is what this link is for; both ends have been closed, which tells the other.
        }
    }
}
