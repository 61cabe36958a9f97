package tutti.cli.sim;

import java.util.ArrayList;
import java.util.List;
import tutti.check.CheckResult;
import tutti.command.QuietLog;
import tutti.sim.kernel.Nanos;
import tutti.sim.world.ReplayFile;
import tutti.sim.world.ScenarioResult;
import tutti.sim.world.ScenarioRun;
import tutti.sim.world.mutant.Mutants;

/** What is wrong with a run, in words: for each check that failed its first violations, and the plan of faults. */
final class FailureText {
    private static final int VIOLATIONS_MAX = 2;
    private static final int WIDTH_MAX = 3000;
    private static final int LOG_LINES_MAX = 40;

    private FailureText() {}

    static List<String> lines(ScenarioResult result) {
        List<String> lines = new ArrayList<>();
        lines.add(result.scenario().describe());
        lines.add("  " + result.fingerprint());
        if (result.end() != ScenarioResult.End.RESTED) {
            lines.add("  " + result.failed().getFirst() + ": " + cut(result.why()));
        }
        for (CheckResult check : result.checks()) {
            if (!check.passed()) {
                lines.add("  " + check.check() + ": " + check.violations().size() + " violations");
                check.violations().stream().limit(VIOLATIONS_MAX).forEach(violation -> {
                    lines.add("    " + violation.rule() + ", " + violation.subject() + ": " + cut(violation.text()));
                    violation.rows().forEach(row -> lines.add("      " + cut(row.toString())));
                });
            }
        }
        result.scenario().plan().toString().lines().forEach(line -> lines.add("  " + line));
        return lines;
    }

    /** What the nodes logged at the end of such a run, each line with its virtual time and event: runs it once more. */
    static List<String> log(QuietLog log, ScenarioResult failed, String mutant) {
        StringBuilder when = new StringBuilder();
        ScenarioResult[] again = new ScenarioResult[1];
        List<String> logged = log.during(LOG_LINES_MAX, when::toString, () -> again[0] = mutant
                .equals(ReplayFile.NO_MUTANT)
                        ? ScenarioRun.run(failed.scenario(), (nanos, label, _) -> {
                            when.setLength(0);
                            when.append(Nanos.text(nanos)).append(' ').append(label.name());
                        })
                        : Mutants.mutation(mutant).get().run(failed.scenario()));
        List<String> lines = new ArrayList<>();
        if (!again[0].fingerprint().equals(failed.fingerprint())) {
            lines.add("  NOT DETERMINISTIC: run once more, it was " + again[0].fingerprint());
        }
        lines.add("  the nodes' log, its last " + logged.size() + " lines:");
        logged.forEach(line -> lines.add("    " + cut(line)));
        return lines;
    }

    private static String cut(String text) {
        return text.length() <= WIDTH_MAX ? text : text.substring(0, WIDTH_MAX) + " …";
    }
}
