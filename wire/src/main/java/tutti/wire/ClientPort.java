package tutti.wire;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.io.IOException;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.Transport;

/**
 * A port at which clients of the PostgreSQL protocol connect; each is led through its {@link Handshake}. Opened and closed
 * from any thread but an event loop; both wait.
 */
public final class ClientPort implements AutoCloseable {
    private static final int BACKLOG = 512;
    private final EventLoopGroup loops;
    private final ChannelGroup clients = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
    private @Nullable Channel server;

    /** A port that is not open yet; its clients live on {@code loops}. */
    public ClientPort(EventLoopGroup loops) {
        this.loops = loops;
    }

    /**
     * Listens.
     *
     * @return where
     * @throws IOException if the address is taken or not this machine's
     */
    public InetSocketAddress open(InetSocketAddress address, Handshake.Host host) throws IOException {
        ServerBootstrap bootstrap = new ServerBootstrap().group(loops).channel(Transport.serverChannel())
                .option(ChannelOption.SO_BACKLOG, BACKLOG).option(ChannelOption.SO_REUSEADDR, true)
                .childOption(ChannelOption.TCP_NODELAY, true).childOption(ChannelOption.SO_KEEPALIVE, true)
                .childOption(ChannelOption.WRITE_BUFFER_WATER_MARK, new WriteBufferWaterMark(64 << 10, 256 << 10))
                .childHandler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel client) {
                        clients.add(client);
                        client.pipeline().addLast("frames", new Handshake(host, client).reader());
                    }
                });
        var bound = bootstrap.bind(address).awaitUninterruptibly();
        if (!bound.isSuccess()) {
            throw new IOException("cannot listen on " + address + ": " + bound.cause().getMessage()
                    + "; choose another address or port", bound.cause());
        }
        server = bound.channel();
        return (InetSocketAddress) bound.channel().localAddress();
    }

    /** How many are connected, with a session or on the way to one. Any thread. */
    public int connections() {
        return clients.size();
    }

    /** Stops listening and closes all clients' connections. */
    @Override
    public void close() {
        if (server != null) {
            server.close().awaitUninterruptibly();
        }
        clients.close().awaitUninterruptibly();
    }
}
