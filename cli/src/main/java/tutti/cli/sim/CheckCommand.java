package tutti.cli.sim;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tutti.command.Failure;
import tutti.command.Program;
import tutti.command.QuietLog;
import tutti.command.Screen;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Protocols;
import tutti.sim.fault.FaultKind;
import tutti.sim.fault.FaultProfile;
import tutti.sim.world.BuildFingerprint;
import tutti.sim.world.Campaign;
import tutti.sim.world.Mutation;
import tutti.sim.world.ReplayFile;
import tutti.sim.world.Scenario;
import tutti.sim.world.ScenarioResult;
import tutti.sim.world.mutant.Mutants;

/** Runs random scenarios and checks their histories. */
@Command(name = "check", description = "Run random scenarios of protocols and check each history: the order's properties,"
        + " equal replicas, true answers, and the isolation that the protocol claims. A scenario that fails is made small,"
        + " explained and written to a file for `tutti sim replay`; exit status 1. With --minutes a campaign: fresh seeds"
        + " until the time is up, its numbers in a file from which --resume goes on.")
final class CheckCommand implements Callable<Integer> {
    private static final String ALL = "all";
    private static final String RESUME = "--resume";
    private static final String PARTIAL = "--partial";
    private static final int SEEDS_MAX = 10_000_000;
    private static final int TRANSACTIONS_MAX = 1_000_000;
    private static final double MINUTES_MAX = 100_000;
    /** Failures of each series that are made small and told at length; more are only written to files. */
    private static final int TOLD_MAX = 5;
    private static final int BAR_WIDTH = 40;
    private static final int FRESH_SEED_BITS = 40;
    private static final double NANOS_PER_SECOND = 1e9;
    private static final double SECONDS_PER_MINUTE = 60;
    private static final double WRITE_SECONDS = 10;
    private static final double TELL_SECONDS = 60;
    /** Of a campaign that is told none: all kinds of faults there are, with what is promised under each of them. */
    static final List<String> CAMPAIGN_FAULTS = List.of("all", "all,long", "all,rare,parameters", "all,disks",
            "rows,engine-full,long",
            "beyond");
    /**
     * The same where some nodes lack some tables: two keepers may be all that speak for one, and if one of them cannot make what the other has
     * made, nobody can tell whose fault it is. So there is no fault of a single other engine.
     */
    static final List<String> PARTIAL_CAMPAIGN_FAULTS = CAMPAIGN_FAULTS.stream()
            .map(profile -> profile.replace("rows,", FaultKind.OWN_ROWS.word() + ",")).toList();
    private static final List<String> FAULTS = List.of("all");
    /** What says which scenarios there are, and cannot change when a campaign goes on. */
    private static final List<String> WHAT = List.of("--protocol", "--seeds", "--first-seed", "--transactions",
            "--faults", "--order", "--set", "--mutant", PARTIAL);

    @Option(names = "--protocol", paramLabel = "P", split = ",", defaultValue = ALL, description = "Protocols, or `all` (default: ${DEFAULT-VALUE}).")
    private List<String> protocols = List.of();

    @Option(names = "--minutes", paramLabel = "N", description = "Run scenarios with fresh seeds for so long, of all protocols, orders and profiles of faults by turns; with --resume: for so much longer.")
    private @Nullable Double minutes;

    @Option(names = RESUME, paramLabel = "FILE", description = "Go on with the campaign of this file, which the same build has begun: one in which scenarios run through the same classes.")
    private @Nullable Path resume;

    @Option(names = "--seeds", paramLabel = "N", defaultValue = "200", description = "Scenarios of each protocol, order and profile of faults (default: ${DEFAULT-VALUE}).")
    private int seeds;

    @Option(names = "--first-seed", paramLabel = "K", description = "Seed of the first (default: 1; with --minutes one from the system's randomness).")
    private @Nullable Long firstSeed;

    @Option(names = "--transactions", paramLabel = "T", defaultValue = "1000", description = "Transactions of a scenario (default: ${DEFAULT-VALUE}).")
    private int transactions;

