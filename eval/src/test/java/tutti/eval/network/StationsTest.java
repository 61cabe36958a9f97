package tutti.eval.network;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLongArray;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tutti.command.Failure;

class StationsTest {
    private static final Window SHORT = new Window(1_000_000, 11_000_000);
    private static final int MEMBERS = 3;
    private static final int WAKING_NANOS = 5000;

    /** Where nothing else is charged, programs are charged what they take here, which is more than nothing. */
    private static SimulatedStations simulated(long sendNanos, long receiveNanos, long wakeNanos, int bufferBytes) {
        return new SimulatedStations(new SocketCosts(new SocketCosts.Line(sendNanos, 0),
                new SocketCosts.Line(receiveNanos, 0), 0, WAKING_NANOS, 0, wakeNanos, 0, bufferBytes), 2);
    }

    @Test
    void aSimulatedRoundTripTakesWhatItsPartsTake() {
        Tally trips = new Tally(SHORT);
        long[] used = simulated(20_000, 30_000, 40_000, 1 << 20)
                .run(List.of(new UdpPrograms.Caller(64, trips), new UdpPrograms.Echo()), SHORT);
        assertTrue(trips.timed() > 0);
        assertTrue(trips.medianNanos() >= 180_000, () -> trips.medianNanos() + " ns");
        assertTrue(used[0] >= trips.timed() * (50_000L + WAKING_NANOS), () -> used[0] + " ns");
    }

    @Test
    void whatASimulatedSocketDoesNotHoldIsLost() {
        Tally written = new Tally(SHORT);
        Tally read = new Tally(SHORT);
        simulated(10_000, 100_000, 0, 4000)
                .run(List.of(new UdpPrograms.Writer(64, written), new UdpPrograms.Reader(read)), SHORT);
        assertTrue(written.messages() > 0 && written.messages() <= 1000, () -> written.messages() + " written");
        assertTrue(read.messages() > 0 && read.messages() <= 100, () -> read.messages() + " read");
    }

    private static AtomicLongArray ordered(Stations stations, Window window) throws InterruptedException {
        AtomicLongArray delivered = new AtomicLongArray(MEMBERS);
        List<SocketProgram> members = new ArrayList<>();
        for (int i = 0; i < MEMBERS; i++) {
            members.add(new GroupProgram(i, MEMBERS, GroupProgram.Load.ONE, 100, delivered, new Tally(window)));
        }
        stations.run(members, window);
        return delivered;
    }

    @Test
    void aGroupOrdersInSimulatedTime() throws InterruptedException {
        AtomicLongArray delivered = ordered(simulated(1000, 1000, 1000, 1 << 20), new Window(0, 300_000_000));
        for (int i = 0; i < MEMBERS; i++) {
            assertTrue(delivered.get(i) > MEMBERS, delivered::toString);
        }
    }

    @Test
    void aGroupOrdersOverSockets() throws InterruptedException {
        AtomicLongArray delivered = ordered(new RealStations(), new Window(0, 2_000_000_000));
        for (int i = 0; i < MEMBERS; i++) {
            assertTrue(delivered.get(i) > MEMBERS, delivered::toString);
        }
    }

    private static int run(StringWriter out, String... args) {
        return new CommandLine(new NetworkCommand()).setOut(new PrintWriter(out, true))
                .setErr(new PrintWriter(out, true))
                .setExecutionExceptionHandler((failure, _, _) -> {
                    out.append(String.valueOf(failure.getMessage()));
                    return failure instanceof Failure && failure.getMessage().contains("must be") ? 2 : 1;
                }).execute(args);
    }

    @Tag("long")
    @Test
    void bothWorldsAreMeasuredComparedAndWritten(@TempDir Path directory) throws Exception {
        StringWriter out = new StringWriter();
        assertEquals(0,
                run(out, "--sizes", "4000", "--rounds", "1", "--seconds", "0.02", "--out", directory.toString()),
                out::toString);
        JsonNode found = JsonMapper.builder().build().readTree(Files.readString(directory.resolve("network.json")));
        JsonNode trip = found.get("values").get("UDP, round trip").get(0);
        assertTrue(trip.get("real").get(0).asDouble() > 0, found::toString);
        assertTrue(trip.get("simulated").get(0).asDouble() > 0, found::toString);
        assertTrue(Files.readString(directory.resolve("network-ordered.csv")).startsWith("bytes,real,simulated"));
        assertTrue(Files.readString(directory.resolve("index.html")).contains("group, ordered"));
    }

    @Test
    void whatIsCalledWronglyIsRefused() {
        StringWriter out = new StringWriter();
        assertEquals(2, run(out, "--sizes", "64,64"), out::toString);
        assertEquals(2, run(out, "--sizes", "30000"), out::toString);
        assertEquals(2, run(out, "--members", "1"), out::toString);
        assertEquals(2, run(out, "--rounds", "0"), out::toString);
    }
}
