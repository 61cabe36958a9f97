package tutti.wire;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.LocalTransaction;
import tutti.node.Transactions;
import tutti.pgwire.StartupPacket;
import tutti.pgwire.Transport;

/**
 * A node's PostgreSQL server: unmodified clients connect to it, each gets a connection of its own to the node's engine,
 * and its transactions commit by way of the node (DESIGN section 3).
 *
 * <p>
 * Thread rules: {@link #start} and {@link #close} from any thread but an event loop; they wait.
 */
public final class PostgresFrontEnd implements AutoCloseable {
    private static final int BACKLOG = 512;
    private final FrontEndSettings settings;
    private final EventLoopGroup loops;
    private final SessionServices services;
    private final SessionRegistry registry;
    private final Roles roles;
    private final byte[] mockSecret = new byte[32];
    private final ConcurrentHashMap<Integer, Session> sessions = new ConcurrentHashMap<>();
    private final ChannelGroup clients = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
    private @Nullable Channel server;

    /** The engine, as far as sessions come and go: hears which processes are theirs, and lets them in. */
    public interface SessionRegistry {
        /**
         * A session has begun. From the session's event loop.
         *
         * @param processId of the engine's server process
         * @param current tells its open transaction, or null; from any thread
         * @return run when the session has ended
         */
        Runnable register(int processId, Supplier<@Nullable LocalTransaction> current);

        /**
         * Has the engine look after a session whose transaction has its place in the order: who makes it wait is named to
         * the node.
         *
         * @param loop of the session
         * @param waits whether a statement of it is under way; from the loop
         * @return run when that is over
         */
        default Runnable watch(EventLoop loop, int processId, LocalTransaction waiter, BooleanSupplier waits) {
            return () -> {};
        }

        /**
         * Asked about each engine connection before its client may use it: completes if the engine is still the one that
         * the node has recovered, and fails if it has restarted in between and may have lost commits. Completed on any
         * thread.
         */
        default CompletableFuture<Void> confirm() {
            return CompletableFuture.completedFuture(null);
        }
    }

    /**
     * Sets a front end up; {@link #start} lets clients in.
     *
     * @param loops event loops for clients and their engine connections; the caller closes them after the front end
     */
    public PostgresFrontEnd(FrontEndSettings settings, Transactions transactions, Capture capture,
            SessionRegistry registry, EventLoopGroup loops) {
        this.settings = settings;
        this.loops = loops;
        this.registry = registry;
        this.services = new SessionServices(transactions, capture, new OwnMessages(capture.sql()),
                settings.heldLimit(), registry);
        this.roles = new Roles(settings.engine(), loops.next());
        new SecureRandom().nextBytes(mockSecret);
    }

    /**
     * Listens.
     *
     * @return where
     * @throws IOException if the address is taken or not this machine's
     */
    public InetSocketAddress start() throws IOException {
        ServerBootstrap bootstrap = new ServerBootstrap().group(loops).channel(Transport.serverChannel())
                .option(ChannelOption.SO_BACKLOG, BACKLOG).option(ChannelOption.SO_REUSEADDR, true)
                .childOption(ChannelOption.TCP_NODELAY, true).childOption(ChannelOption.SO_KEEPALIVE, true)
                .childOption(ChannelOption.WRITE_BUFFER_WATER_MARK, new WriteBufferWaterMark(64 << 10, 256 << 10))
                .childHandler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel client) {
                        clients.add(client);
                        client.pipeline().addLast("frames", new Handshake(PostgresFrontEnd.this, client).reader());
                    }
                });
        var bound = bootstrap.bind(settings.listen()).awaitUninterruptibly();
        if (!bound.isSuccess()) {
            throw new IOException("cannot listen on " + settings.listen() + ": " + bound.cause().getMessage()
                    + "; choose another address or port", bound.cause());
        }
        server = bound.channel();
        return (InetSocketAddress) bound.channel().localAddress();
    }

    /** Clients with a session. Any thread. */
    public int sessions() {
        return sessions.size();
    }

    FrontEndSettings settings() {
        return settings;
    }

    Roles roles() {
        return roles;
    }

    byte[] mockSecret() {
        return mockSecret;
    }

    boolean full() {
        return clients.size() > settings.connectionLimit();
    }

    CompletableFuture<Void> confirm() {
        return registry.confirm();
    }

    void opened(Session session) {
        int processId = session.connection().processId();
        Runnable unregister = registry.register(processId, session::transaction);
        sessions.put(processId, session);
        session.connection().closed().thenRun(() -> {
            sessions.remove(processId, session);
            unregister.run();
        });
    }

    void cancel(StartupPacket.Cancel request) {
        Session session = sessions.get(request.processId());
        if (session != null && MessageDigest.isEqual(session.connection().secretKey(), request.secretKey())) {
            session.client().eventLoop().execute(session::cancelByClient);
        }
    }

    SessionServices services() {
        return services;
    }

    /** Stops listening and closes all clients' connections. */
    @Override
    public void close() {
        if (server != null) {
            server.close().awaitUninterruptibly();
        }
        clients.close().awaitUninterruptibly();
        roles.close();
    }
}
