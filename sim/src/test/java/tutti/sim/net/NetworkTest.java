package tutti.sim.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.net.Impairment.Effect;
import tutti.sim.thread.Threads;

class NetworkTest {
    private static final Label EVENT = Label.of("test", "event");
    private static final int PORT = 7;
    /** A byte a nanosecond; 100 bytes of payload a fragment, 10 of headers. */
    private static final LinkConfig LAN = new LinkConfig(new Distribution.Constant(1000), 8_000_000_000L, 110, 10,
            10_000);

    private final Kernel kernel = new Kernel(1);
    private final Threads threads = new Threads(kernel);
    private final Network network = new Network(kernel);
    private final Segment lan = network.segment("lan", LAN);
    private final List<String> log = new ArrayList<>();

    @AfterEach
    void end() {
        threads.close();
    }

    private Host host(String name, Segment segment, long cpuNanos) {
        Host host = new Host(kernel, threads, name,
                HostConfig.DEFAULT.withCores(1).withMessageCosts(cpuNanos, cpuNanos));
        network.attach(host, segment);
        host.onBoot(h -> network.bind(h, PORT,
                datagram -> log.add(kernel.now() + " " + name + " " + datagram.payload())));
        host.boot();
        return host;
    }

    private void send(String from, String to, Object payload, int bytes) {
        network.send(new Datagram(Address.of(from, PORT), Address.of(to, PORT), payload, bytes));
    }

    private void at(long nanos, Runnable action) {
        kernel.schedule(nanos - kernel.now(), EVENT, action);
    }

    @Test
    void datagramsTakeTheirTurnOnTheWireAndThenTheWay() {
        host("a", lan, 0);
        host("b", lan, 0);
        send("a", "b", "one", 100);
        send("a", "b", "two", 50);
        kernel.run();
        assertEquals(List.of("1110 b one", "1170 b two"), log);
        assertEquals(new Network.Counts(2, 2, 0, 0, 170), network.counts());
    }

    @Test
    void fragmentsCostHeadersAndCpuTime() {
        host("a", lan, 20);
        host("b", lan, 20);
        send("a", "b", "big", 250);
        kernel.run();
        // three fragments: 60 to send, 280 on the wire, 1000 on the way, 60 to receive
        assertEquals(List.of("1400 b big"), log);
    }

    @Test
    void severalSendersShareTheReceiversLine() {
        host("a", lan, 0);
        host("b", lan, 0);
        host("c", lan, 0);
        send("a", "c", "from a", 90);
        send("b", "c", "from b", 90);
        kernel.run();
        assertEquals(List.of("1100 c from a", "1200 c from b"), log);
    }

    @Test
    void aFullQueueDrops() {
        host("a", lan, 0);
        host("b", lan, 0);
        for (int i = 0; i < 200; i++) {
            send("a", "b", i, 90);
        }
        kernel.run();
        assertEquals(100, log.size());
        assertEquals(100, network.counts().dropped());
    }

    @Test
    void aMulticastTakesTheLineOnceAndReachesTheSegment() {
        Segment far = network.segment("far", LAN);
        network.link(lan, far, LAN);
        for (String name : List.of("a", "b", "c", "d")) {
            Host host = host(name, lan, 0);
            if (!name.equals("d")) {
                network.join(host, "group");
            }
        }
        network.join(host("e", far, 0), "group");
        network.send(new Datagram(Address.of("a", PORT), Address.group("group", PORT), "hello", 90));
        kernel.run();
        assertEquals(List.of("1100 b hello", "1100 c hello", "10000 a hello"), log);
        assertEquals(100, network.counts().wireBytes());
    }

    @Test
    void linksLeadToOtherSegmentsOnTheShortestWay() {
        Segment middle = network.segment("middle", LAN);
        Segment far = network.segment("far", LAN);
        LinkConfig wan = LAN.withLatency(new Distribution.Constant(100_000)).withBitsPerSecond(800_000_000);
        network.link(lan, middle, wan);
        network.link(middle, far, wan);
        host("a", lan, 0);
        host("z", far, 0);
        send("a", "z", "hello", 90);
        kernel.run();
        // 100 + 1000, and for each link 1000 + 100000
        assertEquals(List.of("203100 z hello"), log);
        Segment island = network.segment("island", LAN);
        host("i", island, 0);
        assertThrows(IllegalStateException.class, () -> send("a", "i", "hello", 90));
    }

