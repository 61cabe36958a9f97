package tutti.core.recorded;

import java.nio.ByteBuffer;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;

/**
 * A client's transaction as its node saw it. Of its changes only the size is kept, of keys their hashes: nothing of what
 * is in the database.
 *
 * @param beganNanos when it began, in nanoseconds after the beginning of the recording
 * @param executionNanos how long it ran until it asked to commit, its client's time between statements and its waits
 *            for locks included, in nanoseconds
 * @param whole whether it was handed in as a whole, so that it could be executed again
 * @param classes what it declared to touch
 * @param writes keys that it wrote; empty if it changed nothing
 * @param changedBytes of its changes, as its engine encodes them
 * @param reads what it read; empty if its protocol did not need to know
 */
public record RecordedTransaction(long beganNanos, long executionNanos, boolean whole, ConflictClasses classes,
        KeySet writes, int changedBytes, ReadSet reads) {
    public RecordedTransaction {
        if (beganNanos < 0 || executionNanos < 0 || changedBytes < 0) {
            throw new IllegalArgumentException("a transaction that began at " + beganNanos + ", ran " + executionNanos
                    + " ns and changed " + changedBytes + " bytes");
        }
    }

    /** Whether it changed nothing. */
    public boolean readOnly() {
        return writes.size() == 0;
    }

    /** Bytes that {@link #encode} writes. */
    public int encodedSize() {
        return 8 + 8 + 1 + classes.encodedSize() + writes.encodedSize() + 4 + reads.encodedSize();
    }

    /** Appends it at the buffer's position. */
    public void encode(ByteBuffer to) {
        to.putLong(beganNanos).putLong(executionNanos).put((byte) (whole ? 1 : 0));
        classes.encode(to);
        writes.encode(to);
        to.putInt(changedBytes);
        reads.encode(to);
    }

    /**
     * Reads what {@link #encode} wrote, and advances the buffer.
     *
     * @throws IllegalArgumentException if it is no such thing
     */
    public static RecordedTransaction decode(ByteBuffer from) {
        long began = from.getLong();
        long execution = from.getLong();
        boolean whole = from.get() != 0;
        ConflictClasses classes = ConflictClasses.decode(from);
        KeySet writes = KeySet.decode(from);
        int bytes = from.getInt();
        return new RecordedTransaction(began, execution, whole, classes, writes, bytes, ReadSet.decode(from));
    }
}
