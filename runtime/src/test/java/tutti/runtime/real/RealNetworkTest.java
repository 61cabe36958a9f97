package tutti.runtime.real;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.netty.channel.ChannelException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.runtime.Network;
import tutti.runtime.NetworkContract;
import tutti.runtime.TestWorld;

class RealNetworkTest extends NetworkContract {
    @TempDir
    private Path directory;

    /** As with too many open files. */
    @Test
    @Timeout(60)
    void aConnectionForWhichThereIsNoSocketIsToldAndLeavesNothingBehind() throws Exception {
        AtomicReference<@Nullable Throwable> failed = new AtomicReference<>();
        CompletableFuture<String> told = new CompletableFuture<>();
        try (NettyNetwork network = new NettyNetwork("no sockets", null, failed::set, () -> {
            throw new ChannelException("Failed to open a socket.", new SocketException("Too many open files"));
        })) {
            network.loop().execute(() -> {
                Network.Stream stream = network.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), 1),
                        1_000_000_000L, new Network.StreamListener() {
                            @Override
                            public void received(ByteBuffer bytes) {
                                throw new AssertionError("bytes of nobody");
                            }

                            @Override
                            public void closed(String why) {
                                told.completeExceptionally(new AssertionError("told of the other end: " + why));
                            }

                            @Override
                            public void untried(String why) {
                                told.complete(why);
                            }
                        });
                network.loop().execute(() -> {
                    assertEquals(0, stream.unsentBytes());
                    stream.close();
                });
            });
            assertEquals("Too many open files", told.get());
        }
        assertNull(failed.get());
    }

    @Override
    protected TestWorld world() {
        return new RealWorld(directory);
    }
}
