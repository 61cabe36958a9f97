package tutti.minha.jdk.net;

import java.io.FileDescriptor;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketImpl;
import java.net.SocketOption;
import java.net.SocketOptions;
import java.net.StandardSocketOptions;
import java.net.UnknownHostException;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.minha.Jvm;
import tutti.minha.jdk.lang.Thread;

/** What the JDK's sockets do their work with: a connection or a listener of the simulated TCP, and the options. */
final class TcpSocketImpl extends SocketImpl {
    /** Bytes of a buffer, for what is sent and for what is received. */
    static final int BUFFER = 65_536;
    private static final int BACKLOG = 50;
    private static final Map<String, Integer> OPTIONS = Map.of("SO_SNDBUF", SocketOptions.SO_SNDBUF, "SO_RCVBUF",
            SocketOptions.SO_RCVBUF, "SO_REUSEADDR", SocketOptions.SO_REUSEADDR, "SO_KEEPALIVE",
            SocketOptions.SO_KEEPALIVE, "TCP_NODELAY", SocketOptions.TCP_NODELAY, "SO_LINGER", SocketOptions.SO_LINGER,
            "IP_TOS", SocketOptions.IP_TOS);

    private final Jvm jvm = Jvm.current();
    private final Runnable closing = this::closeAtEnd;
    private final Map<Integer, Object> options = new TreeMap<>();
    private InetAddress local = Names.any();
    private @Nullable TcpConnection connection;
    private @Nullable TcpListener listener;
    private boolean bound;
    private boolean closed;

    TcpSocketImpl() {
        options.put(SocketOptions.SO_TIMEOUT, 0);
        options.put(SocketOptions.SO_SNDBUF, BUFFER);
        options.put(SocketOptions.SO_RCVBUF, BUFFER);
        options.put(SocketOptions.SO_REUSEADDR, true);
        options.put(SocketOptions.SO_KEEPALIVE, false);
        options.put(SocketOptions.TCP_NODELAY, false);
        options.put(SocketOptions.SO_LINGER, -1);
        options.put(SocketOptions.SO_OOBINLINE, false);
        options.put(SocketOptions.IP_TOS, 0);
    }

    private TcpStack stack() {
        return jvm.machine().tcp();
    }

    private int number(int option) {
        return options.get(option) instanceof Integer value ? value : 0;
    }

    private TcpConnection connection() throws SocketException {
        if (closed) {
            throw new SocketException("Socket closed");
        }
        if (connection == null) {
            throw new SocketException("Socket is not connected");
        }
        return connection;
    }

    @Override
    protected void create(boolean stream) throws IOException {
        if (!stream) {
            throw new IOException("only streams are simulated");
        }
        jvm.opened(closing);
    }

    @Override
    protected void bind(InetAddress to, int wanted) throws IOException {
        if (!to.isAnyLocalAddress() && Names.find(jvm.machine(), to) != jvm.machine()) {
            throw new BindException("Cannot assign requested address: " + to.getHostAddress() + " is none of "
                    + jvm.machine());
        }
        localport = stack().bind(wanted);
        local = to;
        bound = true;
    }

    @Override
    protected void connect(String host, int toPort) throws IOException {
        connect(new InetSocketAddress(Names.getByName(host), toPort), 0);
    }

    @Override
    protected void connect(InetAddress to, int toPort) throws IOException {
        connect(new InetSocketAddress(to, toPort), 0);
    }

    @Override
    protected void connect(SocketAddress to, int timeoutMillis) throws IOException {
        if (!(to instanceof InetSocketAddress target)) {
            throw new SocketException("Unsupported address: " + to);
        }
        InetAddress resolved = target.isUnresolved() ? Names.getByName(target.getHostString()) : target.getAddress();
        if (resolved == null) {
            throw new UnknownHostException(target.getHostString());
        }
        Thread.settle();
        if (!bound) {
            bind(local, 0);
        }
        TcpConnection opening = stack().connect(localport, resolved, target.getPort(), number(SocketOptions.SO_SNDBUF),
                number(SocketOptions.SO_RCVBUF));
        connection = opening;
        address = resolved;
        port = target.getPort();
        opening.setNoDelay(Boolean.TRUE.equals(options.get(SocketOptions.TCP_NODELAY)));
        opening.awaitOpen(timeoutMillis);
    }

    @Override
    protected void listen(int backlog) {
        listener = stack().listen(local, localport, backlog <= 0 ? BACKLOG : backlog, number(SocketOptions.SO_RCVBUF));
    }

