package tutti.sim.fault;

import java.math.BigDecimal;
import java.util.List;
import java.util.Locale;
import tutti.sim.disk.Disk;
import tutti.sim.disk.Unsynced;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Nanos;

/**
 * What a fault does while it lasts. Hosts are named; {@code *} in place of a list of hosts is all of them.
 */
public sealed interface Action {
    /** Its kind. */
    FaultKind kind();

    /** The values of the kind's parameters, in their order, as plans have them. */
    List<String> values();

    /** See {@link FaultKind#LOSS}. */
    record Loss(List<String> from, List<String> to, double rate) implements Action {
        public Loss {
            requireRate(rate);
        }

        @Override
        public FaultKind kind() {
            return FaultKind.LOSS;
        }

        @Override
        public List<String> values() {
            return List.of(names(from), names(to), number(rate));
        }
    }

    /** See {@link FaultKind#BURSTY_LOSS}: how long nothing arrives, and how long everything does. */
    record BurstyLoss(List<String> from, List<String> to, Distribution lost, Distribution received) implements Action {
        @Override
        public FaultKind kind() {
            return FaultKind.BURSTY_LOSS;
        }

        @Override
        public List<String> values() {
            return List.of(names(from), names(to), lost.toString(), received.toString());
        }
    }

    /** See {@link FaultKind#DUPLICATION}. */
    record Duplication(List<String> from, List<String> to, double rate, Distribution after) implements Action {
        public Duplication {
            requireRate(rate);
        }

        @Override
        public FaultKind kind() {
            return FaultKind.DUPLICATION;
        }

        @Override
        public List<String> values() {
            return List.of(names(from), names(to), number(rate), after.toString());
        }
    }

    /** See {@link FaultKind#DELAY}. */
    record Delay(List<String> from, List<String> to, Distribution by) implements Action {
        @Override
        public FaultKind kind() {
            return FaultKind.DELAY;
        }

        @Override
        public List<String> values() {
            return List.of(names(from), names(to), by.toString());
        }
    }

    /** See {@link FaultKind#REORDERING}. */
    record Reordering(List<String> from, List<String> to, double rate, Distribution by) implements Action {
        public Reordering {
            requireRate(rate);
        }

        @Override
        public FaultKind kind() {
            return FaultKind.REORDERING;
        }

        @Override
        public List<String> values() {
            return List.of(names(from), names(to), number(rate), by.toString());
        }
    }

    /** Whether a partition is symmetric. */
    enum Direction {
        /** What is sent from the first hosts to the second is lost. */
        ONE_WAY,
        /** And what is sent from the second to the first. */
        BOTH
    }

    /** See {@link FaultKind#PARTITION}. */
    record Partition(List<String> from, List<String> to, Direction direction) implements Action {
        @Override
        public FaultKind kind() {
            return FaultKind.PARTITION;
        }

        @Override
        public List<String> values() {
            return List.of(names(from), names(to), word(direction));
        }
    }

    /** See {@link FaultKind#CLOGGING}. */
    record Clogging(List<String> from, List<String> to) implements Action {
        @Override
        public FaultKind kind() {
            return FaultKind.CLOGGING;
        }

        @Override
        public List<String> values() {
            return List.of(names(from), names(to));
        }
    }

    /** See {@link FaultKind#SWIZZLED_CLOGGING}. */
    record SwizzledClogging(List<String> hosts) implements Action {
        @Override
        public FaultKind kind() {
            return FaultKind.SWIZZLED_CLOGGING;
        }

        @Override
        public List<String> values() {
            return List.of(names(hosts));
        }
    }

    /** See {@link FaultKind#CLOCK_DRIFT}: positive rates are slow clocks. */
    record ClockDrift(String host, double rate) implements Action {
        public ClockDrift {
            if (!(rate >= -0.4 && rate <= 4)) {
                throw new IllegalArgumentException("a clock drifts at a rate from -0.4 to 4, not " + number(rate));
            }
        }

        @Override
        public FaultKind kind() {
            return FaultKind.CLOCK_DRIFT;
        }

        @Override
        public List<String> values() {
            return List.of(host, number(rate));
        }
    }

    /** Which way a wall clock jumps. */
    enum Jump {
        /** It shows later times. */
        AHEAD,
        /** It shows earlier times. */
        BACK
    }

    /** See {@link FaultKind#CLOCK_JUMP}. */
    record ClockJump(String host, Jump jump, long nanos) implements Action {
        public ClockJump {
            if (nanos < 1) {
                throw new IllegalArgumentException("a clock jumps by a time, not " + Nanos.text(nanos));
            }
        }

        @Override
        public FaultKind kind() {
            return FaultKind.CLOCK_JUMP;
        }

        @Override
        public List<String> values() {
            return List.of(host, word(jump), Nanos.text(nanos));
        }
    }

    /** See {@link FaultKind#SCHEDULING_LATENCY}. */
    record SchedulingLatency(String host, Distribution by) implements Action {
        @Override
        public FaultKind kind() {
            return FaultKind.SCHEDULING_LATENCY;
        }

