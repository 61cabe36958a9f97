package tutti.grid.node;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.check.CheckResult;
import tutti.check.history.History;
import tutti.check.history.HistoryRecorder;
import tutti.check.isolation.Isolation;
import tutti.check.isolation.IsolationCheck;
import tutti.core.txn.TransactionId;
import tutti.grid.CommitProtocol;
import tutti.grid.GridConfig;
import tutti.grid.GridException;
import tutti.grid.IsolationLevel;
import tutti.grid.commit.CommitRequest;
import tutti.grid.store.GroupOwners;
import tutti.grid.store.Key;
import tutti.grid.store.Version;
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
    private static final long REST_NANOS = 8 * Nanos.SECOND;
    private static final int TRANSACTIONS = 12;
    private static final int CLIENTS = 3;
    private static final long INITIAL = 0;
    private static final long CLOCKS_APART = 15;
    /** Nodes that may join and are no founders. */
    private static final int EXTRA = 2;

    /** What to run. */
    record Setting(CommitProtocol protocol, IsolationLevel level, int nodes, int degree, int keys, int crashes,
            int crashing, boolean faults, int moves) {}

    /** What came of it. */
    record Outcome(List<String> failures, int committed, int conflicts, int others, int expired,
            long waitingReads, long layouts, int lost, String fingerprint) {}

    private final Setting setting;
    private final Relocation.Factory relocation;
    private final Kernel kernel;
    private final Network network;
    private final RandomStream random;
    private final HistoryRecorder recorder = new HistoryRecorder();
    private final Map<Long, TransactionId> byStamp = new HashMap<>();
    /** By key and stamp. */
    private final Map<Key, TreeMap<Long, CommitRequest.Write>> versions = new HashMap<>();
    private final Map<TransactionId, CommitRequest> applied = new LinkedHashMap<>();
    private final Map<TransactionId, Long> stamps = new HashMap<>();
    private final Map<TransactionId, GridException.Reason> failed = new HashMap<>();
    private final List<String> failures = new ArrayList<>();
    private final List<Client> clients = new ArrayList<>();
    private final TreeMap<Integer, GridNode> nodes = new TreeMap<>();
    private final Map<Integer, Host> hosts = new TreeMap<>();
    private final List<CheckedWrite> checkedWrites = new ArrayList<>();
    private final @Nullable Injector injector;
    private int committed;
    private int conflicts;
    private int others;
    private int gone;

    /** A transaction has read a version of a key and written the key. */
    private record CheckedWrite(TransactionId id, Key key, long read) {}

    GridRun(long seed, Setting setting) {
        this(seed, setting, Relocation::new);
    }

    /** The same with another way of moving keys. */
    GridRun(long seed, Setting setting, Relocation.Factory relocation) {
        this.setting = setting;
        this.relocation = relocation;
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
        int hostCount = setting.nodes + (setting.moves > 0 ? EXTRA : 0);
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
        members.putIfAbsent(number, InetSocketAddress.createUnresolved("n" + number, PORT));
        GridConfig config = GridConfig
                .of("test", number, members, List.of(GridConfig.CacheConfig.of("cache", setting.degree)),
                        setting.protocol)
                .withCrashes(setting.crashes)
                .withHeartbeat(Duration.ofMillis(20), Duration.ofMillis(300))
                .withTimeouts(Duration.ofMillis(200), Duration.ofSeconds(3), Duration.ofSeconds(5));
        try {
            GridNode node = new GridNode(config, new SimMachine(host, network), this::applied, relocation);
            nodes.put(number, node);
            for (int i = 0; i < CLIENTS; i++) {
                Client client = new Client(clients.size(), node);
                clients.add(client);
                node.loop().execute(client::start);
            }
        } catch (IOException failure) {
            failures.add(failure.toString());
        }
    }

    private void applied(TransactionId id, long stamp, CommitRequest request) {
        byStamp.put(stamp, id);
        request.writes().forEach(
                write -> versions.computeIfAbsent(write.key(), _ -> new TreeMap<>()).put(stamp, write));
        applied.put(id, request);
        Long before = stamps.putIfAbsent(id, stamp);
        if (before != null && before != stamp) {
            failures.add(id + " was applied at " + stamp + " and at " + before);
        }
        recorder.committed(id, stamp);
    }

    Outcome run() {
        for (int i = 0; i < setting.nodes; i++) {
            hosts.get(i).boot();
        }
        kernel.runUntil(100 * Nanos.MILLI);
        if (injector != null) {
            injector.start();
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
        if (setting.moves > 0) {
            new Moves(random, kernel, hosts, nodes, setting, this::crash).run();
        }
        kernel.runUntil(kernel.now() + (setting.moves > 0 ? 2 : 1) * REST_NANOS);
        victims.forEach(nodes::remove);
        nodes.values().removeIf(node -> node.ended() != null && setting.moves > 0);
        List<String> before = List.copyOf(failures);
        int lost = (int) nodes.values().stream().filter(node -> node.isMember() && node.status().lost()).count();
        if (lost > 0) {
            // What has no owner is taken for removed, and all goes on, though what is found from now on is not what was written.
            GridNode member = nodes.values().stream().filter(GridNode::isMember).findFirst().orElseThrow();
            member.loop().execute(member::acceptLoss);
            kernel.runUntil(kernel.now() + 2 * REST_NANOS);
            failures.clear();
            failures.addAll(before);
            nodes.values().removeIf(node -> node.ended() != null);
        }
        if (!nodes.values().stream().allMatch(GridNode::isMember)) {
            List<String> all = new ArrayList<>();
            nodes.forEach((number, node) -> all.add(number + ": " + (node.isMember() ? node.view() : "no member")));
            failures.add("not all are members: " + all);
        } else {
            check(victims, lost > 0);
        }
        return new Outcome(failures, committed, conflicts, others, gone,
                nodes.values().stream().filter(GridNode::isMember).mapToLong(node -> node.status().waitingReads())
                        .sum(),
                nodes.values().stream().filter(GridNode::isMember)
                        .mapToLong(node -> node.status().layout().number()).max().orElse(0),
                lost, kernel.fingerprint());
    }

    private void crash(int number) {
        GridNode node = nodes.remove(number);
        clients.stream().filter(client -> client.node == node).forEach(client -> client.crashed = true);
        hosts.get(number).crash();
    }

    private boolean isByGroups() {
        return setting.protocol == CommitProtocol.GROUPS;
    }

    /** Who crashes: as many as the setting says; of groups, always a minority of each. */
    private List<Integer> victims() {
        List<Integer> victims = new ArrayList<>();
        List<Integer> all = new ArrayList<>(hosts.keySet());
        random.shuffle(all);
        for (int node : all) {
            victims.add(node);
            boolean enoughLeft = new GroupOwners(hosts.keySet(), setting.degree).groups().values().stream()
                    .allMatch(group -> 2 * group.stream().filter(victims::contains).count() < group.size());
            if (victims.size() > setting.crashing || (isByGroups() && !enoughLeft)) {
                victims.removeLast();
            }
        }
        return victims;
    }

    // ------------------------------------------------------------------------------------------ clients

    private static Key key(int number) {
        return new Key(0, ByteBuffer.allocate(Integer.BYTES).putInt(number).array());
    }

    /** Runs transactions of some random reads and writes, one after the other. */
    private final class Client {
        private final int session;
        private final GridNode node;
        private final RandomStream dice;
        private int left = setting.moves > 0 ? 10 * TRANSACTIONS : TRANSACTIONS;
        private boolean done;
        private boolean crashed;

        Client(int session, GridNode node) {
            this.session = session;
            this.node = node;
            this.dice = random.fork("client " + session);
        }

        /** When the node is a member, be it for the first time or again. */
        void start() {
            node.whenMember(new GridTransaction.Answer<>() {
                @Override
                public void is(GridNode member) {
                    next();
                }

                @Override
                public void failed(GridException why) {
                    done = node.ended() != null;
                    if (!done) {
                        start();
                    }
                }
            });
        }

        void next() {
            if (!node.isMember()) {
                start();
                return;
            }
            if (left-- == 0 || node.ended() != null) {
                done = true;
                return;
            }
            if (dice.chance(0.1)) {
                hosts.get(node.config().self()).setWallClock(dice.between(-CLOCKS_APART, CLOCKS_APART) * Nanos.MILLI);
            }
            boolean readOnly = dice.chance(0.2);
            GridTransaction transaction = node.begin(setting.level, readOnly);
            recorder.begun(transaction.id(), session, kernel.now());
            if (readOnly && dice.chance(0.3)) {
                scan(transaction);
            } else {
                step(transaction, readOnly, dice.between(1, 6), new HashMap<>(), new HashMap<>());
            }
        }

        /** All keys of a snapshot. */
        private void scan(GridTransaction transaction) {
            transaction.keys(0, new byte[0], new GridTransaction.Answer<>() {
                @Override
                public void is(List<Key> found) {
                    Set<Key> expected = new HashSet<>();
                    versions.forEach((key, all) -> {
                        var newest = all.floorEntry(transaction.beginStamp());
                        if (newest != null && isThere(newest.getValue(), transaction)) {
                            expected.add(key);
                        }
                    });
                    if (!expected.equals(Set.copyOf(found))) {
                        failures.add(transaction.id() + " has found keys " + found + " instead of " + expected);
                    }
                    commit(transaction, Map.of(), Map.of());
                }

                @Override
                public void failed(GridException why) {
                    transaction.rollback();
                    ended(transaction, why);
                }
            });
        }

        private void step(GridTransaction transaction, boolean readOnly, long steps, Map<Key, Long> read,
                Map<Key, Boolean> written) {
            Key key = key(dice.nextInt(setting.keys));
            if (steps == 0) {
                commit(transaction, read, written);
            } else if (!readOnly && dice.chance(0.4)) {
                byte[] value = dice.chance(0.15) ? null : new byte[]{(byte) steps};
                if (dice.chance(0.4)) {
                    transaction.write(key, value, transaction.after(Duration.ofMillis(dice.between(1, 30))));
                } else {
                    transaction.write(key, value);
                }
                written.put(key, true);
                recorder.write(transaction.id(), key.hash());
                node.loop().schedule(dice.between(0, 500) * Nanos.MICRO,
                        () -> step(transaction, readOnly, steps - 1, read, written));
            } else {
                transaction.read(key, new GridTransaction.Answer<>() {
                    @Override
                    public void is(GridTransaction.Value value) {
                        if (!written.containsKey(key)) {
                            saw(transaction, readOnly, key, value, read);
                        }
                        step(transaction, readOnly, steps - 1, read, written);
                    }

                    @Override
                    public void failed(GridException why) {
                        transaction.rollback();
                        ended(transaction, why);
                    }
                });
            }
        }

        private void saw(GridTransaction transaction, boolean readOnly, Key key, GridTransaction.Value value,
                Map<Key, Long> read) {
            long stamp = value.stamp();
            Long before = read.putIfAbsent(key, stamp);
            boolean repeats = setting.level != IsolationLevel.READ_COMMITTED || readOnly;
            if (repeats && before != null && before != stamp) {
                failures.add("unrepeatable read of " + key + " by " + transaction.id());
            }
            CommitRequest.Write seen = versions.getOrDefault(key, new TreeMap<>()).get(stamp);
            if (seen != null && (value.bytes() != null) != isThere(seen, transaction)) {
                failures.add(transaction.id() + " of time " + transaction.timeMillis() + " has read " + value + " of "
                        + seen);
            }
            gone += seen != null && seen.value() != null && value.bytes() == null ? 1 : 0;
            TransactionId writer = byStamp.get(stamp == INITIAL ? dropped(key, transaction) : stamp);
            if (writer == null && stamp != INITIAL) {
                failures.add(transaction.id() + " has read a version of " + key + " that nobody has applied");
            }
            recorder.read(transaction.id(), key.hash(), writer);
        }

        private boolean isThere(CommitRequest.Write version, GridTransaction at) {
            return version.value() != null && version.expiryMillis() > at.timeMillis();
        }

        /** The newest version that a transaction can see, if it is a removal or has expired for it, and may have been dropped; otherwise 0. */
        private long dropped(Key key, GridTransaction reader) {
            Map.Entry<Long, CommitRequest.Write> newest = versions.getOrDefault(key, new TreeMap<>())
                    .floorEntry(reader.beginStamp());
            return newest != null && !isThere(newest.getValue(), reader) ? newest.getKey() : INITIAL;
        }

        private void commit(GridTransaction transaction, Map<Key, Long> read, Map<Key, Boolean> written) {
            transaction.commit(new GridTransaction.Answer<>() {
                @Override
                public void is(Long stamp) {
                    committed++;
                    recorder.answered(transaction.id(), kernel.now(), History.Answer.COMMITTED);
                    if (!written.isEmpty()) {
                        recorder.committed(transaction.id(), stamp);
                        read.forEach((key, version) -> {
                            if (written.containsKey(key)) {
                                checkedWrites.add(new CheckedWrite(transaction.id(), key,
                                        version == INITIAL ? dropped(key, transaction) : version));
                            }
                        });
                    }
                    go();
                }

                @Override
                public void failed(GridException why) {
                    ended(transaction, why);
                }
            });
        }

        private void ended(GridTransaction transaction, GridException why) {
            switch (why.reason()) {
                case CONFLICT, DEADLOCK, LOCK_TIMEOUT -> {
                    conflicts++;
                    failed.put(transaction.id(), why.reason());
                    recorder.answered(transaction.id(), kernel.now(), History.Answer.ABORTED);
                }
                default -> {
                    others++;
                    recorder.answered(transaction.id(), kernel.now(), History.Answer.NONE);
                }
            }
            go();
        }

        private void go() {
            node.loop().schedule(dice.between(0, setting.moves > 0 ? 20_000 : 3000) * Nanos.MICRO, this::next);
        }
    }

    // ------------------------------------------------------------------------------------------ checks

    private void check(List<Integer> crashed, boolean lost) {
        View last = nodes.values().stream().map(GridNode::view).max((a, b) -> Long.compare(a.number(), b.number()))
                .orElseThrow();
        for (Client client : clients) {
            if (!client.done && !client.crashed && client.node.ended() == null
                    && !crashed.contains(client.node.config().self())) {
                failures.add("client " + client.session + " has not ended, and has " + client.left + " left");
            }
        }
        for (int i : crashed) {
            if (last.has(i) && !isByGroups()) {
                failures.add("node " + i + " crashed and is in " + last);
            }
        }
        nodes.forEach((number, node) -> {
            GridException ended = node.ended();
            if (ended != null && (last.has(number) || String.valueOf(ended.getMessage()).contains("has failed"))) {
                failures.add("node " + number + ": " + ended.getMessage());
            }
            if (ended == null && !isByGroups()) {
                Layout layout = node.status().layout();
                if (node.view().number() != last.number() || !last.members().equals(nodes.keySet())) {
                    failures.add("node " + number + " is in " + node.view() + ", the last is " + last
                            + ", and there are " + nodes.keySet());
                }
                if (layout.phase() != Layout.Phase.STABLE || !layout.after().equals(last.members())) {
                    failures.add("node " + number + " has " + layout + " in " + last);
                }
                if (node.status().lost()) {
                    failures.add("node " + number + " still says that keys are lost");
                }
                if (node.hasForeignKeys()) {
                    failures.add("node " + number + " has keys that it does not own");
                }
            }
            if (ended == null && node.status().kept() > 0) {
                failures.add("node " + number + " still keeps " + node.status().kept() + " transactions");
            }
        });
        if (lost) {
            return;
        }
        owners(last);
        failed.keySet().stream().filter(applied::containsKey)
                .forEach(id -> failures.add(id + " was applied, but its client was told " + failed.get(id)));
        isolation();
    }

    /** Owners that are left have the same, and nothing that was applied anywhere is missing. */
    private void owners(View last) {
        Map<Key, Long> newest = new HashMap<>();
        applied.forEach((id, request) -> request.writes()
                .forEach(write -> newest.merge(write.key(), stamps.get(id), Math::max)));
        newest.forEach((key, stamp) -> {
            for (int owner : nodes.firstEntry().getValue().owners().of(key)) {
                if (last.has(owner) && nodes.containsKey(owner)) {
                    long there = nodes.get(owner).newest(key).stamp();
                    TransactionId writer = byStamp.get(stamp);
                    CommitRequest.Write written = Objects.requireNonNull(versions.get(key)).lastEntry().getValue();
                    // What expires has by now, and must have been dropped; removals may have been.
                    boolean expires = written.value() != null && written.expiryMillis() != Version.NEVER;
                    boolean right = there == stamp
                            ? !expires
                            : there == INITIAL && (expires || written.value() == null);
                    if (!right) {
                        failures.add("node " + owner + " has version " + there + " of " + key + ", the newest is "
                                + stamp + " of " + writer + ", owners "
                                + Arrays.toString(nodes.get(owner).owners().of(key)));
                    }
                }
            }
        });
    }

    private void isolation() {
        Isolation promised = setting.level == IsolationLevel.SERIALIZABLE
                ? Isolation.STRONG_SESSION_SERIALIZABLE
                : Isolation.READ_COMMITTED;
        CheckResult result = IsolationCheck.check(recorder.history(), promised);
        result.violations().forEach(violation -> failures.add(violation.toString()));
        if (setting.level == IsolationLevel.REPEATABLE_READ_WRITE_SKEW) {
            lostUpdates();
        }
    }

    /** Between the version that a transaction has read and the one that it wrote there is no other. */
    private void lostUpdates() {
        Map<Key, List<Long>> versions = new HashMap<>();
        applied.forEach((id, request) -> request.writes().forEach(
                write -> versions.computeIfAbsent(write.key(), _ -> new ArrayList<>()).add(stamps.get(id))));
        for (CheckedWrite checked : checkedWrites) {
            long own = stamps.get(checked.id);
            versions.getOrDefault(checked.key, List.of()).stream()
                    .filter(stamp -> stamp > checked.read && stamp < own)
                    .forEach(stamp -> failures.add("lost update: " + checked + " wrote at " + own
                            + ", and did not see version " + stamp));
        }
    }

}
