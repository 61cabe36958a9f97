package tutti.sim.fault;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import tutti.sim.disk.Disk;
import tutti.sim.disk.Unsynced;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Nanos;

/**
 * What a fault does while it lasts. Hosts are named; {@code *} in place of a list of hosts is all of them. Each is a record whose
 * components are the parameters of its kind: plans name them by the components' names and write them as their types say.
 */
public sealed interface Action {
    /** Its kind. */
    default FaultKind kind() {
        return FaultKind.of(getClass());
    }

    /** The values of the kind's parameters, in their order. */
    default List<Object> arguments() {
        return kind().argumentsOf(this);
    }

    /** The same, as plans have them. */
    default List<String> values() {
        return arguments().stream().map(Action::text).toList();
    }

    private static String text(Object value) {
        return switch (value) {
            case List<?> hosts -> String.join(",", hosts.stream().map(String::valueOf).toList());
            case Double rate -> number(rate);
            case Duration time -> Nanos.text(time.toNanos());
            case Enum<?> one -> word(one);
            default -> value.toString();
        };
    }

    /** See {@link FaultKind#LOSS}. */
    record Loss(List<String> from, List<String> to, double rate) implements Action {
        public Loss {
            requireRate(rate);
        }
    }

    /** See {@link FaultKind#BURSTY_LOSS}: how long nothing arrives, and how long everything does. */
    record BurstyLoss(List<String> from, List<String> to, Distribution lost, Distribution received) implements Action {}

    /** See {@link FaultKind#DUPLICATION}. */
    record Duplication(List<String> from, List<String> to, double rate, Distribution after) implements Action {
        public Duplication {
            requireRate(rate);
        }
    }

    /** See {@link FaultKind#DELAY}. */
    record Delay(List<String> from, List<String> to, Distribution by) implements Action {}

