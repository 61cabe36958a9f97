package tutti.sim.fault;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;
import tutti.sim.disk.Disk;
import tutti.sim.disk.DiskFault;
import tutti.sim.disk.DiskFault.Effect;
import tutti.sim.disk.Unsynced;
import tutti.sim.host.Host;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.RandomStream;
import tutti.sim.net.Impairment;
import tutti.sim.net.Network;

/**
 * Carries a plan out: lets each fault begin and end in events of the kernel, and at the end of the safety phase heals all
 * that is left: hosts that are down boot, the network is whole, clocks are right. Where faults of the same kind on the same
 * host overlap, the one that began last counts, and when it ends the one before it again; a crash of a host that is down
 * does nothing.
 */
public final class Injector {
    private static final Label SWIZZLE = Label.of("fault", "swizzle");

    private final Kernel kernel;
    private final Network network;
    private final EngineFaults engines;
    private final FaultPlan plan;
    private final Map<Fault, Runnable> active = new LinkedHashMap<>();
    /** Of the faults that have begun: how often each has done something. */
    private final Map<Fault, LongSupplier> effects = new LinkedHashMap<>();
    private boolean started;

    /** For a plan whose hosts are attached to the network. */
    public Injector(Kernel kernel, Network network, EngineFaults engines, FaultPlan plan) {
        this.kernel = kernel;
        this.network = network;
        this.engines = engines;
        this.plan = plan;
        plan.allHosts().forEach(network::host);
    }

    /** Begins the safety phase now. Once. */
    public void start() {
        start(() -> {});
    }

    /**
     * Begins the safety phase now. Once.
     *
     * @param healed called when it is over and everything is healed
     */
    public void start(Runnable healed) {
        if (started) {
            throw new IllegalStateException("the plan is being carried out already");
        }
        started = true;
        for (Fault fault : plan.faults()) {
            if (fault.atNanos() < plan.safetyNanos()) {
                kernel.schedule(fault.atNanos(), label("begin", fault), () -> begin(fault));
            }
        }
        kernel.schedule(plan.safetyNanos(), Label.of("fault", "heal"), () -> {
            heal();
            healed.run();
        });
    }

    /** Faults in force now, in the order in which they began. */
    public List<Fault> active() {
        return List.copyOf(active.keySet());
    }

    /** How often faults of a kind have done something so far: lost a datagram, crashed a host, torn a write. */
    public Map<FaultKind, Long> happened() {
        Map<FaultKind, Long> happened = new EnumMap<>(FaultKind.class);
        effects.forEach((fault, effect) -> happened.merge(fault.action().kind(), effect.getAsLong(), Long::sum));
        return happened;
    }

    /** The worst that faults have done to the data of a host so far; nothing but what it recovers from if none has. */
    public FaultKind.Promise worst(String host) {
        FaultKind.Promise worst = FaultKind.Promise.RECOVERS;
        for (Map.Entry<Fault, LongSupplier> each : effects.entrySet()) {
            Action action = each.getKey().action();
            FaultKind.Promise promise = action.kind().promise();
            // The first parameter of all kinds that promise less is the host.
            if (promise.compareTo(worst) > 0 && action.values().getFirst().equals(host)
                    && each.getValue().getAsLong() > 0) {
                worst = promise;
            }
        }
        return worst;
    }

    /**
     * Whether a fault that has done something, or is just beginning, is about a host, or about all, and is in force or was so lately.
     *
     * @param latelyNanos how long what it has done may take to show
     */
    public boolean concerns(String host, long latelyNanos) {
        long now = kernel.now();
        return active.keySet().stream().anyMatch(fault -> !effects.containsKey(fault) && isAbout(fault.action(), host))
                || effects.entrySet().stream().anyMatch(each -> {
                    Fault fault = each.getKey();
                    return now <= fault.atNanos() + fault.forNanos() + latelyNanos && each.getValue().getAsLong() > 0
                            && isAbout(fault.action(), host);
                });
    }

    private static boolean isAbout(Action action, String host) {
        return action instanceof Action.PowerLoss || action.arguments().stream()
                .anyMatch(argument -> argument instanceof List<?> hosts
                        ? hosts.contains(host) || hosts.contains(Impairment.ANY)
                        : argument.equals(host));
    }

    private static Label label(String what, Fault fault) {
        return Label.of("fault", what + " f" + fault.number() + " " + fault.action().kind().word());
    }

    private void begin(Fault fault) {
        active.put(fault, () -> {});
        InForce applied = apply(fault);
        active.put(fault, applied.undo);
        effects.put(fault, applied.effects);
        if (fault.atNanos() + fault.forNanos() < plan.safetyNanos()) {
            kernel.schedule(fault.forNanos(), label("end", fault), () -> end(fault));
        }
    }

