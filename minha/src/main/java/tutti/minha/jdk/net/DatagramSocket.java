package tutti.minha.jdk.net;

import java.io.FileDescriptor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramPacket;
import java.net.DatagramSocketImpl;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.PortUnreachableException;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketOption;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.nio.channels.DatagramChannel;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Set;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import tutti.minha.Jvm;
import tutti.minha.jdk.lang.Thread;
import tutti.sim.kernel.Nanos;
import tutti.sim.thread.SimThread;
import tutti.sim.thread.WaitList;

/**
 * The mirror of {@link java.net.DatagramSocket}, and one itself, on the simulated network. What has arrived and was not
 * received is kept up to the size of the receive buffer; the rest is dropped, as the network's own losses are, without a
 * word. There is one network interface; what is said of interfaces, time to live and traffic class has no effect.
 */
public class DatagramSocket extends java.net.DatagramSocket {
    private static final int BUFFER = 212_992;
    private static final int PORT_MAX = 65_535;

    private final Jvm jvm = Jvm.current();
    private final Endpoint endpoint = new Endpoint();
    private final Runnable closing = this::closeQuietly;
    private final WaitList receivers = new WaitList();
    private final Deque<UdpStack.Message> arrived = new ArrayDeque<>();
    private final Set<InetAddress> groups = new HashSet<>();
    private int queuedBytes;
    private boolean bound;
    private boolean closed;
    private boolean reuse;
    private boolean broadcast = true;
    private boolean loopback = true;
    private int port;
    private InetAddress local = Names.any();
    private @Nullable InetSocketAddress peer;
    private int timeoutMillis;
    private int sendBuffer = BUFFER;
    private int receiveBuffer = BUFFER;
    private int trafficClass;
    private int timeToLive = 1;
    private @Nullable DatagramPacket lastPacket;
    private int lastRoom;
    private int lastLength;

    private final class Endpoint implements UdpStack.Endpoint {
        @Override
        public boolean sharesPort() {
            return reuse;
        }

        @Override
        public boolean accepts(UdpStack.Message message) {
            if (peer != null && !(peer.getAddress().equals(message.from()) && peer.getPort() == message.fromPort())) {
                return false;
            }
            if (message.to().isMulticastAddress()) {
                boolean own = message.from().equals(jvm.machine().address());
                return groups.contains(message.to()) && (loopback || !own);
            }
            return local.isAnyLocalAddress() || local.equals(message.to())
                    || message.to().getHostAddress().equals("255.255.255.255");
        }

        @Override
        public void receive(UdpStack.Message message) {
            if (queuedBytes + message.bytes().length <= receiveBuffer) {
                queuedBytes += message.bytes().length;
                arrived.add(message);
                receivers.wakeOne();
            }
        }
    }

    /** On any free port. */
    public DatagramSocket() throws SocketException {
        this(new InetSocketAddress(0));
    }

    /** On a port. */
    public DatagramSocket(int port) throws SocketException {
        this(new InetSocketAddress(port));
    }

    /** On a port of an address of this machine. */
    public DatagramSocket(int port, @Nullable InetAddress address) throws SocketException {
        this(new InetSocketAddress(address, port));
    }

    /** On an address of this machine; null is not yet. */
    public DatagramSocket(@Nullable SocketAddress at) throws SocketException {
        this(at, false);
    }

    DatagramSocket(@Nullable SocketAddress at, boolean reuse) throws SocketException {
        super(new NoImpl());
        this.reuse = reuse;
        if (at != null) {
            bindTo(at);
        }
    }

    /** A socket of the JDK wants one of these, and never uses it, since all its methods are overridden. */
    @SuppressWarnings("removal")
    private static final class NoImpl extends DatagramSocketImpl {
        private static UnsupportedOperationException none() {
            return new UnsupportedOperationException("not an operation of a simulated socket");
        }

        @Override
        protected void create() {
            throw none();
        }

        @Override
        protected void bind(int port, InetAddress address) {
            throw none();
        }

        @Override
        protected void send(DatagramPacket packet) {
            throw none();
        }

