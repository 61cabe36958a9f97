package tutti.sim.machine;

import java.io.IOException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import tutti.runtime.Background;
import tutti.runtime.Clock;
import tutti.runtime.Directory;
import tutti.runtime.Loop;
import tutti.runtime.Machine;
import tutti.sim.disk.Disk;
import tutti.sim.host.Host;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.net.Network;

/**
 * The machine of one process on a simulated host: from one boot to the next crash, with which everything of it ends.
 *
 * <p>
 * Thread rules: events of the host, one thread. What is called from outside of any task (a client's event, a test) takes no
 * time; so let a program begin in the {@linkplain #background background}, where its files take theirs.
 */
public final class SimMachine implements Machine {
    private final Host host;
    private final Network network;
    private final Disk disk;
    private final SimClock clock = new SimClock(this);
    private final Map<String, Integer> streams = new HashMap<>();
    private final Set<Object> locks = new HashSet<>();
    private final Label killLabel;
    private final TcpStack tcp;
    private @Nullable Timeline current;
    private byte[] scratch = {};
    private boolean dead;

    /**
     * Of the present life of a host, one for each.
     *
     * @param host runs
     * @param network that it is attached to
     */
    public SimMachine(Host host, Network network) {
        this.host = host;
        this.network = network;
        this.disk = host.disk();
        this.killLabel = Label.of("kill", host.name());
        this.tcp = new TcpStack(this);
        host.onCrash(() -> dead = true);
    }

    /** The host. */
    public Host host() {
        return host;
    }

    @Override
    public Clock clock() {
        return clock;
    }

    @Override
    public RandomGenerator random(String label) {
        int number = streams.merge(label, 1, Integer::sum);
        return new SimRandom(host.random("life " + host.life() + " " + label + " " + number));
    }

    @Override
    public Loop loop(String name, Consumer<Throwable> onFailure) {
        return new SimLoop(this, name, onFailure);
    }

    @Override
    public tutti.runtime.Network network(String name, Consumer<Throwable> onFailure) {
        return new SimNetwork(this, tcp, new SimLoop(this, name, onFailure));
    }

    @Override
    public Background background(String name, Work work) {
        return new SimBackground(this, name, work);
    }

    /**
     * A directory of its disk, made if there is none of that name.
     *
     * @throws IOException if it cannot be made
     */
    public Directory directory(String name) throws IOException {
        return directory().directory(name);
    }

    /** The directory of its disk that all others are in. */
    public Directory directory() {
        return new SimDirectory(this, disk.root(), host.name() + ":");
    }

    // For its parts.

    Kernel kernel() {
        return host.kernel();
    }

    Network network() {
        return network;
    }

    Disk disk() {
        return disk;
    }

    /** What runs now, or null if nothing does. */
    @Nullable
    Timeline current() {
        return current;
    }

    /** Whether nothing that the caller does has any effect: the host has crashed, or the caller was killed. */
    public boolean isGone() {
        Timeline line = current;
        return dead || (line != null && line.isKilled());
    }

    /** Whether its host has crashed. */
    boolean isDead() {
        return dead;
    }

    /** By how many true nanoseconds whoever runs now is ahead of the event. */
    long ahead() {
        Timeline line = current;
        return line == null ? 0 : line.ahead();
    }

    /** True time of whoever runs now. */
    long now() {
        return kernel().now() + ahead();
    }

    /** Lets a line be what runs now; returns what was before, for {@link #leave}. */
    @Nullable
    Timeline enter(Timeline line) {
        Timeline before = current;
        current = line;
        return before;
    }

    void leave(@Nullable Timeline before) {
        current = before;
    }

    /** Does something on the host after a time, which is true time. */
    void later(long nanos, Label label, Runnable action) {
        kernel().schedule(nanos, label, () -> {
            if (!dead) {
                host.enter(label, action);
            }
        });
    }

    /** Time passes for whoever runs now. */
    void pass(long nanos) {
        Timeline line = current;
        if (line != null) {
            line.pass(nanos);
        }
    }

    /** The time of a request of the disk passes for whoever runs now. */
    void request(long bytes) {
        Timeline line = current;
        if (line != null) {
            line.pass(disk.request(now(), bytes) - now());
        }
    }

    /** A file operation begins. Throws if the process is dead, or dies now. */
    void operation(Disk.@Nullable Rare rare) {
        Runnable kill = beginOperation(rare);
        if (kill != null) {
            throw die(kill);
        }
    }

    /** A file operation begins; returns what kills the process in the middle of it, or null. Throws if it is dead. */
    @Nullable
    Runnable beginOperation(Disk.@Nullable Rare rare) {
        if (isGone()) {
            throw new KilledError();
        }
        return disk.operation(rare);
    }

    /** Kills the process at the present instant of whoever runs; returns what is to be thrown. */
    KilledError die(Runnable kill) {
        Timeline line = current;
        if (line == null) {
            dead = true;
        } else {
            line.kill();
        }
        long life = host.life();
        kernel().schedule(ahead(), killLabel, () -> {
            if (host.life() == life && host.state() != Host.State.DOWN) {
                kill.run();
            }
        });
        return new KilledError();
    }

    /** Takes a lock that one can have; false if somebody has it. */
    boolean lock(Object of) {
        return locks.add(of);
    }

    void unlock(Object of) {
        locks.remove(of);
    }

    /** Room to copy bytes through. */
    byte[] scratch(int length) {
        if (scratch.length < length) {
            scratch = new byte[Math.max(length, 2 * scratch.length)];
        }
        return scratch;
    }

    @Override
    public String toString() {
        return "machine of " + host;
    }
}
