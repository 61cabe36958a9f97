package tutti.eval.calibrate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tutti.command.Failure;
import tutti.model.Calibration;
import tutti.model.RequestKind;
import tutti.model.fit.Fits;
import tutti.model.scenario.ScenarioReader;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.RandomStream;

class CalibrationTest {
    private static final long MILLI = 1_000_000;

    @TempDir
    private Path directory = Path.of("");

    private final StringWriter out = new StringWriter();

    private int run(Object command, String... arguments) {
        out.getBuffer().setLength(0);
        CommandLine line = new CommandLine(command);
        line.setOut(new PrintWriter(out));
        line.setErr(new PrintWriter(out));
        line.setExecutionExceptionHandler((failure, _, _) -> {
            out.append(String.valueOf(failure.getMessage()));
            return failure instanceof Failure && failure.getMessage().contains("must be") ? 2 : 1;
        });
        return line.execute(arguments);
    }

    /** Server 2 ms and more, client 0.5 ms; updates wait 3 ms of the log, 0.25 ms of which its writer computes. */
    private static List<Observation> observations() {
        RandomStream random = new RandomStream(5);
        List<Observation> all = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            for (RequestKind kind : RequestKind.values()) {
                if (kind.tpcc() != null) {
                    long server = 2 * MILLI + random.nextLong(MILLI);
                    long log = kind.readOnly() ? 0 : 3 * MILLI;
                    long latency = server + MILLI / 2 + MILLI / 10 + (kind.readOnly() ? 0 : log - MILLI / 4);
                    all.add(new Observation(kind, kind.readOnly() ? 0 : 10, 0, latency, MILLI / 5 + log, server,
                            MILLI / 2, ""));
                }
            }
        }
        return all;
    }

    @Test
    void thePartsOfALatencyAddUpToIt() {
        Profile profile = Profile.of(observations(), 1);
        assertEquals(MILLI / 5.0, profile.readOnlyCommitNanos());
        profile.costs().forEach((kind, cost) -> {
            assertEquals(cost.latency().meanNanos(), cost.server().meanNanos() + cost.client().meanNanos()
                    + cost.waiting().meanNanos() + cost.log().meanNanos(), 1, kind.label());
            assertEquals(MILLI / 2.0, cost.client().meanNanos(), 1);
        });
        assertEquals(0, cost(profile, RequestKind.ORDER_STATUS).log().meanNanos());
        // What the log's writer computes is in the server's processor time already.
        assertEquals(2.85 * MILLI, cost(profile, RequestKind.PAYMENT).log().meanNanos(), 1);
        assertEquals(0, cost(profile, RequestKind.PAYMENT).waiting().meanNanos(), 1);
        assertEquals(0.1 * MILLI, cost(profile, RequestKind.STOCK_LEVEL).waiting().meanNanos(), 1);
    }

    private static Profile.Cost cost(Profile profile, RequestKind kind) {
        Profile.Cost cost = profile.costs().get(kind);
        if (cost == null) {
            throw new AssertionError("nothing about " + kind);
        }
        return cost;
    }

    @Test
    void abortedTransactionsAndOnDemandTheSlowestAreLeftOut() {
        List<Observation> all = observations();
        all.add(new Observation(RequestKind.PAYMENT, 0, 0, 9_000 * MILLI, 1, 1, 1, "deadlock"));
        assertEquals(200, cost(Profile.of(all, 1), RequestKind.PAYMENT).latency().count());
        all.add(new Observation(RequestKind.PAYMENT, 4, 0, 9_000 * MILLI, MILLI, MILLI, MILLI, ""));
        assertEquals(201, cost(Profile.of(all, 1), RequestKind.PAYMENT).latency().count());
        Profile.Cost fast = cost(Profile.of(all, 0.9), RequestKind.PAYMENT);
        assertEquals(181, fast.latency().count());
        assertTrue(fast.latency().quantileNanos(1) < 10 * MILLI);
        assertThrows(Failure.class, () -> Profile.of(all.subList(0, 50), 1));
    }

    @Test
    void losersTakeWhatTheyTookAmongOthers() {
        LosingProbe alone = new LosingProbe(Map.of(RequestKind.PAYMENT,
                LosingProbe.Cost.of(List.of(new LosingProbe.Loss(100, 40, 300, 120, 60)))));
        List<Observation> together = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            together.add(new Observation(RequestKind.PAYMENT, 0, 0, 900, 1, 200, 80, "first-updater"));
            together.add(new Observation(RequestKind.PAYMENT, 4, 0, 900, 1, 9000, 9000, ""));
        }
        LosingProbe.Cost cost = java.util.Objects.requireNonNull(alone.with(together).costs().get(RequestKind.PAYMENT));
        assertEquals(50, cost.approach().meanNanos());
        assertEquals(150, cost.failing().meanNanos());
        assertEquals(20, cost.approachClient().meanNanos());
        assertEquals(60, cost.failingClient().meanNanos());
        assertEquals(60, cost.failingWaiting().meanNanos());
        // Of too few nothing is said.
        assertEquals(alone, alone.with(together.subList(0, 38)));
    }

    private static Map<RequestKind, Distribution> changed(Map<RequestKind, Distribution> of) {
        Map<RequestKind, Distribution> some = new java.util.EnumMap<>(of);
        some.values().removeIf(Distribution.ZERO::equals);
        return some;
    }

    @Test
    void theFileIsACalibrationThatScenariosCanName() throws Exception {
        LosingProbe.Cost loss = LosingProbe.Cost
                .of(List.of(new LosingProbe.Loss(300_000, 70_000, 150_000, 40_000, 60_000)));
        CalibrationResult result = new CalibrationResult("2026-01-02T03:04:05Z", Map.of("processors", "2"),
                Map.of("server", "PostgreSQL 18"), 1000, Profile.of(observations(), 1),
                new LosingProbe(Map.of(RequestKind.PAYMENT, loss)),
                new LogProbe(Fits.of(new long[]{MILLI}), 100, MILLI, 10, 120.5, 300),
                new NetworkProbe(Fits.of(new long[]{40_000}), 3210),
                new WakingProbe(Fits.of(new long[]{60_000}), Fits.of(new long[]{70_000})));
        Path file = Files.writeString(directory.resolve("own.yaml"), new CalibrationText(result).yaml());
        Calibration read = ScenarioReader.read("one-database", Map.of("database.calibration", file.toString()))
                .config().calibration();
        result.profile().costs().forEach((kind, cost) -> {
            assertEquals(cost.server().best().distribution(), read.cpu().get(kind), kind.label());
            assertEquals(cost.client().best().distribution(), read.client().cpu().get(kind), kind.label());
            assertEquals(cost.waiting().best().distribution(), read.client().waiting().get(kind), kind.label());
            assertEquals(kind.readOnly() ? null : cost.log().best().distribution(), read.log().accessOf().get(kind),
                    kind.label());
        });
        assertEquals(Map.of(RequestKind.PAYMENT, loss.approach().best().distribution()),
                changed(read.losing().approach()));
        assertEquals(Map.of(RequestKind.PAYMENT, loss.approachClient().best().distribution()),
                changed(read.losing().approachClient()));
        assertEquals(Map.of(RequestKind.PAYMENT, loss.failing().best().distribution()),
                changed(read.losing().failing()));
        assertEquals(Map.of(RequestKind.PAYMENT, loss.failingClient().best().distribution()),
                changed(read.losing().failingClient()));
        assertEquals(Map.of(RequestKind.PAYMENT, loss.failingWaiting().best().distribution()),
                changed(read.losing().failingWaiting()));
        assertEquals(result.profile().log().best().distribution(), read.log().access());
        assertTrue(read.log().shared());
        assertEquals(3210, read.code().packetNanos());
        assertEquals(0.08, read.rows().applyShare(), "the paper's, since it is not measured");
        assertTrue(CalibrationPage.html(result).contains("Q-Q plot"));
    }

    @Test
    void theSlopeOfALineIsFound() {
        double[] line = LogProbe.line(new double[]{1, 2, 5}, new double[]{12, 14, 20});
        assertEquals(10, line[0], 1e-9);
        assertEquals(2, line[1], 1e-9);
    }

    @Test
    void aDifferenceOfTheWorldsIsFoundAndNamed() {
        Outcomes real = outcomes(10 * MILLI);
        assertEquals(List.of(), validation(real, outcomes(10_900_000)).misses());
        List<String> misses = validation(real, outcomes(11_100_000)).misses();
        assertEquals(List.of("latency of payment +11.0 %"), misses);
        Outcomes few = new Outcomes();
        few.add(RequestKind.PAYMENT, 0, 10 * MILLI, "");
        few.looked(1);
        assertTrue(validation(real, few).misses().contains("throughput -99.0 %"));
        assertEquals(10.0, real.latencyMillis(RequestKind.PAYMENT));
        assertEquals(6000, real.tpm(), 1e-9);
        assertEquals(1, real.aborted());
        assertEquals(5.0, real.gaps().quantileNanos(0.5) / MILLI);
    }

    /** A saturated database is harder to predict: its throughput may be farther off. */
    @Test
    void howFarThroughputMayBeOffDependsOnHowBusyProcessorsAre() {
        Outcomes real = outcomes(10 * MILLI);
        Outcomes more = outcomes(10 * MILLI);
        for (int i = 0; i < 5; i++) {
            more.add(RequestKind.PAYMENT, 0, 10 * MILLI, "");
        }
        assertEquals(List.of("throughput +5.0 %"), validation(real, more, 0.79).misses());
        assertEquals(List.of(), validation(real, more, 0.8).misses());
    }

    private static Validation validation(Outcomes real, Outcomes simulated) {
        return validation(real, simulated, 0.1);
    }

    private static Validation validation(Outcomes real, Outcomes simulated, double processors) {
        return new Validation("now", Map.of(), Map.of(), real, simulated, List.of(1.0), 0.1, processors);
    }

    private static Outcomes outcomes(long latency) {
        Outcomes outcomes = new Outcomes();
        for (int i = 0; i < 100; i++) {
            outcomes.add(RequestKind.PAYMENT, 5 * MILLI * i, 5 * MILLI * i + latency, "");
        }
        outcomes.add(RequestKind.PAYMENT, 0, 600 * MILLI, "deadlock");
        outcomes.looked(1);
        return outcomes;
    }

    @Test
    void whatIsCalledWronglyIsRefused() {
        assertEquals(2, run(new CalibrateCommand(), "--percentile", "0"), out::toString);
        assertEquals(2, run(new CalibrateCommand(), "--clients", "0"), out::toString);
        assertEquals(2, run(new ValidateCommand(), "--rounds", "0"), out::toString);
        assertEquals(2, run(new ValidateCommand(), "--url", "mysql:there"), out::toString);
        assertTrue(run(new ValidateCommand(), "--scenario", "gorda-lan") != 0);
        assertTrue(out.toString().contains("9 sites"), out.toString());
        assertTrue(run(new ValidateCommand(), "--warehouses", "6") != 0);
        assertTrue(out.toString().contains("cannot be spread"), out.toString());
        assertTrue(run(new ValidateCommand(), "--calibration", "missing.yaml") != 0);
        assertTrue(out.toString().contains("there is no such file"), out.toString());
    }

    /** Both commands in one: no time is asserted, only that everything is measured, fitted, simulated and written. */
    @Tag("long")
    @Test
    void aRealDatabaseIsCalibratedAndTheModelComparedWithIt() throws Exception {
        Path calibration = directory.resolve("calibration.yaml");
        Path html = directory.resolve("validation.html");
        Path json = directory.resolve("validation.json");
        // As many of each kind, so that there are enough of each in a short time on a slow machine.
        Path scenario = Files.writeString(directory.resolve("equal.yaml"), """
                extends: one-database
                workload:
                  mix: {neworder: 20, payment: 20, orderstatus: 20, delivery: 20, stocklevel: 20}
                """);
        int status = run(new ValidateCommand(), "--scenario", scenario.toString(), "--reduced", "--clients", "2",
                "--seconds", "3", "--rounds", "1", "--warmup", "0", "--thinking", "0.0005", "--out",
                calibration.toString(), "--html", html.toString(), "--json",
                json.toString());
        assertTrue(Files.exists(json), out::toString);
        JsonNode found = JsonMapper.builder().build().readTree(Files.readString(json));
        assertEquals(found.get("valid").asBoolean() ? 0 : 1, status, out::toString);
        assertEquals(5, found.get("transactions").size(), out::toString);
        for (JsonNode kind : found.get("transactions")) {
            assertTrue(kind.get("real").get("latencyMillis").asDouble() > 0, kind::toString);
            assertTrue(kind.get("simulated").get("latencyMillis").asDouble() > 0, kind::toString);
        }
        assertTrue(out.toString().contains("TOTAL"), out.toString());
        assertTrue(Files.readString(html).contains("Q-Q plot"));
        Calibration read = ScenarioReader.read("one-database", Map.of("database.calibration", calibration.toString()))
                .config().calibration();
        Distribution payment = read.cpu().getOrDefault(RequestKind.PAYMENT, Distribution.ZERO);
        assertTrue(payment.sample(new RandomStream(1)) > 10_000, payment.toString());
    }
}