    @Test
    void lossHitsDestinationsIndependentlyAndLargeDatagramsMoreOften() {
        host("a", lan, 0);
        host("b", lan, 0);
        host("c", lan, 0);
        Network.Impaired loss = network.impair(new Impairment(List.of("a"), List.of("*"), new Effect.Lose(0.05)),
                kernel.random("loss"));
        for (int i = 0; i < 2000; i++) {
            at(1 + i * 10_000L, () -> {
                send("a", "b", "x", 90);
                send("a", "c", "x", 450);
                send("b", "c", "safe", 90);
            });
        }
        kernel.run();
        TreeMap<String, Integer> counts = new TreeMap<>();
        log.forEach(line -> counts.merge(line.substring(line.indexOf(' ') + 1), 1, Integer::sum));
        assertEquals(2000, counts.get("c safe"));
        assertEquals(1900, counts.getOrDefault("b x", 0), 40);
        assertEquals(2000 * StrictMath.pow(0.95, 5), counts.getOrDefault("c x", 0), 60);
        loss.lift();
        log.clear();
        IntStream.range(0, 50).forEach(_ -> send("a", "b", "x", 90));
        kernel.run();
        assertEquals(50, log.size());
    }

    @Test
    void burstsLoseRuns() {
        host("a", lan, 0);
        host("b", lan, 0);
        network.impair(new Impairment(List.of("*"), List.of("b"), new Effect.LoseInBursts(
                new Distribution.Uniform(1, 100_000), new Distribution.Uniform(1, 1_900_000))), kernel.random("burst"));
        int n = 20_000;
        for (int i = 0; i < n; i++) {
            int number = i;
            at(1 + i * 10_000L, () -> send("a", "b", number, 90));
        }
        kernel.run();
        int runs = 0;
        int next = 0;
        for (String line : log) {
            int number = Integer.parseInt(line.substring(line.lastIndexOf(' ') + 1));
            runs += number > next ? 1 : 0;
            next = number + 1;
        }
        int lost = n - log.size();
        assertEquals(0.05, lost / (double) n, 0.02);
        assertEquals(5, lost / (double) runs, 1.5, "average length of a burst");
    }

    @Test
    void duplicatesDelaysAndReordering() {
        host("a", lan, 0);
        host("b", lan, 0);
        Network.Impaired fault = network.impair(
                new Impairment(List.of("*"), List.of("*"), new Effect.Duplicate(1, new Distribution.Constant(500))),
                kernel.random("f"));
        send("a", "b", "twice", 90);
        kernel.run();
        assertEquals(List.of("1100 b twice", "1600 b twice"), log);
        fault.lift();
        fault.lift();
        network.impair(new Impairment(List.of("a"), List.of("b"), new Effect.Delay(new Distribution.Constant(77))),
                kernel.random("f"));
        send("a", "b", "late", 90);
        kernel.run();
        assertEquals("2777 b late", log.getLast());
        network.impair(new Impairment(List.of("a"), List.of("b"),
                new Effect.Reorder(0.5, new Distribution.Constant(2000))), kernel.random("f"));
        log.clear();
        for (int i = 0; i < 10; i++) {
            send("a", "b", i, 90);
        }
        kernel.run();
        List<String> order = log.stream().map(line -> line.substring(line.lastIndexOf(' ') + 1)).toList();
        assertEquals(10, order.size());
        assertNotEquals(order.stream().sorted().toList(), order);
    }

    @Test
    void aPartitionMayHaveOneDirectionAndAClogKeepsWhatCame() {
        host("a", lan, 0);
        host("b", lan, 0);
        Network.Impaired block = network.impair(new Impairment(List.of("a"), List.of("b"), new Effect.Block()),
                kernel.random("f"));
        send("a", "b", "lost", 90);
        send("b", "a", "arrives", 90);
        kernel.run();
        assertEquals(List.of("1100 a arrives"), log);
        block.lift();
        log.clear();
        Network.Impaired clog = network.impair(new Impairment(List.of("a"), List.of("b"), new Effect.Clog()),
                kernel.random("f"));
        send("a", "b", "one", 90);
        send("a", "b", "two", 90);
        at(50_000, clog::lift);
        kernel.run();
        assertEquals(List.of("50000 b one", "50100 b two"), log);
    }

    @Test
    void hostsThatAreDownReceiveNothingAndPausedOnesLater() {
        host("a", lan, 5);
        Host b = host("b", lan, 5);
        at(10, b::pause);
        at(20, () -> send("a", "b", "later", 90));
        at(5000, b::resume);
        at(6000, () -> send("a", "b", "never", 90));
        at(6500, b::crash);
        at(9000, b::boot);
        at(9500, () -> send("a", "b", "again", 90));
        kernel.run();
        assertEquals(List.of("5005 b later", "10610 b again"), log);
        assertEquals(1, network.counts().dropped());
    }
}
