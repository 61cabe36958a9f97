package tutti.cli.sim;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;
import tutti.command.Program;
import tutti.command.Failure;
import tutti.command.Screen;
import tutti.core.protocol.Protocols;
import tutti.sim.fault.FaultProfile;
import tutti.sim.world.Campaign;
import tutti.sim.world.Mutation;
import tutti.sim.world.ReplayFile;
import tutti.sim.world.Scenario;
import tutti.sim.world.ScenarioResult;
import tutti.sim.world.mutant.Mutants;

/** Runs random scenarios and checks their histories. */
@Command(name = "check", description = "Run random scenarios of a protocol and check each history: the order's properties,"
        + " equal replicas, true answers, and the isolation that the protocol claims. A scenario that fails is made small,"
        + " explained and written to a file for `tutti sim replay`; exit status 1.")
final class CheckCommand implements Callable<Integer> {
    private static final String ALL = "all";
    private static final int SEEDS_MAX = 10_000_000;
    private static final int TRANSACTIONS_MAX = 1_000_000;
    private static final int FAILURES_MAX = 5;
    private static final int BAR_WIDTH = 40;
    private static final long HASH_FACTOR = 31;
    private static final double NANOS_PER_SECOND = 1e9;

    @Option(names = "--protocol", paramLabel = "P", required = true, split = ",", description = "Protocols, or `all`.")
    private List<String> protocols = List.of();

    @Option(names = "--seeds", paramLabel = "N", defaultValue = "200", description = "Scenarios of each protocol (default: ${DEFAULT-VALUE}).")
    private int seeds;

    @Option(names = "--first-seed", paramLabel = "K", defaultValue = "1", description = "Seed of the first (default: ${DEFAULT-VALUE}).")
    private long firstSeed;

    @Option(names = "--transactions", paramLabel = "T", defaultValue = "1000", description = "Transactions of a scenario (default: ${DEFAULT-VALUE}).")
    private int transactions;

    @Option(names = "--faults", paramLabel = "KINDS", defaultValue = "all", description = "none, network, hosts, engine, all, or kinds such as loss,crash (default: ${DEFAULT-VALUE}).")
    private String faults = "";

    @Option(names = "--order", paramLabel = "KIND", defaultValue = "raft", description = "raft: the log that nodes have, over simulated disks and connections; group: group communication over the simulated network; ideal: an order that is simply there (default: ${DEFAULT-VALUE}).")
    private Scenario.OrderKind order = Scenario.OrderKind.RAFT;

    @Option(names = "--set", paramLabel = "NAME=VALUE", description = "A parameter of the protocol that is not to be left to chance; may be repeated.")
    private Map<String, String> pinned = Map.of();

    @Option(names = "--mutant", paramLabel = "NAME", defaultValue = ReplayFile.NO_MUTANT, description = "Something to be broken on purpose: one of those in docs/testing.md (default: ${DEFAULT-VALUE}).")
    private String mutant = ReplayFile.NO_MUTANT;

    @Option(names = "--shrink", paramLabel = "RUNS", defaultValue = "200", description = "Runs that may be spent on making a failing plan small (default: ${DEFAULT-VALUE}).")
    private int shrinkRuns;

    @Option(names = "--threads", paramLabel = "N", defaultValue = "0", description = "Scenarios side by side; 0 for one per core (default: ${DEFAULT-VALUE}).")
    private int threads;

    @Option(names = "--failures", paramLabel = "DIR", defaultValue = "sim-failures", description = "Where failing scenarios are written (default: ${DEFAULT-VALUE}).")
    private Path failures = Path.of("sim-failures");

    @Option(names = "--json", paramLabel = "FILE", description = "Where to write all numbers as JSON.")
    private @Nullable Path json;

    @Spec
    private CommandSpec spec;

    /** What came of one protocol's scenarios. */
    private static final class Tally {
        final String protocol;
        final TreeMap<String, Integer> counts = new TreeMap<>();
        final List<ScenarioResult> failed = new ArrayList<>();
        final List<Map<String, Object>> reports = new ArrayList<>();
        int done;
        long events;
        /** Of the hashes of all runs, in order of seed: equal if every run was the same. */
        long hash;
        double seconds;

        Tally(String protocol) {
            this.protocol = protocol;
        }
    }

    @Override
    public Integer call() throws Exception {
        require(seeds >= 1 && seeds <= SEEDS_MAX, "--seeds must be 1 to " + SEEDS_MAX + ", was " + seeds);
        require(transactions >= 1 && transactions <= TRANSACTIONS_MAX,
                "--transactions must be 1 to " + TRANSACTIONS_MAX + ", was " + transactions);
        require(shrinkRuns >= 0 && threads >= 0, "--shrink and --threads must not be negative");
        FaultProfile profile = usage(() -> FaultProfile.parse(faults));
        Supplier<Mutation> mutation = usage(() -> Mutants.mutation(mutant));
        Screen screen = Screen.standard(spec.commandLine().getOut());
        List<Tally> tallies = new ArrayList<>();
        for (String protocol : protocols.contains(ALL) ? Protocols.STANDARD.names() : protocols) {
            usage(() -> Protocols.STANDARD.choose(protocol, pinned));
            tallies.add(check(screen, protocol, profile, mutation));
        }
        if (json != null) {
            write(json, tallies);
            screen.line("numbers: " + json.toAbsolutePath().normalize());
        }
        return tallies.stream().allMatch(tally -> tally.failed.isEmpty()) ? Program.OK : Program.FAILURE;
    }

