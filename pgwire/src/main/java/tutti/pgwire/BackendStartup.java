package tutti.pgwire;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Begins a connection to a server: TLS if asked for, the start-up packet, authentication, parameters, key. */
final class BackendStartup implements FrameSink {
    private final BackendConnection connection;
    private final BackendSettings settings;
    private final CompletableFuture<BackendConnection> result;
    private final Channel channel;
    private @Nullable Future<?> timeout;
    private Scram.@Nullable Client scram;
    private boolean authenticated;
    private boolean verified;

    BackendStartup(BackendConnection connection, BackendSettings settings,
            CompletableFuture<BackendConnection> result) {
        this.connection = connection;
        this.settings = settings;
        this.result = result;
        this.channel = connection.channel();
    }

    void install() {
        connection.reader().sink(this);
        timeout = channel.eventLoop().schedule(
                () -> fail(new IOException("PostgreSQL at " + settings.address() + " did not complete the start-up of"
                        + " a session within " + settings.timeout())),
                settings.timeout().toNanos(), TimeUnit.NANOSECONDS);
        channel.closeFuture().addListener(_ -> fail(
                new IOException("PostgreSQL at " + settings.address() + " closed the connection during start-up")));
        begin(channel, settings, this::fail, connection.reader(), this::sendStartup);
    }

    /** Sends one cancel request, then waits for the server to close. */
    static void installCancel(Channel channel, BackendSettings settings, int processId, byte[] secretKey) {
        begin(channel, settings, _ -> channel.close(), new Drain(), () -> {
            ByteBuf out = channel.alloc().buffer();
            Frontend.cancelRequest(out, processId, secretKey);
            channel.writeAndFlush(out, channel.voidPromise());
        });
    }

