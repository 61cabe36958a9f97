package tutti.sim.machine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import tutti.runtime.DataFile;
import tutti.runtime.Directory;
import tutti.runtime.Network;
import tutti.runtime.Network.Stream;
import tutti.runtime.Network.StreamListener;
import tutti.runtime.TestWorld.Crashing.Crash;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Nanos;
import tutti.sim.net.Impairment;
import tutti.sim.net.Impairment.Effect;

/** Connections between simulated machines when something is wrong. */
class SimConnectionsTest {
    private static final int MESSAGES = 3000;
    private static final int MESSAGE_BYTES = 100;
    private static final InetSocketAddress ADDRESS = InetSocketAddress.createUnresolved("n1", 7000);

    private final SimWorld world = new SimWorld(1, 2);
    private final Network left = world.machine(0).network("left", SimConnectionsTest::fail);
    private final List<String> log = new ArrayList<>();
    private final ByteBuffer received = ByteBuffer.allocate(MESSAGES * MESSAGE_BYTES);
    private @Nullable Stream stream;

    private static void fail(Throwable thrown) {
        throw new AssertionError(thrown);
    }

    private class Hearing implements StreamListener {
        private final String name;

        Hearing(String name) {
            this.name = name;
        }

        @Override
        public void connected() {
            log.add(name + " connected");
        }

        @Override
        public void received(ByteBuffer bytes) {
            received.put(bytes);
        }

        @Override
        public void closed(String why) {
            log.add(name + " closed: " + why);
        }
    }

    private void listen() throws IOException {
        world.machine(1).network("right", SimConnectionsTest::fail).listen(ADDRESS, accepted -> new Hearing("right"));
    }

    private void connect() {
        left.loop().execute(() -> stream = left.connect(ADDRESS, Nanos.SECOND, new Hearing("left")));
    }

    private void send(int number) {
        left.loop().schedule(100L * number * Nanos.MICRO, () -> {
            ByteBuffer message = ByteBuffer.allocate(MESSAGE_BYTES);
            while (message.hasRemaining()) {
                message.putInt(number);
            }
            stream.send(message.flip());
        });
    }

    private void requireAll() {
        world.await("all has come", () -> !received.hasRemaining());
        received.flip();
        for (int i = 0; i < MESSAGES; i++) {
            for (int j = 0; j < MESSAGE_BYTES / Integer.BYTES; j++) {
                assertEquals(i, received.getInt());
            }
        }
        assertEquals(List.of("left connected"), log);
    }

    @Test
    void allArrivesOnceAndInOrderThroughABadNetwork() throws IOException {
        for (Effect effect : List.of(new Effect.Lose(0.1),
                new Effect.Duplicate(0.2, new Distribution.Exponential(Nanos.MILLI)),
                new Effect.Reorder(0.3, new Distribution.Exponential(Nanos.MILLI)))) {
            world.network.impair(new Impairment(List.of("*"), List.of("*"), effect),
                    world.kernel.random(effect.toString()));
        }
        listen();
        connect();
        world.await("it stands", () -> !log.isEmpty());
        for (int i = 0; i < MESSAGES; i++) {
            send(i);
        }
        requireAll();
    }