    private void end(Fault fault) {
        Runnable undo = active.remove(fault);
        if (undo != null) {
            undo.run();
        }
    }

    private void heal() {
        for (Fault fault : List.copyOf(active.keySet()).reversed()) {
            end(fault);
        }
    }

    /** A fault that has begun: what ends it, and how often it has done something. */
    private record InForce(Runnable undo, LongSupplier effects) {}

    /** Lets a fault begin. */
    private InForce apply(Fault fault) {
        RandomStream random = plan.random(fault);
        return switch (fault.action()) {
            case Action.Loss a -> impair(random, a.from(), a.to(), new Impairment.Effect.Lose(a.rate()));
            case Action.BurstyLoss a -> impair(random, a.from(), a.to(),
                    new Impairment.Effect.LoseInBursts(a.lost(), a.received()));
            case Action.Duplication a -> impair(random, a.from(), a.to(),
                    new Impairment.Effect.Duplicate(a.rate(), a.after()));
            case Action.Delay a -> impair(random, a.from(), a.to(), new Impairment.Effect.Delay(a.by()));
            case Action.Reordering a -> impair(random, a.from(), a.to(),
                    new Impairment.Effect.Reorder(a.rate(), a.by()));
            case Action.Clogging a -> impair(random, a.from(), a.to(), new Impairment.Effect.Clog());
            case Action.Partition a -> partition(random, a);
            case Action.SwizzledClogging a -> swizzle(random, a.hosts(), fault.forNanos());
            case Action.Pause a -> pause(network.host(a.host()));
            case Action.ClockDrift a -> setting(() -> drift(a.host()), () -> 1);
            case Action.ClockJump a -> setting(() -> wallClock(a.host()), () -> 1);
            case Action.SchedulingLatency a -> {
                Host host = network.host(a.host());
                yield setting(() -> schedulingLatency(a.host()), since(host::delayed));
            }
            case Action.SlowDisk a -> {
                Disk disk = network.host(a.host()).disk();
                yield setting(() -> slowDisk(a.host()), since(disk::slowed));
            }
            case Action.Crash a -> crash(network.host(a.host()), a.unsynced(), random, disk -> 1);
            case Action.Kill a -> kill(network.host(a.host()), a.unsynced(), random,
                    (disk, action) -> disk.killAt(a.operation(), action));
            case Action.KillBehind a -> kill(network.host(a.host()), a.unsynced(), random,
                    (disk, action) -> disk.killBehind(a.rare(), a.operation(), action));
            case Action.Gone a -> gone(network.host(a.host()), random);
            case Action.PowerLoss a -> powerLoss(a.unsynced(), random);
            case Action.FullDisk a -> disk(network.host(a.host()), Effect.FULL, 1, random);
            case Action.FailingDisk a -> disk(network.host(a.host()), Effect.FAIL_FORCE, a.rate(), random);
            case Action.LostWrites a -> thenCrash(network.host(a.host()), random,
                    disk(network.host(a.host()), Effect.LOSE, a.rate(), random));
            case Action.MisdirectedWrites a -> thenCrash(network.host(a.host()), random,
                    disk(network.host(a.host()), Effect.MISDIRECT, a.rate(), random));
            case Action.LyingDisk a -> thenCrash(network.host(a.host()), random,
                    disk(network.host(a.host()), Effect.LIE, a.rate(), random));
            case Action.BadSectors a -> crash(network.host(a.host()), Unsynced.KEPT, random,
                    disk -> disk.damageSectors(a.count(), random));
            case Action.FlippedBits a -> crash(network.host(a.host()), Unsynced.KEPT, random,
                    disk -> disk.flipBits(a.count(), random));
            case Action.LostDisk a -> crash(network.host(a.host()), Unsynced.KEPT, random, disk -> disk.wipe(""));
            case Action.LostDirectory a ->
                crash(network.host(a.host()), Unsynced.KEPT, random, disk -> disk.wipe(a.directory()));
            case Action.OldCopy a -> oldCopy(network.host(a.host()), "", random);
            case Action.OldDirectory a -> oldCopy(network.host(a.host()), a.directory(), random);
            case Action.EngineAborts a -> engine(fault, a.host(), () -> engineAborts(a.host()));
            case Action.EngineRefuses a -> engine(fault, a.host(), () -> engines.refuses(a.host(),
                    last(a.host(), Action.EngineRefuses.class, 0.0, Action.EngineRefuses::rate)));
            case Action.EngineFull a -> setting(this::full, since(() -> plan.allHosts().stream()
                    .mapToLong(host -> engines.happened(host, FaultKind.ENGINE_FULL)).sum()));
            case Action.OwnRows a -> engine(fault, a.host(), () -> engines.ownRows(a.host(),
                    last(a.host(), Action.OwnRows.class, 0.0, Action.OwnRows::rate)));
            case Action.SlowCommits a -> engine(fault, a.host(), () -> slowCommits(a.host()));
            case Action.EngineHang a -> engine(fault, a.host(), () -> engines.hangs(a.host(),
                    last(a.host(), Action.EngineHang.class, false, _ -> true)));
            case Action.EngineDown a -> engine(fault, a.host(), () -> engines.down(a.host(),
                    last(a.host(), Action.EngineDown.class, false, _ -> true)));
            case Action.LostSight a -> engine(fault, a.host(), () -> engines.lostSight(a.host(),
                    last(a.host(), Action.LostSight.class, false, _ -> true)));
            case Action.OfMembers a -> {
                EngineFaults.Change change = engines.change(a);
                yield new InForce(change::giveUp, change::made);
            }
            case Action.Parameters _ -> {
                EngineFaults.Change change = engines.changeParameters(random);
                yield new InForce(change::giveUp, change::made);
            }
            case Action.EngineOldCheckpoint a -> {
                long before = engines.happened(a.host(), FaultKind.ENGINE_OLD_CHECKPOINT);
                engines.backToCheckpoint(a.host());
                long done = engines.happened(a.host(), FaultKind.ENGINE_OLD_CHECKPOINT) - before;
                yield new InForce(() -> {}, () -> done);
            }
        };
    }

