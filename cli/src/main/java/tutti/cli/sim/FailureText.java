package tutti.cli.sim;

import java.util.ArrayList;
import java.util.List;
import tutti.check.CheckResult;
import tutti.sim.world.ScenarioResult;

/** What is wrong with a run, in words: for each check that failed its first violations, and the plan of faults. */
final class FailureText {
    private static final int VIOLATIONS_MAX = 2;
    private static final int WIDTH_MAX = 1200;

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

    private static String cut(String text) {
        return text.length() <= WIDTH_MAX ? text : text.substring(0, WIDTH_MAX) + " …";
    }
}
