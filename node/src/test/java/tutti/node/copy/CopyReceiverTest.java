package tutti.node.copy;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.runtime.Directory;
import tutti.runtime.Frames;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;

/** What a node keeps in memory of a copy that it gets. */
class CopyReceiverTest {
    private static final int PIECES = 64;

    @TempDir
    private Path directory;

    /** The same, but nothing is written before it is said. */
    private static Directory held(Directory real, CountDownLatch until) {
        return (Directory) Proxy.newProxyInstance(Directory.class.getClassLoader(), new Class<?>[]{Directory.class},
                (_, method, arguments) -> {
                    until.await();
                    try {
                        return method.invoke(real, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    private static void sendAll(ServerSocket server) {
        try (Socket socket = server.accept()) {
            OutputStream out = socket.getOutputStream();
            out.write(Frames.of(new CopyMessage.Granted(7).bytes()).array());
            for (int number = 1; number <= PIECES; number++) {
                out.write(Frames.of(new CopyMessage.Piece(number, "order/" + number, 0, CopyMessage.PIECE_BYTES_MAX,
                        false, new byte[CopyMessage.PIECE_BYTES_MAX]).bytes()).array());
            }
            socket.getInputStream().transferTo(OutputStream.nullOutputStream());
        } catch (IOException gone) {
            // As it should be.
        }
    }

    @Test
    @Timeout(60)
    void whoSendsFurtherAheadThanADonorIsGivenUp() throws Exception {
        CompletableFuture<String> end = new CompletableFuture<>();
        CountDownLatch writes = new CountDownLatch(1);
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Thread donor = Thread.ofPlatform().daemon().start(() -> sendAll(server));
            try (CopyReceiver _ = new CopyReceiver(
                    new CopyReceiver.Wanted(1, 2, "state", Set.of("order"), "", 3), RealMachine.INSTANCE,
                    held(PathDirectory.of(directory), writes),
                    List.of(new CopyReceiver.Donor(0, new InetSocketAddress(InetAddress.getLoopbackAddress(),
                            server.getLocalPort()))),
                    new Completion<>() {
                        @Override
                        public void succeeded(Void nothing) {
                            end.complete("it was taken");
                        }

                        @Override
                        public void failed(EngineFailure failure) {
                            end.complete(failure.message());
                        }
                    })) {
                String said = end.get(50, TimeUnit.SECONDS);
                assertTrue(said.contains("further ahead"), said);
            } finally {
                writes.countDown();
            }
            donor.join();
        }
    }
}
