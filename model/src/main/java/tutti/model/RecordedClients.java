package tutti.model;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import tutti.core.protocol.TransactionRequest;
import tutti.core.recorded.RecordedTransaction;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.WriteSet;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.workload.tpcc.TpccInput;

/**
 * The clients of a recorded cluster: each transaction comes when it came, to the site that stands for its node, writes and
 * reads what it did, and takes as long, a share of that on the processor. It is an open system: whoever waits longer here than in the recorded
 * cluster does not ask later. What is aborted is not tried again.
 */
final class RecordedClients implements Load, WorkSource {
    private static final Label ARRIVE = Label.of("recorded", "arrives");
    /** Sizes of changes are rounded up to this, so that few arrays of them are needed. */
    private static final int GRAIN_BYTES = 64;
    private static final TpccInput NO_INPUT = new TpccInput.Delivery(1, 1);
    private static final WriteSet NO_WRITES = new WriteSet(KeySet.EMPTY, new byte[0]);

    private final Kernel kernel;
    private final RecordedWorkload recorded;
    private final List<ModelReplica> replicas;
    private final boolean everywhere;
    private final boolean sharedLocks;
    private final Runnable ended;
    private final List<ConflictClasses> classes;
    private final Map<Integer, byte[]> changes = new HashMap<>();
    /** How many have come, and how many of them are not over. */
    private int come;
    private long open;

    /**
     * Clients that have not begun.
     *
     * @param replicas filled by the time of {@link #start}
     * @param everywhere whether every replica executes whatever changes something
     * @param sharedLocks whether rows that are read are locked
     * @param ended is told of each transaction that is over
     */
    RecordedClients(Kernel kernel, RecordedWorkload recorded, List<ModelReplica> replicas, boolean everywhere,
            boolean sharedLocks, Runnable ended) {
        this.kernel = kernel;
        this.recorded = recorded;
        this.replicas = replicas;
        this.everywhere = everywhere;
        this.sharedLocks = sharedLocks;
        this.ended = ended;
        this.classes = recorded.classes();
    }

    @Override
    public void start() {
        next();
    }

    private void next() {
        if (come < recorded.arrivals().size()) {
            long at = recorded.arrivals().get(come).atNanos();
            kernel.schedule(Math.max(0, at - kernel.now()), ARRIVE, () -> {
                begin(recorded.arrivals().get(come), classes.get(come++));
                next();
            });
        } else if (open == 0) {
            kernel.stop();
        }
    }

    private void begin(RecordedWorkload.Arrival arrival, ConflictClasses touched) {
        ModelReplica home = replicas.get(arrival.node() % replicas.size());
        ModelReplica at = arrival.transaction().readOnly() ? home : replicas.get(home.updatesAt());
        if (!at.isOver()) {
            open++;
            at.begin(work(arrival.transaction(), touched), 0, (_, _) -> over());
        }
    }

    private void over() {
        open--;
        ended.run();
        if (open == 0 && come == recorded.arrivals().size()) {
            kernel.stop();
        }
    }

    private Work work(RecordedTransaction transaction, ConflictClasses touched) {
        RequestKind kind = transaction.readOnly() ? RequestKind.READ : RequestKind.UPDATE;
        boolean active = everywhere && !transaction.readOnly();
        // Every protocol may execute it again: a simulation needs nobody to type it in once more.
        TransactionRequest request = new TransactionRequest.Whole(bytes(1), touched, KeySet.EMPTY,
                active ? TransactionRequest.Placement.ALL : TransactionRequest.Placement.ONE);
        long computing = Math.max(1, (long) (transaction.executionNanos() * recorded.cpuShare()));
        Work work = new Work(come, kind, 1, NO_INPUT, request, active, computing, 0,
                Math.max(0, transaction.executionNanos() - computing));
        KeySet keys = transaction.writes();
        work.exclusive = IntStream.range(0, keys.size()).filter(i -> keys.kind(i) != KeyKind.REFERENCE)
                .mapToLong(keys::hash).distinct().toArray();
        work.rows = work.exclusive.length;
        work.writes = transaction.readOnly() ? NO_WRITES : new WriteSet(keys, bytes(transaction.changedBytes()));
        work.reads = transaction.reads();
        if (sharedLocks) {
            long[] written = work.exclusive;
            work.shared = Arrays.stream(transaction.reads().rowKeys()).distinct()
                    .filter(key -> Arrays.stream(written).noneMatch(one -> one == key)).toArray();
        }
        work.resolved = true;
        return work;
    }

    private byte[] bytes(int length) {
        return changes.computeIfAbsent((length / GRAIN_BYTES + 1) * GRAIN_BYTES, byte[]::new);
    }

    @Override
    public void resolve(Work work) {
        // All of it is known from the beginning.
    }

    @Override
    public void committed(Work work) {
        // Nothing that comes later depends on it.
    }
}
