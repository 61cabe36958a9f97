package tutti.sim.fault;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
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
    private final Kernel kernel;
    private final Network network;
    private final EngineFaults engines;
    private final FaultPlan plan;
    private final Map<Fault, Runnable> active = new LinkedHashMap<>();
    private int begun;
    private boolean started;

    /** For a plan whose hosts are attached to the network. */
    public Injector(Kernel kernel, Network network, EngineFaults engines, FaultPlan plan) {
        this.kernel = kernel;
        this.network = network;
        this.engines = engines;
        this.plan = plan;
        plan.hosts().forEach(network::host);
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

    /** Faults that have begun. */
    public int begun() {
        return begun;
    }

    /** Faults in force now, in the order in which they began. */
    public List<Fault> active() {
        return List.copyOf(active.keySet());
    }

    private static Label label(String what, Fault fault) {
        return Label.of("fault", what + " f" + fault.number() + " " + fault.action().kind().word());
    }

    private void begin(Fault fault) {
        begun++;
        active.put(fault, () -> {});
        active.put(fault, apply(fault));
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

    /** Lets a fault begin, and returns what ends it. */
    private Runnable apply(Fault fault) {
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
            case Action.Pause a -> pause(network.host(a.host()));
            case Action.Crash a -> crash(network.host(a.host()), a, random);
            case Action.ClockDrift a -> setting(() -> drift(a.host()));
            case Action.SchedulingLatency a -> setting(() -> schedulingLatency(a.host()));
            case Action.SlowDisk a -> setting(() -> slowDisk(a.host()));
            case Action.EngineAborts a -> setting(() -> engineAborts(a.host()));
            case Action.SlowCommits a -> setting(() -> slowCommits(a.host()));
        };
    }

    private Runnable impair(RandomStream random, List<String> from, List<String> to, Impairment.Effect effect) {
        return network.impair(new Impairment(from, to, effect), random)::lift;
    }

    private Runnable partition(RandomStream random, Action.Partition partition) {
        Runnable forth = impair(random, partition.from(), partition.to(), new Impairment.Effect.Block());
        if (partition.direction() == Action.Direction.ONE_WAY) {
            return forth;
        }
        Runnable back = impair(random, partition.to(), partition.from(), new Impairment.Effect.Block());
        return () -> {
            forth.run();
            back.run();
        };
    }

    private static Runnable pause(Host host) {
        host.pause();
        long life = host.life();
        return () -> {
            if (host.life() == life) {
                host.resume();
            }
        };
    }

    private static Runnable crash(Host host, Action.Crash crash, RandomStream random) {
        if (host.state() == Host.State.DOWN) {
            return () -> {};
        }
        host.crash(crash.unsynced(), random);
        return () -> {
            if (host.state() == Host.State.DOWN) {
                host.boot();
            }
        };
    }

    /** What is set from all faults in force: when one begins and when it ends. */
    private static Runnable setting(Runnable set) {
        set.run();
        return set;
    }

    private void drift(String host) {
        network.host(host).setClockDrift(
                last(0.0, action -> action instanceof Action.ClockDrift a && a.host().equals(host) ? a.rate() : null));
    }

    private void schedulingLatency(String host) {
        network.host(host).setSchedulingLatency(last(Distribution.ZERO,
                action -> action instanceof Action.SchedulingLatency a && a.host().equals(host) ? a.by() : null));
    }

    private void slowDisk(String host) {
        network.host(host).disk().setSlowness(
                last(1.0, action -> action instanceof Action.SlowDisk a && a.host().equals(host) ? a.factor() : null));
    }

    private void engineAborts(String host) {
        engines.abortRate(host,
                last(0.0,
                        action -> action instanceof Action.EngineAborts a && a.host().equals(host) ? a.rate() : null));
    }

    private void slowCommits(String host) {
        engines.commitDelay(host, last(Distribution.ZERO,
                action -> action instanceof Action.SlowCommits a && a.host().equals(host) ? a.by() : null));
    }

    /** What the last fault in force says, of those that say something. */
    private <T> T last(T none, Function<Action, @Nullable T> of) {
        T result = none;
        for (Fault fault : active.keySet()) {
            T says = of.apply(fault.action());
            result = says == null ? result : says;
        }
        return result;
    }
}
