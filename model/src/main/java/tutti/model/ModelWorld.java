package tutti.model;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.TransactionRequest;
import tutti.core.txn.TransactionId;
import tutti.sim.kernel.Kernel;

/**
 * What all replicas of a model share: the kernel, the workload, what transactions consist of, and the safety check of D5.1
 * section 3.5.1: all replicas must commit exactly the same sequence of transactions. It is made position by position
 * while they commit: the first replica to make a position visible says what is there, the others must agree.
 */
final class ModelWorld {
    private static final int NODE_SHIFT = 56;
    private static final long NOTHING = -1;

    private final Kernel kernel;
    private final Calibration calibration;
    private final WorkSource workload;
    private final Recorder recorder;
    private final int replicas;
    private final double speed;
    private final LongMap<Work> works = new LongMap<>();
    /** Those that owners execute. */
    private final LongMap<Work> byNumber = new LongMap<>();
    private final LongMap<int[]> uses = new LongMap<>();
    /** By position: the number of the transaction there, {@link #NOTHING} if there is none, 0 if nobody has said. */
    private long[] sequence = new long[1 << 16];
    private String difference = "";

    ModelWorld(Kernel kernel, Calibration calibration, WorkSource workload, Recorder recorder, int replicas,
            double speed) {
        this.kernel = kernel;
        this.calibration = calibration;
        this.workload = workload;
        this.recorder = recorder;
        this.replicas = replicas;
        this.speed = speed;
    }

    Kernel kernel() {
        return kernel;
    }

    Calibration calibration() {
        return calibration;
    }

    WorkSource workload() {
        return workload;
    }

    Recorder recorder() {
        return recorder;
    }

    /** Core time that this much takes on a core of speed 1. */
    long scaled(double nanos) {
        return Math.max(1, (long) (nanos / speed));
    }

    private static long key(TransactionId id) {
        return (long) id.node() << NODE_SHIFT ^ id.serial();
    }

    /** From now on a transaction has a name. */
    void begin(Work work) {
        works.put(key(work.id), work);
        if (work.isForOwner()) {
            byNumber.put(work.number, work);
        }
    }

    /** What a request for an owner consists of. */
    Work asked(TransactionRequest.Whole request) {
        Work work = byNumber.get(ByteBuffer.wrap(request.statement()).getLong());
        if (work == null) {
            throw new IllegalStateException("a request that nobody has handed in, or that is over");
        }
        return work;
    }

    /** What a transaction consists of; null if it is over, and has no position. */
    @Nullable
    Work find(TransactionId id) {
        return works.get(key(id));
    }

    /** What a transaction consists of. */
    Work work(TransactionId id) {
        Work work = find(id);
        if (work == null) {
            throw new IllegalStateException("nothing is known of " + id);
        }
        return work;
    }

    /** A transaction is over: it has no position, or all have made that visible. */
    void forget(Work work) {
        works.remove(key(work.id));
        byNumber.remove(work.number);
    }

    /** A replica has made a position visible. */
    void visible(int node, long position, Work work) {
        agree(node, position, work.number);
        long key = key(work.id);
        int[] left = uses.get(key);
        if (left == null) {
            left = new int[]{replicas};
            uses.put(key, left);
        }
        if (--left[0] == 0) {
            uses.remove(key);
            work.parts.forEach(this::forget);
        }
    }

    /** A replica has passed a position at which nothing happens. */
    void skipped(int node, long position) {
        agree(node, position, NOTHING);
    }

    private void agree(int node, long position, long number) {
        int index = Math.toIntExact(position);
        if (index >= sequence.length) {
            sequence = Arrays.copyOf(sequence, Math.max(2 * sequence.length, index + 1));
        }
        if (sequence[index] == 0) {
            sequence[index] = number;
        } else if (sequence[index] != number && difference.isEmpty()) {
            difference = "at position " + position + " site " + node + " commits " + text(number) + ", and another "
                    + text(sequence[index]);
        }
    }

    private static String text(long number) {
        return number == NOTHING ? "nothing" : "transaction " + number;
    }

    /** Where two replicas have committed different sequences; empty if nowhere. */
    String difference() {
        return difference;
    }
}