    @Option(names = "--faults", paramLabel = "KINDS", description = "none, network, hosts, engine, all, members, rare, rows, disks, beyond, or kinds such as loss,crash, and long if they shall last longer; may be repeated for several profiles (default: all; with --minutes by turns several, which have all kinds among them).")
    private List<String> faults = List.of();

    @Option(names = "--order", paramLabel = "KIND", split = ",", defaultValue = "raft", description = "raft: the log that nodes have, over simulated disks and connections; group: group communication over the simulated network; ideal: an order that is simply there (default: ${DEFAULT-VALUE}).")
    private List<Scenario.OrderKind> orders = List.of();

    @Option(names = PARTIAL, description = "Some nodes lack some tables, chosen by the seed; of protocols that can do that.")
    private boolean partial;

    @Option(names = "--set", paramLabel = "NAME=VALUE", description = "A parameter of the protocol that is not to be left to chance; may be repeated.")
    private Map<String, String> pinned = Map.of();

    @Option(names = "--mutant", paramLabel = "NAME", defaultValue = ReplayFile.NO_MUTANT, description = "Something to be broken on purpose: one of those in docs/testing.md (default: ${DEFAULT-VALUE}).")
    private String mutant = ReplayFile.NO_MUTANT;

    @Option(names = "--shrink", paramLabel = "RUNS", defaultValue = "200", description = "Runs that may be spent on making a failing plan small (default: ${DEFAULT-VALUE}).")
    private int shrinkRuns;

    @Option(names = "--jobs", paramLabel = "N", defaultValue = "0", description = "Scenarios side by side; 0 for one per core (default: ${DEFAULT-VALUE}).")
    private int jobs;

    @Option(names = "--failures", paramLabel = "DIR", defaultValue = "sim-failures", description = "Where failing scenarios and campaigns are written (default: ${DEFAULT-VALUE}).")
    private Path failures = Path.of("sim-failures");

    @Option(names = "--json", paramLabel = "FILE", description = "Where all numbers are written as JSON, while it runs too; --resume takes it (default: with --minutes a file in the directory of failures).")
    private @Nullable Path json;

    @Option(names = "--docs", paramLabel = "FILE", description = "A page in Markdown whose section on the campaign is to be replaced: of all protocols, or of those of this one.")
    private @Nullable Path docs;

    @Spec
    private CommandSpec spec;

    private final OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private Screen screen = new Screen(new PrintWriter(Writer.nullWriter()), false);
    private Supplier<Mutation> mutation = () -> Mutation.NONE;
    private CampaignNumbers numbers = new CampaignNumbers("", Map.of(), 1, ReplayFile.NO_MUTANT, 1, Map.of(), null, 1,
            false, 1, 0, 0, 0, List.of(), List.of());
    private @Nullable Path file;
    private long begun;
    private double secondsBefore;
    private double processorSecondsBefore;
    private double written;
    private double shown;

    @Override
    public Integer call() throws Exception {
        require(shrinkRuns >= 0 && jobs >= 0, "--shrink and --jobs must not be negative");
        require(minutes == null || (minutes > 0 && minutes <= MINUTES_MAX),
                "--minutes must be above 0, up to " + (int) MINUTES_MAX + ", was " + minutes);
        screen = Screen.standard(spec.commandLine().getOut());
        numbers = resume == null ? fromOptions() : resumed(resume);
        mutation = usage(() -> Mutants.mutation(numbers.mutant()));
        file = json != null
                ? json
                : resume != null
                        ? resume
                        : numbers.seeds() > 0
                                ? null
                                : failures.resolve("campaign-" + numbers.firstSeed() + ".json");
        screen.line("build " + numbers.build() + ", "
                + (numbers.seeds() == 0
                        ? "seeds from " + numbers.firstSeed() + (numbers.fresh() ? ", drawn now" : "")
                        : "seeds " + numbers.firstSeed() + " to " + (numbers.firstSeed() + numbers.seeds() - 1))
                + (resume == null ? "" : ", after " + numbers.scenarios() + " scenarios")
                + (file == null ? "" : "; goes on after an interruption with: ./tutti sim check --resume " + file));
        secondsBefore = numbers.seconds();
        processorSecondsBefore = numbers.processorSeconds() - processorSeconds();
        begun = System.nanoTime();
        try (QuietLog log = new QuietLog()) {
            int next = numbers.scenarios();
            Campaign.run(new Rest(next), jobs == 0 ? Runtime.getRuntime().availableProcessors() : jobs, mutation,
                    finished -> heard(log, finished));
        }
        screen.live(List.of());
        end();
        return numbers.failed() == 0 ? Program.OK : Program.FAILURE;
    }