    /** A task that waits for the disk is ahead of its event; an acknowledgement that comes meanwhile lets nothing leave early. */
    @Test
    void whatIsSentAfterAForceArrivesAfterTheForce() throws IOException {
        world.machine(1).network("right", SimConnectionsTest::fail).listen(ADDRESS, accepted -> new Hearing("right") {
            @Override
            public void received(ByteBuffer bytes) {
                super.received(bytes.duplicate());
                // Carries the acknowledgement.
                accepted.send(bytes);
            }
        });
        left.loop().execute(() -> stream = left.connect(ADDRESS, Nanos.SECOND, new Hearing("left") {
            @Override
            public void received(ByteBuffer bytes) {
                log.add("an echo");
            }
        }));
        world.await("it stands", () -> !log.isEmpty());
        DataFile file = world.directory(0).open("file", Directory.Open.EMPTY);
        long[] forced = {0};
        left.loop().execute(() -> stream.send(ByteBuffer.wrap(new byte[]{1})));
        left.loop().execute(() -> {
            try {
                file.write(ByteBuffer.wrap(new byte[]{1}), 0);
                file.force(true);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            forced[0] = world.machine(0).now();
            stream.send(ByteBuffer.wrap(new byte[]{2}));
        });
        world.await("the first byte has come", () -> received.position() == 1);
        while (received.position() == 1) {
            assertTrue(world.kernel.now() <= forced[0] + Nanos.SECOND, "the second byte comes");
            world.pass(Nanos.MICRO);
        }
        assertTrue(world.kernel.now() > forced[0],
                "it came at " + world.kernel.now() + ", the force ended at " + forced[0]);
    }

    @Test
    void aPartitionInOneDirectionIsOutlived() throws IOException {
        listen();
        connect();
        world.await("it stands", () -> !log.isEmpty());
        for (int i = 0; i < MESSAGES; i++) {
            send(i);
        }
        var impaired = world.network.impair(new Impairment(List.of("n1"), List.of("n0"), new Effect.Block()),
                world.kernel.random("partition"));
        world.pass(20 * Nanos.SECOND);
        assertTrue(received.position() > 0, "the way there is open");
        impaired.lift();
        requireAll();
    }

    @Test
    void aPausedMachineIsOutlived() throws IOException {
        listen();
        connect();
        world.await("it stands", () -> !log.isEmpty());
        for (int i = 0; i < MESSAGES; i++) {
            send(i);
        }
        world.host(1).pause();
        world.pass(10 * Nanos.SECOND);
        assertEquals(0, received.position());
        world.host(1).resume();
        requireAll();
    }

    @Test
    void whoHasForgottenTheConnectionResetsIt() throws IOException {
        listen();
        connect();
        world.await("it stands", () -> !log.isEmpty());
        world.crash(1, Crash.PROCESS_KILLED);
        world.pass(Nanos.SECOND);
        assertEquals(List.of("left connected"), log, "nobody has said anything");
        send(0);
        world.await("it is told", () -> log.size() == 2);
        assertEquals("left closed: Connection reset", log.getLast());
        connect();
        world.await("it is refused", () -> log.size() == 3);
        assertEquals("left closed: Connection refused", log.getLast());
    }

    @Test
    void whoDoesNotAnswerIsGivenUp() throws IOException {
        listen();
        world.host(1).crash();
        connect();
        world.pass(999 * Nanos.MILLI);
        assertEquals(List.of(), log);
        world.pass(2 * Nanos.MILLI);
        assertEquals(List.of("left closed: no answer from n1:7000 within 1s"), log);
    }

    @Test
    void aConnectionBreaksAfterALongSilence() throws IOException {
        listen();
        connect();
        world.await("it stands", () -> !log.isEmpty());
        world.host(1).crash();
        send(0);
        world.pass(600 * Nanos.SECOND);
        assertEquals(List.of("left connected"), log);
        world.pass(1000 * Nanos.SECOND);
        assertEquals("left closed: Connection timed out", log.getLast());
    }

    @Test
    void whatIsSentAfterAFileOperationLeavesAfterwards() throws IOException {
        listen();
        connect();
        world.await("it stands", () -> !log.isEmpty());
        left.loop().execute(() -> {
            try (var file = world.directory(0).open("file", tutti.runtime.Directory.Open.NEW)) {
                file.write(ByteBuffer.allocate(10), 0);
                file.force(true);
            } catch (IOException impossible) {
                throw new AssertionError(impossible);
            }
            stream.send(ByteBuffer.allocate(10));
        });
        world.pass(700 * Nanos.MICRO);
        assertEquals(0, received.position());
        world.pass(3 * Nanos.MILLI);
        assertEquals(10, received.position());
    }
}