        @Override
        protected int peek(InetAddress address) {
            throw none();
        }

        @Override
        protected int peekData(DatagramPacket packet) {
            throw none();
        }

        @Override
        protected void receive(DatagramPacket packet) {
            throw none();
        }

        @Override
        @Deprecated
        protected void setTTL(byte ttl) {
            throw none();
        }

        @Override
        @Deprecated
        protected byte getTTL() {
            throw none();
        }

        @Override
        protected void setTimeToLive(int ttl) {
            throw none();
        }

        @Override
        protected int getTimeToLive() {
            throw none();
        }

        @Override
        protected void join(InetAddress group) {
            throw none();
        }

        @Override
        protected void leave(InetAddress group) {
            throw none();
        }

        @Override
        protected void joinGroup(SocketAddress group, NetworkInterface on) {
            throw none();
        }

        @Override
        protected void leaveGroup(SocketAddress group, NetworkInterface on) {
            throw none();
        }

        @Override
        protected void close() {
            // Nothing is open.
        }

        @Override
        public void setOption(int option, Object value) {
            throw none();
        }

        @Override
        public Object getOption(int option) {
            throw none();
        }

        @Override
        protected FileDescriptor getFileDescriptor() {
            throw none();
        }
    }

    private void requireOpen() throws SocketException {
        Thread.settle();
        if (closed) {
            throw new SocketException("Socket closed");
        }
    }

    @Override
    public void bind(@Nullable SocketAddress at) throws SocketException {
        bindTo(at == null ? new InetSocketAddress(0) : at);
    }

    private void bindTo(SocketAddress at) throws SocketException {
        requireOpen();
        if (bound) {
            throw new SocketException("already bound");
        }
        if (!(at instanceof InetSocketAddress address) || address.isUnresolved()) {
            throw new SocketException("Unresolved address: " + at);
        }
        InetAddress wanted = address.getAddress();
        if (!wanted.isAnyLocalAddress() && Names.find(jvm.machine(), wanted) != jvm.machine()) {
            throw new java.net.BindException("Cannot assign requested address: " + wanted.getHostAddress()
                    + " is none of " + jvm.machine());
        }
        port = jvm.machine().udp().bind(endpoint, address.getPort());
        local = wanted.isAnyLocalAddress() ? Names.any() : wanted;
        bound = true;
        jvm.opened(closing);
    }

    @Override
    public boolean isBound() {
        return bound;
    }

    @Override
    public boolean isConnected() {
        return peer != null;
    }

    @Override
    public void connect(InetAddress address, int toPort) {
        try {
            connect(new InetSocketAddress(address, toPort));
        } catch (SocketException e) {
            throw new UncheckedIOException("connect failed", e);
        }
    }

    @Override
    public void connect(SocketAddress to) throws SocketException {
        if (!(to instanceof InetSocketAddress address) || address.isUnresolved()) {
            throw new SocketException("Unresolved address: " + to);
        }
        requireOpen();
        if (!bound) {
            bindTo(new InetSocketAddress(0));
        }
        peer = address;
        arrived.removeIf(message -> !endpoint.accepts(message));
        queuedBytes = arrived.stream().mapToInt(message -> message.bytes().length).sum();
    }

    @Override
    public void disconnect() {
        peer = null;
    }

    @Override
    public @Nullable InetAddress getInetAddress() {
        return peer == null ? null : peer.getAddress();
    }

    @Override
    public int getPort() {
        return peer == null ? -1 : peer.getPort();
    }

    @Override
    public @Nullable SocketAddress getRemoteSocketAddress() {
        return peer;
    }

    @Override
    public @Nullable SocketAddress getLocalSocketAddress() {
        return closed || !bound ? null : new InetSocketAddress(getLocalAddress(), getLocalPort());
    }

    @Override
    public @Nullable InetAddress getLocalAddress() {
        if (closed) {
            return null;
        }
        return peer != null && local.isAnyLocalAddress() ? Names.source(jvm.machine(), peer.getAddress()) : local;
    }

