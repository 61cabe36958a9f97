package tutti.cli.demo;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import tutti.command.Screen;
import tutti.server.http.NodeStatus;
import tutti.workload.tpcc.TpccSecond;
import tutti.workload.tpcc.TpccSnapshot;

/**
 * Shows a run while it goes on, second by second: a table on a terminal, a line elsewhere. Keeps what it saw of the nodes,
 * for the report. Told from one thread at a time.
 */
final class Progress {
    private static final double MICROS_PER_MILLI = 1e3;

    private final Screen screen;
    private final NodeWatch watch;
    private final int seconds;
    private final List<List<NodeWatch.Look>> looks = new ArrayList<>();

    Progress(Screen screen, NodeWatch watch, int seconds) {
        this.screen = screen;
        this.watch = watch;
        this.seconds = seconds;
    }

    /** Another second is over. */
    synchronized void second(TpccSnapshot snapshot) {
        List<NodeWatch.Look> now = watch.looks();
        looks.add(now);
        if (screen.isTerminal()) {
            screen.live(table(snapshot, now));
        } else {
            screen.line(line(snapshot, now));
        }
    }

    /** What was seen of the nodes at the end of each second. */
    synchronized List<List<NodeWatch.Look>> looks() {
        return List.copyOf(looks);
    }

    private List<String> table(TpccSnapshot snapshot, List<NodeWatch.Look> now) {
        List<String> lines = new ArrayList<>();
        lines.add(screen.bold(String.format(Locale.ROOT, "%3.0f s of %d   %,.0f transactions/s   %,.0f tpmC"
                + "   %.1f %% of attempts aborted", snapshot.elapsedSeconds(), seconds, perSecond(snapshot),
                snapshot.tpmC(), 100 * snapshot.abortRate())));
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("node", "state", "terminals", "trans./s", "p50 ms", "p95 ms", "aborts/s", "position", "lag"));
        for (int i = 0; i < snapshot.nodes().size(); i++) {
            TpccSnapshot.Node node = snapshot.nodes().get(i);
            TpccSecond last = node.lastSecond();
            NodeStatus status = now.get(i).status();
            rows.add(List.of(node.name(),
                    status == null ? "gone" : status.state().name().toLowerCase(Locale.ROOT),
                    String.valueOf(node.terminals()), String.format(Locale.ROOT, "%.0f", last.perSecond()),
                    millis(last.p50Micros()), millis(last.p95Micros()),
                    String.valueOf(last.aborts().values().stream().mapToLong(Long::longValue).sum()),
                    status == null ? "-" : String.valueOf(status.positions().applied()),
                    orDash(now.get(i).lagPositions())));
        }
        lines.addAll(Screen.table(rows));
        return lines;
    }

    private String line(TpccSnapshot snapshot, List<NodeWatch.Look> now) {
        StringBuilder line = new StringBuilder();
        line.append(String.format(Locale.ROOT, "%3.0f s of %d  %5.0f trans./s  aborted %4.1f %% ",
                snapshot.elapsedSeconds(), seconds, perSecond(snapshot), 100 * snapshot.abortRate()));
        for (int i = 0; i < snapshot.nodes().size(); i++) {
            TpccSecond last = snapshot.nodes().get(i).lastSecond();
            line.append(" | ").append(snapshot.nodes().get(i).name());
            if (now.get(i).status() == null) {
                line.append(" gone");
            } else {
                line.append(String.format(Locale.ROOT, " %.0f/s p50 %s p95 %s ms lag %s", last.perSecond(),
                        millis(last.p50Micros()), millis(last.p95Micros()), orDash(now.get(i).lagPositions())));
            }
        }
        return line.toString();
    }

    private static double perSecond(TpccSnapshot snapshot) {
        return snapshot.nodes().stream().mapToDouble(node -> node.lastSecond().perSecond()).sum();
    }

    private static String millis(long micros) {
        return micros == 0 ? "-" : String.format(Locale.ROOT, "%.1f", micros / MICROS_PER_MILLI);
    }

    private static String orDash(@Nullable Long value) {
        return value == null ? "-" : value.toString();
    }
}
