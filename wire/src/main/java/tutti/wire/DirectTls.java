package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslHandler;
import org.jspecify.annotations.Nullable;

/**
 * Looks at the first byte of a client's connection: one that begins with TLS at once ({@code sslnegotiation=direct}) is taken as by PostgreSQL 17 and later,
 * which saves it a round trip. No start-up packet is long enough to begin with that byte. Such a client must name the protocol in its TLS handshake (ALPN),
 * so that nobody is led here who speaks another one. On the client's event loop.
 */
public final class DirectTls extends ChannelInboundHandlerAdapter {
    /** The name of the handler that encrypts. */
    static final String TLS = "tls";
    /** Type of the record that a TLS client begins with. */
    private static final byte HANDSHAKE_RECORD = 22;
    private static final String PROTOCOL = "postgresql";

    private final @Nullable SslContext tls;

    DirectTls(@Nullable SslContext tls) {
        this.tls = tls;
    }

    /** What the TLS context of a port has to be made with, to take such clients. */
    public static ApplicationProtocolConfig protocol() {
        return new ApplicationProtocolConfig(ApplicationProtocolConfig.Protocol.ALPN,
                ApplicationProtocolConfig.SelectorFailureBehavior.NO_ADVERTISE,
                ApplicationProtocolConfig.SelectedListenerFailureBehavior.ACCEPT, PROTOCOL);
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        ByteBuf in = (ByteBuf) message;
        if (tls != null && in.isReadable() && in.getByte(in.readerIndex()) == HANDSHAKE_RECORD) {
            SslHandler handler = tls.newHandler(ctx.alloc());
            ctx.pipeline().addAfter(ctx.name(), TLS, handler);
            handler.handshakeFuture().addListener(done -> {
                if (done.isSuccess() && !PROTOCOL.equals(handler.applicationProtocol())) {
                    ctx.channel().close();
                }
            });
        }
        ctx.fireChannelRead(in);
        ctx.pipeline().remove(this);
    }
}
