package tutti.sim.machine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.node.copy.CopyDonor;
import tutti.node.copy.CopyReceiver;
import tutti.node.copy.CopySource;
import tutti.runtime.DataFile;
import tutti.runtime.Directory;
import tutti.runtime.Frames;
import tutti.runtime.Network;
import tutti.runtime.PeerIdentity;
import tutti.runtime.TestWorld.Crashing.Crash;

/** Copies from one simulated node to another arrive whole, or not at all, whatever breaks meanwhile. */
class CopiesSimTest {
    private static final long OPENING = 77;
    private static final long FAST = 1L << 40;
    private static final int PIECE = 1 << 18;

    private final SimWorld world = new SimWorld(5, 3);
    private final InetSocketAddress address = world.freeAddress(0);
    private final Map<String, byte[]> files = new TreeMap<>();
    private final List<Boolean> ended = new ArrayList<>();
    private final List<String> outcomes = new ArrayList<>();
    /** Of the donor's connections, in turn. */
    private final List<Network.Stream> streams = new ArrayList<>();
    private Damage damage = (_, bytes) -> bytes;
    private boolean leads;
    private long beginNanos;
    private @Nullable CopyReceiver receiver;

    /** What becomes of what the donor sends. */
    private interface Damage {
        @Nullable
        ByteBuffer sent(int connection, ByteBuffer bytes);
    }

    CopiesSimTest() throws IOException {
        Random random = new Random(3);
        for (int length : new int[]{0, 1, PIECE - 1, PIECE, PIECE + 1, 5 * PIECE + 17}) {
            byte[] content = new byte[length];
            random.nextBytes(content);
            files.put("rows/of/" + length, content);
        }
        files.put("order/zeros", new byte[3 * PIECE]);
        files.put("order/last", new byte[]{1, 2, 3});
    }

    // ------------------------------------------------------------------------------------------ both ends

    private void donor(long bytesPerSecond) throws IOException {
        SimMachine machine = world.machine(0);
        Network network = machine.network("donor", broken -> outcomes.add("donor broke: " + broken));
        CopyDonor donor = new CopyDonor(0, network.loop(), machine, new Source(), () -> bytesPerSecond);
        var _ = network.listen(address, stream -> {
            streams.add(stream);
            Network.StreamListener visit = donor.accepted(new Damaged(stream, streams.size()));
            return new Opened(visit);
        });
    }

    private void receive(long number) throws IOException {
        receive(number, List.of(new CopyReceiver.Donor(0, address)));
    }

    private void receive(long number, List<CopyReceiver.Donor> donors) throws IOException {
        receiver = new CopyReceiver(
                new CopyReceiver.Wanted(1, number, "the same", Set.of("rows", "order"), "", OPENING),
                world.machine(1), incoming(), donors, new Completion<>() {
                    @Override
                    public void succeeded(Void nothing) {
                        outcomes.add("complete");
                    }

                    @Override
                    public void failed(EngineFailure failure) {
                        outcomes.add(failure.message());
                    }
                });
    }

    private Directory incoming() throws IOException {
        return world.directory(1).directory("incoming");
    }

    private void awaitOutcome() {
        world.await("it is over", () -> !outcomes.isEmpty());
    }

    private byte[] content(String path) throws IOException {
        Directory directory = incoming();
        String[] names = path.split("/", -1);
        for (int i = 0; i < names.length - 1; i++) {
            directory = directory.directory(names[i]);
        }
        try (DataFile file = directory.open(names[names.length - 1], Directory.Open.EXISTING)) {
            ByteBuffer content = ByteBuffer.allocate((int) file.size());
            file.read(content, 0);
            return content.array();
        }
    }

    private void assertWhole() throws IOException {
        assertTrue(incoming().exists(CopyReceiver.COMPLETE));
        for (Map.Entry<String, byte[]> file : files.entrySet()) {
            assertArrayEquals(file.getValue(), content(file.getKey()), file.getKey());
        }
    }

    /** Files in memory; one that is gone when it is to be read. */
    private final class Source implements CopySource {
        @Override
        public String state() {
            return "the same";
        }

        @Override
        public boolean leads() {
            return leads;
        }

        @Override
        public void begin(int receiver, long directory, Completion<Copy> done) {
            if (beginNanos > 0) {
                long nanos = beginNanos;
                beginNanos = 0;
                world.machine(0).loop("slow source", broken -> outcomes.add("source broke: " + broken))
                        .schedule(nanos, () -> begin(receiver, directory, done));
                return;
            }
            done.succeeded(new Copy() {
                @Override
                public List<Entry> first() {
                    List<Entry> first = new ArrayList<>();
                    first.add(new Entry("rows/empty", null));
                    first.add(new Entry("rows/gone", () -> null));
                    files.forEach((path, content) -> first.add(new Entry(path, () -> new Content(content))));
                    first.removeLast();
                    return first;
                }

                @Override
                public List<Entry> last() {
                    Map.Entry<String, byte[]> last = new TreeMap<>(files).lastEntry();
                    return List.of(new Entry(last.getKey(), () -> new Content(last.getValue())));
                }

                @Override
                public void end(boolean complete) {
                    ended.add(complete);
                }
            });
        }
    }

