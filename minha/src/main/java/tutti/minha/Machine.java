package tutti.minha;

import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import tutti.minha.jdk.net.TcpStack;
import tutti.minha.jdk.net.UdpStack;
import tutti.sim.host.Host;
import tutti.sim.net.LinkConfig;

/**
 * A machine of the simulation: a host with an address, UDP, TCP, and the processes on it. Each boot begins the
 * processes that were given to {@link #run} anew; a crash ends them without a word.
 */
public final class Machine {
    private final Simulation simulation;
    private final Host host;
    private final InetAddress address;
    private final LinkConfig line;
    private final UdpStack udp;
    private final TcpStack tcp;
    private final List<Jvm> processes = new ArrayList<>();

    Machine(Simulation simulation, Host host, InetAddress address, LinkConfig line) {
        this.simulation = simulation;
        this.host = host;
        this.address = address;
        this.line = line;
        this.udp = new UdpStack(this);
        this.tcp = new TcpStack(this);
        host.onBoot(_ -> {
            udp.boot();
            tcp.boot();
            host.onCrash(this::crashed);
        });
    }

    private void crashed() {
        List.copyOf(processes).forEach(Jvm::lost);
        processes.clear();
    }

    /** Where it is. */
    public Simulation simulation() {
        return simulation;
    }

    /** Its processors, its clock and its disk; {@code crash()}, {@code boot()}, {@code pause()}. */
    public Host host() {
        return host;
    }

    /** Its name. */
    public String name() {
        return host.name();
    }

    /** Its address. */
    public InetAddress address() {
        return address;
    }

    /** How it is attached. */
    public LinkConfig line() {
        return line;
    }

    /** Its datagrams. */
    public UdpStack udp() {
        return udp;
    }

    /** Its connections. */
    public TcpStack tcp() {
        return tcp;
    }

    /** The processes that run, oldest first. */
    public List<Jvm> processes() {
        processes.removeIf(Jvm::hasEnded);
        return List.copyOf(processes);
    }

    /**
     * Has a program run in a process of its own, at each boot from now on; if the machine is up, from now.
     *
     * @param name of the process, for output and traces
     */
    public void run(String name, Program program, String... arguments) {
        runFresh(name, () -> program, arguments);
    }

    /** Likewise, for programs that are made anew for each process, such as those with static variables of their own. */
    public void runFresh(String name, Supplier<Program> program, String... arguments) {
        host.onBoot(_ -> begin(name, program.get(), arguments));
        if (host.state() != Host.State.DOWN) {
            begin(name, program.get(), arguments);
        }
    }

    /** Begins a process now, once; the machine must be up. */
    public Jvm begin(String name, Program program, String... arguments) {
        processes.removeIf(Jvm::hasEnded);
        Jvm jvm = new Jvm(this, name, simulation.kernel().random("jvm " + name() + " " + name + " " + host.life() + " "
                + processes.size()));
        processes.add(jvm);
        jvm.begin(program, arguments.clone());
        return jvm;
    }

    @Override
    public String toString() {
        return name() + "/" + address.getHostAddress();
    }
}