    private Tally check(Screen screen, String protocol, FaultProfile profile, Supplier<Mutation> mutation)
            throws InterruptedException, IOException {
        Tally tally = new Tally(protocol);
        long begun = System.nanoTime();
        int workers = threads == 0 ? Runtime.getRuntime().availableProcessors() : threads;
        Campaign.run(
                seed -> Scenario.random(seed, Protocols.STANDARD.descriptor(protocol), pinned, order, transactions,
                        profile),
                firstSeed, seeds,
                workers, mutation, result -> {
                    tally.done++;
                    tally.events += result.events();
                    tally.hash = HASH_FACTOR * tally.hash + result.traceHash();
                    result.counts().forEach((what, count) -> tally.counts.merge(what, count, Integer::sum));
                    if (!result.passed()) {
                        tally.failed.add(result);
                    }
                    tally.seconds = (System.nanoTime() - begun) / NANOS_PER_SECOND;
                    screen.live(List.of(bar(screen, tally)));
                });
        screen.live(List.of());
        screen.line(summary(screen, tally));
        for (ScenarioResult failed : tally.failed.subList(0, Math.min(FAILURES_MAX, tally.failed.size()))) {
            report(screen, tally, failed, mutation);
        }
        if (tally.failed.size() > FAILURES_MAX) {
            screen.line("… and " + (tally.failed.size() - FAILURES_MAX) + " more");
        }
        return tally;
    }

    private String bar(Screen screen, Tally tally) {
        int full = BAR_WIDTH * tally.done / seeds;
        String text = String.format(Locale.ROOT, "%-12s [%s%s] %d of %d, %.0f scenarios/min", tally.protocol,
                "=".repeat(full), " ".repeat(BAR_WIDTH - full), tally.done, seeds,
                60 * tally.done / Math.max(1e-9, tally.seconds));
        return tally.failed.isEmpty() ? text : text + ", " + screen.bad(tally.failed.size() + " FAILED");
    }

    private String summary(Screen screen, Tally tally) {
        int committed = tally.counts.getOrDefault("committed", 0);
        String verdict = tally.failed.isEmpty()
                ? screen.good("passed")
                : screen.bad(tally.failed.size() + " FAILED");
        return String.format(Locale.ROOT,
                "%-12s %s  %d scenarios of %d transactions (%d committed, %d crashes), seeds %d to %d, %.1f s, %.0f per minute, %.1f million events, hash %016x",
                tally.protocol, verdict, tally.done, transactions, committed, tally.counts.getOrDefault("crash", 0),
                firstSeed, firstSeed + seeds - 1, tally.seconds, 60 * tally.done / Math.max(1e-9, tally.seconds),
                tally.events / 1e6, tally.hash);
    }

    private void report(Screen screen, Tally tally, ScenarioResult failed, Supplier<Mutation> mutation)
            throws IOException {
        ScenarioResult small = shrinkRuns == 0 ? failed : Campaign.shrink(failed, mutation, shrinkRuns);
        Files.createDirectories(failures);
        Path file = failures.resolve(tally.protocol + "-" + failed.scenario().seed() + ".txt");
        Files.writeString(file,
                new ReplayFile(small.scenario(), mutant, small.failed(), small.fingerprint()).text());
        screen.line("");
        screen.line(screen.bad("FAILED ") + "with " + failed.scenario().plan().faults().size() + " faults, of which "
                + small.scenario().plan().faults().size() + " are needed:");
        List<String> lines = FailureText.lines(small);
        lines.forEach(screen::line);
        screen.line("again: ./tutti sim replay " + file);
        Map<String, Object> report = new LinkedHashMap<>();
        report.put("seed", failed.scenario().seed());
        report.put("failed", small.failed());
        report.put("replay", file.toString());
        report.put("text", lines);
        tally.reports.add(report);
    }

    private void write(Path file, List<Tally> tallies) throws IOException {
        List<Map<String, Object>> all = new ArrayList<>();
        for (Tally tally : tallies) {
            Map<String, Object> one = new LinkedHashMap<>();
            one.put("protocol", tally.protocol);
            one.put("order", order.name().toLowerCase(Locale.ROOT));
            one.put("faults", faults);
            one.put("firstSeed", firstSeed);
            one.put("scenarios", tally.done);
            one.put("transactions", transactions);
            one.put("failed", tally.failed.stream().map(result -> result.scenario().seed()).toList());
            one.put("seconds", tally.seconds);
            one.put("events", tally.events);
            one.put("hash", Long.toHexString(tally.hash));
            one.put("counts", tally.counts);
            one.put("failures", tally.reports);
            all.add(one);
        }
        Files.writeString(file, JsonMapper.builder().enable(SerializationFeature.INDENT_OUTPUT).build()
                .writeValueAsString(all));
    }

    private static <T> T usage(Supplier<T> made) {
        try {
            return made.get();
        } catch (IllegalArgumentException wrong) {
            throw Failure.usage(String.valueOf(wrong.getMessage()), "");
        }
    }

    private static void require(boolean condition, String what) {
        if (!condition) {
            throw Failure.usage(what, "");
        }
    }
}