    private CampaignNumbers fromOptions() {
        boolean timed = minutes != null;
        require(!timed || !isGiven("--seeds"), "--minutes and --seeds exclude each other");
        require(seeds >= 1 && seeds <= SEEDS_MAX, "--seeds must be 1 to " + SEEDS_MAX + ", was " + seeds);
        require(transactions >= 1 && transactions <= TRANSACTIONS_MAX,
                "--transactions must be 1 to " + TRANSACTIONS_MAX + ", was " + transactions);
        List<String> byTurns = partial ? PARTIAL_CAMPAIGN_FAULTS : CAMPAIGN_FAULTS;
        List<String> profiles = !faults.isEmpty() ? faults : timed ? byTurns : FAULTS;
        List<ScenarioSeries> series = new ArrayList<>();
        for (String protocol : protocols.contains(ALL) ? Protocols.STANDARD.names() : protocols) {
            ChosenProtocol chosen = usage(() -> Protocols.STANDARD.choose(protocol, pinned));
            if (partial && !chosen.claims().tablesMayBePartial()) {
                require(protocols.contains(ALL),
                        "under " + protocol + " every node keeps all tables: leave " + PARTIAL + " out");
                continue;
            }
            for (Scenario.OrderKind order : orders) {
                for (String profile : profiles) {
                    usage(() -> FaultProfile.parse(profile));
                    series.add(ScenarioSeries.of(protocol, order, profile));
                }
            }
        }
        boolean fresh = timed && firstSeed == null;
        long first = fresh
                ? new SecureRandom().nextLong(1L << FRESH_SEED_BITS)
                : firstSeed == null ? 1 : firstSeed;
        BuildFingerprint build = fingerprint(series);
        return new CampaignNumbers(build.text(), build.rooms(), 1, mutant, transactions, pinned, partial, first,
                fresh, timed ? 0 : seeds, minutes == null ? 0 : minutes, 0, 0, series, List.of());
    }

    private static BuildFingerprint fingerprint(List<ScenarioSeries> series) {
        return new BuildFingerprint(series.stream().map(ScenarioSeries::protocol).toList());
    }

    private CampaignNumbers resumed(Path from) throws IOException {
        for (String option : WHAT) {
            require(!isGiven(option), option + " cannot be given with --resume: " + from + " says it");
        }
        CampaignNumbers read = CampaignNumbers.read(from);
        BuildFingerprint build = fingerprint(read.series());
        if (!read.build().equals(build.text())) {
            throw Failure.usage(from + " was begun by build " + read.build() + ", this is " + build.text()
                    + ": classes that scenarios run through differ, in "
                    + String.join(", ", build.differsIn(read.rooms())),
                    "begin a new campaign without --resume (the numbers of two builds do not add up), or go on with the revision"
                            + " that has begun this one");
        }
        if (minutes == null) {
            return read;
        }
        require(read.seeds() == 0, from + " has a number of seeds, no time: --minutes does not go with it");
        return read.lasting(read.seconds() / SECONDS_PER_MINUTE + minutes);
    }

    private boolean isGiven(String option) {
        return spec.commandLine().getParseResult().hasMatchedOption(option);
    }

    /** The scenarios that are left. */
    private final class Rest implements Iterator<Scenario> {
        private final CampaignNumbers all = numbers;
        private int next;

        Rest(int next) {
            this.next = next;
        }

        @Override
        public boolean hasNext() {
            return next < all.scenariosMax() && (all.seeds() > 0 || seconds() < all.minutes() * SECONDS_PER_MINUTE);
        }

        @Override
        public Scenario next() {
            if (next >= all.scenariosMax()) {
                throw new NoSuchElementException();
            }
            return all.scenario(next++);
        }
    }

    private double seconds() {
        return secondsBefore + (System.nanoTime() - begun) / NANOS_PER_SECOND;
    }

