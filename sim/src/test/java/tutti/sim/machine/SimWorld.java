package tutti.sim.machine;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import tutti.runtime.Directory;
import tutti.runtime.PeerIdentity;
import tutti.runtime.TestWorld;
import tutti.sim.disk.DiskConfig;
import tutti.sim.disk.Unsynced;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;
import tutti.sim.net.LinkConfig;
import tutti.sim.net.Network;
import tutti.sim.net.Segment;
import tutti.sim.thread.Threads;

/** Simulated machines in one local network, and their time. */
final class SimWorld implements TestWorld.Crashing {
    private static final long NANOS_MAX = 1000 * Nanos.SECOND;
    private static final int FIRST_PORT = 7000;
    private static final HostConfig CONFIG = HostConfig.DEFAULT
            .withDisk(DiskConfig.DEFAULT.withLatency(new Distribution.Constant(Nanos.MILLI)));

    final Kernel kernel;
    final Network network;
    private final List<SimMachine> machines = new ArrayList<>();
    private final RandomStream random;
    private int port = FIRST_PORT;

    SimWorld(long seed, int count) {
        kernel = new Kernel(seed);
        network = new Network(kernel);
        random = kernel.random("crashes");
        Threads threads = new Threads(kernel);
        Segment lan = network.segment("lan", LinkConfig.LAN);
        for (int i = 0; i < count; i++) {
            int number = i;
            Host host = new Host(kernel, threads, "n" + i, CONFIG);
            network.attach(host, lan);
            machines.add(null);
            host.onBoot(h -> machines.set(number, new SimMachine(h, network)));
            host.boot();
        }
    }

    Host host(int number) {
        return network.host("n" + number);
    }

    @Override
    public SimMachine machine(int number) {
        return machines.get(number);
    }

    /** Has every machine prove which node it is, from now on. */
    SimWorld proving() {
        for (int i = 0; i < machines.size(); i++) {
            host(i).identify(new PeerIdentity("simulated", i));
        }
        return this;
    }

    @Override
    public @Nullable PeerIdentity identity(int number) {
        return host(number).identity();
    }

    @Override
    public Directory directory(int number) throws IOException {
        return machine(number).directory("data");
    }

    @Override
    public InetSocketAddress freeAddress(int number) {
        return InetSocketAddress.createUnresolved("n" + number, port++);
    }

    @Override
    public void await(String what, BooleanSupplier condition) {
        long end = kernel.now() + NANOS_MAX;
        while (!condition.getAsBoolean()) {
            if (kernel.now() > end) {
                throw new AssertionError("not within a long time: " + what);
            }
            kernel.runUntil(kernel.now() + 100 * Nanos.MICRO);
        }
    }

    /** Lets time pass. */
    void pass(long nanos) {
        kernel.runUntil(kernel.now() + nanos);
    }

    @Override
    public void crash(int number, Crash how) {
        host(number).crash(switch (how) {
            case PROCESS_KILLED -> Unsynced.CACHED;
            case ALL_UNFORCED_LOST -> Unsynced.LOST;
            case UNFORCED_TORN -> Unsynced.TORN;
        }, random);
        host(number).boot();
    }

    @Override
    public void close() {
        // Nothing goes on.
    }
}
