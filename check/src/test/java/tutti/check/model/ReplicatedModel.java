package tutti.check.model;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.check.column.LongIndex;
import tutti.check.history.History;
import tutti.check.history.HistoryRecorder;
import tutti.core.txn.TransactionId;
import tutti.workload.client.ClientOutcome;
import tutti.workload.listappend.ListAppendHistory;
import tutti.workload.listappend.ListAppendOperation;
import tutti.workload.listappend.ListAppendTransaction;

/**
 * A replicated multi-version store of lists in memory, run by a seed: clients at three replicas, a total order, replicas
 * that lag behind it, and certification that is right or wrong on purpose. Records both kinds of history.
 */
public final class ReplicatedModel {
    /** What is wrong with it. */
    public enum Fault {
        NONE, NO_FIRST_COMMITTER_WINS, STALE_SNAPSHOT, READS_OF_SEVERAL_SNAPSHOTS, DIRTY_READ, LOST_WRITE,
        APPLIED_TWICE,
        APPLIED_OUT_OF_ORDER, REPLY_BEFORE_ORDER, ABORTED_YET_APPLIED
    }

    /** How fresh snapshots are. */
    public enum Snapshots {
        OLD, SESSION, LATEST
    }

    /** What comes out. */
    public record Run(History history, ListAppendHistory clients) {}

    private static final int REPLICAS = 3;

    private record Version(long sequence, @Nullable TransactionId writer, int[] list) {}

    private record Ordered(TransactionId id, Map<Long, int[]> lists) {}

    private static final class Replica {
        private final Map<Long, List<Version>> versions = new HashMap<>();
        private final List<Integer> skipped = new ArrayList<>();
        private int next;
        private long sequence;
        private long state = 1;
        private boolean crashed;

        Version visible(long key, long snapshot) {
            List<Version> all = versions.getOrDefault(key, List.of());
            for (int i = all.size() - 1; i >= 0; i--) {
                if (all.get(i).sequence <= snapshot) {
                    return all.get(i);
                }
            }
            return new Version(0, null, new int[0]);
        }
    }

    private static final class Session {
        private final int number;
        private int replica;
        private long floor;
        private @Nullable Active active;

        Session(int number, int replica) {
            this.number = number;
            this.replica = replica;
        }
    }

    private static final class Active {
        private final TransactionId id;
        private final long begun;
        private int operationsLeft;
        private long snapshot;
        private final List<ListAppendOperation> done = new ArrayList<>();
        private final Map<Long, int[]> own = new TreeMap<>();
        private final Map<Long, Version> seen = new TreeMap<>();

        Active(TransactionId id, long begun, int operations, long snapshot) {
            this.id = id;
            this.begun = begun;
            operationsLeft = operations;
            this.snapshot = snapshot;
        }
    }

    private final SplittableRandom random;
    private final boolean readsCertified;
    private final Snapshots snapshots;
    private final Fault fault;
    private final int keys;
    private final int limit;
    private final HistoryRecorder recorder = new HistoryRecorder();
    private final ListAppendHistory clients = new ListAppendHistory(Integer.MAX_VALUE);
    private final List<Replica> replicas = new ArrayList<>();
    private final List<Session> sessions = new ArrayList<>();
    private final List<Ordered> order = new ArrayList<>();
    private final Map<Long, Long> lastPosition = new HashMap<>();
    private final Map<Long, Integer> lastValue = new HashMap<>();
    private long now;
    private long serial;
    private int begun;

    private ReplicatedModel(long seed, int transactions, int keys, boolean readsCertified, Snapshots snapshots,
            Fault fault) {
        random = new SplittableRandom(seed);
        this.readsCertified = readsCertified;
        this.snapshots = snapshots;
        this.fault = fault;
        this.keys = keys;
        limit = transactions;
        for (int i = 0; i < REPLICAS; i++) {
            replicas.add(new Replica());
            recorder.started(i, 0);
        }
        for (int i = 0; i < 6; i++) {
            sessions.add(new Session(i, i % REPLICAS));
        }
    }