    private InForce impair(RandomStream random, List<String> from, List<String> to, Impairment.Effect effect) {
        Network.Impaired impaired = network.impair(new Impairment(from, to, effect), random);
        return new InForce(impaired::lift, impaired::affected);
    }

    private InForce partition(RandomStream random, Action.Partition partition) {
        InForce forth = impair(random, partition.from(), partition.to(), new Impairment.Effect.Block());
        return partition.direction() == Action.Direction.ONE_WAY
                ? forth
                : both(forth, impair(random, partition.to(), partition.from(), new Impairment.Effect.Block()));
    }

    private static InForce both(InForce one, InForce other) {
        return new InForce(() -> {
            one.undo.run();
            other.undo.run();
        }, () -> one.effects.getAsLong() + other.effects.getAsLong());
    }

    /** Clogs the links of the hosts one by one in the first half of the time, and unclogs them one by one in the second. */
    private InForce swizzle(RandomStream random, List<String> names, long nanos) {
        List<String> hosts = new ArrayList<>(names.equals(List.of(Impairment.ANY)) ? plan.allHosts() : names);
        Map<String, InForce> clogged = new LinkedHashMap<>();
        boolean[] over = new boolean[1];
        long step = nanos / (2L * hosts.size());
        random.shuffle(hosts);
        long at = 0;
        for (String host : hosts) {
            kernel.schedule(at, SWIZZLE, () -> {
                if (!over[0]) {
                    List<String> others = plan.allHosts().stream().filter(other -> !other.equals(host)).toList();
                    clogged.put(host, both(
                            impair(random.fork("to " + host), others, List.of(host), new Impairment.Effect.Clog()),
                            impair(random.fork("from " + host), List.of(host), others, new Impairment.Effect.Clog())));
                }
            });
            at += step;
        }
        random.shuffle(hosts);
        for (String host : hosts) {
            kernel.schedule(at, SWIZZLE, () -> {
                if (!over[0] && clogged.containsKey(host)) {
                    clogged.get(host).undo.run();
                }
            });
            at += step;
        }
        return new InForce(() -> {
            over[0] = true;
            clogged.values().forEach(one -> one.undo.run());
        }, () -> clogged.values().stream().mapToLong(one -> one.effects.getAsLong()).sum());
    }

    private static InForce pause(Host host) {
        boolean up = host.state() != Host.State.DOWN;
        host.pause();
        long life = host.life();
        return new InForce(() -> {
            if (host.life() == life) {
                host.resume();
            }
        }, () -> up ? 1 : 0);
    }

    /** Crashes a host, does something to its disk, and lets it boot at the end. */
    private static InForce crash(Host host, Unsynced unsynced, RandomStream random, ToLongFunction<Disk> then) {
        if (host.state() == Host.State.DOWN) {
            return new InForce(() -> {}, () -> 0);
        }
        host.crash(unsynced, random);
        long done = then.applyAsLong(host.disk());
        return new InForce(() -> boot(host), () -> done);
    }

