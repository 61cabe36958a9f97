package tutti.sim.fault;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import tutti.sim.disk.Disk;
import tutti.sim.disk.Unsynced;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Nanos;
import tutti.sim.net.Impairment;

/** Reads the text of plans and their faults. What it throws says what is wrong with the line, not where the line is. */
final class FaultReader {
    /** Parameters whose values have several words. */
    private static final List<String> DISTRIBUTIONS = List.of("by", "after", "lost", "received");

    private FaultReader() {}

    /** Reads what {@link Fault#toString} writes. */
    static Fault fault(String line, List<String> hosts) {
        List<String> words = List.of(line.strip().split("\\s+"));
        if (words.size() < 6 || !words.get(0).matches("f[0-9]{1,9}") || !words.get(1).equals("at")
                || !words.get(3).equals("for")) {
            throw new IllegalArgumentException("'" + line.strip()
                    + "' is no fault: write fNUMBER at TIME for TIME KIND and its parameters, like f1 at 1.2s for 300ms pause host "
                    + hosts.getFirst());
        }
        FaultKind kind = FaultKind.of(words.get(5));
        return new Fault(Integer.parseInt(words.get(0).substring(1)), Nanos.parse(words.get(2)),
                Nanos.parse(words.get(4)), action(kind, words.subList(6, words.size()), hosts));
    }

    private static Action action(FaultKind kind, List<String> words, List<String> hosts) {
        Map<String, String> values = values(kind, words);
        Parameters given = new Parameters(values, hosts);
        return switch (kind) {
            case LOSS -> new Action.Loss(given.hosts("from"), given.hosts("to"), given.number("rate"));
            case BURSTY_LOSS -> new Action.BurstyLoss(given.hosts("from"), given.hosts("to"),
                    given.distribution("lost"), given.distribution("received"));
            case DUPLICATION -> new Action.Duplication(given.hosts("from"), given.hosts("to"), given.number("rate"),
                    given.distribution("after"));
            case DELAY -> new Action.Delay(given.hosts("from"), given.hosts("to"), given.distribution("by"));
            case REORDERING -> new Action.Reordering(given.hosts("from"), given.hosts("to"), given.number("rate"),
                    given.distribution("by"));
            case PARTITION -> new Action.Partition(given.hosts("from"), given.hosts("to"),
                    given.oneOf("direction", Action.Direction.values()));
            case CLOGGING -> new Action.Clogging(given.hosts("from"), given.hosts("to"));
            case SWIZZLED_CLOGGING -> new Action.SwizzledClogging(given.hosts("hosts"));
            case CLOCK_DRIFT -> new Action.ClockDrift(given.host(), given.number("rate"));
            case CLOCK_JUMP -> new Action.ClockJump(given.host(), given.oneOf("jump", Action.Jump.values()),
                    Nanos.parse(given.text("time")));
            case SCHEDULING_LATENCY -> new Action.SchedulingLatency(given.host(), given.distribution("by"));
            case PAUSE -> new Action.Pause(given.host());
            case CRASH -> new Action.Crash(given.host(), given.oneOf("unsynced", Unsynced.values()));
            case KILL -> new Action.Kill(given.host(), given.whole("operation"),
                    given.oneOf("unsynced", Unsynced.values()));
            case POWER_LOSS -> new Action.PowerLoss(given.oneOf("unsynced", Unsynced.values()));
            case SLOW_DISK -> new Action.SlowDisk(given.host(), given.number("factor"));
            case FULL_DISK -> new Action.FullDisk(given.host());
            case FAILING_DISK -> new Action.FailingDisk(given.host(), given.number("rate"));
            case BAD_SECTORS -> new Action.BadSectors(given.host(), given.whole("count"));
            case FLIPPED_BITS -> new Action.FlippedBits(given.host(), given.whole("count"));
            case LOST_WRITES -> new Action.LostWrites(given.host(), given.number("rate"));
            case MISDIRECTED_WRITES -> new Action.MisdirectedWrites(given.host(), given.number("rate"));
            case LYING_DISK -> new Action.LyingDisk(given.host(), given.number("rate"));
            case LOST_DISK -> new Action.LostDisk(given.host());
            case OLD_COPY -> new Action.OldCopy(given.host());
            case LOST_DIRECTORY -> new Action.LostDirectory(given.host(), given.text("directory"));
            case OLD_DIRECTORY -> new Action.OldDirectory(given.host(), given.text("directory"));
            case ENGINE_OLD_CHECKPOINT -> new Action.EngineOldCheckpoint(given.host());
            case ENGINE_HANG -> new Action.EngineHang(given.host());
            case ENGINE_DOWN -> new Action.EngineDown(given.host());
            case ENGINE_ABORTS -> new Action.EngineAborts(given.host(), given.number("rate"));
            case ENGINE_REFUSES -> new Action.EngineRefuses(given.host(), given.number("rate"));
            case OWN_ROWS -> new Action.OwnRows(given.host(), given.number("rate"));
            case SLOW_COMMITS -> new Action.SlowCommits(given.host(), given.distribution("by"));
            case KILL_BEHIND -> new Action.KillBehind(given.host(), given.oneOf("rare", Disk.Rare.values()),
                    given.whole("operation"), given.oneOf("unsynced", Unsynced.values()));
            case GONE -> new Action.Gone(given.host());
            case LOST_SIGHT -> new Action.LostSight(given.host());
        };
    }