    private double processorSeconds() {
        return system.getProcessCpuTime() / NANOS_PER_SECOND;
    }

    private void heard(QuietLog log, Campaign.Finished finished) {
        int index = numbers.seriesOf(numbers.scenarios());
        numbers = numbers.plus(finished);
        ScenarioSeries now = numbers.series().get(index);
        try {
            if (!finished.result().passed()) {
                report(log, now, finished.result());
            }
            if (numbers.seeds() > 0 && now.scenarios() == numbers.seeds()) {
                screen.line(CampaignText.line(screen, numbers, now));
            }
            numbers = numbers.after(seconds(), processorSecondsBefore + processorSeconds());
            if (file != null && seconds() - written > WRITE_SECONDS) {
                numbers.write(file);
                written = seconds();
            }
        } catch (IOException cannot) {
            throw new UncheckedIOException(cannot);
        }
        screen.live(List.of(progress(now)));
        if (!screen.isTerminal() && seconds() - shown > TELL_SECONDS) {
            screen.line(progress(now));
            shown = seconds();
        }
    }

    private String progress(ScenarioSeries now) {
        boolean timed = numbers.seeds() == 0;
        double done = timed
                ? Math.min(1, numbers.seconds() / SECONDS_PER_MINUTE / numbers.minutes())
                : (double) now.scenarios() / numbers.seeds();
        int full = (int) (BAR_WIDTH * done);
        String text = String.format(Locale.ROOT, "%-12s [%s%s] %d scenarios, %.0f a minute",
                timed ? "all" : now.name(numbers.series()), "=".repeat(full), " ".repeat(BAR_WIDTH - full),
                timed ? numbers.scenarios() : now.scenarios(),
                SECONDS_PER_MINUTE * numbers.scenarios() / numbers.seconds());
        return numbers.failed() == 0 ? text : text + ", " + screen.bad(numbers.failed() + " FAILED");
    }

    private void end() throws IOException {
        numbers = numbers.after(seconds(), processorSecondsBefore + processorSeconds());
        if (numbers.seeds() == 0) {
            numbers.series().forEach(one -> screen.line(CampaignText.line(screen, numbers, one)));
        }
        CampaignText.summary(numbers).forEach(screen::line);
        if (file != null) {
            numbers.write(file);
            screen.line("numbers: " + file.toAbsolutePath().normalize());
        }
        if (docs != null) {
            CampaignText.section(numbers).replace(docs, CampaignText.docs(numbers));
            screen.line("section: " + docs.toAbsolutePath().normalize());
        }
    }

    private void report(QuietLog log, ScenarioSeries series, ScenarioResult failed) throws IOException {
        boolean told = series.failed() <= TOLD_MAX;
        boolean shrunk = told && shrinkRuns > 0;
        ScenarioResult small = shrunk ? Campaign.shrink(failed, mutation, shrinkRuns) : failed;
        Files.createDirectories(failures);
        Path replay = failures.resolve(series.protocol() + "-" + series.order() + "-" + failed.scenario().seed()
                + ".txt");
        Files.writeString(replay, "# build " + numbers.build() + ", faults " + series.faults() + "\n"
                + new ReplayFile(small.scenario(), numbers.mutant(), small.failed(), small.fingerprint()).text());
        List<String> lines = new ArrayList<>();
        lines.add(screen.bad("FAILED ") + series.protocol() + ", seed " + failed.scenario().seed() + ", "
                + series.order() + " order, faults " + series.faults() + ", by " + String.join("; ", failed.failed())
                + ": with " + failed.scenario().plan().faults().size() + " faults, of which "
                + small.scenario().plan().faults().size() + (shrunk ? " are needed:" : " may be needed:"));
        List<String> text = told ? FailureText.lines(small) : List.of();
        lines.addAll(text);
        if (told) {
            lines.addAll(FailureText.log(log, small, numbers.mutant()));
        }
        lines.add("again: ./tutti sim replay " + replay);
        screen.line("");
        lines.forEach(screen::line);
        numbers = numbers.plus(new CampaignNumbers.Found(series.protocol(), series.order(), series.faults(),
                failed.scenario().seed(), failed.failed(), replay.toString(), text));
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
