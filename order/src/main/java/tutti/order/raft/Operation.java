package tutti.order.raft;

import java.io.IOException;
import org.jspecify.annotations.Nullable;
import tutti.order.batch.Batch;

/**
 * What an entry of MicroRaft's log in memory holds. Once the entry is in the {@link SegmentedLog} the operation lets go
 * of its bytes and reads them back when they are needed, so that MicroRaft's log costs little memory however far a
 * follower lags.
 */
final class Operation {
    final byte kind;
    /** Of a batch; 0 for other kinds. */
    final int sender;
    final long incarnation;
    final long sequence;
    final int messages;
    private final @Nullable GroupChange change;

    private final int bodyBytes;
    private byte @Nullable [] body;
    private @Nullable SegmentedLog log;
    private long index;

    private Operation(byte kind, byte[] body) {
        this.kind = kind;
        this.body = body;
        bodyBytes = body.length;
        change = kind == LogEntry.GROUP ? GroupChange.of(body) : null;
        if (kind == LogEntry.BATCH) {
            Batch batch = Batch.of(body);
            sender = batch.sender();
            incarnation = batch.incarnation();
            sequence = batch.sequence();
            messages = batch.messages().count();
        } else {
            sender = 0;
            incarnation = 0;
            sequence = 0;
            messages = 0;
        }
    }

    /**
     * With its bytes, not yet in the log.
     *
     * @throws tutti.core.schema.DecodeException if it should be a batch or a change of the group, and is none
     */
    static Operation of(byte kind, byte[] body) {
        return new Operation(kind, body);
    }

    /** From an entry that is in the log. */
    static Operation stored(LogEntry entry, SegmentedLog log) {
        Operation operation = new Operation(entry.kind(), entry.body());
        operation.stored(entry.index(), log);
        return operation;
    }

    /** Says where the bytes can be read from now on. */
    void stored(long atIndex, SegmentedLog in) {
        log = in;
        index = atIndex;
        body = null;
    }

    /** Who takes part from here on, if it says that. */
    @Nullable
    GroupChange change() {
        return change;
    }

    int bodyBytes() {
        return bodyBytes;
    }

    /** The bytes, never to be modified. */
    byte[] body() throws IOException {
        byte[] here = body;
        SegmentedLog in = log;
        if (here != null) {
            return here;
        }
        if (in == null) {
            throw new IllegalStateException("neither bytes nor log");
        }
        return in.read(index).body();
    }

    @Override
    public String toString() {
        return kind == LogEntry.BATCH
                ? "batch " + sequence + " of node " + sender
                : change == null ? "new term" : change.toString();
    }
}
