package tutti.grid.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import tutti.grid.CommitProtocol;
import tutti.grid.GridConfig;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Kernel;
import tutti.sim.machine.SimMachine;
import tutti.sim.net.LinkConfig;
import tutti.sim.net.Network;
import tutti.sim.net.Segment;
import tutti.sim.thread.Threads;

/** Two simulated nodes, of which one sends to the other. */
class PeerLinksTest {
    private static final int FRAMES = 10;

    private final Kernel kernel = new Kernel(1);
    private final Map<Integer, InetSocketAddress> members = Map.of(0, InetSocketAddress.createUnresolved("n0", 7000), 1,
            InetSocketAddress.createUnresolved("n1", 7000));
    private final List<Integer> received = new ArrayList<>();
    private int refusals = 3;

    private final class Receiver implements PeerLinks.Receiver {
        @Override
        public void received(int from, ByteBuffer frame) throws IOException {
            int number = frame.getInt();
            if (number == FRAMES / 2 && refusals-- > 0) {
                throw new IOException("there is no room");
            }
            received.add(number);
        }

        @Override
        public void refused(int by, LinkMessage.Refusal kind, String why) {
            throw new IllegalStateException(why);
        }

        @Override
        public void superseded(int node) {
            throw new IllegalStateException("another process");
        }

        @Override
        public void begins(int node, long process) {
            throw new IllegalStateException("another process");
        }

        @Override
        public void welcomed(int by, boolean isFirst, boolean hasChanged) {
            // Nobody asks.
        }

        @Override
        public boolean hasChanged(int node) {
            return false;
        }
    }

    private void start(Network network, Segment lan, Threads threads, int number) {
        GridConfig config = GridConfig.of("test", number, members, List.of(GridConfig.CacheConfig.of("cache", 2)),
                CommitProtocol.GROUPS);
        Host host = new Host(kernel, threads, "n" + number, HostConfig.DEFAULT);
        network.attach(host, lan);
        host.onBoot(_ -> {
            try {
                tutti.runtime.Network own = new SimMachine(host, network).network("links", failure -> {
                    throw new IllegalStateException(failure);
                });
                PeerLinks links = new PeerLinks(config, 70 + number, own, new Receiver());
                own.loop().execute(() -> {
                    links.start();
                    if (number == 0) {
                        IntStream.range(0, FRAMES)
                                .forEach(i -> links.send(1, ByteBuffer.allocate(Integer.BYTES).putInt(i).array()));
                    }
                });
            } catch (IOException failure) {
                throw new UncheckedIOException(failure);
            }
        });
        host.boot();
    }

    /** As one that finds no room before its node is a member. */
    @Test
    void aFrameThatIsRefusedComesAgainAndNoneIsMissing() {
        Network network = new Network(kernel);
        Segment lan = network.segment("lan", LinkConfig.LAN);
        Threads threads = new Threads(kernel);
        members.keySet().forEach(number -> start(network, lan, threads, number));
        kernel.runUntil(Duration.ofSeconds(2).toNanos());
        assertEquals(IntStream.range(0, FRAMES).boxed().toList(), received);
    }

    @Test
    void framesComeInPiecesOfAnySizeAndNotLargerThanTheyMayBe() throws IOException {
        List<Integer> sizes = List.of(0, 1, 100_000, 7, 1 << 16, 3);
        List<Integer> taken = new ArrayList<>();
        ByteBuffer all = ByteBuffer.allocate(1 << 20);
        sizes.forEach(size -> all.put(Framing.frame(new byte[size])));
        all.flip();
        Framing.Reader reader = new Framing.Reader(frame -> taken.add(frame.remaining()));
        for (int piece = 1; all.hasRemaining(); piece = piece * 3 % 8191) {
            int count = Math.min(piece, all.remaining());
            reader.read(all.slice(all.position(), count));
            all.position(all.position() + count);
        }
        assertEquals(sizes, taken);
        Framing.Reader small = new Framing.Reader(_ -> {}, () -> 100);
        small.read(Framing.frame(new byte[100]));
        assertThrows(IOException.class, () -> small.read(ByteBuffer.allocate(Integer.BYTES).putInt(101).flip()));
    }

    @Test
    void whatNobodyWouldTakeIsNotSent() {
        assertThrows(IllegalArgumentException.class, () -> Framing.frame(new byte[(1 << 27) + 1]));
    }
}
