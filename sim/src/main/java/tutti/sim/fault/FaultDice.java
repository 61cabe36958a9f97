package tutti.sim.fault;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import tutti.sim.disk.Disk;
import tutti.sim.disk.Unsynced;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;
import tutti.sim.net.Impairment;

/**
 * Draws the faults of a random plan. Magnitudes go from what a protocol should hardly notice to what must stop it for a
 * while; each fault draws from a stream of its own, so that plans with one fault more begin alike.
 */
final class FaultDice {
    private static final int TRIES = 20;
    private static final int THOUSAND = 1000;
    private static final int RATE_MAX_THOUSANDTHS = 300;
    private static final int DAMAGES_MAX = 4;
    /** A cluster keeps so many nodes. */
    private static final int NODES_MIN = 2;
    private static final List<Long> KILL_OPERATIONS = List.of(10L, 100L, 1000L);
    private static final List<Long> KILL_BEHIND_OPERATIONS = List.of(1L, 5L, 30L);

    private final RandomStream random;
    private final FaultProfile profile;
    /** All that faults can be about; first those with a node from the beginning on. */
    private final List<String> hosts;
    private final List<String> founders;
    private final List<String> spares;
    private final long safetyNanos;
    private final long unit;

    /** @param spares hosts without a node; if there are none, members stay the same */
    FaultDice(RandomStream random, FaultProfile profile, List<String> founders, List<String> spares, long safetyNanos) {
        this.random = random;
        this.profile = spares.isEmpty() ? profile.without(FaultKind.OF_MEMBERS) : profile;
        this.founders = List.copyOf(founders);
        this.spares = List.copyOf(spares);
        hosts = Stream.concat(founders.stream(), spares.stream()).toList();
        this.safetyNanos = safetyNanos;
        // Times are multiples of a millisecond, for people to read, unless all of it is too short for that.
        this.unit = safetyNanos >= 1000 * Nanos.MILLI ? Nanos.MILLI : 1;
    }

    List<Fault> faults() {
        List<Fault> faults = new ArrayList<>();
        if (profile.kinds().isEmpty() || profile.faultsMax() == 0) {
            return faults;
        }
        int wanted = 1 + random.nextInt(profile.faultsMax());
        for (int number = 1; number <= wanted; number++) {
            RandomStream dice = random.fork("fault " + number);
            for (int tries = 0; tries < TRIES; tries++) {
                Fault fault = fault(number, dice);
                if (isAllowed(fault, faults)) {
                    faults.add(fault);
                    break;
                }
            }
        }
        return faults;
    }

    private Fault fault(int number, RandomStream dice) {
        FaultKind kind = dice.pick(profile.kinds());
        long at = dice.nextLong(safetyNanos) / unit * unit;
        long length = Math.min((long) dice.exponential((double) safetyNanos / profile.share()), safetyNanos - at) / unit
                * unit;
        return new Fault(number, at, Math.max(unit, length), action(kind, dice));
    }

    private boolean isAllowed(Fault fault, List<Fault> others) {
        Set<String> damaged = new TreeSet<>(FaultPlan.damaged(others));
        damaged.addAll(FaultPlan.damaged(List.of(fault)));
        if (isPointless(fault.action()) || !mayChange(fault.action(), others)
                || damaged.size() > profile.damagedMax(founders.size())) {
            return false;
        }
        if (down(fault) == 0) {
            return true;
        }
        // Counting all that overlap at any time may forbid a little too much, never too little.
        int overlapping = others.stream().filter(other -> other.atNanos() <= fault.atNanos() + fault.forNanos()
                && fault.atNanos() <= other.atNanos() + other.forNanos()).mapToInt(this::down).sum();
        return overlapping + down(fault) <= profile.downMax(founders.size());
    }

    /**
     * Whether members may change so, too: each spare host comes once and each node goes once, since numbers are never given again; and two of
     * the first nodes stay, as the others may never come. (That no majority is lost the nodes see to themselves: they refuse.)
     */
    private boolean mayChange(Action action, List<Fault> others) {
        Set<String> come = new TreeSet<>();
        Set<String> gone = new TreeSet<>();
        for (Fault other : others) {
            comes(other.action()).ifPresent(come::add);
            goes(other.action()).ifPresent(gone::add);
        }
        return comes(action).map(come::add).orElse(true)
                && goes(action).map(host -> gone.add(host) && gone.size() <= founders.size() - NODES_MIN).orElse(true);
    }