        @Override
        public List<String> values() {
            return List.of(host, by.toString());
        }
    }

    /** See {@link FaultKind#PAUSE}. */
    record Pause(String host) implements Action {
        @Override
        public FaultKind kind() {
            return FaultKind.PAUSE;
        }

        @Override
        public List<String> values() {
            return List.of(host);
        }
    }

    /** See {@link FaultKind#CRASH}; what becomes of unsynced writes. */
    record Crash(String host, Unsynced unsynced) implements Action {
        @Override
        public FaultKind kind() {
            return FaultKind.CRASH;
        }

        @Override
        public List<String> values() {
            return List.of(host, word(unsynced));
        }
    }

    /** See {@link FaultKind#KILL}. */
    record Kill(String host, long operation, Unsynced unsynced) implements Action {
        public Kill {
            requireOperation(operation);
        }

        @Override
        public FaultKind kind() {
            return FaultKind.KILL;
        }

        @Override
        public List<String> values() {
            return List.of(host, Long.toString(operation), word(unsynced));
        }
    }

    /** See {@link FaultKind#POWER_LOSS}. */
    record PowerLoss(Unsynced unsynced) implements Action {
        @Override
        public FaultKind kind() {
            return FaultKind.POWER_LOSS;
        }

        @Override
        public List<String> values() {
            return List.of(word(unsynced));
        }
    }

    /** See {@link FaultKind#SLOW_DISK}: how many times as long requests take. */
    record SlowDisk(String host, double factor) implements Action {
        public SlowDisk {
            if (!(factor >= 1 && factor <= 1000)) {
                throw new IllegalArgumentException("a disk is 1 to 1000 times as slow, not " + number(factor));
            }
        }

        @Override
        public FaultKind kind() {
            return FaultKind.SLOW_DISK;
        }

        @Override
        public List<String> values() {
            return List.of(host, number(factor));
        }
    }

    /** See {@link FaultKind#FULL_DISK}. */
    record FullDisk(String host) implements Action {
        @Override
        public FaultKind kind() {
            return FaultKind.FULL_DISK;
        }

        @Override
        public List<String> values() {
            return List.of(host);
        }
    }

    /** See {@link FaultKind#FAILING_DISK}. */
    record FailingDisk(String host, double rate) implements Action {
        public FailingDisk {
            requireRate(rate);
        }

        @Override
        public FaultKind kind() {
            return FaultKind.FAILING_DISK;
        }

        @Override
        public List<String> values() {
            return List.of(host, number(rate));
        }
    }

    /** See {@link FaultKind#BAD_SECTORS}. */
    record BadSectors(String host, int count) implements Action {
        public BadSectors {
            requireCount(count);
        }

        @Override
        public FaultKind kind() {
            return FaultKind.BAD_SECTORS;
        }

        @Override
        public List<String> values() {
            return List.of(host, Integer.toString(count));
        }
    }

    /** See {@link FaultKind#FLIPPED_BITS}. */
    record FlippedBits(String host, int count) implements Action {
        public FlippedBits {
            requireCount(count);
        }

        @Override
        public FaultKind kind() {
            return FaultKind.FLIPPED_BITS;
        }

        @Override
        public List<String> values() {
            return List.of(host, Integer.toString(count));
        }
    }

    /** See {@link FaultKind#LOST_WRITES}. */
    record LostWrites(String host, double rate) implements Action {
        public LostWrites {
            requireRate(rate);
        }

        @Override
        public FaultKind kind() {
            return FaultKind.LOST_WRITES;
        }

        @Override
        public List<String> values() {
            return List.of(host, number(rate));
        }
    }

    /** See {@link FaultKind#MISDIRECTED_WRITES}. */
    record MisdirectedWrites(String host, double rate) implements Action {
        public MisdirectedWrites {
            requireRate(rate);
        }

        @Override
        public FaultKind kind() {
            return FaultKind.MISDIRECTED_WRITES;
        }

        @Override
        public List<String> values() {
            return List.of(host, number(rate));
        }
    }

    /** See {@link FaultKind#LYING_DISK}. */
    record LyingDisk(String host, double rate) implements Action {
        public LyingDisk {
            requireRate(rate);
        }

        @Override
        public FaultKind kind() {
            return FaultKind.LYING_DISK;
        }

        @Override
        public List<String> values() {
            return List.of(host, number(rate));
        }
    }

    /** See {@link FaultKind#LOST_DISK}. */
    record LostDisk(String host) implements Action {
        @Override
        public FaultKind kind() {
            return FaultKind.LOST_DISK;
        }

        @Override
        public List<String> values() {
            return List.of(host);
        }
    }

    /** See {@link FaultKind#OLD_COPY}. */
    record OldCopy(String host) implements Action {
        @Override
        public FaultKind kind() {
            return FaultKind.OLD_COPY;
        }

        @Override
        public List<String> values() {
            return List.of(host);
        }
    }

    /** See {@link FaultKind#LOST_DIRECTORY}: which of {@link #OF}. */
    record LostDirectory(String host, String directory) implements Action {
        /** Directories that it may be about. */
        static final List<String> OF = List.of("order", "node", "database");

