package tutti.grid.node;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.grid.CommitProtocol;
import tutti.grid.GridConfig;
import tutti.grid.GridException;
import tutti.grid.IsolationLevel;
import tutti.grid.store.GroupLayout;
import tutti.grid.store.GroupOwners;
import tutti.grid.view.Layout;
import tutti.grid.view.View;
import tutti.sim.fault.EngineFaults;
import tutti.sim.fault.FaultPlan;
import tutti.sim.fault.Injector;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;
import tutti.sim.machine.SimMachine;
import tutti.sim.net.LinkConfig;
import tutti.sim.net.Network;
import tutti.sim.net.Segment;
import tutti.sim.thread.Threads;

/**
 * A grid on simulated machines, with clients on each, some of which crash for good. When all have come to rest, the history is checked
 * for what the isolation level promises, the owners of each key for agreement, and what was answered for being there. Some entries expire soon,
 * while wall clocks differ and jump: each transaction must find what it reads to be there, or not, as its own time says.
 */
final class GridRun {
    private static final int PORT = 7000;
    private static final long REST_NANOS_MAX = 8 * Nanos.SECOND;
    /** Some fifty heartbeats, and three times as long as a node is waited for that is not heard. */
    private static final long STILL_NANOS = Nanos.SECOND;
    private static final int TRANSACTIONS = 12;
    private static final int CLIENTS = 3;
    private static final long CLOCKS_APART = 15;
    /** Nodes that may join and are no founders. */
    private static final int EXTRA = 2;

    /** What to run. */
    record Setting(CommitProtocol protocol, IsolationLevel level, int nodes, int degree, int keys, int crashes,
            int crashing, boolean faults, int moves, long l1BytesMax, int further, boolean dissolves) {
        /** In which no further group is founded. */
        Setting(CommitProtocol protocol, IsolationLevel level, int nodes, int degree, int keys, int crashes,
                int crashing, boolean faults, int moves, long l1BytesMax) {
            this(protocol, level, nodes, degree, keys, crashes, crashing, faults, moves, l1BytesMax, 0, false);
        }

        /** The nodes that found a further group. */
        Set<Integer> furtherGroup() {
            Set<Integer> numbers = new TreeSet<>();
            for (int i = 0; i < further; i++) {
                numbers.add(nodes + EXTRA + i);
            }
            return numbers;
        }
    }

    /** What came of it. */
    record Outcome(List<String> failures, int committed, int conflicts, int others, int expired,
            long waitingReads, long layouts, int lost, int starts, int joined, int left, int dissolved,
            GridStatus.L1 l1,
            String fingerprint) {}

    private final Setting setting;
    private final Relocation.Factory relocation;
    private final L1.Factory l1;
    private final Kernel kernel;
    private final Network network;
    private final RandomStream random;
    private final GridHistory history;
    private final List<String> failures = new ArrayList<>();
    private final List<GridClient> clients = new ArrayList<>();
    private final Set<GridClient> crashed = new HashSet<>();
    private final TreeMap<Integer, GridNode> nodes = new TreeMap<>();
    private final Map<Integer, Host> hosts = new TreeMap<>();
    private final @Nullable Injector injector;
    private boolean healed = true;
    private int starts;
    /** The group of which all members have left; -1 if none did. */
    private int dissolved = -1;

    GridRun(long seed, Setting setting) {
        this(seed, setting, Relocation::new, L1::new);
    }

