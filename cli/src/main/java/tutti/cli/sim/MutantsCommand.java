package tutti.cli.sim;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;
import tutti.command.Failure;
import tutti.command.Program;
import tutti.command.Screen;
import tutti.sim.world.mutant.Hunt;
import tutti.sim.world.mutant.Mutant;
import tutti.sim.world.mutant.Mutants;
import tutti.report.DocsSection;

/** Sees to it that what is broken on purpose is found, by whom it must be and in time. */
@Command(name = "mutants", description = "Break what decides about transactions on purpose, one thing at a time, and see that"
        + " the checker that must find it does, within the stated number of scenarios; the table in Markdown. Exit status 1"
        + " if something is not found.")
final class MutantsCommand implements Callable<Integer> {
    private static final DocsSection SECTION = new DocsSection("mutants", "./tutti sim mutants --docs docs/testing.md");
    private static final String NOT_FOUND = "**not found**";
    private static final int BAR_WIDTH = 40;

    @Option(names = "--mutant", paramLabel = "NAME", split = ",", description = "Only these (default: all).")
    private List<String> names = List.of();

    @Option(names = "--list", description = "Only list them.")
    private boolean list;

    @Option(names = "--threads", paramLabel = "N", defaultValue = "0", description = "Mutants side by side; 0 for one per core (default: ${DEFAULT-VALUE}).")
    private int threads;

    @Option(names = "--docs", paramLabel = "FILE", description = "A file in Markdown whose table is to be replaced.")
    private @Nullable Path docs;

    @Option(names = "--json", paramLabel = "FILE", description = "Where to write all numbers as JSON.")
    private @Nullable Path json;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException, InterruptedException {
        if (threads < 0) {
            throw Failure.usage("--threads must not be negative", "");
        }
        Screen screen = Screen.standard(spec.commandLine().getOut());
        List<Mutant> mutants = chosen();
        if (list) {
            mutants.forEach(mutant -> screen.line(mutant.name() + ": " + mutant.what()));
            return Program.OK;
        }
        List<Hunt> hunts = hunt(screen, mutants);
        List<String> lines = new ArrayList<>();
        lines.add("| mutant | how | found by | within | found after |");
        lines.add("|---|---|---|---|---|");
        hunts.forEach(
                hunt -> lines.add(row(hunt.mutant(), hunt.found() ? Integer.toString(hunt.scenarios()) : NOT_FOUND)));
        lines.forEach(screen::line);
        hunts.stream().filter(hunt -> !hunt.succeeded()).forEach(hunt -> screen.line(screen.bad(hunt.failure())));
        if (json != null) {
            Files.writeString(json, JsonMapper.builder().enable(SerializationFeature.INDENT_OUTPUT).build()
                    .writeValueAsString(hunts.stream().map(MutantsCommand::report).toList()));
            screen.line("numbers: " + json.toAbsolutePath().normalize());
        }
        if (docs != null) {
            SECTION.replace(docs, lines);
        }
        return hunts.stream().allMatch(Hunt::succeeded) ? Program.OK : Program.FAILURE;
    }

    private List<Mutant> chosen() {
        try {
            return names.isEmpty() ? Mutants.all() : names.stream().map(Mutants::find).toList();
        } catch (IllegalArgumentException unknown) {
            throw Failure.usage(String.valueOf(unknown.getMessage()), "");
        }
    }

    private List<Hunt> hunt(Screen screen, List<Mutant> mutants) throws InterruptedException {
        int workers = threads == 0 ? Runtime.getRuntime().availableProcessors() : threads;
        AtomicInteger done = new AtomicInteger();
        AtomicInteger lost = new AtomicInteger();
        try (ExecutorService pool = Executors.newFixedThreadPool(workers)) {
            List<Future<Hunt>> futures = new ArrayList<>();
            for (Mutant mutant : mutants) {
                futures.add(pool.submit(() -> {
                    Hunt hunt = Hunt.after(mutant, number -> screen.live(List.of(bar(screen, done.get(), mutants.size(),
                            lost.get(), mutant.name() + " " + number + " of " + mutant.within()))));
                    lost.addAndGet(hunt.succeeded() ? 0 : 1);
                    done.incrementAndGet();
                    if (!screen.isTerminal()) {
                        screen.line(mutant.name() + ": "
                                + (hunt.succeeded() ? "found after " + hunt.scenarios() : hunt.failure()));
                    }
                    return hunt;
                }));
            }
            List<Hunt> hunts = new ArrayList<>();
            try {
                for (Future<Hunt> future : futures) {
                    hunts.add(future.get());
                }
            } catch (ExecutionException e) {
                throw e.getCause() instanceof IllegalStateException unfit
                        ? new Failure(String.valueOf(unfit.getMessage()), "", unfit)
                        : new CompletionException(e.getCause());
            } finally {
                pool.shutdownNow();
            }
            screen.live(List.of());
            return hunts;
        }
    }

    private static String bar(Screen screen, int done, int all, int lost, String now) {
        int full = BAR_WIDTH * done / all;
        String text = String.format(Locale.ROOT, "[%s%s] %d of %d mutants, %s", "=".repeat(full),
                " ".repeat(BAR_WIDTH - full), done, all, now);
        return lost == 0 ? text : text + ", " + screen.bad(lost + " NOT FOUND");
    }

    private static String row(Mutant mutant, String found) {
        Mutant.Where where = mutant.where();
        return "| `" + mutant.name() + "`: " + mutant.what() + (mutant.mended() ? " (Was a fault.)" : "") + " | "
                + String.join("; ", mutant.changes()) + " | " + mutant.finder().by().title() + ": "
                + mutant.finder().words() + " | " + mutant.within() + " of `" + where.protocol() + "`, "
                + where.order().name().toLowerCase(Locale.ROOT) + ", "
                + (where.engine() == null ? "" : where.engine().name().toLowerCase(Locale.ROOT) + " databases, ")
                + where.faults() + (where.plan().isEmpty() ? "" : " (a plan of its own)")
                + (where.partial() ? ", tables on some nodes" : "") + " | "
                + found + " |";
    }

    private static Map<String, Object> report(Hunt hunt) {
        Mutant mutant = hunt.mutant();
        Mutant.Where where = mutant.where();
        Map<String, Object> report = new LinkedHashMap<>();
        report.put("mutant", mutant.name());
        report.put("what", mutant.what());
        report.put("mended", mutant.mended());
        report.put("changes", mutant.changes());
        report.put("protocol", where.protocol());
        report.put("parameters", where.parameters());
        report.put("engine", where.engine() == null ? "" : where.engine().name().toLowerCase(Locale.ROOT));
        report.put("order", where.order().name().toLowerCase(Locale.ROOT));
        report.put("faults", where.faults());
        report.put("partial", where.partial());
        report.put("transactions", where.transactions());
        report.put("firstSeed", where.firstSeed());
        report.put("finder", mutant.finder().by().title());
        report.put("words", mutant.finder().words());
        report.put("within", mutant.within());
        report.put("scenarios", hunt.scenarios());
        report.put("found", hunt.found());
        report.put("soundPasses", hunt.soundPasses());
        report.put("others", new TreeSet<>(hunt.others()));
        return report;
    }
}
