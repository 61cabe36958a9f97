package tutti.runtime.real;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFactory;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.FixedRecvByteBufAllocator;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.DatagramPacket;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;
import io.netty.util.concurrent.Promise;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.cert.CertificateException;
import java.security.cert.CertificateExpiredException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLPeerUnverifiedException;
import org.jspecify.annotations.Nullable;
import tutti.runtime.Loop;
import tutti.runtime.Network;
import tutti.runtime.PeerIdentity;

/**
 * TCP and UDP, on one thread; TCP under TLS 1.3 if there are keys, with a certificate on both sides. What is sent in one turn of
 * the loop is handed to the operating system in one call per connection, at the end of the turn.
 *
 * <p>
 * <b>Strangers.</b> Who connects and has not proven who it is holds one of {@link #STRANGERS_MAX} places, for
 * {@link #HANDSHAKE_MILLIS} at most; when all are taken, the oldest gives its place up. Signatures are made and checked on
 * one thread of their own, so that strangers cannot hold the loop up.
 */
final class NettyNetwork implements Network {
    private static final int DATAGRAM_BYTES_MAX = 65_507;
    private static final long CLOSE_MILLIS_MAX = 5_000;

    /** After so long a name is looked up again. */
    private static final long LOOKUP_NANOS = 10_000_000_000L;
    private static final int RECEIVE_BUFFER_BYTES = 4 << 20;
    /** Connections whose other end has not proven who it is. */
    private static final int STRANGERS_MAX = 64;
    private static final long HANDSHAKE_MILLIS = 5_000;
    private static final long HANDSHAKER_IDLE_SECONDS = 10;

    /** Of the loop. */
    private final Map<InetSocketAddress, Lookup> lookups = new HashMap<>();
    private final EventLoopGroup group;
    private final EventLoop thread;
    private final NettyLoop loop;
    private final ChannelGroup channels;
    /** Channels with something to flush. Of the loop. */
    private final List<Channel> unflushed = new ArrayList<>();
    private final @Nullable PeerKeys keys;
    /** The longest here first. Of the loop. */
    private final ArrayDeque<Introduction> strangers = new ArrayDeque<>();
    /** Each handshake has one task here at most. */
    private final ThreadPoolExecutor handshakes;

    /** What connections to others are made with. */
    private final ChannelFactory<NioSocketChannel> sockets;

    NettyNetwork(String name, @Nullable PeerKeys keys, Consumer<Throwable> onFailure) {
        this(name, keys, onFailure, NioSocketChannel::new);
    }

    NettyNetwork(String name, @Nullable PeerKeys keys, Consumer<Throwable> onFailure,
            ChannelFactory<NioSocketChannel> sockets) {
        this.keys = keys;
        this.sockets = sockets;
        handshakes = new ThreadPoolExecutor(1, 1, HANDSHAKER_IDLE_SECONDS, TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(), Thread.ofPlatform().daemon().name(name + "-handshakes").factory());
        handshakes.allowCoreThreadTimeOut(true);
        group = new MultiThreadIoEventLoopGroup(1, Thread.ofPlatform().daemon().name(name).factory(),
                NioIoHandler.newFactory());
        thread = group.next();
        loop = new NettyLoop(thread, onFailure);
        channels = new DefaultChannelGroup(name, thread, true);
    }

    @Override
    public Loop loop() {
        return loop;
    }

    @Override
    public @Nullable PeerIdentity identity() {
        return keys == null ? null : keys.identity();
    }