    /** The same with another way of moving keys, or of keeping others' entries. */
    GridRun(long seed, Setting setting, Relocation.Factory relocation, L1.Factory l1) {
        this.l1 = l1;
        this.setting = setting;
        this.relocation = relocation;
        this.history = new GridHistory(setting.level);
        kernel = new Kernel(seed);
        random = kernel.random("run");
        network = new Network(kernel);
        Threads threads = new Threads(kernel);
        Segment lan = network.segment("lan", LinkConfig.LAN);
        Map<Integer, InetSocketAddress> members = new TreeMap<>();
        List<String> names = new ArrayList<>();
        for (int i = 0; i < setting.nodes; i++) {
            members.put(i, InetSocketAddress.createUnresolved("n" + i, PORT));
            names.add("n" + i);
        }
        int hostCount = setting.nodes + (setting.moves > 0 ? EXTRA : 0) + setting.further;
        for (int i = 0; i < hostCount; i++) {
            int number = i;
            Host host = new Host(kernel, threads, "n" + i, HostConfig.DEFAULT);
            network.attach(host, lan);
            hosts.put(i, host);
            host.onBoot(_ -> boot(number, host, members));
        }
        injector = setting.faults
                ? new Injector(kernel, network, EngineFaults.NONE, FaultPlan.random(seed,
                        tutti.sim.fault.FaultProfile
                                .parse("network,pause,clock-drift,scheduling-latency"),
                        names, 2 * Nanos.SECOND))
                : null;
    }

    private void boot(int number, Host host, Map<Integer, InetSocketAddress> founders) {
        Map<Integer, InetSocketAddress> members = new TreeMap<>(founders);
        Set<Integer> others = new TreeSet<>(Set.of(number));
        if (setting.furtherGroup().contains(number)) {
            // It may come when the founders have all left.
            others.addAll(setting.furtherGroup());
        }
        others.forEach(other -> members.putIfAbsent(other, InetSocketAddress.createUnresolved("n" + other, PORT)));
        GridConfig config = GridConfig
                .of("test", number, members, founders.keySet(),
                        List.of(GridConfig.CacheConfig.of("cache", setting.degree).withL1BytesMax(setting.l1BytesMax)),
                        setting.protocol)
                .withCrashes(setting.crashes)
                .withHeartbeat(Duration.ofMillis(20), Duration.ofMillis(300))
                .withTimeouts(Duration.ofMillis(200), Duration.ofSeconds(3), Duration.ofSeconds(5));
        if (setting.furtherGroup().contains(number)) {
            config = config.withFurtherGroup(setting.furtherGroup());
        }
        try {
            GridNode node = new GridNode(config, new SimMachine(host, network), history, relocation, l1);
            nodes.put(number, node);
            starts++;
            for (int i = 0; i < CLIENTS; i++) {
                int session = clients.size();
                RandomStream dice = random.fork("client " + session);
                GridClient client = new GridClient(session, node,
                        new GridClient.Habits(setting.level, setting.keys, setting.moves > 0 ? 20_000 : 3000),
                        setting.moves > 0 ? 10 * TRANSACTIONS : TRANSACTIONS, dice, kernel::now, history,
                        () -> host.setWallClock(dice.between(-CLOCKS_APART, CLOCKS_APART) * Nanos.MILLI));
                clients.add(client);
                node.loop().execute(client::start);
            }
        } catch (IOException failure) {
            failures.add(failure.toString());
        }
    }