    /** Each parameter's word is followed by its value: one word, or, for a distribution, all up to the next parameter's. */
    private static Map<String, String> values(FaultKind kind, List<String> words) {
        Map<String, String> values = new LinkedHashMap<>();
        int at = 0;
        for (String parameter : kind.parameters()) {
            if (at == words.size()) {
                throw new IllegalArgumentException(kind.word() + " needs " + parameter + ": "
                        + String.join(" and ", kind.parameters()));
            }
            if (!words.get(at).equals(parameter)) {
                throw FaultKind.unknown("parameter of " + kind.word() + " at this place named", words.get(at),
                        List.of(parameter));
            }
            int end = at + 1;
            while (end < words.size() && (end == at + 1 || DISTRIBUTIONS.contains(parameter))
                    && !kind.parameters().contains(words.get(end))) {
                end++;
            }
            if (end == at + 1) {
                throw new IllegalArgumentException(parameter + " of " + kind.word() + " has no value");
            }
            values.put(parameter, String.join(" ", words.subList(at + 1, end)));
            at = end;
        }
        if (at < words.size()) {
            throw new IllegalArgumentException(
                    "'" + words.get(at) + "' is there twice, or too much: " + kind.word() + " has "
                            + String.join(" and ", kind.parameters()));
        }
        return values;
    }

    private record Parameters(Map<String, String> values, List<String> valid) {
        String text(String name) {
            return values.getOrDefault(name, "");
        }

        String host() {
            return known(text("host"));
        }

        List<String> hosts(String name) {
            if (text(name).equals(Impairment.ANY)) {
                return List.of(Impairment.ANY);
            }
            List<String> names = new ArrayList<>();
            for (String host : text(name).split(",", -1)) {
                names.add(known(host));
            }
            return List.copyOf(names);
        }

        private String known(String host) {
            if (!valid.contains(host)) {
                throw FaultKind.unknown("host", host, valid);
            }
            return host;
        }

        double number(String name) {
            if (!text(name).matches("-?[0-9]{1,9}(\\.[0-9]{1,17})?")) {
                throw new IllegalArgumentException("'" + text(name) + "' is no number, as " + name + " must be");
            }
            return Double.parseDouble(text(name));
        }

        int whole(String name) {
            if (!text(name).matches("[0-9]{1,9}")) {
                throw new IllegalArgumentException("'" + text(name) + "' is no whole number, as " + name + " must be");
            }
            return Integer.parseInt(text(name));
        }

        Distribution distribution(String name) {
            return Distribution.parse(text(name));
        }

        <E extends Enum<E>> E oneOf(String name, E[] all) {
            for (E one : all) {
                if (word(one).equals(text(name))) {
                    return one;
                }
            }
            throw FaultKind.unknown(name, text(name), Stream.of(all).map(Parameters::word).toList());
        }

        private static String word(Enum<?> one) {
            return one.name().toLowerCase(Locale.ROOT).replace('_', '-');
        }
    }
}
