package tutti.sim;

import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import tutti.core.protocol.ProtocolDescriptor;
import tutti.core.protocol.Protocols;
import tutti.sim.disk.DiskFile;
import tutti.sim.fault.EngineFaults;
import tutti.sim.fault.FaultPlan;
import tutti.sim.fault.FaultProfile;
import tutti.sim.fault.Injector;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;
import tutti.sim.net.Address;
import tutti.sim.net.LinkConfig;
import tutti.sim.net.Network;
import tutti.sim.net.Segment;
import tutti.sim.net.Datagram;
import tutti.sim.thread.SimThread;
import tutti.sim.thread.Threads;
import tutti.sim.thread.WaitList;
import tutti.sim.world.Scenario.OrderKind;
import tutti.sim.world.ScenarioRun;

/**
 * A bit of everything under random faults, for seeing whether runs are alike: on each of four hosts on two segments, three
 * threads that think, compute, write to the disk, sync, tell another host by unicast and their segment by
 * multicast, and one that listens and answers. Then a whole scenario of the simulated world.
 */
final class Scenario {
    private static final long SAFETY_NANOS = 2 * Nanos.SECOND;
    private static final long LIVENESS_NANOS = Nanos.SECOND;
    private static final List<String> HOSTS = List.of("n1", "n2", "n3", "n4");
    private static final int PORT = 7000;
    private static final int WORLD_TRANSACTIONS = 150;
    private static final Label SEEN = Label.of("scenario", "seen");
    private static final Label ANSWERED = Label.of("scenario", "answered");

    private final Kernel kernel;
    private final Network network;
    private final FaultPlan plan;

    private Scenario(long seed) {
        this.kernel = new Kernel(seed);
        this.network = new Network(kernel);
        this.plan = FaultPlan.random(seed, FaultProfile.parse("all"), HOSTS, SAFETY_NANOS);
    }

    /** Prints a fingerprint for each of so many seeds. */
    public static void main(String[] arguments) {
        for (long seed = 1; seed <= Long.parseLong(arguments[0]); seed++) {
            System.out.println(run(seed));
        }
    }

    /** Runs a seed and returns its fingerprint. */
    static String run(long seed) {
        Scenario scenario = new Scenario(seed);
        try (Threads threads = new Threads(scenario.kernel)) {
            scenario.build(threads);
            threads.callOnLoop(() -> scenario.kernel.runUntil(SAFETY_NANOS + LIVENESS_NANOS));
            return scenario.kernel.fingerprint() + ", " + scenario.network.counts() + ", world: " + world(seed);
        }
    }

    /** A scenario of the simulated world, of another protocol for each seed. */
    private static String world(long seed) {
        List<ProtocolDescriptor> protocols = Protocols.STANDARD.all();
        return ScenarioRun.run(tutti.sim.world.Scenario.random(seed, protocols.get((int) (seed % protocols.size())),
                Map.of(), seed % 2 == 0 ? OrderKind.GROUP : OrderKind.IDEAL, WORLD_TRANSACTIONS,
                FaultProfile.parse("all"))).fingerprint();
    }

    private void build(Threads threads) {
        Segment east = network.segment("east", LinkConfig.LAN);
        Segment west = network.segment("west", LinkConfig.LAN);
        network.link(east, west, LinkConfig.WAN);
        for (String name : HOSTS) {
            Host host = new Host(kernel, threads, name, HostConfig.DEFAULT);
            network.attach(host, HOSTS.indexOf(name) < 2 ? east : west);
            host.onBoot(this::program);
            host.boot();
        }
        new Injector(kernel, network, EngineFaults.NONE, plan).start();
    }

    private void program(Host host) {
        network.join(host, "all");
        SortedSet<String> seen = new TreeSet<>();
        Inbox server = new Inbox(host, PORT);
        host.spawn("server", () -> {
            while (true) {
                server.await(SimThread.FOREVER);
                byte[] question = server.datagrams.remove().payloadBytes();
                SimThread.await(done -> host.execute(20 * Nanos.MICRO, done));
                seen.add(new String(question, StandardCharsets.UTF_8));
                kernel.trace(SEEN, seen.size());
            }
        });
        for (int i = 0; i < 3; i++) {
            int number = i;
            RandomStream random = host.random("client " + i + " life " + host.life());
            host.spawn("client " + i, () -> client(host, number, random));
        }
    }

    private void client(Host host, int number, RandomStream random) throws InterruptedException {
        DiskFile log = host.disk().file("log " + number);
        Inbox inbox = new Inbox(host, PORT + 1 + number);
        for (int round = 0;; round++) {
            SimThread.sleep((long) random.exponential(20 * Nanos.MILLI));
            long costNanos = random.nextLong(Nanos.MILLI);
            SimThread.await(done -> host.execute(costNanos, done));
            byte[] text = (host.name() + " " + number + " " + round + " " + log.size())
                    .getBytes(StandardCharsets.UTF_8);
            log.append(text);
            SimThread.await(log::sync);
            inbox.send(Address.of(random.pick(HOSTS), PORT), text);
            if (random.chance(0.2)) {
                inbox.send(Address.group("all", PORT), new byte[random.nextInt(5000)]);
            }
            if (inbox.await(random.nextLong(5 * Nanos.MILLI))) {
                inbox.datagrams.remove();
                kernel.trace(ANSWERED, round);
            }
        }
    }

    /** A port whose datagrams queue up until a thread takes them. */
    private final class Inbox {
        private final Address address;
        private final Deque<Datagram> datagrams = new ArrayDeque<>();
        private final WaitList waiting = new WaitList();

        Inbox(Host host, int port) {
            this.address = Address.of(host.name(), port);
            network.bind(host, port, datagram -> {
                datagrams.add(datagram);
                waiting.wakeOne();
            });
        }

        void send(Address to, byte[] bytes) {
            network.send(Datagram.of(address, to, bytes));
        }

        /** Whether there is a datagram, now or within a time. */
        boolean await(long nanos) throws InterruptedException {
            return !datagrams.isEmpty() || waiting.await(nanos, true);
        }
    }
}
