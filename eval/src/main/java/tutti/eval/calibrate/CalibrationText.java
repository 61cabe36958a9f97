package tutti.eval.calibrate;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import tutti.model.RequestKind;
import tutti.model.fit.Fit;
import tutti.model.fit.Fits;

/** A calibration as the file that scenarios name, as tables for people, and as values for programs. */
final class CalibrationText {
    private static final double MICRO = 1e3;
    private static final double MILLI = 1e6;
    private static final int YAML_VALUES_A_LINE = 12;

    private final CalibrationResult result;

    CalibrationText(CalibrationResult result) {
        this.result = result;
    }

    /** The calibration file: what was measured, over the paper's, which has what was not. */
    String yaml() {
        StringBuilder yaml = new StringBuilder("# Made by `./tutti calibrate`, ").append(result.startedAt())
                .append(", from ").append(result.transactions()).append(" transactions, one at a time.\n");
        result.machine()
                .forEach((name, value) -> yaml.append("# ").append(name).append(": ").append(value).append('\n'));
        result.settings()
                .forEach((name, value) -> yaml.append("# ").append(name).append(": ").append(value).append('\n'));
        yaml.append("# Not measured, and so the paper's: apply-share, code.message, code.nanos-per-byte, code.event,"
                + " cpu.maintenance.\nextends: paper\ntitle: \"")
                .append(result.settings().getOrDefault("server", "PostgreSQL"))
                .append(", ").append(result.startedAt(), 0, 10).append("\"\n");
        yaml.append(text(
                "# A thread that wakes up gets a processor %.0f us late where all compute, and %.0f us where none does (medians).%n",
                result.waking().busy().quantileNanos(0.5) / MICRO, result.waking().idle().quantileNanos(0.5) / MICRO));
        yaml.append(
                "cpu:                     # processor time of the server process; K-S is the distance of the fit\n");
        distributions(yaml, "  ", Profile.Cost::server);
        LogProbe log = result.log();
        yaml.append("storage:\n  shared: true           # group commit: whoever waits is written by one log write\n");
        yaml.append(text("  # %.0f log bytes a commit and %.0f a row%n", log.bytesPerCommit(), log.bytesPerRow()));
        if (log.flush() != null) {
            yaml.append(text("  # the disk: 8 KiB written and flushed in %.3f ms (median), %.0f MB/s when saturated%n",
                    log.flush().quantileNanos(0.5) / MILLI, log.megabytesPerSecond()));
        }
        entry(yaml, "  ", "access", result.profile().log());
        yaml.append("  access-of:\n");
        result.profile().costs().forEach((kind, cost) -> {
            if (!kind.readOnly()) {
                entry(yaml, "    ", kind.label(), cost.log());
            }
        });
        yaml.append("client:                  # on the same machine as the server\n  cpu:\n");
        distributions(yaml, "    ", Profile.Cost::client);
        yaml.append("  waiting:               # neither side computes: network, waking up\n");
        distributions(yaml, "    ", Profile.Cost::waiting);
        yaml.append(
                "losing:                  # a transaction that waits for its first row and loses it\n  approach:\n");
        losing(yaml, "cpu", LosingProbe.Cost::approach);
        losing(yaml, "client", LosingProbe.Cost::approachClient);
        yaml.append("  failing:               # from then on, with its rollback\n");
        losing(yaml, "cpu", LosingProbe.Cost::failing);
        losing(yaml, "client", LosingProbe.Cost::failingClient);
        losing(yaml, "waiting", LosingProbe.Cost::failingWaiting);
        yaml.append(text("code:%n  packet: %dns         # UDP over the loopback interface, %d bytes%n",
                Math.round(result.network().packetNanos()), NetworkProbe.PACKET_BYTES));
        return yaml.toString();
    }

    private void losing(StringBuilder yaml, String key, Function<LosingProbe.Cost, Fits> which) {
        yaml.append("    ").append(key).append(":\n");
        result.losing().costs().forEach((kind, cost) -> entry(yaml, "      ", kind.label(), which.apply(cost)));
    }