        public LostDirectory {
            requireOneOf(directory, OF);
        }

        @Override
        public FaultKind kind() {
            return FaultKind.LOST_DIRECTORY;
        }

        @Override
        public List<String> values() {
            return List.of(host, directory);
        }
    }

    /** See {@link FaultKind#OLD_DIRECTORY}: which of {@link #OF}. */
    record OldDirectory(String host, String directory) implements Action {
        /** Directories that it may be about. */
        static final List<String> OF = List.of("order", "node", "database");
        /** Those of which a node itself sees that they are old; an order's only the other nodes can tell. */
        static final List<String> TOLD = List.of("node", "database");

        public OldDirectory {
            requireOneOf(directory, OF);
        }

        @Override
        public FaultKind kind() {
            return FaultKind.OLD_DIRECTORY;
        }

        @Override
        public List<String> values() {
            return List.of(host, directory);
        }
    }

    /** See {@link FaultKind#ENGINE_OLD_CHECKPOINT}. */
    record EngineOldCheckpoint(String host) implements Action {
        @Override
        public FaultKind kind() {
            return FaultKind.ENGINE_OLD_CHECKPOINT;
        }

        @Override
        public List<String> values() {
            return List.of(host);
        }
    }

    /** See {@link FaultKind#ENGINE_HANG}. */
    record EngineHang(String host) implements Action {
        @Override
        public FaultKind kind() {
            return FaultKind.ENGINE_HANG;
        }

        @Override
        public List<String> values() {
            return List.of(host);
        }
    }

    /** See {@link FaultKind#ENGINE_DOWN}. */
    record EngineDown(String host) implements Action {
        @Override
        public FaultKind kind() {
            return FaultKind.ENGINE_DOWN;
        }

        @Override
        public List<String> values() {
            return List.of(host);
        }
    }

    /** See {@link FaultKind#ENGINE_ABORTS}. */
    record EngineAborts(String host, double rate) implements Action {
        public EngineAborts {
            requireRate(rate);
        }

        @Override
        public FaultKind kind() {
            return FaultKind.ENGINE_ABORTS;
        }

        @Override
        public List<String> values() {
            return List.of(host, number(rate));
        }
    }

    /** See {@link FaultKind#ENGINE_REFUSES}. */
    record EngineRefuses(String host, double rate) implements Action {
        public EngineRefuses {
            requireRate(rate);
        }

        @Override
        public FaultKind kind() {
            return FaultKind.ENGINE_REFUSES;
        }

        @Override
        public List<String> values() {
            return List.of(host, number(rate));
        }
    }

    /** See {@link FaultKind#OWN_ROWS}. */
    record OwnRows(String host, double rate) implements Action {
        public OwnRows {
            requireRate(rate);
        }

        @Override
        public FaultKind kind() {
            return FaultKind.OWN_ROWS;
        }

        @Override
        public List<String> values() {
            return List.of(host, number(rate));
        }
    }

    /** See {@link FaultKind#SLOW_COMMITS}. */
    record SlowCommits(String host, Distribution by) implements Action {
        @Override
        public FaultKind kind() {
            return FaultKind.SLOW_COMMITS;
        }

        @Override
        public List<String> values() {
            return List.of(host, by.toString());
        }
    }

    /** See {@link FaultKind#KILL_BEHIND}: operation 1 is the rare one itself. */
    record KillBehind(String host, Disk.Rare rare, long operation, Unsynced unsynced) implements Action {
        public KillBehind {
            requireOperation(operation);
        }

        @Override
        public FaultKind kind() {
            return FaultKind.KILL_BEHIND;
        }

        @Override
        public List<String> values() {
            return List.of(host, word(rare), Long.toString(operation), word(unsynced));
        }
    }

    /** See {@link FaultKind#GONE}. */
    record Gone(String host) implements Action {
        @Override
        public FaultKind kind() {
            return FaultKind.GONE;
        }

        @Override
        public List<String> values() {
            return List.of(host);
        }
    }

    private static void requireOperation(long operation) {
        if (operation < 1 || operation > 1_000_000) {
            throw new IllegalArgumentException("a process is killed at operation 1 to 1000000, not " + operation);
        }
    }

    private static void requireOneOf(String word, List<String> valid) {
        if (!valid.contains(word)) {
            throw FaultKind.unknown("directory", word, valid);
        }
    }

    private static void requireCount(int count) {
        if (count < 1 || count > 1000) {
            throw new IllegalArgumentException("1 to 1000 of a disk are damaged, not " + count);
        }
    }

    private static void requireRate(double rate) {
        if (!(rate >= 0 && rate <= 1)) {
            throw new IllegalArgumentException("a rate is 0 to 1, not " + number(rate));
        }
    }

    private static String names(List<String> hosts) {
        return String.join(",", hosts);
    }

    /** As plans have it. */
    private static String word(Enum<?> one) {
        return one.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    private static String number(double value) {
        return Double.isFinite(value)
                ? BigDecimal.valueOf(value).stripTrailingZeros().toPlainString()
                : Double.toString(value);
    }
}
