package tutti.wire;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** Stands between a front end and its server, and does with requests to cancel what a test wants. */
final class CancelRelay implements AutoCloseable {
    private static final int CANCEL = 80_877_102;

    private final InetSocketAddress server;
    private final ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    /** How many requests never get to the server, as if they had met it between two statements. */
    final AtomicInteger toLose = new AtomicInteger();
    /** How many are kept, and not answered. */
    final AtomicInteger toKeep = new AtomicInteger();
    private final BlockingQueue<byte[]> kept = new LinkedBlockingQueue<>();

    CancelRelay(InetSocketAddress server) throws IOException {
        this.server = server;
        Thread.ofVirtual().start(() -> {
            while (true) {
                try {
                    Socket client = listener.accept();
                    Thread.ofVirtual().start(() -> serve(client));
                } catch (IOException closed) {
                    return;
                }
            }
        });
    }

    InetSocketAddress address() {
        return (InetSocketAddress) listener.getLocalSocketAddress();
    }

    private void serve(Socket client) {
        try (client) {
            DataInputStream in = new DataInputStream(client.getInputStream());
            byte[] first = new byte[8];
            in.readFully(first);
            ByteBuffer head = ByteBuffer.wrap(first);
            int length = head.getInt();
            if (head.getInt() == CANCEL) {
                byte[] request = ByteBuffer.allocate(length).put(first).put(in.readNBytes(length - 8)).array();
                if (toLose.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                    return;
                }
                if (toKeep.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                    kept.add(request);
                    in.readAllBytes();
                    return;
                }
                deliver(request);
                return;
            }
            try (Socket engine = new Socket(server.getAddress(), server.getPort())) {
                engine.getOutputStream().write(first);
                Thread back = Thread.ofVirtual().start(() -> pump(engine, client));
                pump(client, engine);
                back.join();
            }
        } catch (IOException | InterruptedException gone) {
            // so is what it was for
        }
    }

    private static void pump(Socket from, Socket to) {
        try {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            in.transferTo(out);
            to.shutdownOutput();
        } catch (IOException gone) {
            // the other direction hears of it
        }
    }

    private void deliver(byte[] request) throws IOException {
        try (Socket engine = new Socket(server.getAddress(), server.getPort())) {
            engine.getOutputStream().write(request);
            engine.getInputStream().readAllBytes();
        }
    }

    /** Sends on a request that was kept, which is dealt with when this returns. */
    void deliverKept() throws IOException, InterruptedException {
        deliver(ScriptedNode.take(kept));
    }

    /** Waits until one has been kept. */
    void awaitKept() throws InterruptedException {
        kept.add(ScriptedNode.take(kept));
    }

    @Override
    public void close() throws IOException {
        listener.close();
    }
}