    /** See {@link FaultKind#REORDERING}. */
    record Reordering(List<String> from, List<String> to, double rate, Distribution by) implements Action {
        public Reordering {
            requireRate(rate);
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
    record Partition(List<String> from, List<String> to, Direction direction) implements Action {}

    /** See {@link FaultKind#CLOGGING}. */
    record Clogging(List<String> from, List<String> to) implements Action {}

    /** See {@link FaultKind#SWIZZLED_CLOGGING}. */
    record SwizzledClogging(List<String> hosts) implements Action {}

    /** See {@link FaultKind#CLOCK_DRIFT}: positive rates are slow clocks. */
    record ClockDrift(String host, double rate) implements Action {
        public ClockDrift {
            if (!(rate >= -0.4 && rate <= 4)) {
                throw new IllegalArgumentException("a clock drifts at a rate from -0.4 to 4, not " + number(rate));
            }
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
    record ClockJump(String host, Jump jump, Duration time) implements Action {
        public ClockJump {
            if (!time.isPositive()) {
                throw new IllegalArgumentException("a clock jumps by a time, not " + Nanos.text(time.toNanos()));
            }
        }
    }

    /** See {@link FaultKind#SCHEDULING_LATENCY}. */
    record SchedulingLatency(String host, Distribution by) implements Action {}

    /** See {@link FaultKind#PAUSE}. */
    record Pause(String host) implements Action {}

    /** See {@link FaultKind#CRASH}; what becomes of unsynced writes. */
    record Crash(String host, Unsynced unsynced) implements Action {}

    /** See {@link FaultKind#KILL}. */
    record Kill(String host, int operation, Unsynced unsynced) implements Action {
        public Kill {
            requireOperation(operation);
        }
    }

    /** See {@link FaultKind#POWER_LOSS}. */
    record PowerLoss(Unsynced unsynced) implements Action {}

    /** See {@link FaultKind#SLOW_DISK}: how many times as long requests take. */
    record SlowDisk(String host, double factor) implements Action {
        public SlowDisk {
            if (!(factor >= 1 && factor <= 1000)) {
                throw new IllegalArgumentException("a disk is 1 to 1000 times as slow, not " + number(factor));
            }
        }
    }

    /** See {@link FaultKind#FULL_DISK}. */
    record FullDisk(String host) implements Action {}

    /** See {@link FaultKind#FAILING_DISK}. */
    record FailingDisk(String host, double rate) implements Action {
        public FailingDisk {
            requireRate(rate);
        }
    }

    /** See {@link FaultKind#BAD_SECTORS}. */
    record BadSectors(String host, int count) implements Action {
        public BadSectors {
            requireCount(count);
        }
    }

    /** See {@link FaultKind#FLIPPED_BITS}. */
    record FlippedBits(String host, int count) implements Action {
        public FlippedBits {
            requireCount(count);
        }
    }

    /** See {@link FaultKind#LOST_WRITES}. */
    record LostWrites(String host, double rate) implements Action {
        public LostWrites {
            requireRate(rate);
        }
    }

    /** See {@link FaultKind#MISDIRECTED_WRITES}. */
    record MisdirectedWrites(String host, double rate) implements Action {
        public MisdirectedWrites {
            requireRate(rate);
        }
    }

    /** See {@link FaultKind#LYING_DISK}. */
    record LyingDisk(String host, double rate) implements Action {
        public LyingDisk {
            requireRate(rate);
        }
    }

    /** See {@link FaultKind#LOST_DISK}. */
    record LostDisk(String host) implements Action {}

    /** See {@link FaultKind#OLD_COPY}. */
    record OldCopy(String host) implements Action {}

    /** See {@link FaultKind#LOST_DIRECTORY}: which of {@link #OF}. */
    record LostDirectory(String host, String directory) implements Action {
        /** Directories that it may be about. */
        static final List<String> OF = List.of("order", "node", "database");

        public LostDirectory {
            requireOneOf(directory, OF);
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
    }

    /** See {@link FaultKind#ENGINE_OLD_CHECKPOINT}. */
    record EngineOldCheckpoint(String host) implements Action {}

    /** See {@link FaultKind#ENGINE_HANG}. */
    record EngineHang(String host) implements Action {}

    /** See {@link FaultKind#ENGINE_DOWN}. */
    record EngineDown(String host) implements Action {}

    /** See {@link FaultKind#ENGINE_ABORTS}. */
    record EngineAborts(String host, double rate) implements Action {
        public EngineAborts {
            requireRate(rate);
        }
    }

    /** See {@link FaultKind#ENGINE_REFUSES}. */
    record EngineRefuses(String host, double rate) implements Action {
        public EngineRefuses {
            requireRate(rate);
        }
    }

    /** See {@link FaultKind#ENGINE_FULL}. */
    record EngineFull(List<String> hosts) implements Action {}

    /** See {@link FaultKind#OWN_ROWS}. */
    record OwnRows(String host, double rate) implements Action {
        public OwnRows {
            requireRate(rate);
        }
    }

    /** See {@link FaultKind#SLOW_COMMITS}. */
    record SlowCommits(String host, Distribution by) implements Action {}

    /** See {@link FaultKind#KILL_BEHIND}: operation 1 is the rare one itself. */
    record KillBehind(String host, Disk.Rare rare, int operation, Unsynced unsynced) implements Action {
        public KillBehind {
            requireOperation(operation);
        }
    }

    /** See {@link FaultKind#GONE}. */
    record Gone(String host) implements Action {}

    /** See {@link FaultKind#LOST_SIGHT}. */
    record LostSight(String host) implements Action {}

    /** Changes the members of the cluster. */
    sealed interface OfMembers extends Action {}

    /** See {@link FaultKind#JOIN}: on a spare host. */
    record Join(String host) implements OfMembers {}

    /** See {@link FaultKind#LEAVE}. */
    record Leave(String host) implements OfMembers {}

    /** See {@link FaultKind#REPLACE}: by a node on a spare host. */
    record Replace(String host, String by) implements OfMembers {}

    /** See {@link FaultKind#MOVE}. */
    record Move(String host) implements OfMembers {}

    /** See {@link FaultKind#PARAMETERS}. */
    record Parameters() implements Action {}

    private static void requireOperation(int operation) {
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

    /** As plans have it. */
    static String word(Enum<?> one) {
        return one.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    private static String number(double value) {
        return Double.isFinite(value)
                ? BigDecimal.valueOf(value).stripTrailingZeros().toPlainString()
                : Double.toString(value);
    }
}