    /** Runs. */
    public static Run run(long seed, int transactions, int keys, boolean readsCertified, Snapshots snapshots,
            Fault fault) {
        ReplicatedModel model = new ReplicatedModel(seed, transactions, keys, readsCertified, snapshots, fault);
        model.go();
        return new Run(model.recorder.history(), model.clients);
    }

    private void go() {
        int crashAt = random.nextInt(2 * limit);
        boolean busy = true;
        while (busy) {
            now++;
            if (begun == crashAt) {
                crash(2);
                crashAt = -1;
            }
            if (random.nextInt(3) == 0) {
                apply(random.nextInt(REPLICAS));
            }
            step(sessions.get(random.nextInt(sessions.size())));
            busy = begun < limit || sessions.stream().anyMatch(session -> session.active != null);
        }
        for (int i = 0; i < REPLICAS; i++) {
            catchUp(i, order.size());
        }
        lastReads();
    }

    private void crash(int replica) {
        replicas.get(replica).crashed = true;
        recorder.crashed(replica);
        for (Session session : sessions) {
            if (session.replica == replica) {
                if (session.active != null) {
                    end(session, session.active, ClientOutcome.FAILED, History.Answer.NONE);
                }
                session.replica = 0;
            }
        }
    }

    private void step(Session session) {
        Active active = session.active;
        Replica replica = replicas.get(session.replica);
        if (active == null) {
            if (begun < limit) {
                begun++;
                switch (snapshots) {
                    case OLD -> apply(session.replica);
                    case SESSION -> catchUp(session.replica, session.floor);
                    case LATEST -> catchUp(session.replica, order.size());
                }
                long snapshot = replica.sequence;
                if (fault == Fault.STALE_SNAPSHOT && random.nextInt(4) == 0) {
                    snapshot = Math.max(0, snapshot - 1 - random.nextInt(5));
                }
                TransactionId id = new TransactionId(session.replica, ++serial);
                session.active = new Active(id, now, 1 + random.nextInt(4), snapshot);
                recorder.begun(id, session.number, now);
                recorder.snapshot(id, snapshot);
            }
        } else if (active.operationsLeft-- > 0) {
            if (fault == Fault.READS_OF_SEVERAL_SNAPSHOTS && random.nextInt(4) == 0) {
                active.snapshot = replica.sequence;
            }
            operation(session, active, replica);
        } else {
            commit(session, active);
        }
    }

    private void operation(Session session, Active active, Replica replica) {
        long key = random.nextInt(keys);
        int[] list = active.own.get(key);
        if (list == null) {
            Version version = active.seen.get(key);
            if (version == null || fault == Fault.READS_OF_SEVERAL_SNAPSHOTS) {
                version = replica.visible(key, active.snapshot);
            }
            for (Session other : sessions) {
                if (fault == Fault.DIRTY_READ && other.active != null && other != session
                        && other.active.own.containsKey(key)) {
                    version = new Version(0, other.active.id, other.active.own.get(key));
                }
            }
            active.seen.put(key, version);
            list = version.list;
            recorder.read(active.id, key, version.writer);
        }
        if (random.nextInt(5) < 2) {
            active.done.add(new ListAppendOperation.Read(key, list));
        } else {
            int value = lastValue.merge(key, 1, Integer::sum);
            int[] longer = Arrays.copyOf(list, list.length + 1);
            longer[list.length] = value;
            if (fault == Fault.APPLIED_TWICE && random.nextInt(20) == 0) {
                longer = Arrays.copyOf(longer, list.length + 2);
                longer[list.length + 1] = value;
            }
            active.own.put(key, longer);
            active.done.add(new ListAppendOperation.Append(key, value));
            recorder.write(active.id, key);
        }
    }