    @Override
    public int getLocalPort() {
        return closed ? -1 : bound ? port : 0;
    }

    @Override
    public void send(DatagramPacket packet) throws IOException {
        requireOpen();
        if (!bound) {
            bindTo(new InetSocketAddress(0));
        }
        InetAddress to = packet.getAddress();
        int toPort = packet.getPort();
        if (peer != null) {
            if (to != null && !(to.equals(peer.getAddress()) && toPort == peer.getPort())) {
                throw new IllegalArgumentException("connected address and packet address differ");
            }
            to = peer.getAddress();
            toPort = peer.getPort();
        }
        if (to == null) {
            throw new IllegalArgumentException("Address not set");
        }
        if (toPort < 0 || toPort > PORT_MAX) {
            throw new IllegalArgumentException("port out of range: " + toPort);
        }
        if (toPort == 0) {
            throw new SocketException("Can't send to port 0");
        }
        byte[] bytes = Arrays.copyOfRange(packet.getData(), packet.getOffset(),
                packet.getOffset() + packet.getLength());
        jvm.machine().udp().send(port, to, toPort, bytes);
    }

    @Override
    public void receive(DatagramPacket packet) throws IOException {
        requireOpen();
        if (!bound) {
            bindTo(new InetSocketAddress(0));
        }
        long end = timeoutMillis == 0 ? 0 : SimThread.now() + timeoutMillis * Nanos.MILLI;
        while (arrived.isEmpty()) {
            long left = timeoutMillis == 0 ? SimThread.FOREVER : end - SimThread.now();
            if (timeoutMillis != 0 && left <= 0) {
                throw new SocketTimeoutException("Receive timed out");
            }
            await(left);
            requireOpen();
        }
        UdpStack.Message message = arrived.remove();
        queuedBytes -= message.bytes().length;
        fill(packet, message);
    }

    private void await(long nanos) throws PortUnreachableException {
        try {
            receivers.await(nanos, false);
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted where that cannot be", e);
        }
    }

    /**
     * A packet's room is the length that it was given, which {@link DatagramPacket} tells nobody after a shorter message
     * was received into it; so the room of the last packet is kept here, until its owner sets another length.
     */
    private void fill(DatagramPacket packet, UdpStack.Message message) {
        int room = packet == lastPacket && packet.getLength() == lastLength ? lastRoom : packet.getLength();
        int length = Math.min(room, message.bytes().length);
        java.lang.System.arraycopy(message.bytes(), 0, packet.getData(), packet.getOffset(), length);
        packet.setLength(length);
        packet.setAddress(message.from());
        packet.setPort(message.fromPort());
        lastPacket = packet;
        lastRoom = room;
        lastLength = length;
    }

    @Override
    public void close() {
        if (Thread.isSimulated()) {
            Thread.settle();
        }
        closeQuietly();
    }

    private void closeQuietly() {
        if (!closed) {
            closed = true;
            if (bound && !jvm.hasEnded()) {
                jvm.machine().udp().unbind(endpoint, port);
                jvm.closed(closing);
            } else if (bound) {
                jvm.machine().udp().unbind(endpoint, port);
            }
            receivers.wakeAll();
        }
    }

    @Override
    public boolean isClosed() {
        return closed;
    }

    @Override
    public void joinGroup(SocketAddress group, @Nullable NetworkInterface on) throws IOException {
        requireOpen();
        groups.add(group(group));
        jvm.machine().udp().join(group(group));
    }

    @Override
    public void leaveGroup(SocketAddress group, @Nullable NetworkInterface on) throws IOException {
        requireOpen();
        if (!groups.remove(group(group))) {
            throw new SocketException("Not a member of the multicast group");
        }
    }

    private static InetAddress group(SocketAddress group) throws SocketException {
        if (!(group instanceof InetSocketAddress address) || address.isUnresolved()
                || !address.getAddress().isMulticastAddress()) {
            throw new SocketException("Not a multicast address: " + group);
        }
        return address.getAddress();
    }