    private void distributions(StringBuilder yaml, String indent, Function<Profile.Cost, Fits> which) {
        result.profile().costs().forEach((kind, cost) -> entry(yaml, indent, kind.label(), which.apply(cost)));
    }

    /** A distribution, folded over several lines if it is long. */
    private static void entry(StringBuilder yaml, String indent, String key, Fits fits) {
        Fit best = fits.best();
        yaml.append(text("%s# %d seen, mean %.3f ms, K-S %.3f%n", indent, fits.count(), fits.meanNanos() / MILLI,
                best.distance()));
        String[] words = best.distribution().toString().split(" ", -1);
        yaml.append(indent).append(key).append(':');
        if (words.length <= YAML_VALUES_A_LINE) {
            yaml.append(' ').append(String.join(" ", words)).append('\n');
            return;
        }
        yaml.append(" >-\n");
        for (int from = 0; from < words.length; from += YAML_VALUES_A_LINE) {
            yaml.append(indent).append("  ").append(String.join(" ",
                    List.of(words).subList(from, Math.min(words.length, from + YAML_VALUES_A_LINE)))).append('\n');
        }
    }

    /** For people: table 2.4 and what it takes besides, and table 2.5. */
    List<String> lines() {
        List<String> lines = new ArrayList<>(tutti.command.Screen.table(table()));
        lines.add("");
        storage().forEach((what, value) -> lines.add(what + ": " + value));
        return lines;
    }

