package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.util.concurrent.EventExecutor;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.Frontend;

/** A client that asks and asks, and does not read the answers, has to wait like one of PostgreSQL's. */
@Timeout(600)
class UnreadAnswersTest {
    private static final int BATCHES = 150;
    private static final int SYNCS = 20_000;
    private static final int READY_BYTES = 6;
    private static FrontEndFixture fixture;

    @BeforeAll
    static void start() throws Exception {
        fixture = new FrontEndFixture();
    }

    @AfterAll
    static void stop() throws Exception {
        fixture.close();
    }

    private static <T> T on(EventExecutor loop, Callable<T> task) throws Exception {
        return loop.submit(task).get(20, TimeUnit.SECONDS);
    }

    private static long waiting(Channel channel) {
        ChannelOutboundBuffer out = channel.unsafe().outboundBuffer();
        return out == null ? 0 : out.totalPendingWriteBytes();
    }

    /** The front end, which tells of the channel to a client that it admits. */
    private static Handshake.Host telling(CompletableFuture<Channel> admitted) {
        return (Handshake.Host) Proxy.newProxyInstance(UnreadAnswersTest.class.getClassLoader(),
                new Class<?>[]{Handshake.Host.class}, (self, method, arguments) -> {
                    if (method.getName().equals("admit")) {
                        admitted.complete((Channel) arguments[0]);
                    }
                    return method.invoke(fixture.frontEnd, arguments);
                });
    }

    @Test
    void doNotFillTheMemory() throws Exception {
        CompletableFuture<Channel> admitted = new CompletableFuture<>();
        try (ClientPort port = new ClientPort(fixture.loops)) {
            InetSocketAddress address = port.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                    telling(admitted));
            BackendConnection client = fixture.client(address);
            flood(client, admitted.get(20, TimeUnit.SECONDS));
            client.close();
        }
    }

    private static void flood(BackendConnection client, Channel server) throws Exception {
        Channel channel = client.channel();
        CompletableFuture<Void> answered = new CompletableFuture<>();
        on(channel.eventLoop(), () -> {
            channel.config().setAutoRead(false);
            return channel.pipeline().addFirst(new ChannelInboundHandlerAdapter() {
                private long left = (long) BATCHES * SYNCS * READY_BYTES;

                @Override
                public void channelRead(ChannelHandlerContext context, Object message) {
                    left -= ((ByteBuf) message).readableBytes();
                    ((ByteBuf) message).release();
                    if (left == 0) {
                        answered.complete(null);
                    }
                }
            });
        });
        for (int i = 0; i < BATCHES; i++) {
            ByteBuf batch = client.buffer();
            for (int j = 0; j < SYNCS; j++) {
                Frontend.sync(batch);
            }
            channel.writeAndFlush(batch);
        }
        while (on(server.eventLoop(), () -> server.config().isAutoRead())) {
            assertTrue(on(channel.eventLoop(), () -> waiting(channel)) > 0, "all was taken");
        }
        long kept = on(server.eventLoop(), () -> waiting(server));
        assertTrue(kept > 0 && kept < 2 << 20, () -> kept + " bytes of answers wait");
        channel.config().setAutoRead(true);
        answered.get(8, TimeUnit.MINUTES);
    }
}
