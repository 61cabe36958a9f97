package tutti.sim.world.mutant;

import java.util.stream.Stream;
import tutti.check.CheckResult;
import tutti.sim.world.ScenarioResult;

/**
 * Who must find a mutant, and as what. Nothing else that fails counts.
 *
 * @param by who looks
 * @param words that are in what it says: the rule that is broken, or a part of the explanation
 */
public record Finder(By by, String words) {
    /** Who looks at a run. */
    public enum By {
        /** Properties of the order's deliveries. */
        TOTAL_ORDER("TotalOrderCheck", "total order"),
        /** All replicas apply the same with the same states. */
        COMMIT_SEQUENCE("CommitSequenceCheck", "equal commit sequences"),
        /** What clients were told is so. */
        ACKNOWLEDGED("AcknowledgedHistoryCheck", "acknowledged transactions are present"),
        /** Isolation, from versions. */
        ISOLATION("IsolationCheck", "one-copy"),
        /** Snapshots are prefixes, the first committer wins. */
        PREFIX_SNAPSHOT("PrefixSnapshotCheck", "snapshots"),
        /** Who asks for it is serializable, from versions and positions. */
        SERIAL_READS("SerialReadsCheck", "serializable transactions"),
        /** What is locked excludes, from positions. */
        LOCKS("LockExclusionCheck", "locks exclude"),
        /** Isolation, from what clients saw. */
        LIST_APPEND("ListAppendCheck", "list-append"),
        /** What the world notes at each event: decisions, answers, foreign keys. */
        WORLD("the world's notes", ScenarioResult.INVARIANTS),
        /** An assertion that nodes have in production as well, and that ended the run. */
        ASSERTION("assertion", ""),
        /** That everything ends and comes to rest. */
        LIVENESS("liveness", "");

        private final String title;
        private final String check;

        By(String title, String check) {
            this.title = title;
            this.check = check;
        }

        /** For people. */
        public String title() {
            return title;
        }

        private Stream<String> says(ScenarioResult result) {
            return switch (this) {
                case ASSERTION -> result.end() == ScenarioResult.End.BROKEN ? Stream.of(result.why()) : Stream.empty();
                case LIVENESS -> result.end() == ScenarioResult.End.STUCK ? Stream.of(result.why()) : Stream.empty();
                default -> result.checks().stream().filter(each -> each.check().startsWith(check))
                        .map(CheckResult::violations).flatMap(violations -> violations.stream())
                        .map(violation -> violation.rule() + ": " + violation.text());
            };
        }
    }

    /** Whether this is what a run's result says. */
    public boolean finds(ScenarioResult result) {
        return by.says(result).anyMatch(said -> said.contains(words));
    }

    @Override
    public String toString() {
        return by.title() + ", " + words;
    }
}
