package tutti.cli.sim;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tutti.command.Program;
import tutti.command.Failure;
import tutti.command.Screen;
import tutti.sim.world.Campaign;
import tutti.sim.world.mutant.Mutant;
import tutti.sim.world.mutant.Mutants;

/** Finds out which checker finds what is broken on purpose, and how soon. */
@Command(name = "mutants", description = "Break protocols and their world on purpose, one thing at a time, and tell which"
        + " checker finds it at which seed, as a table in Markdown. Exit status 1 if something is not found.")
final class MutantsCommand implements Callable<Integer> {
    private static final DocsSection SECTION = new DocsSection("mutants", "./tutti sim mutants --docs docs/testing.md");
    private static final int SEEDS_MAX = 1_000_000;
    private static final Map<String, String> CHECKS = Map.of("total order", "`TotalOrderCheck`",
            "equal commit sequences", "`CommitSequenceCheck`", "acknowledged transactions are present",
            "`AcknowledgedHistoryCheck`");

    @Option(names = "--seeds", paramLabel = "N", defaultValue = "100", description = "Scenarios of each mutant (default: ${DEFAULT-VALUE}).")
    private int seeds;

    @Option(names = "--transactions", paramLabel = "T", defaultValue = "1000", description = "Transactions of a scenario (default: ${DEFAULT-VALUE}).")
    private int transactions;

    @Option(names = "--mutant", paramLabel = "NAME", split = ",", description = "Only these (default: all).")
    private List<String> names = List.of();

    @Option(names = "--docs", paramLabel = "FILE", description = "A file in Markdown whose table is to be replaced.")
    private @Nullable Path docs;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException, InterruptedException {
        if (seeds < 1 || seeds > SEEDS_MAX || transactions < 1) {
            throw Failure.usage("--seeds must be 1 to " + SEEDS_MAX + ", --transactions at least 1", "");
        }
        Screen screen = Screen.standard(spec.commandLine().getOut());
        List<Mutant> mutants = new ArrayList<>();
        try {
            names.forEach(name -> mutants.add(Mutants.find(name)));
        } catch (IllegalArgumentException unknown) {
            throw Failure.usage(String.valueOf(unknown.getMessage()), "");
        }
        boolean allFound = true;
        List<String> lines = new ArrayList<>();
        lines.add("| mutant | in | caught in | first found at seed, by |");
        lines.add("|---|---|---|---|");
        for (Mutant mutant : mutants.isEmpty() ? Mutants.all() : mutants) {
            String line = line(screen, mutant);
            allFound &= !line.contains("| 0 of ");
            lines.add(line);
        }
        screen.live(List.of());
        lines.forEach(screen::line);
        if (docs != null) {
            SECTION.replace(docs, lines);
        }
        return allFound ? Program.OK : Program.FAILURE;
    }

    private String line(Screen screen, Mutant mutant) throws InterruptedException {
        TreeMap<Long, Set<String>> first = new TreeMap<>();
        Set<String> seen = new LinkedHashSet<>();
        int[] caught = new int[1];
        int[] done = new int[1];
        Campaign.run(seed -> mutant.scenario(seed, transactions), 1, seeds, Runtime.getRuntime().availableProcessors(),
                mutant.mutation(), result -> {
                    done[0]++;
                    caught[0] += result.passed() ? 0 : 1;
                    for (String check : result.failed()) {
                        String name = CHECKS.getOrDefault(check, family(check));
                        if (seen.add(name)) {
                            first.computeIfAbsent(result.scenario().seed(), _ -> new LinkedHashSet<>()).add(name);
                        }
                    }
                    screen.live(List.of(mutant.name() + ": caught in " + caught[0] + " of " + done[0]));
                });
        List<String> finders = new ArrayList<>();
        first.forEach((seed, checks) -> finders.add(seed + ": " + String.join(", ", checks)));
        return "| `" + mutant.name() + "`: " + mutant.what() + " | `" + mutant.protocol() + "` | " + caught[0] + " of "
                + seeds + " | " + String.join("; ", finders) + " |";
    }

    /** Checks whose names depend on the isolation level. */
    private static String family(String check) {
        if (check.startsWith("list-append")) {
            return "`ListAppendCheck`";
        }
        if (check.startsWith("one-copy")) {
            return "`IsolationCheck`";
        }
        return check.startsWith("snapshots") ? "`PrefixSnapshotCheck`" : check;
    }
}
