package tutti.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import tutti.core.protocol.Message;
import tutti.core.schema.Schema;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;
import tutti.sim.net.Datagram;
import tutti.sim.net.Impairment;
import tutti.sim.net.LinkConfig;
import tutti.sim.net.Network;
import tutti.sim.net.Segment;
import tutti.sim.thread.Threads;

class StreamsTest {
    private static final Label SEND = Label.of("test", "sends");
    private static final int LETTERS = 500;

    private record Letter(int number) implements Message {
        @Override
        public int encodedSize() {
            return 100;
        }

        @Override
        public Schema<?> schema() {
            throw new UnsupportedOperationException();
        }
    }

    private final Kernel kernel = new Kernel(1);
    private final Threads threads = new Threads(kernel);
    private final Network network = new Network(kernel);
    private final Segment lan = network.segment("lan",
            new LinkConfig(new Distribution.Constant(Nanos.MILLI), 1_000_000_000, 1500, 66, 4_000_000));
    private final List<Integer> came = new ArrayList<>();
    private long posted;

    @AfterEach
    void end() {
        threads.close();
    }

    private Streams site(int other, String name) {
        Host host = new Host(kernel, threads, name, HostConfig.DEFAULT);
        network.attach(host, lan);
        host.boot();
        Streams streams = new Streams(host, new Streams.Site() {
            @Override
            public void post(int to, Datagram datagram) {
                posted++;
                network.send(datagram);
            }

            @Override
            public void received(int from, Message message) {
                came.add(((Letter) message).number);
            }
        }, Nanos.MILLI);
        network.bind(host, Streams.PORT, datagram -> streams.arrived(other, datagram));
        return streams;
    }

    private Streams send() {
        Streams a = site(1, "a");
        site(0, "b");
        for (int i = 0; i < LETTERS; i++) {
            Letter letter = new Letter(i);
            kernel.schedule(i * Nanos.MILLI, SEND, () -> a.send(1, "b", letter));
        }
        return a;
    }

    private void impair(Impairment.Effect effect) {
        network.impair(new Impairment(List.of(Impairment.ANY), List.of(Impairment.ANY), effect),
                kernel.random(effect.toString()));
    }

    @Test
    void everyLetterComesOnceAndInTurnWhateverTheNetworkDoes() {
        send();
        impair(new Impairment.Effect.Lose(0.3));
        impair(new Impairment.Effect.Duplicate(0.2, Distribution.parse("uniform 0s 20ms")));
        impair(new Impairment.Effect.Reorder(0.3, Distribution.parse("uniform 0s 20ms")));
        kernel.run();
        assertEquals(IntStream.range(0, LETTERS).boxed().toList(), came);
        assertTrue(posted > 2.5 * LETTERS, () -> posted + " packets");
    }

    @Test
    void withoutLossNothingIsSentTwice() {
        send();
        kernel.run();
        assertEquals(IntStream.range(0, LETTERS).boxed().toList(), came);
        assertEquals(2 * LETTERS, posted);
    }

    @Test
    void nothingMoreIsSentToWhoIsKnownToHaveCrashed() {
        Streams a = send();
        impair(new Impairment.Effect.Block());
        kernel.schedule(Nanos.SECOND, SEND, () -> a.forget(1));
        kernel.run();
        assertEquals(List.of(), came);
        assertTrue(kernel.now() < 200 * Nanos.SECOND, () -> "it went on for " + kernel.now() + " ns");
    }
}
