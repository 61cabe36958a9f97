package tutti.server.watch;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import tutti.node.metrics.NodeMetrics;

/**
 * Transactions of a node's clients that have lost lately, and their slowest statements. It may name rows, so only who has the node's token gets
 * to see it. Safe for use from any thread.
 */
public final class Activity {
    private static final int LOSSES_MAX = 50;
    private static final int STATEMENTS_MAX = 20;
    private static final int STATEMENTS_KEPT = 200;
    private static final long STATEMENT_MILLIS = 600_000;
    private static final double MILLIS = 1e-6;

    private final LongSupplier clock;
    private final Deque<Loss> losses = new ArrayDeque<>();
    private final Map<String, Statement> statements = new HashMap<>();

    /**
     * A transaction that lost.
     *
     * @param time in milliseconds since 1970
     * @param sqlState see {@link NodeMetrics.Loss}, as of all others
     */
    public record Loss(long time, String sqlState, String message, String detail, String statement, boolean repeated) {}

    /**
     * A statement that clients waited for.
     *
     * @param text its text, or the beginning
     * @param times how often it was slow, in the last ten minutes or a little more
     * @param worstMillis the longest
     * @param last when it was slow for the last time, in milliseconds since 1970
     */
    public record Statement(String text, long times, double worstMillis, long last) {}

    /**
     * What is kept.
     *
     * @param losses newest first
     * @param statements slowest first
     */
    public record Seen(List<Loss> losses, List<Statement> statements) {}

    /**
     * Of nothing yet.
     *
     * @param clock milliseconds since 1970
     */
    public Activity(LongSupplier clock) {
        this.clock = clock;
    }

    /** A transaction has lost. */
    public void lost(NodeMetrics.Loss loss) {
        Loss seen = new Loss(clock.getAsLong(), loss.sqlState(), loss.message(), loss.detail(), loss.statement(),
                loss.repeated());
        synchronized (this) {
            losses.addFirst(seen);
            if (losses.size() > LOSSES_MAX) {
                losses.removeLast();
            }
        }
    }

    /** A client has waited for a statement. */
    public void slow(long nanos, String text) {
        long now = clock.getAsLong();
        synchronized (this) {
            if (statements.size() >= STATEMENTS_KEPT && !statements.containsKey(text)) {
                forget(now);
            }
            statements.merge(text, new Statement(text, 1, nanos * MILLIS, now), (before, next) -> new Statement(text,
                    before.times + 1, Math.max(before.worstMillis, next.worstMillis), now));
        }
    }

    /** Makes room: those go that are old, or, if there are none, the one that was fastest. */
    private void forget(long now) {
        if (!statements.values().removeIf(statement -> now - statement.last > STATEMENT_MILLIS)) {
            statements.values().stream().min(Comparator.comparingDouble(Statement::worstMillis))
                    .ifPresent(fastest -> statements.remove(fastest.text));
        }
    }

    /** What there is to see. */
    public synchronized Seen seen() {
        long now = clock.getAsLong();
        statements.values().removeIf(statement -> now - statement.last > STATEMENT_MILLIS);
        List<Statement> slowest = new ArrayList<>(statements.values());
        slowest.sort(Comparator.comparingDouble(Statement::worstMillis).reversed());
        return new Seen(List.copyOf(losses), List.copyOf(slowest.subList(0, Math.min(slowest.size(), STATEMENTS_MAX))));
    }
}
