package tutti.node.copy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.runtime.Frames;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;

/**
 * Fuzzing of the stream of copies, as whoever gets one hears it: frames that are cut, damaged, repeated or in another order, with checksums that are
 * right all the same, and pieces of files with names that no donor has. Whatever comes, it is taken or refused; nothing is written but the parts of
 * a copy, and none is taken for whole that is not. A seed is a whole stream; those that have found something are kept.
 * {@code -Dtutti.fuzz.seconds=N} takes so long for new ones.
 */
@Timeout(900)
@Execution(ExecutionMode.CONCURRENT)
class DamagedCopiesTest {
    private static final Duration TIME = Duration.ofSeconds(Integer.getInteger("tutti.fuzz.seconds", 15));
    private static final Set<String> PARTS = Set.of("postgres", "order");
    private static final int PIECES_MAX = 8;
    private static final int PATIENCE_SECONDS = 60;
    private static final List<String> PATHS = List.of("postgres", "postgres/a", "postgres/a/b", "order/log/1",
            "order", "", "/", "//", "/postgres", "/complete", "complete", "complete/a", "postgres/", "postgres//a",
            "..",
            "postgres/..", "postgres/../x", "postgres/./a", "x", "x/y", "postgres/a\0b", "postgres/ä", "C:\\x",
            "postgres/" + "a/".repeat(7) + "a", "postgres" + "/a".repeat(4000), "/".repeat(9000));

    @TempDir
    private Path directory;

    private static <T> T any(SplittableRandom random, List<T> of) {
        return of.get(random.nextInt(of.size()));
    }

    private static CopyMessage.Piece piece(SplittableRandom random, long number) {
        byte[] content = new byte[random.nextInt(4) == 0 ? 0 : random.nextInt(40)];
        random.nextBytes(content);
        boolean deflated = random.nextInt(4) == 0;
        int length = random.nextInt(5) == 0 ? random.nextInt(CopyMessage.PIECE_BYTES_MAX + 1) : content.length;
        long offset = switch (random.nextInt(5)) {
            case 0 -> CopyMessage.OF_DIRECTORY;
            case 1 -> random.nextLong();
            default -> 0;
        };
        return new CopyMessage.Piece(random.nextInt(20) == 0 ? number + 1 : number, any(random, PATHS), offset, length,
                deflated, content);
    }

    /** What is there, but for the parts of a copy. */
    private static List<Path> beside(Path into) throws IOException {
        try (Stream<Path> all = Files.list(into)) {
            return all.filter(each -> !PARTS.contains(each.getFileName().toString())).toList();
        }
    }

    private void write(long seed, Path into) throws IOException {
        SplittableRandom random = new SplittableRandom(seed);
        Files.createDirectories(into);
        try (PieceWriter writer = new PieceWriter(PathDirectory.of(into), PARTS)) {
            for (int number = 1; number <= PIECES_MAX; number++) {
                writer.write(List.of(piece(random, number)));
            }
        } catch (IOException refused) {
            assertTrue(refused.getMessage() != null, "it says why");
        } catch (RuntimeException | StackOverflowError wrong) {
            throw new AssertionError("seed " + seed, wrong);
        }
        assertEquals(List.of(), beside(into), "seed " + seed);
    }

    /** Names that have found something once. */
    @ParameterizedTest
    @ValueSource(strings = {"complete", "/complete", "x", "../x"})
    void noFileIsWrittenBesideTheParts(String path) throws IOException {
        try (PieceWriter writer = new PieceWriter(PathDirectory.of(directory), PARTS)) {
            assertThrows(IOException.class,
                    () -> writer.write(List.of(new CopyMessage.Piece(1, path, 0, 0, false, new byte[0]))));
        }
        assertEquals(List.of(), beside(directory));
    }

    /** The first one, too. */
    @Test
    void noDirectoryIsTooDeep() throws IOException {
        try (PieceWriter writer = new PieceWriter(PathDirectory.of(directory), PARTS)) {
            assertThrows(IOException.class, () -> writer.write(List.of(new CopyMessage.Piece(1,
                    "postgres" + "/a".repeat(8000), CopyMessage.OF_DIRECTORY, 0, false, new byte[0]))));
        }
    }