    private static Optional<String> comes(Action action) {
        return switch (action) {
            case Action.Join(String host) -> Optional.of(host);
            case Action.Replace(var _, String by) -> Optional.of(by);
            default -> Optional.empty();
        };
    }

    private static Optional<String> goes(Action action) {
        return switch (action) {
            case Action.Leave(String host) -> Optional.of(host);
            case Action.Replace(String host, var _) -> Optional.of(host);
            default -> Optional.empty();
        };
    }

    /** How many hosts a fault takes down. */
    private int down(Fault fault) {
        return switch (fault.action().kind()) {
            case CRASH, KILL, BAD_SECTORS, FLIPPED_BITS, LOST_DISK, LOST_WRITES, MISDIRECTED_WRITES, LYING_DISK,
                    OLD_COPY, LOST_DIRECTORY, OLD_DIRECTORY, KILL_BEHIND ->
                1;
            default -> 0;
        };
    }

    private static boolean isPointless(Action action) {
        return action instanceof Action.Partition partition && partition.to().isEmpty();
    }

    private Action action(FaultKind kind, RandomStream dice) {
        return switch (kind) {
            case LOSS -> new Action.Loss(some(dice), some(dice), rate(dice));
            case BURSTY_LOSS -> {
                // Five datagrams of a busy sender and more; most of the time everything arrives.
                long lost = time(dice, 100 * Nanos.MILLI);
                yield new Action.BurstyLoss(some(dice), some(dice), new Distribution.Uniform(0, 2 * lost),
                        new Distribution.Uniform(0, lost * dice.between(4, 40)));
            }
            case DUPLICATION -> new Action.Duplication(some(dice), some(dice), rate(dice),
                    new Distribution.Exponential(time(dice, 100 * Nanos.MILLI)));
            case DELAY -> new Action.Delay(some(dice), some(dice),
                    new Distribution.Exponential(time(dice, 200 * Nanos.MILLI)));
            case REORDERING -> new Action.Reordering(some(dice), some(dice), rate(dice),
                    new Distribution.Exponential(time(dice, 50 * Nanos.MILLI)));
            case PARTITION -> partition(dice);
            case CLOGGING -> new Action.Clogging(some(dice), some(dice));
            case SWIZZLED_CLOGGING -> new Action.SwizzledClogging(some(dice));
            case CLOCK_DRIFT -> new Action.ClockDrift(dice.pick(hosts),
                    (double) dice.between(-RATE_MAX_THOUSANDTHS, RATE_MAX_THOUSANDTHS) / THOUSAND);
            case CLOCK_JUMP -> new Action.ClockJump(dice.pick(hosts), dice.pick(List.of(Action.Jump.values())),
                    Duration.ofNanos(time(dice, 1000 * Nanos.SECOND)));
            case SCHEDULING_LATENCY -> new Action.SchedulingLatency(dice.pick(hosts),
                    new Distribution.Exponential(time(dice, 50 * Nanos.MILLI)));
            case PAUSE -> new Action.Pause(dice.pick(hosts));
            case CRASH -> new Action.Crash(dice.pick(hosts), unsynced(dice));
            case KILL -> new Action.Kill(dice.pick(hosts), operation(dice, KILL_OPERATIONS), unsynced(dice));
            case POWER_LOSS -> new Action.PowerLoss(unsynced(dice));
            case SLOW_DISK -> new Action.SlowDisk(dice.pick(hosts), dice.between(2, 50));
            case FULL_DISK -> new Action.FullDisk(dice.pick(hosts));
            case FAILING_DISK -> new Action.FailingDisk(dice.pick(hosts), rate(dice));
            case BAD_SECTORS -> new Action.BadSectors(dice.pick(hosts), 1 + dice.nextInt(DAMAGES_MAX));
            case FLIPPED_BITS -> new Action.FlippedBits(dice.pick(hosts), 1 + dice.nextInt(DAMAGES_MAX));
            case LOST_WRITES -> new Action.LostWrites(dice.pick(hosts), rate(dice));
            case MISDIRECTED_WRITES -> new Action.MisdirectedWrites(dice.pick(hosts), rate(dice));
            case LYING_DISK -> new Action.LyingDisk(dice.pick(hosts), rate(dice));
            case LOST_DISK -> new Action.LostDisk(dice.pick(hosts));
            case OLD_COPY -> new Action.OldCopy(dice.pick(hosts));
            case LOST_DIRECTORY -> new Action.LostDirectory(dice.pick(hosts), dice.pick(Action.LostDirectory.OF));
            case OLD_DIRECTORY -> new Action.OldDirectory(dice.pick(hosts), dice.pick(Action.OldDirectory.TOLD));
            case ENGINE_OLD_CHECKPOINT -> new Action.EngineOldCheckpoint(dice.pick(hosts));
            case ENGINE_HANG -> new Action.EngineHang(dice.pick(hosts));
            case ENGINE_DOWN -> new Action.EngineDown(dice.pick(hosts));
            case ENGINE_ABORTS -> new Action.EngineAborts(dice.pick(hosts), rate(dice));
            case ENGINE_REFUSES -> new Action.EngineRefuses(dice.pick(hosts), rate(dice));
            case ENGINE_FULL -> new Action.EngineFull(some(dice));
            case OWN_ROWS -> new Action.OwnRows(dice.pick(hosts), rate(dice));
            case SLOW_COMMITS -> new Action.SlowCommits(dice.pick(hosts),
                    new Distribution.Exponential(time(dice, 100 * Nanos.MILLI)));
            case KILL_BEHIND -> new Action.KillBehind(dice.pick(hosts), dice.pick(List.of(Disk.Rare.values())),
                    operation(dice, KILL_BEHIND_OPERATIONS), unsynced(dice));
            case GONE -> new Action.Gone(dice.pick(hosts));
            case LOST_SIGHT -> new Action.LostSight(dice.pick(hosts));
            case JOIN -> new Action.Join(dice.pick(spares));
            case LEAVE -> new Action.Leave(dice.pick(founders));
            case REPLACE -> new Action.Replace(dice.pick(founders), dice.pick(spares));
            case MOVE -> new Action.Move(dice.pick(founders));
            case PARAMETERS -> new Action.Parameters();
        };
    }

