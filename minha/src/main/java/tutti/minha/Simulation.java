package tutti.minha;

import java.io.PrintStream;
import java.net.InetAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Nanos;
import tutti.sim.net.LinkConfig;
import tutti.sim.net.Network;
import tutti.sim.net.Segment;
import tutti.sim.thread.Threads;

/**
 * A world of machines for programs that are written as for the JDK: a kernel, its threads, a network and what is on it.
 * Everything that happens follows from the seed and from the programs.
 *
 * <p>
 * Thread rules: as the kernel's, one thread at a time; {@link #run} and its kin move to a virtual thread of their own.
 */
public final class Simulation implements AutoCloseable {
    private static final String FIRST_NET = "10.0.";
    private static final int ADDRESSES_OF_BYTE = 256;
    private static final int MACHINES_MAX = 65_000;

    private final Kernel kernel;
    private final Threads threads;
    private final Network network;
    private final Map<String, Machine> byName = new LinkedHashMap<>();
    private final Map<InetAddress, Machine> byAddress = new LinkedHashMap<>();
    private @Nullable Segment lan;
    private long epochMillis;
    private BiConsumer<Jvm, String> console;

    /** An empty world at time 0, whose programs write to this process's standard output. */
    public Simulation(long seed) {
        this.kernel = new Kernel(seed);
        this.threads = new Threads(kernel);
        this.network = new Network(kernel);
        PrintStream out = System.out;
        this.console = (_, line) -> out.println(line);
    }

    /** Its events and its time. */
    public Kernel kernel() {
        return kernel;
    }

    /** Its network, for segments, links and impairments. */
    public Network network() {
        return network;
    }

    /** Sets the wall-clock time at simulated time 0; at first that is the beginning of 1970, as in D5.1. */
    public void setEpoch(Instant epoch) {
        epochMillis = epoch.toEpochMilli();
    }

    /** Milliseconds from the beginning of 1970 to simulated time 0. */
    public long epochMillis() {
        return epochMillis;
    }

    /** Sets who is given each line that a program prints. */
    public void setConsole(BiConsumer<Jvm, String> to) {
        console = to;
    }

    void print(Jvm from, String line) {
        console.accept(from, line);
    }

    /** The machine of a name; if there is none, one is made, in the local network, with the next address of 10.0.0.0/16. */
    public Machine machine(String name) {
        Machine known = byName.get(name);
        if (known != null) {
            return known;
        }
        if (lan == null) {
            lan = network.segment("lan", LinkConfig.LAN);
        }
        int number = byName.size() + 1;
        while (byAddress.containsKey(address(number))) {
            number++;
        }
        return add(name, address(number), lan, HostConfig.DEFAULT);
    }

    private static InetAddress address(int number) {
        if (number > MACHINES_MAX) {
            throw new IllegalArgumentException("more than " + MACHINES_MAX + " machines: give them addresses");
        }
        return InetAddress.ofLiteral(FIRST_NET + number / ADDRESSES_OF_BYTE + "." + number % ADDRESSES_OF_BYTE);
    }

    /**
     * Makes a machine.
     *
     * @param name by which programs find it, unique
     * @param address a literal such as {@code 192.168.1.7}, unique
     * @param segment where it is attached
     * @param config what it is made of
     */
    public Machine machine(String name, String address, Segment segment, HostConfig config) {
        return add(name, InetAddress.ofLiteral(address), segment, config);
    }

    private Machine add(String name, InetAddress address, Segment segment, HostConfig config) {
        if (byName.containsKey(name) || byAddress.containsKey(address)) {
            throw new IllegalArgumentException("there is a machine " + name + " or one with the address "
                    + address.getHostAddress() + " already");
        }
        if (address.isAnyLocalAddress() || address.isLoopbackAddress() || address.isMulticastAddress()) {
            throw new IllegalArgumentException(address.getHostAddress() + " cannot be the address of a machine");
        }
        Host host = new Host(kernel, threads, name, config);
        network.attach(host, segment);
        Machine machine = new Machine(this, host, address, segment.config());
        byName.put(name, machine);
        byAddress.put(address, machine);
        return machine;
    }

    /** The machine of a name, or null. */
    public @Nullable Machine find(String name) {
        return byName.get(name);
    }

    /** The machine of an address, or null. */
    public @Nullable Machine find(InetAddress address) {
        return byAddress.get(address);
    }

    /** All machines, in the order in which they were made. */
    public List<Machine> machines() {
        return List.copyOf(byName.values());
    }

    /** Boots the machines that were never up, and runs until nothing is left to happen. */
    public void run() {
        boot();
        threads.callOnLoop(kernel::run);
    }

    /** Likewise, but at most for a time. */
    public void runFor(Duration time) {
        boot();
        long until = kernel.now() + time.toNanos();
        threads.callOnLoop(() -> kernel.runUntil(until));
    }

    /** Boots the machines that were never up. */
    void boot() {
        for (Machine machine : byName.values()) {
            if (machine.host().life() == 0) {
                threads.callOnLoop(() -> machine.host().boot());
            }
        }
    }

    /** Which processes run, and what their threads are doing: for when nothing happens any more. */
    public String describe() {
        return threads.describe();
    }

    /** Seed, events, time and hash in one line: equal for equal runs. */
    public String fingerprint() {
        return kernel.fingerprint();
    }

    /** Ends all threads. */
    @Override
    public void close() {
        threads.callOnLoop(threads::close);
    }

    @Override
    public String toString() {
        return "simulation at " + Nanos.text(kernel.now()) + " of " + byName.keySet();
    }
}
