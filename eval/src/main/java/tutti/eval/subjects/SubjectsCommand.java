package tutti.eval.subjects;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tutti.command.Failure;
import tutti.command.Program;
import tutti.command.Screen;
import tutti.eval.Estimate;
import tutti.report.BenchFiles;

/** Runs groups with semantic reliability and without. */
@Command(name = "subjects", description = "Run the group communication on a simulated network of 100 Mbit/s, under loss and with a"
        + " slow member, where later messages about a subject make earlier ones obsolete and where they do not (semantic"
        + " reliability, D5.1 section 2.3.3), and compare how long news takes to be known.", footer = {"",
                "Example: tutti sim subjects --out reports/subjects", "Exit status: 0 it ran; 2 called wrongly."})
public final class SubjectsCommand implements Callable<Integer> {
    private static final int REPETITIONS_MAX = 1000;
    private static final int RATE_MAX = 100_000;
    private static final int SUBJECTS_MAX = 100_000;
    private static final int MEMBERS_MAX = 16;
    private static final int BYTES = 1000;

    @Option(names = "--rates", paramLabel = "N", split = ",", defaultValue = "1000,3000,5000", description = "Messages of 1000"
            + " bytes that a member submits each second (default: ${DEFAULT-VALUE}).")
    private int[] rates = {1};

    @Option(names = "--subjects", paramLabel = "N", defaultValue = "100", description = "Of each member (default:"
            + " ${DEFAULT-VALUE}).")
    private int subjects;

    @Option(names = "--members", paramLabel = "N", defaultValue = "3", description = "Of the group (default: ${DEFAULT-VALUE}).")
    private int members;

    @Option(names = "--repetitions", paramLabel = "N", defaultValue = "10", description = "Runs of each setting, with a seed"
            + " each; values have 95 percent intervals if there are several (default: ${DEFAULT-VALUE}).")
    private int repetitions;

    @Option(names = "--out", paramLabel = "DIR", description = "Where the table goes, as subjects.csv.")
    private @Nullable Path out;

    @Spec
    private @Nullable CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        if (spec == null) {
            throw new IllegalStateException("the command line was not parsed");
        }
        check();
        Screen screen = Screen.standard(spec.commandLine().getOut());
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("trouble", "messages/s of a member", "obsolescence", "known after, mean ms", "99 of 100, ms",
                "unsent %", "sent, Mbit/s"));
        for (Trouble trouble : Trouble.values()) {
            for (int rate : rates) {
                for (boolean obsolescence : new boolean[]{false, true}) {
                    screen.live(List.of(trouble.words() + ", " + rate + " messages/s"));
                    rows.add(row(new SubjectsRun.Setting(members, subjects, BYTES, rate, obsolescence, trouble)));
                }
            }
        }
        screen.live(List.of());
        Screen.table(rows).forEach(screen::line);
        if (out != null) {
            Files.createDirectories(out);
            StringBuilder csv = new StringBuilder();
            rows.forEach(row -> csv.append(String.join(";", row)).append('\n'));
            BenchFiles.write(out.resolve("subjects.csv"), csv.toString().replace(",", "").replace(';', ','));
        }
        return Program.OK;
    }

    private void check() {
        if (rates.length == 0 || IntStream.of(rates).anyMatch(rate -> rate < 1 || rate > RATE_MAX)) {
            throw Failure.usage("--rates must be 1 to " + RATE_MAX, "");
        }
        if (members < 2 || members > MEMBERS_MAX || subjects < 1 || subjects > SUBJECTS_MAX || repetitions < 1
                || repetitions > REPETITIONS_MAX) {
            throw Failure.usage("--members must be 2 to " + MEMBERS_MAX + ", --subjects 1 to " + SUBJECTS_MAX
                    + ", --repetitions 1 to " + REPETITIONS_MAX, "");
        }
    }

    private List<String> row(SubjectsRun.Setting setting) {
        List<SubjectsRun.Result> results = IntStream.rangeClosed(1, repetitions)
                .mapToObj(seed -> new SubjectsRun(setting, seed).run()).toList();
        return List.of(setting.trouble().words(), Integer.toString((int) setting.perSecond()),
                setting.obsolescence() ? "yes" : "no", text(results, SubjectsRun.Result::meanMillis, 1),
                text(results, SubjectsRun.Result::lateMillis, 1),
                text(results, result -> 100 * result.unsentShare(), 1),
                text(results, SubjectsRun.Result::sentMegabits, 1));
    }

    private static String text(List<SubjectsRun.Result> results, ToDoubleFunction<SubjectsRun.Result> value,
            int decimals) {
        return Estimate.of(results.stream().mapToDouble(value).toArray()).text(decimals);
    }
}
