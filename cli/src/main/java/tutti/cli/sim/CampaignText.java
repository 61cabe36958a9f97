package tutti.cli.sim;

import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import tutti.command.Screen;
import tutti.core.protocol.Protocols;
import tutti.report.DocsSection;
import tutti.report.Machine;
import tutti.sim.world.ReplayFile;
import tutti.sim.world.ScenarioResult;

/** A campaign in words: what people see at its end, and the section of the page that publishes it. */
final class CampaignText {
    private static final double NANOS_PER_SECOND = 1e9;
    private static final double MILLION = 1e6;
    private static final double SECONDS_PER_MINUTE = 60;
    private static final double LITTLE = 1e-9;

    private CampaignText() {}

    /** One line on a series. */
    static String line(Screen screen, CampaignNumbers all, ScenarioSeries one) {
        String verdict = one.failed() == 0 ? screen.good("passed") : screen.bad(one.failed() + " FAILED");
        double seconds = one.processorNanos() / NANOS_PER_SECOND;
        return String.format(Locale.ROOT,
                "%-12s %s  %d scenarios of %d transactions (%d committed, %d crashes), seeds %s, %.1f s of a processor, %.0f per minute, %.1f million events, hash %s",
                one.name(all.series()), verdict, one.scenarios(), all.transactions(), one.count("committed"),
                one.count("crash"), seeds(all, one), seconds,
                SECONDS_PER_MINUTE * one.scenarios() / Math.max(LITTLE, seconds), one.events() / MILLION, one.hash());
    }

    private static String seeds(CampaignNumbers all, ScenarioSeries one) {
        return one.scenarios() == 0
                ? "none"
                : all.firstSeed() + " to " + (all.firstSeed() + one.scenarios() - 1);
    }

    /** What was done in all: kinds of faults, checkers, and how fast it was. */
    static List<String> summary(CampaignNumbers all) {
        List<String> lines = new ArrayList<>(Screen.table(faults(all)));
        lines.add("");
        lines.addAll(Screen.table(checks(all)));
        lines.add("");
        lines.add(sum(all));
        return lines;
    }