    Outcome run() {
        for (int i = 0; i < setting.nodes; i++) {
            hosts.get(i).boot();
        }
        kernel.runUntil(100 * Nanos.MILLI);
        if (injector != null) {
            healed = false;
            injector.start(() -> healed = true);
        }
        List<Integer> victims = victims();
        for (int victimNumber : victims) {
            kernel.runUntil(kernel.now() + random.between(0, 60) * Nanos.MILLI);
            // In the middle of a commit, if there is one soon.
            GridNode victim = nodes.get(victimNumber);
            for (int wait = 0; wait < 200 && victim.status().committing() == 0; wait++) {
                kernel.runUntil(kernel.now() + 20 * Nanos.MICRO);
            }
            kernel.runUntil(kernel.now() + random.between(0, 400) * Nanos.MICRO);
            hosts.get(victimNumber).crash();
            if (!isByGroups()) {
                // One at a time: the others go on before the next one.
                kernel.runUntil(kernel.now() + 2 * Nanos.SECOND);
            }
        }
        if (setting.moves > 0 && isByGroups()) {
            GroupMoves moves = new GroupMoves(random, kernel, hosts, nodes, setting, this::crash);
            moves.run();
            dissolved = moves.dissolved();
        } else if (setting.moves > 0) {
            new Moves(random, kernel, hosts, nodes, setting, this::crash).run();
        }
        victims.forEach(nodes::remove);
        rest(victims, (setting.further > 0 ? 4 : setting.moves > 0 ? 2 : 1) * REST_NANOS_MAX);
        int joined = (int) nodes.keySet().stream().filter(node -> node >= setting.nodes).count();
        int left = (int) hosts.keySet().stream().filter(number -> number < setting.nodes && !victims.contains(number))
                .filter(number -> nodes.values().stream()
                        .noneMatch(node -> node.isMember() && node.owners() instanceof GroupOwners owners
                                && Arrays.stream(owners.of(owners.groupOf(number))).anyMatch(one -> one == number)))
                .count();
        List<String> before = List.copyOf(history.failures());
        int lost = (int) nodes.values().stream().filter(node -> node.isMember() && node.status().lost()).count();
        if (lost > 0) {
            // What has no owner is taken for removed, and all goes on, though what is found from now on is not what was written.
            GridNode member = nodes.values().stream().filter(GridNode::isMember).findFirst().orElseThrow();
            member.loop().execute(member::acceptLoss);
            rest(victims, 2 * REST_NANOS_MAX);
            nodes.values().removeIf(node -> node.ended() != null);
        }
        List<String> restless = restless(victims);
        failures.addAll(restless);
        if (restless.isEmpty() && lost == 0) {
            checkOwners();
        }
        failures.addAll(lost > 0 ? before : history.failures());
        return new Outcome(failures, history.committed(), history.conflicts(), history.others(), history.gone(),
                nodes.values().stream().filter(GridNode::isMember).mapToLong(node -> node.status().waitingReads())
                        .sum(),
                nodes.values().stream().filter(GridNode::isMember)
                        .mapToLong(node -> node.status().layout().number()).max().orElse(0),
                lost, starts, joined, left, dissolved, l1(), kernel.fingerprint());
    }

    /** Goes on until all is as it is to be in the end and has been so for a while, but not for ever. */
    private void rest(List<Integer> victims, long nanosMax) {
        long end = kernel.now() + nanosMax;
        long still = kernel.now();
        // By groups, until who does not come back is given up by all.
        long stillNanos = (isByGroups() && setting.moves > 0 ? 4 : 1) * STILL_NANOS;
        while (kernel.now() < end && kernel.now() - still < stillNanos) {
            kernel.runUntil(Math.min(end, kernel.now() + STILL_NANOS / 10));
            nodes.values().removeIf(node -> node.ended() != null && setting.moves > 0);
            if (!healed || !restless(victims).isEmpty()) {
                still = kernel.now();
            }
        }
    }

    /** What all nodes that are left have kept of each other. */
    private GridStatus.L1 l1() {
        return nodes.values().stream().filter(GridNode::isMember).map(node -> node.status().l1())
                .reduce(new GridStatus.L1(0, 0, 0, 0, 0),
                        (a, b) -> new GridStatus.L1(a.hits() + b.hits(), a.misses() + b.misses(),
                                a.invalidations() + b.invalidations(), a.entries() + b.entries(),
                                Math.max(a.bytes(), b.bytes())));
    }

    private void crash(int number) {
        GridNode node = nodes.remove(number);
        clients.stream().filter(client -> client.node() == node).forEach(crashed::add);
        hosts.get(number).crash();
    }

    private boolean isByGroups() {
        return setting.protocol == CommitProtocol.GROUPS;
    }

    private Set<Integer> founders() {
        Set<Integer> founders = new TreeSet<>(hosts.keySet());
        founders.removeIf(node -> node >= setting.nodes);
        return founders;
    }

    /** Who crashes: as many as the setting says; of groups, always a minority of each. */
    private List<Integer> victims() {
        List<Integer> victims = new ArrayList<>();
        List<Integer> all = new ArrayList<>(hosts.keySet());
        random.shuffle(all);
        for (int node : all) {
            victims.add(node);
            boolean enoughLeft = new GroupOwners(founders(), setting.degree).groups().values().stream()
                    .allMatch(group -> 2 * group.stream().filter(victims::contains).count() < group.size());
            if (victims.size() > setting.crashing || (isByGroups() && !enoughLeft)) {
                victims.removeLast();
            }
        }
        return victims;
    }