    private record Content(byte[] bytes) implements DataFile {
        @Override
        public long size() {
            return bytes.length;
        }

        @Override
        public int read(ByteBuffer into, long at) {
            int count = (int) Math.min(into.remaining(), bytes.length - at);
            into.put(bytes, (int) at, count);
            return count;
        }

        @Override
        public void write(ByteBuffer from, long at) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void truncate(long size) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void force(boolean size) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void close() {
            // It is in memory.
        }
    }

    /** Takes the first bytes of a connection, as the order does. */
    private static final class Opened implements Network.StreamListener {
        private final Network.StreamListener then;
        private final ByteBuffer opening = ByteBuffer.allocate(Long.BYTES);

        Opened(Network.StreamListener then) {
            this.then = then;
        }

        @Override
        public void received(ByteBuffer bytes) {
            while (opening.hasRemaining() && bytes.hasRemaining()) {
                opening.put(bytes.get());
            }
            if (!opening.hasRemaining()) {
                assertEquals(OPENING, opening.getLong(0));
            }
            if (bytes.hasRemaining()) {
                then.received(bytes);
            }
        }

        @Override
        public void closed(String why) {
            then.closed(why);
        }
    }

    private final class Damaged implements Network.Stream {
        private final Network.Stream stream;
        private final int number;

        Damaged(Network.Stream stream, int number) {
            this.stream = stream;
            this.number = number;
        }

        @Override
        public String remote() {
            return stream.remote();
        }

        @Override
        public @Nullable PeerIdentity peer() {
            return stream.peer();
        }

        @Override
        public void send(ByteBuffer bytes) {
            ByteBuffer sent = damage.sent(number, bytes);
            if (sent != null) {
                stream.send(sent);
            }
        }

        @Override
        public long unsentBytes() {
            return stream.unsentBytes();
        }

        @Override
        public void read(boolean wanted) {
            stream.read(wanted);
        }

        @Override
        public void close() {
            stream.close();
        }
    }

    // ------------------------------------------------------------------------------------------ what must be

    @Test
    void allFilesArriveAsTheyAre() throws Exception {
        donor(FAST);
        receive(9);
        awaitOutcome();
        assertEquals(List.of("complete"), outcomes);
        assertWhole();
        assertFalse(incoming().directory("rows").exists("gone"));
        assertTrue(incoming().directory("rows").exists("empty"));
        world.await("the donor knows", () -> ended.equals(List.of(true)));
    }

    @Test
    void aConnectionThatIsCutAgainAndAgainIsGoneOnWith() throws Exception {
        int[] sent = {0};
        damage = (_, bytes) -> {
            if (Set.of(6, 14, 23).contains(++sent[0])) {
                streams.getLast().close();
                return null;
            }
            return bytes;
        };
        donor(8L * PIECE);
        receive(9);
        awaitOutcome();
        assertEquals(List.of("complete"), outcomes);
        assertTrue(streams.size() > 2, () -> streams.size() + " connections");
        assertWhole();
    }

    @Tag("long")
    @Test
    void aPieceThatIsDamagedOrMissingIsSentAgain() throws Exception {
        for (int which = 2; which < 12; which++) {
            int wrong = which;
            for (boolean missing : new boolean[]{false, true}) {
                CopiesSimTest one = new CopiesSimTest();
                int[] sent = {0};
                one.damage = (_, bytes) -> {
                    if (++sent[0] != wrong) {
                        return bytes;
                    }
                    ByteBuffer other = ByteBuffer.allocate(bytes.remaining()).put(bytes.duplicate()).flip();
                    int last = other.limit() - 1;
                    other.put(last, (byte) (other.get(last) ^ 1));
                    return missing ? null : other;
                };
                one.donor(FAST);
                one.receive(9);
                one.awaitOutcome();
                assertEquals(List.of("complete"), one.outcomes, "message " + which);
                assertEquals(2, one.streams.size(), "message " + which);
                one.assertWhole();
            }
        }
    }

    /** A receiver that dies at any moment has all, and says so, or says nothing; then it begins anew. */
    @Tag("long")
    @Test
    void noHalfCopyIsLeftThatLooksWhole() throws Exception {
        int whole = 0;
        int none = 0;
        for (int step = 0; step < 24; step++) {
            CopiesSimTest one = new CopiesSimTest();
            one.donor(FAST);
            one.receive(9);
            one.world.pass(TimeUnit.MILLISECONDS.toNanos(2L * step));
            one.world.crash(1, Crash.values()[step % Crash.values().length]);
            if (one.incoming().exists(CopyReceiver.COMPLETE)) {
                one.assertWhole();
                whole++;
            } else {
                none++;
            }
        }
        assertTrue(whole > 3 && none > 3, whole + " were whole, " + none + " were not: look at other moments");
    }