    /** Makes TLS, if asked for, and calls {@code then} when messages can be sent. */
    private static void begin(Channel channel, BackendSettings settings, Consumer<Throwable> failed,
            ChannelInboundHandlerAdapter last, Runnable then) {
        SslContext tls = settings.tls();
        channel.pipeline().addLast(new ChannelInboundHandlerAdapter() {
            @Override
            public void channelActive(ChannelHandlerContext ctx) {
                if (tls == null) {
                    ctx.pipeline().replace(this, "frames", last);
                    then.run();
                } else {
                    ByteBuf out = ctx.alloc().buffer(8);
                    Frontend.sslRequest(out);
                    ctx.writeAndFlush(out, ctx.voidPromise());
                }
            }

            @Override
            public void channelRead(ChannelHandlerContext ctx, Object message) {
                ByteBuf in = (ByteBuf) message;
                boolean accepted = in.readableBytes() == 1 && in.getByte(in.readerIndex()) == 'S';
                in.release();
                if (!accepted || tls == null) {
                    failed.accept(new IOException("PostgreSQL at " + settings.address() + " does not speak TLS"));
                    return;
                }
                SslHandler handler = settings.address() instanceof InetSocketAddress inet
                        ? tls.newHandler(ctx.alloc(), inet.getHostString(), inet.getPort())
                        : tls.newHandler(ctx.alloc());
                handler.handshakeFuture().addListener(made -> {
                    if (made.isSuccess()) {
                        then.run();
                    } else {
                        failed.accept(new IOException("TLS with PostgreSQL at " + settings.address() + " failed",
                                made.cause()));
                    }
                });
                ctx.pipeline().addFirst("tls", handler);
                ctx.pipeline().replace(this, "frames", last);
            }

            @Override
            public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
                failed.accept(cause);
            }
        });
    }

    private void sendStartup() {
        Map<String, String> parameters = new LinkedHashMap<>();
        parameters.put("user", settings.user());
        parameters.put("database", settings.database());
        parameters.putAll(settings.parameters());
        parameters.putIfAbsent("client_encoding", "UTF8");
        ByteBuf out = channel.alloc().buffer();
        Frontend.startup(out, settings.protocol(), parameters);
        channel.writeAndFlush(out, channel.voidPromise());
    }

    private void fail(Throwable cause) {
        stopTimeout();
        if (result.completeExceptionally(cause)) {
            channel.close();
        }
    }

    private void stopTimeout() {
        if (timeout != null) {
            timeout.cancel(false);
        }
    }

    @Override
    public int wanted(byte type, int bodyLength) {
        return Backend.wanted(type, bodyLength);
    }

    @Override
    public boolean frame(byte type, ByteBuf buffer, int start, int bodyLength) {
        ByteBuf body = buffer.slice(start, bodyLength);
        switch (type) {
            case Backend.AUTHENTICATION -> authenticate(body);
            case Backend.ERROR_RESPONSE -> fail(new PostgresException(ErrorFields.read(body)));
            case Backend.NOTICE_RESPONSE -> connection.startNotice(ErrorFields.read(body));
            case Backend.PARAMETER_STATUS -> connection.parameter(body);
            case Backend.BACKEND_KEY_DATA -> connection.key(Fields.int32(body), Fields.rest(body));
            case Backend.READY_FOR_QUERY -> {
                if (!authenticated) {
                    throw new ProtocolViolation("ReadyForQuery before authentication");
                }
                stopTimeout();
                connection.started();
                result.complete(connection);
            }
            default -> {
                // NegotiateProtocolVersion changes nothing
            }
        }
        return false;
    }

    private void authenticate(ByteBuf body) {
        int code = Fields.int32(body);
        try {
            switch (code) {
                case Backend.AUTHENTICATION_OK -> {
                    if (scram != null && !verified) {
                        throw new ProtocolViolation(
                                "the server ended SCRAM without proving that it knows the password");
                    }
                    authenticated = true;
                }
                case Backend.AUTHENTICATION_SASL -> {
                    Scram.Client client = switch (settings.credentials()) {
                        case BackendSettings.Credentials.Password password ->
                            Scram.Client.ofPassword(password.password());
                        case BackendSettings.Credentials.ScramKeys keys -> Scram.Client.ofKeys(keys.keys());
                        case BackendSettings.Credentials.None _ -> throw new ProtocolViolation(
                                "the server asks for a password for role " + settings.user() + " and none is set");
                    };
                    requireMechanism(body);
                    scram = client;
                    ByteBuf out = channel.alloc().buffer();
                    Frontend.saslInitialResponse(out, Scram.MECHANISM, client.first());
                    channel.writeAndFlush(out, channel.voidPromise());
                }
                case Backend.AUTHENTICATION_SASL_CONTINUE -> {
                    ByteBuf out = channel.alloc().buffer();
                    Frontend.saslResponse(out, conversation().second(Fields.rest(body)));
                    channel.writeAndFlush(out, channel.voidPromise());
                }
                case Backend.AUTHENTICATION_SASL_FINAL -> {
                    conversation().verify(Fields.rest(body));
                    verified = true;
                }
                default -> throw new ProtocolViolation("the server asks for authentication method " + code
                        + "; SCRAM-SHA-256 and trust are supported");
            }
        } catch (Scram.ScramException failed) {
            fail(failed);
        }
    }

    private Scram.Client conversation() {
        if (scram == null) {
            throw new ProtocolViolation("SASL message out of order");
        }
        return scram;
    }

    private static void requireMechanism(ByteBuf body) {
        for (String name = Fields.cString(body); !name.isEmpty(); name = Fields.cString(body)) {
            if (name.equals(Scram.MECHANISM)) {
                return;
            }
        }
        throw new ProtocolViolation("the server does not offer " + Scram.MECHANISM);
    }

    @Override
    public void failed(Throwable cause) {
        fail(cause);
    }

    @Override
    public void inactive() {
        connection.inactive();
    }

    /** Drops what arrives. */
    private static final class Drain extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            ((ByteBuf) message).release();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            ctx.close();
        }
    }
}
