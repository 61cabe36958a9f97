package tutti.bench.apply;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tutti.command.Failure;
import tutti.command.Program;
import tutti.command.Screen;
import tutti.command.Trees;
import tutti.report.MeasurementOptions;

/** Measures what applying costs a server, and tries what PostgreSQL's own worker does when something is in its way. */
@Command(name = "apply", description = "PostgreSQL: processor time of the server's process that applies other nodes' transactions:"
        + " Tutti's appliers beside PostgreSQL's own logical replication worker, with this program as its publisher. Then what"
        + " that worker does with missing rows, errors, locks and crashes. Starts a server of its own.")
public final class ApplyCommand implements Callable<Integer> {
    private static final int ROUNDS_MAX = 1000;
    private static final int TRANSACTIONS_MAX = 100_000;

    @Option(names = "--rounds", paramLabel = "N", defaultValue = "12", description = "Rounds in which all take turns (default: ${DEFAULT-VALUE}).")
    private int rounds;

    @Option(names = "--transactions", paramLabel = "N", defaultValue = "400", description = "Transactions of one row in a round; fewer of larger ones (default: ${DEFAULT-VALUE}).")
    private int transactions;

    @Option(names = "--seed", paramLabel = "N", defaultValue = "1", description = "Which rows (default: ${DEFAULT-VALUE}).")
    private long seed;

    @Option(names = "--no-experiments", description = "Measure only.")
    private boolean measureOnly;

    @Mixin
    private MeasurementOptions measuring = new MeasurementOptions();

    @Override
    public Integer call() throws Exception {
        if (rounds < 1 || rounds > ROUNDS_MAX || transactions < 1 || transactions > TRANSACTIONS_MAX) {
            throw Failure.usage("--rounds must be 1 to " + ROUNDS_MAX + " and --transactions 1 to " + TRANSACTIONS_MAX,
                    "");
        }
        Path directory = Files.createTempDirectory("tutti-bench-apply");
        try {
            Screen screen = measuring.begin(directory);
            screen.line("");
            boolean same;
            try (ApplyServer server = new ApplyServer(directory)) {
                List<ApplyBenchmark.Found> found;
                try (ApplyBenchmark benchmark = new ApplyBenchmark(server, seed)) {
                    found = benchmark.run(rounds, transactions);
                    List<String> different = benchmark.different();
                    Screen.table(rows(found)).forEach(screen::line);
                    screen.line("");
                    same = different.isEmpty();
                    screen.line(same
                            ? "all databases are equal to the one where the transactions ran"
                            : "NOT EQUAL to the database where the transactions ran: " + different);
                }
                List<List<String>> experiments = List.of();
                if (!measureOnly) {
                    try (WorkerExperiments trying = new WorkerExperiments(server)) {
                        experiments = trying.run();
                    }
                    screen.line("");
                    List<List<String>> table = new ArrayList<>(List.of(List.of("PostgreSQL's worker, when", "")));
                    table.addAll(experiments);
                    Screen.table(table).forEach(screen::line);
                }
                measuring.write("apply", Map.of("found", found, "experiments", experiments), screen);
            }
            return same ? Program.OK : Program.FAILURE;
        } finally {
            Trees.delete(directory);
        }
    }

    /** A table. */
    static List<List<String>> rows(List<ApplyBenchmark.Found> found) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("transactions", "applied by", "server CPU us per transaction: min", "median", "max",
                "of the applier's"));
        for (ApplyBenchmark.Found row : found) {
            double applier = found.stream().filter(each -> each.workload().equals(row.workload())).findFirst()
                    .orElse(row).median();
            rows.add(
                    List.of(row.workload(), row.contender(), micros(row.min()), micros(row.median()), micros(row.max()),
                            String.format(Locale.ROOT, "%.2f", row.median() / applier)));
        }
        return rows;
    }

    private static String micros(double value) {
        return String.format(Locale.ROOT, "%.1f", value);
    }
}