    private static void boot(Host host) {
        if (host.state() == Host.State.DOWN && !host.isRetired()) {
            host.boot();
        }
    }

    private InForce powerLoss(Unsynced unsynced, RandomStream random) {
        InForce all = new InForce(() -> {}, () -> 0);
        for (String host : plan.allHosts()) {
            all = both(all, crash(network.host(host), unsynced, random, disk -> 1));
        }
        return all;
    }

    /** A host that is down already is gone, too. */
    private static InForce gone(Host host, RandomStream random) {
        if (host.state() != Host.State.DOWN) {
            host.crash(Unsynced.LOST, random);
        }
        host.retire();
        return new InForce(() -> {}, () -> 1);
    }

    private static InForce kill(Host host, Unsynced unsynced, RandomStream random,
            BiConsumer<Disk, Runnable> arm) {
        long[] killed = new long[1];
        boolean[] over = new boolean[1];
        arm.accept(host.disk(), () -> {
            killed[0]++;
            host.crash(unsynced, random);
            // Whoever met the operation was ahead of the events, and some of these have come before it.
            if (over[0]) {
                boot(host);
            }
        });
        return new InForce(() -> {
            over[0] = true;
            host.disk().spare();
            if (killed[0] > 0) {
                boot(host);
            }
        }, () -> killed[0]);
    }

    private static InForce disk(Host host, Effect effect, double rate, RandomStream random) {
        Disk.Impaired impaired = host.disk().impair(new DiskFault(effect, rate), random);
        return new InForce(impaired::lift, impaired::affected);
    }

    /** What a disk did behind everybody's back is seen when the host has crashed and boots. */
    private static InForce thenCrash(Host host, RandomStream random, InForce fault) {
        return new InForce(() -> {
            fault.undo.run();
            restart(host, random, () -> {});
        }, fault.effects);
    }

    private static void restart(Host host, RandomStream random, Runnable meanwhile) {
        if (host.state() != Host.State.DOWN) {
            host.crash(Unsynced.LOST, random);
            meanwhile.run();
            host.boot();
        }
    }

    private static InForce oldCopy(Host host, String of, RandomStream random) {
        Disk.Image image = host.disk().image();
        long[] restored = new long[1];
        return new InForce(() -> restart(host, random, () -> {
            host.disk().restore(image, of);
            restored[0]++;
        }), () -> restored[0]);
    }

    private void full() {
        plan.allHosts().forEach(host -> engines.full(host, active.keySet().stream().map(Fault::action)
                .anyMatch(action -> action instanceof Action.EngineFull && isAbout(action, host))));
    }

    private InForce engine(Fault fault, String host, Runnable set) {
        FaultKind kind = fault.action().kind();
        LongSupplier since = since(() -> engines.happened(host, kind));
        return setting(set, since);
    }

    /** What is set from all faults in force: when one begins and when it ends. */
    private static InForce setting(Runnable set, LongSupplier effects) {
        set.run();
        return new InForce(set, effects);
    }

    /** How much something has grown since now. */
    private static LongSupplier since(LongSupplier count) {
        long before = count.getAsLong();
        return () -> count.getAsLong() - before;
    }

    private void wallClock(String host) {
        network.host(host).setWallClock(last(host, Action.ClockJump.class, 0L,
                jump -> jump.jump() == Action.Jump.AHEAD ? jump.time().toNanos() : -jump.time().toNanos()));
    }

    private void drift(String host) {
        network.host(host).setClockDrift(last(host, Action.ClockDrift.class, 0.0, Action.ClockDrift::rate));
    }

    private void schedulingLatency(String host) {
        network.host(host).setSchedulingLatency(
                last(host, Action.SchedulingLatency.class, Distribution.ZERO, Action.SchedulingLatency::by));
    }

    private void slowDisk(String host) {
        network.host(host).disk().setSlowness(last(host, Action.SlowDisk.class, 1.0, Action.SlowDisk::factor));
    }

    private void engineAborts(String host) {
        engines.abortRate(host, last(host, Action.EngineAborts.class, 0.0, Action.EngineAborts::rate));
    }

    private void slowCommits(String host) {
        engines.commitDelay(host, last(host, Action.SlowCommits.class, Distribution.ZERO, Action.SlowCommits::by));
    }

    /** What the last fault in force of a kind says of a host, which is the first parameter of each of these kinds. */
    private <A extends Action, T> T last(String host, Class<A> kind, T none, Function<A, T> of) {
        T result = none;
        for (Fault fault : active.keySet()) {
            Action action = fault.action();
            if (kind.isInstance(action) && action.arguments().getFirst().equals(host)) {
                result = of.apply(kind.cast(action));
            }
        }
        return result;
    }
}
