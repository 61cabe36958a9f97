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
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.Transport;

/**
 * A port at which clients of the PostgreSQL protocol connect; each is led through its {@link Handshake}. Opened and closed
 * from any thread but an event loop; both wait.
 */
public final class ClientPort implements AutoCloseable {
    private static final int BACKLOG = 512;
    private final EventLoopGroup loops;
    /** Most connections that have not proved who they are; they have no other client's place. */
    static final int ARRIVALS_MAX = 128;
    private final ChannelGroup clients = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
    /** Those that have not proved who they are, the oldest first; guarded by itself. */
    private final Set<Channel> arrivals = new LinkedHashSet<>();
    /** Those that have; guarded by {@link #arrivals}. */
    private final Set<Channel> admitted = new HashSet<>();
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
                .childOption(ChannelOption.RECVBUF_ALLOCATOR, Transport.reading())
                .childOption(ChannelOption.TCP_NODELAY, true).childOption(ChannelOption.SO_KEEPALIVE, true)
                .childOption(ChannelOption.WRITE_BUFFER_WATER_MARK, new WriteBufferWaterMark(64 << 10, 256 << 10))
                .childHandler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel client) {
                        clients.add(client);
                        arrived(client);
                        client.pipeline().addLast("first", new DirectTls(host.admission().tls()))
                                .addLast("frames", new Handshake(host, client).reader());
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

    /**
     * Where too many are on the way, the oldest goes of the address from which most of them come: whoever floods the port
     * pushes away itself.
     */
    private void arrived(Channel client) {
        Channel crowded = null;
        synchronized (arrivals) {
            arrivals.add(client);
            if (arrivals.size() > ARRIVALS_MAX) {
                Map<InetAddress, List<Channel>> byAddress = arrivals.stream()
                        .collect(Collectors.groupingBy(ClientPort::address));
                crowded = byAddress.values().stream().max(Comparator.comparingInt(List::size)).orElseThrow().getFirst();
                arrivals.remove(crowded);
            }
        }
        client.closeFuture().addListener(_ -> {
            synchronized (arrivals) {
                arrivals.remove(client);
                admitted.remove(client);
            }
        });
        if (crowded != null) {
            crowded.close();
        }
    }

    private static InetAddress address(Channel client) {
        return client.remoteAddress() instanceof InetSocketAddress from && from.getAddress() != null
                ? from.getAddress()
                : InetAddress.getLoopbackAddress();
    }

    /**
     * Gives a client that has proved who it is a place, until it has gone. Any thread.
     *
     * @return why there is none, for people; nothing if it has one
     */
    public String admit(Channel client, boolean superuser, Places places) {
        InetAddress from = address(client);
        synchronized (arrivals) {
            String refusal = places.refusal(superuser, admitted.size(),
                    admitted.stream().filter(other -> address(other).equals(from)).count());
            if (refusal.isEmpty()) {
                arrivals.remove(client);
                if (client.isActive()) {
                    admitted.add(client);
                }
            }
            return refusal;
        }
    }

    /** Stops listening; the clients that are there stay. */
    public void stopListening() {
        if (server != null) {
            server.close().awaitUninterruptibly();
        }
    }

    /** Stops listening and closes all clients' connections. */
    @Override
    public void close() {
        stopListening();
        clients.close().awaitUninterruptibly();
    }
}