    @Override
    protected void accept(SocketImpl into) throws IOException {
        if (listener == null || !(into instanceof TcpSocketImpl accepted)) {
            throw new SocketException("Not listening");
        }
        Thread.settle();
        TcpConnection next = Objects.requireNonNull(listener.accept(number(SocketOptions.SO_TIMEOUT)));
        accepted.connection = next;
        accepted.address = next.remote();
        accepted.port = next.remotePort();
        accepted.localport = next.localPort();
        accepted.local = next.local();
        accepted.jvm.opened(accepted.closing);
    }

    @Override
    protected InputStream getInputStream() {
        return new Input();
    }

    @Override
    protected OutputStream getOutputStream() {
        return new Output();
    }

    private final class Input extends InputStream {
        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
        }

        @Override
        public int read(byte[] bytes, int offset, int length) throws IOException {
            Objects.checkFromIndexSize(offset, length, bytes.length);
            Thread.settle();
            return connection().read(bytes, offset, length, number(SocketOptions.SO_TIMEOUT));
        }

        @Override
        public int available() throws IOException {
            return TcpSocketImpl.this.available();
        }
    }

    private final class Output extends OutputStream {
        @Override
        public void write(int b) throws IOException {
            write(new byte[]{(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            Objects.checkFromIndexSize(offset, length, bytes.length);
            Thread.settle();
            connection().write(bytes, offset, length);
        }
    }

    @Override
    protected int available() throws IOException {
        return connection().available();
    }

    @Override
    protected void close() {
        closeAtEnd();
        jvm.closed(closing);
    }

    private void closeAtEnd() {
        if (closed) {
            return;
        }
        closed = true;
        if (listener != null) {
            listener.close();
        }
        if (connection != null) {
            connection.close(number(SocketOptions.SO_LINGER) == 0);
        }
        if (bound) {
            stack().unbind(localport);
        }
    }

    @Override
    protected void shutdownInput() throws IOException {
        connection().shutdownInput();
    }

    @Override
    protected void shutdownOutput() throws IOException {
        connection().shutdownOutput();
    }

    @Override
    protected void sendUrgentData(int data) throws IOException {
        throw new SocketException("Urgent data is not simulated");
    }

    @Override
    protected FileDescriptor getFileDescriptor() {
        throw new UnsupportedOperationException("a simulated socket has no file descriptor");
    }

    @Override
    public void setOption(int option, Object value) throws SocketException {
        if (closed) {
            throw new SocketException("Socket closed");
        }
        if (!options.containsKey(option)) {
            throw new SocketException("socket option " + option + " is not simulated");
        }
        boolean off = option == SocketOptions.SO_LINGER && Boolean.FALSE.equals(value);
        options.put(option, off ? -1 : value);
        if (connection != null && option == SocketOptions.TCP_NODELAY) {
            connection.setNoDelay(Boolean.TRUE.equals(value));
        }
        if (connection != null && option == SocketOptions.SO_SNDBUF) {
            connection.setSendBuffer(number(option));
        }
    }

    @Override
    public Object getOption(int option) throws SocketException {
        if (closed) {
            throw new SocketException("Socket closed");
        }
        if (option == SocketOptions.SO_BINDADDR) {
            return connection == null ? local : connection.local();
        }
        Object value = options.get(option);
        if (value == null) {
            throw new SocketException("socket option " + option + " is not simulated");
        }
        return value;
    }

    private static int option(SocketOption<?> option) {
        Integer number = OPTIONS.get(option.name());
        if (number == null) {
            throw new UnsupportedOperationException("'" + option.name() + "' is not simulated");
        }
        return number;
    }

    @Override
    protected <T> void setOption(SocketOption<T> option, T value) throws IOException {
        setOption(option(option), value);
    }

    @Override
    @SuppressWarnings("unchecked")
    protected <T> T getOption(SocketOption<T> option) throws IOException {
        return (T) getOption(option(option));
    }

    @Override
    protected Set<SocketOption<?>> supportedOptions() {
        return Set.of(StandardSocketOptions.SO_SNDBUF, StandardSocketOptions.SO_RCVBUF,
                StandardSocketOptions.SO_REUSEADDR, StandardSocketOptions.SO_KEEPALIVE,
                StandardSocketOptions.TCP_NODELAY, StandardSocketOptions.SO_LINGER, StandardSocketOptions.IP_TOS);
    }
}
