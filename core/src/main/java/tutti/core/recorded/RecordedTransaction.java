package tutti.core.recorded;

import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
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
        KeySet writes, int changedBytes, ReadSet reads) implements Encoded {
    static final Schema<RecordedTransaction> SCHEMA = Schema
            .message("transaction", 2, RecordedTransaction.class, "A client's transaction as its node saw it.").of(
                    Field.of("beganNanos", Types.NATURAL, RecordedTransaction::beganNanos),
                    Field.of("executionNanos", Types.NATURAL, RecordedTransaction::executionNanos),
                    Field.of("whole", Types.BOOLEAN, RecordedTransaction::whole),
                    Field.of("classes", ConflictClasses.SCHEMA, RecordedTransaction::classes),
                    Field.of("writes", KeySet.SCHEMA, RecordedTransaction::writes),
                    Field.of("changedBytes", Types.COUNT, RecordedTransaction::changedBytes),
                    Field.of("reads", ReadSet.SCHEMA, RecordedTransaction::reads), RecordedTransaction::new);

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
}