    // ------------------------------------------------------------------------------------------ checks

    /** What is not as it is to be when all have come to rest. */
    private List<String> restless(List<Integer> victims) {
        List<String> wrong = new ArrayList<>();
        if (!nodes.values().stream().allMatch(GridNode::isMember)) {
            List<String> all = new ArrayList<>();
            nodes.forEach((number, node) -> all.add(number + ": " + (node.isMember() ? node.view() : "no member")));
            wrong.add("not all are members: " + all);
            return wrong;
        }
        View last = nodes.values().stream().map(GridNode::view).max((a, b) -> Long.compare(a.number(), b.number()))
                .orElseThrow();
        for (GridClient client : clients) {
            if (!client.isDone() && !crashed.contains(client) && client.node().ended() == null
                    && !victims.contains(client.node().config().self())) {
                wrong.add(client + " has not ended");
            }
        }
        for (int i : victims) {
            if (last.has(i) && !isByGroups()) {
                wrong.add("node " + i + " crashed and is in " + last);
            }
        }
        nodes.forEach((number, node) -> {
            GridException ended = node.ended();
            if (ended != null && (last.has(number) || String.valueOf(ended.getMessage()).contains("has failed"))) {
                wrong.add("node " + number + ": " + ended.getMessage());
            }
            if (ended == null && !isByGroups()) {
                Layout layout = node.status().layout();
                if (node.view().number() != last.number() || !last.members().equals(nodes.keySet())) {
                    wrong.add("node " + number + " is in " + node.view() + ", the last is " + last
                            + ", and there are " + nodes.keySet());
                }
                if (layout.phase() != Layout.Phase.STABLE || !layout.after().equals(last.members())) {
                    wrong.add("node " + number + " has " + layout + " in " + last);
                }
                if (node.status().lost()) {
                    wrong.add("node " + number + " still says that keys are lost");
                }
                if (node.hasForeignKeys()) {
                    wrong.add("node " + number + " has keys that it does not own");
                }
            }
            if (ended == null && isByGroups()) {
                GroupLayout layout = ((GroupOwners) node.owners()).layout();
                Set<Integer> owning = new TreeSet<>(
                        new GroupOwners(founders(), setting.degree).groups().keySet());
                if (setting.further > 0) {
                    owning.add(setting.nodes + EXTRA);
                }
                owning.remove(dissolved);
                if (layout.isMoving() || !layout.owning().equals(owning)) {
                    wrong.add("node " + number + " has " + layout);
                }
                if (node.hasForeignKeys()) {
                    wrong.add("node " + number + " has keys that it does not own");
                }
                groups(node).forEach((group, members) -> {
                    if (!members.equals(groups(nodes.firstEntry().getValue()).get(group))) {
                        wrong.add("node " + number + " knows " + groups(node) + ", and node " + nodes.firstKey() + " "
                                + groups(nodes.firstEntry().getValue()));
                    }
                    if (((GroupOwners) node.owners()).groupOf(number) == group && !members.contains(number)) {
                        wrong.add("node " + number + " is none of " + members);
                    }
                });
            }
            if (ended == null && node.status().kept() > 0) {
                wrong.add("node " + number + " still keeps " + node.status().kept() + " transactions");
            }
        });
        return wrong;
    }

    /** The members of each group, as a node knows them. */
    private static Map<Integer, List<Integer>> groups(GridNode node) {
        GroupOwners owners = (GroupOwners) node.owners();
        Map<Integer, List<Integer>> groups = new TreeMap<>();
        owners.numbers()
                .forEach(group -> groups.put(group, Arrays.stream(owners.of(group)).boxed().toList()));
        return groups;
    }

    private void checkOwners() {
        Set<Integer> left = new TreeSet<>(nodes.keySet());
        failures.addAll(history.owners(left, nodes.firstEntry().getValue().owners(),
                (node, key) -> nodes.get(node).newest(key).stamp()));
        failures.addAll(history.judge());
        if (!setting.faults && (setting.moves == 0 || isByGroups())) {
            failures.addAll(history.snapshots(left));
        }
    }
}