    @Override
    public AutoCloseable listen(InetSocketAddress address, Acceptor acceptor) throws IOException {
        requireOpen();
        Channel bound = bound(new ServerBootstrap().group(group).channel(NioServerSocketChannel.class)
                .option(ChannelOption.SO_REUSEADDR, true).childOption(ChannelOption.TCP_NODELAY, true)
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channels.add(channel);
                        loop.enter(() -> {
                            if (keys == null) {
                                new NettyStream(channel.remoteAddress().toString()).accepted(channel, acceptor);
                            } else {
                                new Introduction(channel, acceptor).begin(keys.server());
                            }
                        });
                    }
                }).bind(resolved(address)), address);
        return () -> unbind(bound);
    }

    /** Closes it, and waits until the system has closed it, too: when the selector has dropped it, in its next turn. */
    private void unbind(Channel bound) {
        bound.close().syncUninterruptibly();
        try {
            bound.eventLoop().schedule(() -> {}, 1, TimeUnit.MILLISECONDS).awaitUninterruptibly();
        } catch (RejectedExecutionException ended) {
            // The whole loop ends, and its selector with it.
        }
    }

    private void requireOpen() throws IOException {
        if (loop.isClosed()) {
            throw new IOException("cannot listen: the network is closed");
        }
    }

    private static InetSocketAddress resolved(InetSocketAddress address) throws IOException {
        InetSocketAddress resolved = address.isUnresolved()
                ? new InetSocketAddress(address.getHostString(), address.getPort())
                : address;
        if (resolved.isUnresolved()) {
            throw new IOException("the host name " + address.getHostString() + " is not known");
        }
        return resolved;
    }

    private Channel bound(ChannelFuture binding, InetSocketAddress address) throws IOException {
        binding.awaitUninterruptibly();
        Throwable cause = binding.cause();
        if (cause != null) {
            throw new IOException("cannot listen at " + address.getHostString() + ":" + address.getPort() + " ("
                    + cause.getMessage() + ")" + (cause instanceof BindException
                            ? ": another process uses the port, perhaps this node already runs, or the address is not of this machine"
                            : ""),
                    cause);
        }
        channels.add(binding.channel());
        return binding.channel();
    }

    @Override
    public Stream connect(InetSocketAddress address, long timeoutNanos, StreamListener listener) {
        NettyStream stream = new NettyStream(address.getHostString() + ":" + address.getPort());
        stream.listener = listener;
        if (address.isUnresolved()) {
            // A name server may be slow, and the loop must not wait for it.
            Thread.ofVirtual().start(() -> {
                try {
                    InetSocketAddress resolved = resolved(address);
                    loop.execute(() -> stream.connect(resolved, timeoutNanos));
                } catch (IOException unknown) {
                    loop.execute(() -> stream.ended(String.valueOf(unknown.getMessage())));
                }
            });
        } else {
            stream.connect(address, timeoutNanos);
        }
        return stream;
    }

    @Override
    public Datagrams datagrams(InetSocketAddress address, DatagramListener listener) throws IOException {
        requireOpen();
        Channel channel = bound(new Bootstrap().group(group).channel(NioDatagramChannel.class)
                .option(ChannelOption.RECVBUF_ALLOCATOR, new FixedRecvByteBufAllocator(DATAGRAM_BYTES_MAX))
                .option(ChannelOption.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
                .handler(new SimpleChannelInboundHandler<DatagramPacket>() {
                    @Override
                    protected void channelRead0(ChannelHandlerContext context, DatagramPacket packet) {
                        loop.enter(() -> listener.received(packet.sender(), packet.content().nioBuffer()));
                    }

                    @Override
                    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
                        // A datagram that could not be received is one that was lost.
                    }
                }).bind(resolved(address)), address);
        return new Datagrams() {
            @Override
            public void send(InetSocketAddress to, ByteBuffer bytes) {
                InetSocketAddress known = to.isUnresolved() ? lookedUp(to) : to;
                if (known != null) {
                    var _ = channel.write(new DatagramPacket(Unpooled.wrappedBuffer(bytes), known));
                    flushLater(channel);
                }
            }

            @Override
            public int maxBytes() {
                return DATAGRAM_BYTES_MAX;
            }

            @Override
            public void close() {
                var closing = channel.close();
                if (!thread.inEventLoop()) {
                    closing.awaitUninterruptibly();
                    // The system gives a port back with the selection that follows: what the loop schedules for itself is done behind that,
                    // if it is not closed before.
                    Promise<Void> selected = thread.newPromise();
                    thread.execute(
                            () -> thread.schedule(() -> selected.setSuccess(null), 1, TimeUnit.NANOSECONDS));
                    selected.awaitUninterruptibly(CLOSE_MILLIS_MAX);
                }
            }
        };
    }

    /** What a name stood for when it was looked up last, null if that is not known yet; looked up again from time to time. */
    private @Nullable InetSocketAddress lookedUp(InetSocketAddress name) {
        Lookup last = lookups.get(name);
        long now = System.nanoTime();
        if (last == null || now - last.atNanos > LOOKUP_NANOS) {
            InetSocketAddress before = last == null ? null : last.address;
            lookups.put(name, new Lookup(before, now));
            // A name server may be slow, and the loop must not wait for it.
            Thread.ofVirtual().start(() -> {
                InetSocketAddress found = new InetSocketAddress(name.getHostString(), name.getPort());
                if (!found.isUnresolved()) {
                    loop.execute(() -> lookups.put(name, new Lookup(found, now)));
                }
            });
        }
        return last == null ? null : last.address;
    }

    private record Lookup(@Nullable InetSocketAddress address, long atNanos) {}

    private void flushLater(Channel channel) {
        if (unflushed.isEmpty()) {
            thread.execute(this::flush);
        }
        if (unflushed.isEmpty() || !unflushed.getLast().equals(channel)) {
            unflushed.add(channel);
        }
    }

    private void flush() {
        unflushed.forEach(Channel::flush);
        unflushed.clear();
    }

    @Override
    public void close() {
        loop.close();
        handshakes.shutdown();
        new ArrayList<>(channels).forEach(NettyNetwork::cut);
        var closing = channels.close();
        var end = group.shutdownGracefully(0, CLOSE_MILLIS_MAX, TimeUnit.MILLISECONDS);
        if (!thread.inEventLoop()) {
            closing.awaitUninterruptibly();
            end.awaitUninterruptibly();
        }
    }

    /** Closes a channel at once: TLS would wait for an end that does not read to take its farewell. */
    private static void cut(Channel channel) {
        ChannelHandlerContext outermost = channel.pipeline().firstContext();
        if (outermost == null) {
            channel.close();
        } else {
            outermost.close();
        }
    }

    private SslHandler tls(SslContext context, Channel channel) {
        SslHandler handler = context.newHandler(channel.alloc(), handshakes);
        handler.setHandshakeTimeoutMillis(HANDSHAKE_MILLIS);
        return handler;
    }

    /** Who has proven to be at the other end of a channel whose handshake is over. */
    private static PeerIdentity proven(Channel channel) throws CertificateException {
        try {
            return PeerKeys.identity(
                    channel.pipeline().get(SslHandler.class).engine().getSession().getPeerCertificates()[0]);
        } catch (SSLPeerUnverifiedException nothing) {
            throw new CertificateException("it shows no certificate", nothing);
        }
    }

    private static String reason(Throwable cause) {
        Throwable first = cause;
        while (first.getCause() != null) {
            first = first.getCause();
        }
        String told = String.valueOf(first.getMessage());
        if (first instanceof CertificateExpiredException) {
            return "its certificate has expired (" + told + ")";
        }
        return first instanceof GeneralSecurityException ? "its certificate is not accepted: " + told : told;
    }

    /** Of one who has connected, until it has proven who it is. */
    private final class Introduction extends ChannelInboundHandlerAdapter {
        private final Channel channel;
        private final Acceptor acceptor;
        private boolean over;

        Introduction(Channel channel, Acceptor acceptor) {
            this.channel = channel;
            this.acceptor = acceptor;
        }

        void begin(SslContext context) {
            if (strangers.size() >= STRANGERS_MAX) {
                strangers.getFirst().refuse("it has not proven who it is, and others have come since");
            }
            strangers.add(this);
            channel.pipeline().addLast(tls(context, channel), this);
        }

        @Override
        public void userEventTriggered(ChannelHandlerContext context, Object event) {
            if (event instanceof SslHandshakeCompletionEvent done && !over) {
                loop.enter(() -> {
                    if (done.isSuccess()) {
                        introduced();
                    } else {
                        refuse(reason(done.cause()));
                    }
                });
            }
        }

        private void introduced() {
            NettyStream stream = new NettyStream(channel.remoteAddress().toString());
            try {
                stream.peer = proven(channel);
            } catch (CertificateException nobody) {
                refuse(String.valueOf(nobody.getMessage()));
                return;
            }
            over = true;
            strangers.remove(this);
            channel.pipeline().remove(this);
            stream.accepted(channel, acceptor);
        }

        private void refuse(String why) {
            if (!over) {
                over = true;
                strangers.remove(this);
                cut(channel);
                acceptor.refused(String.valueOf(channel.remoteAddress()), why);
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) {
            loop.enter(() -> refuse("it has left without proving who it is"));
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            loop.enter(() -> refuse(reason(cause)));
        }
    }

    /** One end of a connection. */
    private final class NettyStream extends ChannelInboundHandlerAdapter implements Stream {
        private final String remote;
        private volatile @Nullable Channel channel;
        private volatile boolean closed;
        private @Nullable StreamListener listener;
        private @Nullable PeerIdentity peer;
        private boolean paused;
        /** What TLS had read before it was told to stop. Of the loop. */
        private final ArrayDeque<ByteBuf> early = new ArrayDeque<>();

        NettyStream(String remote) {
            this.remote = remote;
        }

        void accepted(Channel from, Acceptor acceptor) {
            channel = from;
            listener = acceptor.accepted(this);
            if (!closed) {
                from.pipeline().addLast(this);
            }
        }

        void connect(InetSocketAddress address, long timeoutNanos) {
            if (closed) {
                return;
            }
            int millis = Math.clamp(TimeUnit.NANOSECONDS.toMillis(timeoutNanos), 1, Integer.MAX_VALUE);
            ChannelFuture connecting = new Bootstrap().group(group).channelFactory(sockets)
                    .option(ChannelOption.TCP_NODELAY, true).option(ChannelOption.CONNECT_TIMEOUT_MILLIS, millis)
                    .handler(new ChannelInitializer<>() {
                        @Override
                        protected void initChannel(Channel made) {
                            if (keys != null) {
                                made.pipeline().addLast(tls(keys.client(), made));
                            }
                            made.pipeline().addLast(NettyStream.this);
                        }
                    }).connect(address);
            if (connecting.isDone() && !connecting.channel().isRegistered()) {
                // There is no channel to be used or closed: what stands for it belongs to no loop, and throws.
                loop.execute(() -> untried(reason(connecting.cause())));
                return;
            }
            channel = connecting.channel();
            channels.add(connecting.channel());
            if (connecting.isDone()) {
                // The caller is told nothing before it has got the connection.
                loop.execute(() -> established(connecting));
            } else {
                var _ = connecting.addListener(_ -> loop.enter(() -> established(connecting)));
            }
        }

        private void established(ChannelFuture connecting) {
            Throwable cause = connecting.cause();
            if (cause != null) {
                ended(String.valueOf(cause.getMessage()));
            } else if (!closed && keys == null) {
                listener().connected();
            }
        }

        @Override
        public void userEventTriggered(ChannelHandlerContext context, Object event) {
            if (event instanceof SslHandshakeCompletionEvent done && peer == null && !closed) {
                loop.enter(() -> {
                    try {
                        if (done.isSuccess()) {
                            peer = proven(context.channel());
                            listener().connected();
                            return;
                        }
                        distrusted(done.cause());
                    } catch (CertificateException nobody) {
                        distrusted(nobody);
                    }
                    cut(context.channel());
                });
            }
        }

        /** The ends do not agree on who they are. */
        private void distrusted(Throwable cause) {
            if (!closed) {
                listener().distrusted(reason(cause));
                ended(reason(cause));
            }
        }

        private StreamListener listener() {
            StreamListener present = listener;
            if (present == null) {
                throw new IllegalStateException("nobody listens to the connection with " + remote);
            }
            return present;
        }

        private void untried(String why) {
            if (!closed) {
                closed = true;
                listener().untried(why);
            }
        }

        void ended(String why) {
            if (!closed) {
                closed = true;
                listener().closed(why);
            }
        }

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            ByteBuf bytes = (ByteBuf) message;
            if (paused || !early.isEmpty()) {
                early.add(bytes);
            } else {
                hear(bytes);
            }
        }

        private void hear(ByteBuf bytes) {
            try {
                if (!closed) {
                    loop.enter(() -> listener().received(bytes.nioBuffer()));
                }
            } finally {
                bytes.release();
            }
        }

        private void hearEarly() {
            while (!paused && !early.isEmpty()) {
                hear(early.remove());
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) {
            loop.enter(() -> {
                paused = false;
                hearEarly();
                ended("the other end closed the connection");
            });
        }

        @Override
        public void handlerRemoved(ChannelHandlerContext context) {
            early.forEach(ByteBuf::release);
            early.clear();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            loop.enter(() -> {
                if (cause instanceof SSLException || cause.getCause() instanceof SSLException) {
                    distrusted(cause);
                } else {
                    ended(reason(cause));
                }
            });
            cut(context.channel());
        }

        @Override
        public String remote() {
            return remote;
        }

        @Override
        public @Nullable PeerIdentity peer() {
            return peer;
        }

        @Override
        public void send(ByteBuffer bytes) {
            Channel to = channel;
            if (!closed && to != null && (keys == null || peer != null)) {
                var _ = to.write(Unpooled.wrappedBuffer(bytes));
                flushLater(to);
            }
        }

        @Override
        public long unsentBytes() {
            Channel to = channel;
            ChannelOutboundBuffer waiting = to == null ? null : to.unsafe().outboundBuffer();
            return waiting == null ? 0 : waiting.totalPendingWriteBytes();
        }

        @Override
        public void read(boolean wanted) {
            Channel from = channel;
            paused = !wanted;
            if (from != null) {
                from.config().setAutoRead(wanted);
            }
            if (wanted && !early.isEmpty()) {
                loop.execute(this::hearEarly);
            }
        }

        @Override
        public void close() {
            closed = true;
            Channel open = channel;
            if (open != null) {
                cut(open);
            }
        }

        @Override
        public String toString() {
            return "connection with " + remote;
        }
    }
}