    @Test
    @Tag("long")
    void piecesAreWrittenToThePartsOrRefused() throws IOException {
        long end = System.nanoTime() + TIME.toNanos();
        long seed = System.nanoTime();
        for (int run = 0; System.nanoTime() < end || run == 0; run++) {
            write(seed++, directory.resolve(String.valueOf(run)));
        }
    }

    private static byte[] damaged(SplittableRandom random, byte[] of) {
        byte[] bytes = of.clone();
        int at = random.nextInt(bytes.length);
        switch (random.nextInt(4)) {
            case 0 -> bytes[at] ^= (byte) (1 << random.nextInt(8));
            case 1 -> bytes[at] = (byte) random.nextInt(256);
            case 2 -> bytes = Arrays.copyOf(bytes, at);
            default -> bytes = Arrays.copyOf(bytes, bytes.length + random.nextInt(9));
        }
        return bytes;
    }

    /** Grants a copy, sends whatever comes to its mind, and does not know of it any more when it is asked again. */
    private static byte[] stream(SplittableRandom random) {
        List<byte[]> frames = new ArrayList<>();
        frames.add(Frames.of(new CopyMessage.Granted(7).bytes()).array());
        for (int number = 1; number <= 1 + random.nextInt(PIECES_MAX); number++) {
            CopyMessage message = switch (random.nextInt(12)) {
                case 0 -> new CopyMessage.End(random.nextInt(3), new byte[CopyDigest.BYTES]);
                case 1 -> new CopyMessage.Granted(random.nextInt(2) + 7);
                case 2 -> new CopyMessage.Complete();
                case 3 -> new CopyMessage.Refused("no", random.nextBoolean());
                case 4 -> new CopyMessage.Written(random.nextInt(9));
                case 5 -> new CopyMessage.Ask(1, 2, "state", true);
                default -> piece(random, number);
            };
            byte[] bytes = message.bytes();
            byte[] frame = Frames.of(random.nextInt(4) == 0 ? damaged(random, bytes) : bytes).array();
            frames.add(random.nextInt(10) == 0 ? damaged(random, frame) : frame);
        }
        ByteBuffer all = ByteBuffer.allocate(frames.stream().mapToInt(each -> each.length).sum());
        frames.forEach(all::put);
        return all.array();
    }

    private static void serve(ServerSocket server, byte[] stream) {
        byte[] next = stream;
        while (true) {
            try (Socket socket = server.accept()) {
                OutputStream out = socket.getOutputStream();
                out.write(next);
                socket.shutdownOutput();
                InputStream in = socket.getInputStream();
                in.transferTo(OutputStream.nullOutputStream());
            } catch (IOException gone) {
                if (server.isClosed()) {
                    return;
                }
            }
            next = Frames.of(new CopyMessage.Refused("there is none any more", true).bytes()).array();
        }
    }

    private void get(long seed, Path into) throws Exception {
        Files.createDirectories(into);
        byte[] stream = stream(new SplittableRandom(seed));
        CompletableFuture<Boolean> done = new CompletableFuture<>();
        Thread donor;
        try (ServerSocket server = new ServerSocket(0, 8, InetAddress.getLoopbackAddress())) {
            donor = Thread.ofPlatform().daemon().start(() -> serve(server, stream));
            CopyReceiver receiver = new CopyReceiver(
                    new CopyReceiver.Wanted(1, 2, "state", PARTS, "", 3), RealMachine.INSTANCE,
                    PathDirectory.of(into),
                    List.of(new CopyReceiver.Donor(0, new InetSocketAddress(InetAddress.getLoopbackAddress(),
                            server.getLocalPort()))),
                    new Completion<>() {
                        @Override
                        public void succeeded(Void nothing) {
                            done.complete(true);
                        }

                        @Override
                        public void failed(EngineFailure failure) {
                            done.complete(false);
                        }
                    });
            try {
                assertFalse(done.get(PATIENCE_SECONDS, TimeUnit.SECONDS), "seed " + seed + ": it was taken for whole");
            } finally {
                receiver.close();
            }
        }
        donor.join();
        assertEquals(List.of(), beside(into), "seed " + seed);
    }

    @Test
    @Tag("long")
    void whoGetsACopyEndsInOrderWhateverItIsSent() throws Exception {
        long end = System.nanoTime() + TIME.toNanos();
        long seed = System.nanoTime();
        for (int run = 0; System.nanoTime() < end || run == 0; run++) {
            get(seed++, directory.resolve(String.valueOf(run)));
        }
    }
}
