package tutti.eval.calibrate;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import tutti.command.Screen;
import tutti.model.RequestKind;
import tutti.report.Page;

/**
 * The same scenario in both worlds (D5.1, section 2.6 and appendix B).
 *
 * @param startedAt ISO 8601
 * @param machine what it ran on
 * @param settings how it was run
 * @param real what the real clients saw
 * @param simulated what the modelled clients saw
 * @param realRounds committed transactions a minute of each round of the real run
 * @param realProcessors share of all processors that was used in the real run, 0 to 1, by whomever
 * @param simulatedProcessors the same of the simulation
 */
record Validation(String startedAt, Map<String, String> machine, Map<String, String> settings, Outcomes real,
        Outcomes simulated, List<Double> realRounds, double realProcessors, double simulatedProcessors) {
    /** What is aimed at: the largest error of the total throughput where processors have time left. */
    private static final double THROUGHPUT_ERROR_MAX = 0.03;
    /** The same where clients saturate them. */
    private static final double SATURATED_THROUGHPUT_ERROR_MAX = 0.10;
    /** What is aimed at: the largest error of the mean latency of a kind. */
    private static final double LATENCY_ERROR_MAX = 0.10;
    /** From this share of processors on, in the simulation, which has nobody else on them, they are saturated. */
    private static final double SATURATED_FROM = 0.8;

    Validation {
        machine = Collections.unmodifiableMap(new LinkedHashMap<>(machine));
        settings = Collections.unmodifiableMap(new LinkedHashMap<>(settings));
        realRounds = List.copyOf(realRounds);
    }

    /** By how much the simulation is above the real world, as a share of it. */
    static double error(double realValue, double simulatedValue) {
        return realValue == 0 ? (simulatedValue == 0 ? 0 : 1) : simulatedValue / realValue - 1;
    }

    double throughputError() {
        return error(real.tpm(), simulated.tpm());
    }

    double latencyError(RequestKind kind) {
        return error(real.latencyMillis(kind), simulated.latencyMillis(kind));
    }

    private double throughputErrorMax() {
        return simulatedProcessors < SATURATED_FROM ? THROUGHPUT_ERROR_MAX : SATURATED_THROUGHPUT_ERROR_MAX;
    }

    /** What is farther off than what is aimed at; empty if nothing is. */
    List<String> misses() {
        List<String> misses = new ArrayList<>();
        if (Math.abs(throughputError()) > throughputErrorMax()) {
            misses.add("throughput " + percent(throughputError()));
        }
        for (RequestKind kind : real.kinds()) {
            if (Math.abs(latencyError(kind)) > LATENCY_ERROR_MAX) {
                misses.add("latency of " + kind.label() + " " + percent(latencyError(kind)));
            }
        }
        return misses;
    }

    /** Table 2.6, with errors and aborts. */
    List<List<String>> table() {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("transaction", "tpm real", "simulated", "error", "latency ms real", "simulated", "error",
                "aborts % real", "simulated"));
        for (RequestKind kind : real.kinds()) {
            rows.add(List.of(kind.label(), number(real.tpm(kind)), number(simulated.tpm(kind)),
                    percent(error(real.tpm(kind), simulated.tpm(kind))),
                    String.format(Locale.ROOT, "%.3f ± %.3f", real.latencyMillis(kind),
                            real.latencyUncertaintyMillis(kind)),
                    millis(simulated.latencyMillis(kind)), percent(latencyError(kind)),
                    share(real.aborted(kind), real.committed(kind)),
                    share(simulated.aborted(kind), simulated.committed(kind))));
        }
        rows.add(List.of("TOTAL", number(real.tpm()), number(simulated.tpm()), percent(throughputError()),
                millis(real.latencyMillis()), millis(simulated.latencyMillis()),
                percent(error(real.latencyMillis(), simulated.latencyMillis())),
                share(real.aborted(), real.committed()), share(simulated.aborted(), simulated.committed())));
        return rows;
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, "%.1f", value);
    }

    private static String millis(double value) {
        return String.format(Locale.ROOT, "%.3f", value);
    }

    private static String percent(double value) {
        return String.format(Locale.ROOT, "%+.1f %%", 100 * value);
    }

    private static String share(long part, long rest) {
        return String.format(Locale.ROOT, "%.2f", part + rest == 0 ? 0 : 100.0 * part / (part + rest));
    }

    /** For people. */
    List<String> lines(Screen screen) {
        List<String> lines = new ArrayList<>(Screen.table(table()));
        lines.add(summary());
        List<String> misses = misses();
        lines.add(misses.isEmpty()
                ? screen.good("valid: ") + aim()
                : screen.bad("not valid: ") + String.join(", ", misses) + "; the aim is " + aim());
        return lines;
    }

    private String aim() {
        return String.format(Locale.ROOT, "total throughput within %.0f %%, mean latency of each kind within %.0f %%",
                100 * throughputErrorMax(), 100 * LATENCY_ERROR_MAX);
    }

    private String summary() {
        return String.format(Locale.ROOT, "%d real transactions in %.0f s (%s tpm by round), %d simulated in %.0f s;"
                + " processors %.1f %% busy, %.1f %% in the simulation", real.committed(), real.seconds(),
                realRounds.stream().map(Validation::number).collect(Collectors.joining(", ")), simulated.committed(),
                simulated.seconds(), 100 * realProcessors, 100 * simulatedProcessors);
    }

    /** As a page. */
    String html() {
        List<String> misses = misses();
        Page page = new Page("Validation", settings.getOrDefault("server", "") + ", " + startedAt)
                .verdict(misses.isEmpty(), misses.isEmpty() ? aim() : String.join(", ", misses));
        page.heading("Table 2.6").table(table());
        page.heading("All transactions")
                .chart(Charts.shares("Latency, distribution function", "real", real.latencies(), "simulated",
                        simulated.latencies()))
                .chart(Charts.quantiles("Latency, Q-Q plot", "simulated, ms", simulated.latencies(), "real, ms",
                        real.latencies()))
                .chart(Charts.shares("Interarrival, distribution function", "real", real.gaps(), "simulated",
                        simulated.gaps()))
                .chart(Charts.quantiles("Interarrival, Q-Q plot", "simulated, ms", simulated.gaps(), "real, ms",
                        real.gaps()));
        for (RequestKind kind : real.kinds()) {
            if (real.committed(kind) < Profile.LEAST || simulated.committed(kind) < Profile.LEAST) {
                continue;
            }
            page.heading(kind.label())
                    .chart(Charts.shares("Latency, distribution function", "real", real.latencies(kind), "simulated",
                            simulated.latencies(kind)))
                    .chart(Charts.quantiles("Latency, Q-Q plot", "simulated, ms", simulated.latencies(kind),
                            "real, ms", real.latencies(kind)))
                    .chart(Charts.quantiles("Interarrival, Q-Q plot", "simulated, ms", simulated.gaps(kind),
                            "real, ms", real.gaps(kind)));
        }
        Map<String, String> how = new LinkedHashMap<>(settings);
        how.put("measured", summary());
        page.heading("Settings").table(CalibrationPage.pairs("setting", how));
        page.heading("Machine").table(CalibrationPage.pairs("part", machine));
        return page.html();
    }

    /** For programs. */
    Map<String, Object> json() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("startedAt", startedAt);
        json.put("machine", machine);
        json.put("settings", settings);
        json.put("valid", misses().isEmpty());
        json.put("misses", misses());
        List<Object> kinds = new ArrayList<>();
        for (RequestKind kind : real.kinds()) {
            Map<String, Object> one = new LinkedHashMap<>();
            one.put("transaction", kind.label());
            one.put("real", world(real.committed(kind), real.aborted(kind), real.tpm(kind), real.latencyMillis(kind)));
            one.put("simulated", world(simulated.committed(kind), simulated.aborted(kind), simulated.tpm(kind),
                    simulated.latencyMillis(kind)));
            one.put("throughputError", error(real.tpm(kind), simulated.tpm(kind)));
            one.put("latencyError", latencyError(kind));
            one.put("realLatencyUncertaintyMillis", real.latencyUncertaintyMillis(kind));
            kinds.add(one);
        }
        json.put("transactions", kinds);
        json.put("real", world(real.committed(), real.aborted(), real.tpm(), real.latencyMillis()));
        json.put("simulated",
                world(simulated.committed(), simulated.aborted(), simulated.tpm(), simulated.latencyMillis()));
        json.put("throughputError", throughputError());
        json.put("latencyError", error(real.latencyMillis(), simulated.latencyMillis()));
        json.put("realAborts", real.causes());
        json.put("simulatedAborts", simulated.causes());
        json.put("realSeconds", real.seconds());
        json.put("simulatedSeconds", simulated.seconds());
        json.put("realTpmByRound", realRounds);
        json.put("realProcessorShare", realProcessors);
        json.put("simulatedProcessorShare", simulatedProcessors);
        return json;
    }

    private static Map<String, Object> world(long committed, long aborted, double tpm, double latencyMillis) {
        Map<String, Object> world = new LinkedHashMap<>();
        world.put("committed", committed);
        world.put("aborted", aborted);
        world.put("tpm", tpm);
        world.put("latencyMillis", latencyMillis);
        return world;
    }
}