    @Test
    void aDonorThatDiesLeavesNothingThatLooksWhole() throws Exception {
        donor(4L * PIECE);
        receive(9);
        world.pass(TimeUnit.MILLISECONDS.toNanos(500));
        world.crash(0, Crash.PROCESS_KILLED);
        long died = world.kernel.now();
        awaitOutcome();
        assertTrue(outcomes.getFirst().contains("cannot be reached any more"), outcomes::toString);
        // A donor that lives has forgotten the copy by then; another one is to be asked.
        assertTrue(world.kernel.now() - died < TimeUnit.SECONDS.toNanos(100),
                "after " + (world.kernel.now() - died) / 1e9 + " s");
        assertFalse(incoming().exists(CopyReceiver.COMPLETE));
    }

    @Test
    void aReceiverThatHasBegunAnewGetsAnotherCopy() throws Exception {
        donor(4L * PIECE);
        receive(9);
        world.pass(TimeUnit.MILLISECONDS.toNanos(500));
        world.crash(1, Crash.UNFORCED_TORN);
        ended.clear();
        outcomes.clear();
        CopyReceiver before = receiver;
        assertTrue(before != null);
        new Cleaned(incoming()).run();
        receive(10);
        awaitOutcome();
        assertEquals(List.of("complete"), outcomes);
        assertWhole();
        world.await("both are over", () -> ended.equals(List.of(false, true)));
    }

    private record Cleaned(Directory directory) {
        void run() throws IOException {
            for (String name : directory.list()) {
                directory.delete(name);
            }
        }
    }

    @Test
    void itMayTakeLongToBegin() throws Exception {
        beginNanos = TimeUnit.MINUTES.toNanos(10);
        donor(FAST);
        receive(9);
        awaitOutcome();
        assertEquals(List.of("complete"), outcomes);
        assertEquals(1, streams.size());
        assertWhole();
    }

    /** Another node that could not be reached, and the time that it takes to begin, do not count as how long its connection has been gone. */
    @Test
    void whatIsCutOnceIsGoneOnWithHoweverLongItTookToBegin() throws Exception {
        beginNanos = TimeUnit.MINUTES.toNanos(10);
        int[] sent = {0};
        damage = (_, bytes) -> {
            if (bytes.remaining() > Frames.alive().remaining() && ++sent[0] == 2) {
                streams.getLast().close();
                return null;
            }
            return bytes;
        };
        donor(FAST);
        receive(9, List.of(new CopyReceiver.Donor(2, world.freeAddress(2)), new CopyReceiver.Donor(0, address)));
        awaitOutcome();
        assertEquals(List.of("complete"), outcomes);
        assertEquals(2, streams.size());
        assertWhole();
    }

    /** The source keeps something for a copy: not for ever. */
    @Test
    void aReceiverThatVanishesIsNotWaitedForForEver() throws Exception {
        donor(4L * PIECE);
        receive(9);
        world.pass(TimeUnit.MILLISECONDS.toNanos(500));
        world.crash(1, Crash.PROCESS_KILLED);
        world.pass(TimeUnit.SECONDS.toNanos(120));
        assertEquals(List.of(false), ended);
    }

    @Test
    void itIsNoFasterThanAllowed() throws Exception {
        donor(4L * PIECE);
        receive(9);
        long begun = world.kernel.now();
        awaitOutcome();
        long bytes = files.values().stream().mapToLong(content -> content.length).sum();
        double seconds = (world.kernel.now() - begun) / 1e9;
        double least = bytes / (4.0 * PIECE);
        assertTrue(seconds > 0.8 * least && seconds < 2 * least + 2, seconds + " s, expected " + least);
    }

    @Test
    void whoLeadsIsAskedLast() throws Exception {
        leads = true;
        donor(FAST);
        receive(9);
        awaitOutcome();
        assertEquals(List.of("complete"), outcomes);
        assertEquals(2, streams.size());
    }

    @Test
    void whoHasAnotherStateGetsNone() throws Exception {
        donor(FAST);
        BooleanSupplier over = () -> !outcomes.isEmpty();
        receiver = new CopyReceiver(new CopyReceiver.Wanted(1, 9, "another", Set.of("rows"), "", OPENING),
                world.machine(1), incoming(), List.of(new CopyReceiver.Donor(0, address)), new Completion<>() {
                    @Override
                    public void succeeded(Void nothing) {
                        outcomes.add("complete");
                    }

                    @Override
                    public void failed(EngineFailure failure) {
                        outcomes.add(failure.transientFailure() + " " + failure.message());
                    }
                });
        world.await("it is refused", over);
        assertTrue(outcomes.getFirst().startsWith("false") && outcomes.getFirst().contains("has the same"),
                outcomes::toString);
    }

    @Test
    void whatNoNodeWouldSendIsNotWritten() throws Exception {
        files.put("rows/../../outside", new byte[]{1});
        donor(FAST);
        receive(9);
        awaitOutcome();
        assertTrue(outcomes.getFirst().contains("a file of the name '..'"), outcomes::toString);
        assertFalse(incoming().exists(CopyReceiver.COMPLETE));
    }
}