    private static List<List<String>> faults(CampaignNumbers all) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("fault", "planned", "what it did"));
        rows.addAll(rows(all, ScenarioSeries::planned, ScenarioSeries::happened));
        for (String made : List.of(ScenarioResult.LOST_WRITES, ScenarioResult.TORN_WRITES,
                ScenarioResult.REORDERED_WRITES)) {
            rows.add(List.of("by crashes: " + made, "", sum(all.series(), one -> one.count(made))));
        }
        return rows;
    }

    private static List<List<String>> checks(CampaignNumbers all) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("check", "scenarios", "failed"));
        rows.addAll(rows(all, ScenarioSeries::checks, ScenarioSeries::violated));
        return rows;
    }

    private static List<List<String>> rows(CampaignNumbers all, Function<ScenarioSeries, Map<String, Long>> first,
            Function<ScenarioSeries, Map<String, Long>> second) {
        Map<String, Long> one = ScenarioSeries.sum(all.series().stream().map(first).toList());
        Map<String, Long> other = ScenarioSeries.sum(all.series().stream().map(second).toList());
        TreeSet<String> words = new TreeSet<>(one.keySet());
        words.addAll(other.keySet());
        return words.stream().map(word -> List.of(word, Long.toString(one.getOrDefault(word, 0L)),
                Long.toString(other.getOrDefault(word, 0L)))).toList();
    }

    private static String sum(CampaignNumbers all) {
        double virtual = all.series().stream().mapToLong(ScenarioSeries::simulatedNanos).sum() / NANOS_PER_SECOND;
        long events = all.series().stream().mapToLong(ScenarioSeries::events).sum();
        return String.format(Locale.ROOT,
                "%d scenarios, %d failed; %s of virtual time in %s: %.0f times faster than real time, %.2f million events a second (of processor time, which was %s: %.0f times, %.2f million)",
                all.scenarios(), all.failed(), duration(virtual), duration(all.seconds()), virtual / all.seconds(),
                events / all.seconds() / MILLION, duration(all.processorSeconds()),
                virtual / all.processorSeconds(), events / all.processorSeconds() / MILLION);
    }

    private static String duration(double seconds) {
        Duration of = Duration.ofMillis(Math.round(seconds * 1e3));
        if (of.toHours() > 0) {
            return of.toHours() + " h " + of.toMinutesPart() + " min";
        }
        return of.toMinutes() > 0
                ? of.toMinutes() + " min " + of.toSecondsPart() + " s"
                : String.format(Locale.ROOT, "%.1f s", seconds);
    }

    /** Which section of a page is of such campaigns: one is of those of all protocols, others of those of some, or where nodes lack tables. */
    static DocsSection section(CampaignNumbers all) {
        List<String> protocols = protocols(all);
        boolean every = protocols.equals(Protocols.STANDARD.names().stream()
                .filter(name -> !all.lacksTables()
                        || Protocols.STANDARD.choose(name, Map.of()).claims().tablesMayBePartial())
                .toList());
        return new DocsSection(
                "campaign" + (every ? "" : " of " + String.join(", ", protocols))
                        + (all.lacksTables() ? " with tables on some nodes" : ""),
                "./tutti sim check" + (every ? "" : " --protocol " + String.join(",", protocols))
                        + (all.lacksTables() ? " --partial" : "") + " --docs docs/campaign.md");
    }

    private static List<String> protocols(CampaignNumbers all) {
        return all.series().stream().map(ScenarioSeries::protocol).distinct().toList();
    }

    /** The section of a page. */
    static List<String> docs(CampaignNumbers all) {
        List<String> lines = new ArrayList<>();
        Map<String, String> machine = Machine.describe();
        lines.add("On " + DateTimeFormatter.ofPattern("d MMMM yyyy", Locale.ENGLISH).format(
                LocalDate.now(ZoneOffset.UTC)) + ", "
                + (all.parts() == 1 ? "" : "the last of " + all.parts() + " parts, ")
                + "build `" + all.build() + "`, " + machine.get("processors")
                + ", Java "
                + machine.get("Java") + ".");
        lines.add((all.fresh() ? "Fresh seeds from " : "Seeds from ") + all.firstSeed() + ", "
                + (all.seeds() == 0
                        ? "each for every protocol, order and profile of faults in turn, until the time was up"
                        : "all of one protocol, order and profile of faults and then those of the next")
                + "; scenarios of " + all.transactions() + " transactions"
                + (all.lacksTables() ? ", some nodes lack some tables" : "")
                + (all.set().isEmpty() ? "" : ", with " + all.set())
                + (all.mutant().equals(ReplayFile.NO_MUTANT) ? "" : ", broken on purpose by `" + all.mutant() + "`")
                + ". " + sum(all) + ".");
        lines.add("");
        lines.addAll(DocsSection.table(groups(all, "protocol", one -> "`" + one.protocol() + "`")));
        lines.add("");
        lines.addAll(DocsSection.table(groups(all, "faults, order", one -> one.faults() + ", " + one.order())));
        lines.add("");
        lines.addAll(DocsSection.table(faults(all)));
        lines.add("");
        lines.addAll(DocsSection.table(checks(all)));
        lines.add("");
        if (all.failures().isEmpty()) {
            lines.add("Nothing failed.");
        }
        for (CampaignNumbers.Found found : all.failures()) {
            lines.add("* Failed: `" + found.protocol() + "`, seed " + found.seed() + ", " + found.order()
                    + " order, faults " + found.faults() + ": " + String.join("; ", found.failed()));
        }
        return lines;
    }

    /** What came of the series that have something in common. */
    private static List<List<String>> groups(CampaignNumbers all, String title,
            Function<ScenarioSeries, String> common) {
        Map<String, List<ScenarioSeries>> groups = new LinkedHashMap<>();
        all.series().forEach(one -> groups.computeIfAbsent(common.apply(one), _ -> new ArrayList<>()).add(one));
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of(title, "last seed", "scenarios", "failed", "committed", "crashes", "virtual time"));
        groups.forEach((name, series) -> rows.add(List.of(name,
                Long.toString(
                        all.firstSeed() - 1 + series.stream().mapToInt(ScenarioSeries::scenarios).max().orElse(0)),
                sum(series, ScenarioSeries::scenarios), sum(series, ScenarioSeries::failed),
                sum(series, one -> one.count("committed")), sum(series, one -> one.count("crash")),
                duration(series.stream().mapToLong(ScenarioSeries::simulatedNanos).sum() / NANOS_PER_SECOND))));
        return rows;
    }

    private static String sum(List<ScenarioSeries> series, ToLongFunction<ScenarioSeries> of) {
        return Long.toString(series.stream().mapToLong(of).sum());
    }
}
