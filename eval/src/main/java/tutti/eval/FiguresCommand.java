package tutti.eval;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tutti.command.Failure;
import tutti.command.Program;
import tutti.command.Screen;
import tutti.model.RunResult;
import tutti.model.scenario.ScenarioFile;
import tutti.model.scenario.ScenarioReader;
import tutti.report.Page;

/** Makes the figures of the papers again. */
@Command(name = "figures", description = "Make the figures and tables of a paper again, on the performance model: SVG and CSV"
        + " files, a page with all of them, and the paper's values beside ours where its text gives them."
        + " docs/evaluation.md explains each.")
public final class FiguresCommand implements Callable<Integer> {
    private static final int THREADS_MAX = 256;
    private static final int REPETITIONS_MAX = 1000;

    /** Whose figures. */
    enum Paper {
        /** AKARA: A Flexible Clustering Protocol for Demanding Transactional Workloads. */
        akara(30_000),
        /** GORDA deliverable D5.1. */
        gorda(10_000),
        /** The MacroDDB thesis. */
        macroddb(5000),
        /** No paper's: what was chosen for want of a value in them, halved and doubled. */
        constants(10_000),
        /** No paper's: how far each protocol scales. */
        scaling(3000);

        private final long transactions;

        Paper(long transactions) {
            this.transactions = transactions;
        }
    }

    @Option(names = "--paper", paramLabel = "P", required = true, description = "akara, gorda, macroddb, or no paper's: constants, how results"
            + " move when values that the papers do not give are halved and doubled; scaling, how far each protocol does.")
    private Paper paper = Paper.akara;

    @Option(names = "--only", paramLabel = "F", split = ",", description = "Figures, for example 7a,9b (default: all).")
    private List<String> only = List.of();

    @Option(names = "--out", paramLabel = "DIR", description = "Where files go (default: reports/figures-PAPER).")
    private @Nullable Path out;

    @Option(names = "--png", description = "Write charts as PNG files, too.")
    private boolean png;

    @Option(names = "--transactions", paramLabel = "N", description = "Of each run (default: 30000 for akara, whose paper"
            + " has one run of 150001, 5000 for macroddb, 3000 for scaling, and 10000 for the others).")
    private @Nullable Long transactions;

    @Option(names = "--repetitions", paramLabel = "N", defaultValue = "10", description = "Runs of each point, with"
            + " a seed each; values have 95 percent intervals if there are several (default: ${DEFAULT-VALUE}).")
    private int repetitions;

    @Option(names = "--seed", paramLabel = "K", defaultValue = "1", description = "Seed of the first repetition, counted"
            + " on for the others (default: ${DEFAULT-VALUE}).")
    private long seed;

    @Option(names = "--threads", paramLabel = "N", description = "Runs side by side (default: the processors).")
    private @Nullable Integer threads;

    @Spec
    private @Nullable CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        if (spec == null) {
            throw new IllegalStateException("the command line was not parsed");
        }
        Screen screen = Screen.standard(spec.commandLine().getOut());
        long length = transactions == null ? paper.transactions : transactions;
        int workers = threads == null ? Runtime.getRuntime().availableProcessors() : threads;
        if (length < 1 || workers < 1 || workers > THREADS_MAX || repetitions < 1 || repetitions > REPETITIONS_MAX) {
            throw Failure.usage("--transactions must be at least 1, --threads 1 to " + THREADS_MAX
                    + ", --repetitions 1 to " + REPETITIONS_MAX, "");
        }
        List<Figure> figures = chosen(switch (paper) {
            case akara -> new AkaraFigures(length).figures();
            case gorda -> new GordaFigures(length).figures();
            case macroddb -> new MacroDdbFigures(length).figures();
            case constants -> new ChosenConstants(length).figures();
            case scaling -> new ScalingFigures(length).figures();
        });
        Set<FigureRun> settings = new LinkedHashSet<>();
        figures.forEach(figure -> settings.addAll(figure.needs()));
        List<ModelRuns.Job> jobs = new ArrayList<>();
        for (FigureRun setting : settings) {
            ScenarioFile scenario = RunCommand.valid(() -> ScenarioReader.read(setting.scenario(), setting.keys()));
            for (int i = 0; i < repetitions; i++) {
                jobs.add(new ModelRuns.Job(setting.name() + " seed " + (seed + i), scenario, seed + i));
            }
        }
        long began = System.nanoTime();
        List<RunResult> results = new ModelRuns(screen, workers).run(jobs);
        double seconds = (System.nanoTime() - began) / 1e9;
        Map<FigureRun, List<RunResult>> bySetting = new LinkedHashMap<>();
        int next = 0;
        for (FigureRun setting : settings) {
            bySetting.put(setting, results.subList(next, next + repetitions));
            next += repetitions;
        }
        Path directory = out == null ? Path.of("reports", "figures-" + paper) : out;
        Files.createDirectories(directory);
        FigurePages sheet = new FigurePages(directory, bySetting, png, new Page("Figures of " + paper,
                length + " transactions a run, seeds " + seed + " to " + (seed + repetitions - 1)
                        + ", by tutti sim figures"));
        figures.forEach(figure -> figure.draw().accept(sheet));
        sheet.finish();
        Screen.table(sheet.values()).forEach(screen::line);
        return end(screen, results, seconds, directory);
    }

    private List<Figure> chosen(List<Figure> all) {
        for (String one : only) {
            if (all.stream().noneMatch(figure -> figure.id().equals(one))) {
                throw Failure.usage("no figure '" + one + "' of " + paper, "there are: "
                        + String.join(", ", all.stream().map(Figure::id).distinct().toList()));
            }
        }
        return only.isEmpty() ? all : all.stream().filter(figure -> only.contains(figure.id())).toList();
    }

    private static int end(Screen screen, List<RunResult> results, double seconds, Path directory) {
        RunResult slowest = results.stream().max(Comparator.comparingDouble(result -> result.speed().realSeconds()))
                .orElseThrow();
        long events = results.stream().mapToLong(result -> result.speed().events()).sum();
        double real = results.stream().mapToDouble(result -> result.speed().realSeconds()).sum();
        double simulated = results.stream().mapToDouble(result -> result.speed().simulatedSeconds()).sum();
        screen.line(String.format(Locale.ROOT,
                "%d runs in %.0f s, the longest %.1f s; %.1f million events, %.0f events/s and %.1f simulated seconds"
                        + " per real second of one thread",
                results.size(), seconds, slowest.speed().realSeconds(), events / 1e6, events / real, simulated / real));
        long unsafe = results.stream().filter(result -> !result.safety().isEmpty()).count();
        screen.line(unsafe == 0
                ? screen.good("safe: ") + "in every run all replicas committed the same sequence"
                : screen.bad("NOT SAFE: ") + unsafe + " runs");
        screen.line("written: " + directory.toAbsolutePath().normalize().resolve("index.html"));
        return unsafe == 0 ? Program.OK : Program.FAILURE;
    }
}
