package tutti.cli.torture;

import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import tutti.check.CheckResult;
import tutti.command.Screen;
import tutti.report.DocsSection;
import tutti.report.Machine;

/**
 * What a run of torture showed. Made of what can be written as JSON as it is.
 *
 * @param seed of the plan
 * @param settings how it was run
 * @param leftOut kinds of faults that were wanted and are not possible here, and why
 * @param planned the steps, in words
 * @param seconds how long clients worked
 * @param committed transactions that clients were told of
 * @param faults what was done, in order
 * @param checks after each stage
 * @param findings what went wrong besides, in words
 */
public record TortureReport(long seed, Map<String, String> settings, List<String> leftOut, List<String> planned,
        double seconds,
        long committed, List<Done> faults, List<CheckResult> checks, List<String> findings) {
    public TortureReport {
        leftOut = List.copyOf(leftOut);
        planned = List.copyOf(planned);
        faults = List.copyOf(faults);
        checks = List.copyOf(checks);
        findings = List.copyOf(findings);
    }

    /**
     * A fault that is over.
     *
     * @param at seconds since the run began
     * @param kind of it
     * @param node whom it was done to
     * @param heldMillis until it was undone
     * @param longestWaitMillis what the client of the driver that waited longest waited for an answer, until the cluster had recovered
     * @param recoveryMillis from when it was undone until all nodes were ready and had what was known then
     * @param note what there is to say besides
     */
    public record Done(double at, FaultKind kind, int node, long heldMillis, long longestWaitMillis,
            long recoveryMillis,
            String note) {}

    /** Whether nothing is wrong. */
    public boolean passed() {
        return findings.isEmpty() && checks.stream().allMatch(CheckResult::passed);
    }

    /** By kind of fault: how often, what clients waited, and how long it took until all was as before. */
    private List<List<String>> rows() {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("fault", "times", "wait median ms", "worst ms", "recovery median ms", "worst ms"));
        Map<FaultKind, List<Done>> byKind = new EnumMap<>(FaultKind.class);
        faults.forEach(done -> byKind.computeIfAbsent(done.kind(), _ -> new ArrayList<>()).add(done));
        byKind.forEach((kind, done) -> {
            long[] waits = done.stream().mapToLong(Done::longestWaitMillis).sorted().toArray();
            long[] recoveries = done.stream().mapToLong(Done::recoveryMillis).sorted().toArray();
            rows.add(List.of(kind.label(), String.valueOf(done.size()), median(waits), worst(waits), median(recoveries),
                    worst(recoveries)));
        });
        return rows;
    }

    private String sum() {
        return String.format(Locale.ROOT, "%d faults in %.0f s; %,d transactions committed, %.0f/s", faults.size(),
                seconds, committed, committed / Math.max(1, seconds));
    }

    /** The section of a page. */
    public List<String> docs() {
        Map<String, String> machine = Machine.describe();
        List<String> lines = new ArrayList<>();
        lines.add(
                "On " + DateTimeFormatter.ofPattern("d MMMM yyyy", Locale.ENGLISH).format(LocalDate.now(ZoneOffset.UTC))
                        + ", " + machine.get("processors") + ", Java " + machine.get("Java") + "; seed " + seed + ", "
                        + settings.entrySet().stream().map(each -> each.getKey() + ": " + each.getValue())
                                .collect(Collectors.joining(", "))
                        + ". " + sum() + ".");
        lines.add("");
        lines.addAll(DocsSection.table(rows()));
        lines.add("");
        leftOut.forEach(line -> lines.add("* Left out: " + line + "."));
        checks.stream().filter(check -> !check.passed()).forEach(check -> lines.add("* Failed: " + check.text()));
        findings.forEach(finding -> lines.add("* Found: " + finding));
        lines.add(passed()
                ? checks.size() + " checks passed: replicas equal, nothing acknowledged lost."
                : "It did not pass.");
        return lines;
    }

    /** For people. */
    public List<String> summary(Screen screen) {
        List<String> lines = new ArrayList<>();
        lines.add("");
        lines.addAll(Screen.table(rows()));
        lines.add("");
        lines.add(sum());
        leftOut.forEach(line -> lines.add("left out: " + line));
        long failed = checks.stream().filter(check -> !check.passed()).count();
        checks.stream().filter(check -> !check.passed()).forEach(check -> lines.add(screen.bad(check.text())));
        findings.forEach(finding -> lines.add(screen.bad(finding)));
        lines.add(passed()
                ? screen.good(checks.size() + " checks passed: replicas equal, nothing acknowledged lost")
                : screen.bad(failed + " of " + checks.size() + " checks failed, " + findings.size()
                        + " other findings; seed " + seed));
        return lines;
    }

    private static String median(long[] sorted) {
        return String.valueOf(sorted[sorted.length / 2]);
    }

    private static String worst(long[] sorted) {
        return String.valueOf(Arrays.stream(sorted).max().orElse(0));
    }
}