    @Override
    public void setSoTimeout(int millis) throws SocketException {
        if (millis < 0) {
            throw new IllegalArgumentException("timeout < 0");
        }
        requireOpen();
        timeoutMillis = millis;
    }

    @Override
    public int getSoTimeout() throws SocketException {
        requireOpen();
        return timeoutMillis;
    }

    @Override
    public void setSendBufferSize(int size) throws SocketException {
        requireOpen();
        sendBuffer = positive(size);
    }

    @Override
    public int getSendBufferSize() throws SocketException {
        requireOpen();
        return sendBuffer;
    }

    @Override
    public void setReceiveBufferSize(int size) throws SocketException {
        requireOpen();
        receiveBuffer = positive(size);
    }

    @Override
    public int getReceiveBufferSize() throws SocketException {
        requireOpen();
        return receiveBuffer;
    }

    private static int positive(int size) {
        if (size <= 0) {
            throw new IllegalArgumentException("invalid size " + size);
        }
        return size;
    }

    @Override
    public void setReuseAddress(boolean on) throws SocketException {
        requireOpen();
        reuse = on;
    }

    @Override
    public boolean getReuseAddress() throws SocketException {
        requireOpen();
        return reuse;
    }

    @Override
    public void setBroadcast(boolean on) throws SocketException {
        requireOpen();
        broadcast = on;
    }

    @Override
    public boolean getBroadcast() throws SocketException {
        requireOpen();
        return broadcast;
    }

    @Override
    public void setTrafficClass(int of) throws SocketException {
        requireOpen();
        trafficClass = of;
    }

    @Override
    public int getTrafficClass() throws SocketException {
        requireOpen();
        return trafficClass;
    }

    /** There is none. */
    @Override
    public @Nullable DatagramChannel getChannel() {
        return null;
    }

    @Override
    public Set<SocketOption<?>> supportedOptions() {
        return Set.of(StandardSocketOptions.SO_SNDBUF, StandardSocketOptions.SO_RCVBUF,
                StandardSocketOptions.SO_REUSEADDR, StandardSocketOptions.SO_BROADCAST,
                StandardSocketOptions.IP_MULTICAST_TTL, StandardSocketOptions.IP_MULTICAST_LOOP,
                StandardSocketOptions.IP_TOS);
    }

    @Override
    public <T> java.net.DatagramSocket setOption(SocketOption<T> option, T value) throws IOException {
        requireOpen();
        switch (option.name()) {
            case "SO_SNDBUF" -> setSendBufferSize((Integer) value);
            case "SO_RCVBUF" -> setReceiveBufferSize((Integer) value);
            case "SO_REUSEADDR" -> setReuseAddress((Boolean) value);
            case "SO_BROADCAST" -> setBroadcast((Boolean) value);
            case "IP_MULTICAST_TTL" -> timeToLive = (Integer) value;
            case "IP_MULTICAST_LOOP" -> loopback = (Boolean) value;
            case "IP_TOS" -> trafficClass = (Integer) value;
            default -> throw unsupported(option);
        }
        return this;
    }

    @Override
    @SuppressWarnings("unchecked")
    public <T> T getOption(SocketOption<T> option) throws IOException {
        requireOpen();
        Object value = switch (option.name()) {
            case "SO_SNDBUF" -> sendBuffer;
            case "SO_RCVBUF" -> receiveBuffer;
            case "SO_REUSEADDR" -> reuse;
            case "SO_BROADCAST" -> broadcast;
            case "IP_MULTICAST_TTL" -> timeToLive;
            case "IP_MULTICAST_LOOP" -> loopback;
            case "IP_TOS" -> trafficClass;
            default -> throw unsupported(option);
        };
        return (T) value;
    }

    private static UnsupportedOperationException unsupported(SocketOption<?> option) {
        return new UnsupportedOperationException("'" + option.name() + "' not supported");
    }

    void setLoopback(boolean on) {
        loopback = on;
    }

    boolean loopback() {
        return loopback;
    }

    void setTimeToLive(int of) {
        timeToLive = of;
    }

    int timeToLive() {
        return timeToLive;
    }
}