    /** One row for each distribution; the first row is the heading. */
    List<List<String>> table() {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("what", "transaction", "seen", "mean ms", "deviation ms", "K-S", "taken",
                "others by distance"));
        forEach((what, kind, fits) -> rows.add(List.of(what, kind, Integer.toString(fits.count()),
                text("%.3f", fits.meanNanos() / MILLI), text("%.3f", fits.deviationNanos() / MILLI),
                text("%.3f", fits.best().distance()), brief(fits.best()),
                fits.all().stream().filter(fit -> fit.family() != fits.best().family())
                        .map(fit -> text("%s %.3f", fit.family().label(), fit.distance()))
                        .collect(Collectors.joining(", ")))));
        return rows;
    }

    private static String brief(Fit fit) {
        return fit.distribution() instanceof tutti.sim.kernel.Distribution.Empirical values
                ? "empirical, " + values.nanos().size() + " values"
                : fit.distribution().toString();
    }

    /** What is done with each distribution of a calibration. */
    interface Each {
        void see(String what, String kind, Fits fits);
    }

    /** All distributions that are fitted, in the order to show. */
    void forEach(Each each) {
        Map<String, Function<Profile.Cost, Fits>> parts = new LinkedHashMap<>();
        parts.put("server processor", Profile.Cost::server);
        parts.put("client processor", Profile.Cost::client);
        parts.put("waiting", Profile.Cost::waiting);
        parts.forEach((what, which) -> {
            for (Map.Entry<RequestKind, Profile.Cost> cost : result.profile().costs().entrySet()) {
                each.see(what, cost.getKey().label(), which.apply(cost.getValue()));
            }
        });
        Map<String, Function<LosingProbe.Cost, Fits>> losing = new LinkedHashMap<>();
        losing.put("server until it waits for a row", LosingProbe.Cost::approach);
        losing.put("client until then", LosingProbe.Cost::approachClient);
        losing.put("server when it has lost the row", LosingProbe.Cost::failing);
        losing.put("client then", LosingProbe.Cost::failingClient);
        losing.put("waiting then", LosingProbe.Cost::failingWaiting);
        losing.forEach((what, which) -> result.losing().costs()
                .forEach((kind, cost) -> each.see(what, kind.label(), which.apply(cost))));
        each.see("log write", "all updates", result.profile().log());
        result.profile().costs().forEach((kind, cost) -> {
            if (!kind.readOnly()) {
                each.see("log write", kind.label(), cost.log());
            }
        });
    }

    /** Numbers of storage and network, by what they are. */
    Map<String, String> storage() {
        LogProbe log = result.log();
        Map<String, String> found = new LinkedHashMap<>();
        result.profile().costs().forEach((kind, cost) -> {
            if (!kind.readOnly()) {
                found.put("wait of " + kind.label() + " for the log", text("%.3f ms", cost.log().meanNanos() / MILLI));
            }
        });
        found.put("commit without anything to write", text("%.3f ms (median)",
                result.profile().readOnlyCommitNanos() / MILLI));
        if (log.serverFlushes() > 0) {
            found.put("flush of the log, as the server measured it",
                    log.serverFlushNanos() > 0
                            ? text("%.3f ms (mean of %d)", log.serverFlushNanos() / MILLI, log.serverFlushes())
                            : "not known, it does not measure that (track_wal_io_timing is off)");
        }
        if (log.flush() != null) {
            found.put("8 KiB written and flushed by ourselves", text("%.3f ms (median), %.3f ms (95th percentile)",
                    log.flush().quantileNanos(0.5) / MILLI, log.flush().quantileNanos(0.95) / MILLI));
            found.put("saturated disk", text("%.0f MB/s", log.megabytesPerSecond()));
        }
        found.put("log bytes", text("%.0f a commit and %.0f a row", log.bytesPerCommit(), log.bytesPerRow()));
        found.put("round trip to the server", text("%.1f us (median), %.1f us (95th percentile)",
                result.network().roundTrip().quantileNanos(0.5) / MICRO,
                result.network().roundTrip().quantileNanos(0.95) / MICRO));
        found.put("who wakes up gets a processor", text(
                "%.0f us late (median) where processors have nothing to do, %.0f us (median) and %.0f us (95th percentile) where all compute",
                result.waking().idle().quantileNanos(0.5) / MICRO, result.waking().busy().quantileNanos(0.5) / MICRO,
                result.waking().busy().quantileNanos(0.95) / MICRO));
        found.put("processor time of a packet", text("%.2f us (UDP, %d bytes, loopback)",
                result.network().packetNanos() / MICRO, NetworkProbe.PACKET_BYTES));
        return found;
    }

    /** All of it for programs, durations in nanoseconds. */
    Map<String, Object> json() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("startedAt", result.startedAt());
        json.put("machine", result.machine());
        json.put("settings", result.settings());
        json.put("transactions", result.transactions());
        List<Object> fits = new ArrayList<>();
        forEach((what, kind, all) -> {
            Map<String, Object> one = new LinkedHashMap<>();
            one.put("what", what);
            one.put("transaction", kind);
            one.put("seen", all.count());
            one.put("meanNanos", all.meanNanos());
            one.put("deviationNanos", all.deviationNanos());
            one.put("taken", all.best().family().label());
            Map<String, Object> families = new LinkedHashMap<>();
            all.all().forEach(fit -> families.put(fit.family().label(), Map.of("distance", fit.distance(), "meanNanos",
                    fit.meanNanos(), "distribution", fit.distribution().toString())));
            one.put("families", families);
            fits.add(one);
        });
        json.put("distributions", fits);
        LogProbe log = result.log();
        Map<String, Object> storage = new LinkedHashMap<>();
        storage.put("flushMedianNanos", log.flush() == null ? null : log.flush().quantileNanos(0.5));
        storage.put("saturatedMegabytesPerSecond", log.megabytesPerSecond());
        storage.put("serverFlushMeanNanos", log.serverFlushNanos());
        storage.put("serverFlushes", log.serverFlushes());
        storage.put("bytesPerCommit", log.bytesPerCommit());
        storage.put("bytesPerRow", log.bytesPerRow());
        json.put("storage", storage);
        json.put("network", Map.of("roundTripMedianNanos", result.network().roundTrip().quantileNanos(0.5),
                "packetNanos", result.network().packetNanos()));
        return json;
    }

    @SuppressWarnings("AnnotateFormatMethod") // The annotation would be a library more for one method.
    private static String text(String format, Object... values) {
        return String.format(Locale.ROOT, format, values);
    }
}