    private void commit(Session session, Active active) {
        boolean lost = false;
        if (active.own.isEmpty()) {
            session.floor = Math.max(session.floor, active.snapshot);
            end(session, active, ClientOutcome.OK, History.Answer.COMMITTED);
            return;
        }
        for (long key : active.own.keySet()) {
            lost |= fault != Fault.NO_FIRST_COMMITTER_WINS && lastPosition.getOrDefault(key, 0L) > active.snapshot;
        }
        for (long key : active.seen.keySet()) {
            lost |= readsCertified && lastPosition.getOrDefault(key, 0L) > active.snapshot;
        }
        boolean wrong = lost && fault == Fault.ABORTED_YET_APPLIED && random.nextInt(4) == 0;
        if (lost && !wrong) {
            end(session, active, ClientOutcome.FAILED, History.Answer.ABORTED);
            return;
        }
        if (fault == Fault.REPLY_BEFORE_ORDER && random.nextInt(10) == 0) {
            end(session, active, ClientOutcome.OK, History.Answer.COMMITTED);
            return;
        }
        if (random.nextInt(30) == 0 && random.nextBoolean()) {
            // The connection broke before the order had it.
            end(session, active, ClientOutcome.UNKNOWN, History.Answer.NONE);
            return;
        }
        order.add(new Ordered(active.id, new TreeMap<>(active.own)));
        active.own.keySet().forEach(key -> lastPosition.put(key, (long) order.size()));
        recorder.committed(active.id, order.size());
        if (random.nextInt(30) == 0) {
            end(session, active, ClientOutcome.UNKNOWN, History.Answer.NONE);
            return;
        }
        catchUp(session.replica, order.size());
        session.floor = order.size();
        if (wrong) {
            end(session, active, ClientOutcome.FAILED, History.Answer.ABORTED);
        } else {
            end(session, active, ClientOutcome.OK, History.Answer.COMMITTED);
        }
    }

    private void end(Session session, Active active, ClientOutcome outcome, History.Answer answer) {
        now++;
        if (answer != History.Answer.NONE) {
            recorder.answered(active.id, now, answer);
        }
        assertAdded(clients.add(new ListAppendTransaction(session.number, session.replica, active.begun, now, outcome,
                false, active.done)));
        session.active = null;
    }

    private static void assertAdded(boolean added) {
        if (!added) {
            throw new AssertionError("the history is full");
        }
    }

    private void catchUp(int replica, long position) {
        while (replicas.get(replica).next < position && !replicas.get(replica).crashed) {
            apply(replica);
        }
    }

    private void apply(int number) {
        Replica replica = replicas.get(number);
        if (replica.crashed || replica.next >= order.size()) {
            return;
        }
        if (fault == Fault.APPLIED_OUT_OF_ORDER && replica.next + 1 < order.size() && replica.skipped.isEmpty()
                && random.nextInt(3) == 0) {
            replica.skipped.add(replica.next++);
        }
        apply(number, replica, replica.next++);
        if (!replica.skipped.isEmpty() && (random.nextInt(3) == 0 || replica.next == order.size())) {
            apply(number, replica, replica.skipped.removeLast());
        }
    }

    private void apply(int number, Replica replica, int index) {
        Ordered ordered = order.get(index);
        replica.sequence++;
        ordered.lists.forEach((key, list) -> {
            if (fault == Fault.LOST_WRITE && number == 1 && random.nextInt(20) == 0) {
                return;
            }
            replica.state -= hash(key, replica.visible(key, Long.MAX_VALUE).list);
            replica.versions.computeIfAbsent(key, _ -> new ArrayList<>())
                    .add(new Version(replica.sequence, ordered.id, list));
            replica.state += hash(key, list);
        });
        recorder.applied(number, index + 1, ordered.id, replica.state);
    }

    private static long hash(long key, int[] list) {
        return LongIndex.mix(key * 31 + Arrays.hashCode(list));
    }

    private void lastReads() {
        for (int i = 0; i < REPLICAS; i++) {
            if (replicas.get(i).crashed) {
                continue;
            }
            List<ListAppendOperation> reads = new ArrayList<>();
            for (long key = 0; key < keys; key++) {
                reads.add(new ListAppendOperation.Read(key, replicas.get(i).visible(key, Long.MAX_VALUE).list));
            }
            now += 2;
            assertAdded(clients.add(
                    new ListAppendTransaction(1000 + i, i, now, now + 1, ClientOutcome.OK, true, reads)));
        }
    }
}
