package tutti.minha.jdk.net;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;
import tutti.minha.jdk.lang.Thread;

/** The mirror of {@link java.net.ServerSocket}, and one itself, on the simulated TCP. */
public class ServerSocket extends java.net.ServerSocket {
    private static final int BACKLOG = 50;

    /** Not bound. */
    public ServerSocket() throws IOException {
        super(new TcpSocketImpl());
    }

    /** On a port, 0 for any. */
    public ServerSocket(int port) throws IOException {
        this(port, BACKLOG, null);
    }

    /** On a port, where so many may wait. */
    public ServerSocket(int port, int backlog) throws IOException {
        this(port, backlog, null);
    }

    /** On a port of an address, where so many may wait. */
    @SuppressWarnings("this-escape")
    public ServerSocket(int port, int backlog, @Nullable InetAddress address) throws IOException {
        this();
        boolean well = false;
        try {
            bind(new InetSocketAddress(address == null ? Names.any() : address, port), backlog);
            well = true;
        } finally {
            if (!well) {
                super.close();
            }
        }
    }

    @Override
    public Socket accept() throws IOException {
        if (isClosed()) {
            throw new java.net.SocketException("Socket is closed");
        }
        if (!isBound()) {
            throw new java.net.SocketException("Socket is not bound yet");
        }
        Socket accepted = new Socket();
        implAccept(accepted);
        return accepted;
    }

    /** The work that was done so far is done before it is closed; the JDK's own method must not wait. */
    @Override
    public void close() throws IOException {
        Thread.settle();
        super.close();
    }
}