    private Action partition(RandomStream dice) {
        List<String> shuffled = new ArrayList<>(hosts);
        dice.shuffle(shuffled);
        int cut = hosts.size() == 1 ? 1 : 1 + dice.nextInt(hosts.size() - 1);
        return new Action.Partition(sorted(shuffled.subList(0, cut)), sorted(shuffled.subList(cut, hosts.size())),
                dice.pick(List.of(Action.Direction.values())));
    }

    /** All hosts, or some of them. */
    private List<String> some(RandomStream dice) {
        if (dice.chance(0.3)) {
            return List.of(Impairment.ANY);
        }
        List<String> shuffled = new ArrayList<>(hosts);
        dice.shuffle(shuffled);
        return sorted(shuffled.subList(0, 1 + dice.nextInt(hosts.size())));
    }

    private static List<String> sorted(List<String> names) {
        return names.stream().sorted().toList();
    }

    private static int operation(RandomStream dice, List<Long> most) {
        return Math.toIntExact(dice.between(1, dice.pick(most)));
    }

    private static Unsynced unsynced(RandomStream dice) {
        return dice.pick(List.of(Unsynced.values()));
    }

    /** Small rates are as likely as large ones. */
    private static double rate(RandomStream dice) {
        long most = dice.pick(List.of(10L, 50L, (long) RATE_MAX_THOUSANDTHS));
        return (double) dice.between(1, most) / THOUSAND;
    }

    /** Short times are as likely as long ones. */
    private static long time(RandomStream dice, long most) {
        long limit = dice.pick(List.of(most / 100, most / 10, most));
        return Math.max(1, dice.between(1, limit / Nanos.MICRO)) * Nanos.MICRO;
    }
}
