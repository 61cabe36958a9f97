package tutti.order.raft;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.ByteStrings;
import tutti.order.DeliveryLoop;
import tutti.order.batch.Batch;
import tutti.order.batch.SenderTable;
import tutti.order.batch.Submissions;

/**
 * Takes the messages to be delivered from the log, from where delivery stands to where the log is committed. Used on the
 * delivery's loop, but for {@link #committed}.
 */
final class Delivery implements DeliveryLoop.Source {
    private static final int ENTRIES_PER_TURN = 64;

    private final SegmentedLog log;
    private final Submissions submissions;
    private final int self;
    private final long incarnation;
    private final long after;
    private final SenderTable table;
    /** The last entry that was read. Written by delivery alone. */
    private volatile long index;
    private volatile long committed;
    /** That entry, what is left of it, and the position of its next message. */
    private @Nullable Batch batch;
    private ByteBuffer rest = ByteBuffer.allocate(0);
    private long position;

    /** From a checkpoint on, which does not lie behind {@code after}, the last position that is not delivered. */
    Delivery(RaftOrderConfig config, SegmentedLog log, Checkpoints.Checkpoint from, long after, long incarnation,
            Submissions submissions) {
        this.log = log;
        this.submissions = submissions;
        this.after = after;
        this.incarnation = incarnation;
        self = config.self();
        table = SenderTable.of(from.table());
        index = from.index();
        committed = index;
    }

    /** The log is committed up to this entry. Any thread. */
    void committed(long upTo) {
        committed = upTo;
    }

    /** The last entry that was read. Any thread. */
    long read() {
        return index;
    }

    @Override
    public boolean deliverSome(DeliveryLoop to) throws IOException {
        int entries = 0;
        while (to.mayDeliver()) {
            Batch present = batch;
            if (present != null) {
                deliver(to, present);
            } else if (index >= committed) {
                return false;
            } else if (entries++ == ENTRIES_PER_TURN) {
                return true;
            } else {
                readNext();
            }
        }
        return true;
    }

    private void readNext() throws IOException {
        long next = index + 1;
        LogEntry entry = log.read(next);
        index = next;
        if (entry.kind() != LogEntry.BATCH) {
            return;
        }
        Batch read = Batch.of(entry.body());
        long first = table.accept(read.sender(), read.incarnation(), read.sequence(), read.messages().count());
        if (first > 0) {
            position = first;
            batch = read;
            rest = read.messages().encoded();
        }
    }

    /** Delivers what is left of a batch, as far as it may. */
    private void deliver(DeliveryLoop to, Batch from) {
        while (rest.hasRemaining()) {
            if (position > after && !to.mayDeliver()) {
                return;
            }
            ByteBuffer message = ByteStrings.next(rest);
            if (position > after) {
                to.deliver(position, from.sender(), message);
            }
            position++;
        }
        batch = null;
        if (from.sender() == self && from.incarnation() == incarnation) {
            submissions.delivered(from.messages().bytes());
        }
    }
}
