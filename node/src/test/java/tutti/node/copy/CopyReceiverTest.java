package tutti.node.copy;

import static org.junit.jupiter.api.Assertions.assertFalse;
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
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
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

    /** What is done before an operation. */
    private interface Before {
        void operation() throws Exception;
    }

    /** The same, but before each operation something else is done. */
    private static Directory held(Directory real, Before before) {
        return (Directory) Proxy.newProxyInstance(Directory.class.getClassLoader(), new Class<?>[]{Directory.class},
                (_, method, arguments) -> {
                    before.operation();
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

    private static CopyReceiver receive(ServerSocket server, Directory into, CompletableFuture<String> end) {
        return new CopyReceiver(
                new CopyReceiver.Wanted(1, 2, "state", Set.of("order"), "", 3), RealMachine.INSTANCE, into,
                List.of(new CopyReceiver.Donor(0,
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), server.getLocalPort()))),
                new Completion<>() {
                    @Override
                    public void succeeded(Void nothing) {
                        end.complete("it was taken");
                    }

                    @Override
                    public void failed(EngineFailure failure) {
                        end.complete(failure.message());
                    }
                });
    }

    @Test
    @Timeout(60)
    void whoSendsFurtherAheadThanADonorIsGivenUp() throws Exception {
        CompletableFuture<String> end = new CompletableFuture<>();
        CountDownLatch writes = new CountDownLatch(1);
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Thread donor = Thread.ofPlatform().daemon().start(() -> sendAll(server));
            Directory into = held(PathDirectory.of(directory), writes::await);
            try (CopyReceiver _ = receive(server, into, end)) {
                String said = end.get(50, TimeUnit.SECONDS);
                writes.countDown();
                assertTrue(said.contains("further ahead"), said);
            }
            donor.join();
        }
    }

    /** Another copy may be put into the same directory then: a file that says that this one is whole would count for that. */
    @Test
    @Timeout(60)
    void nothingIsWrittenWhenItIsClosed() throws Exception {
        CompletableFuture<CopyReceiver> receiver = new CompletableFuture<>();
        CompletableFuture<Void> writes = new CompletableFuture<>();
        AtomicBoolean late = new AtomicBoolean();
        Thread closer = Thread.ofPlatform().unstarted(() -> receiver.join().close());
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Thread donor = Thread.ofPlatform().daemon().start(() -> sendAll(server));
            Directory into = held(PathDirectory.of(directory), () -> {
                writes.complete(null);
                while (closer.getState() == Thread.State.NEW || (closer.isAlive() && !isWaitingForWriting(closer))) {
                    Thread.onSpinWait();
                }
                late.compareAndSet(false, !closer.isAlive());
            });
            receiver.complete(receive(server, into, new CompletableFuture<>()));
            writes.join();
            closer.start();
            closer.join();
            donor.join();
        }
        for (Thread each : Thread.getAllStackTraces().keySet()) {
            if (each.getName().equals("tutti-copy-1")) {
                each.join();
            }
        }
        assertFalse(late.get(), "it has written on");
    }

    private static boolean isWaitingForWriting(Thread closer) {
        return Stream.of(closer.getStackTrace()).anyMatch(frame -> frame.getMethodName().equals("join")
                && !frame.getClassName().startsWith(CompletableFuture.class.getName()));
    }
}
