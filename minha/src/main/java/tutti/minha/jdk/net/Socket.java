package tutti.minha.jdk.net;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.SocketException;
import org.jspecify.annotations.Nullable;
import tutti.minha.jdk.lang.Thread;

/**
 * The mirror of {@link java.net.Socket}, and one itself, on the simulated TCP. Reading and writing are not interrupted by
 * {@link Thread#interrupt}, as with the JDK's platform threads; closing it from another thread ends them. SO_KEEPALIVE and
 * the traffic class are kept and have no effect; a linger time above 0 is taken for none.
 */
public class Socket extends java.net.Socket {
    /** Not connected. */
    public Socket() throws SocketException {
        super(new TcpSocketImpl());
    }

    /** Not connected; there are no proxies, so it must be a direct one. */
    public Socket(Proxy proxy) throws SocketException {
        this();
        if (proxy.type() != Proxy.Type.DIRECT) {
            throw new IllegalArgumentException("there are no proxies in the simulation: " + proxy);
        }
    }

    /** Connected to a port of a machine. */
    public Socket(String host, int port) throws IOException {
        this(Names.getByName(host), port);
    }

    /** Connected to a port of an address. */
    public Socket(InetAddress address, int port) throws IOException {
        this(address, port, null, 0);
    }

    /** Connected to a port of a machine, from an address and a port of this one. */
    public Socket(String host, int port, @Nullable InetAddress local, int localPort) throws IOException {
        this(Names.getByName(host), port, local, localPort);
    }

    /** Connected to a port of an address, from an address and a port of this machine. */
    @SuppressWarnings("this-escape")
    public Socket(InetAddress address, int port, @Nullable InetAddress local, int localPort) throws IOException {
        this();
        boolean well = false;
        try {
            if (local != null || localPort != 0) {
                bind(new InetSocketAddress(local == null ? Names.any() : local, localPort));
            }
            connect(new InetSocketAddress(address, port));
            well = true;
        } finally {
            if (!well) {
                super.close();
            }
        }
    }

    /** The work that was done so far is done before it is closed; the JDK's own method must not wait. */
    @Override
    public void close() throws IOException {
        Thread.settle();
        super.close();
    }

    @Override
    public void shutdownOutput() throws IOException {
        Thread.settle();
        super.shutdownOutput();
    }
}
