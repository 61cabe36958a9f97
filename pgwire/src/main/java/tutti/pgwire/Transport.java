package tutti.pgwire;

import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.channel.unix.DomainSocketAddress;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.net.SocketAddress;

/** Which of Netty's transports is used: native epoll where it is available, the JDK's NIO elsewhere. */
public final class Transport {
    private static final boolean EPOLL = Epoll.isAvailable();

    private Transport() {}

    /** Event loops on daemon threads of that name. Close with {@code shutdownGracefully}. */
    public static EventLoopGroup eventLoops(int threads, String name) {
        return new MultiThreadIoEventLoopGroup(threads, new DefaultThreadFactory(name, true),
                EPOLL ? EpollIoHandler.newFactory() : NioIoHandler.newFactory());
    }

    /** The kind of client channel that reaches the address: TCP, or a Unix domain socket where epoll is available. */
    public static Class<? extends Channel> channel(SocketAddress address) {
        if (address instanceof DomainSocketAddress) {
            if (!EPOLL) {
                throw new IllegalArgumentException(
                        "Unix domain socket " + address + " needs Linux's epoll; use host and port");
            }
            return EpollDomainSocketChannel.class;
        }
        return EPOLL ? EpollSocketChannel.class : NioSocketChannel.class;
    }

    /** Whether Unix domain sockets can be reached. */
    public static boolean hasDomainSockets() {
        return EPOLL;
    }

    /**
     * How much is read at once, in bytes: most messages by one call of the operating system, since one that fills its buffer is followed by
     * another.
     */
    public static RecvByteBufAllocator reading() {
        return new AdaptiveRecvByteBufAllocator(4096, 4096, 64 << 10);
    }

    /** The kind of channel that listens. */
    public static Class<? extends ServerChannel> serverChannel() {
        return EPOLL ? EpollServerSocketChannel.class : NioServerSocketChannel.class;
    }
}
