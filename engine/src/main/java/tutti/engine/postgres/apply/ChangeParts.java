package tutti.engine.postgres.apply;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.capture.Changes;
import tutti.engine.postgres.capture.Changes.Change;

/**
 * Divides the changes of some write sets into parts that are applied one after the other, so that of a large one only a part is there as rows. Between
 * any two of its changes a transaction has broken nothing that an applier's server checks, since the server of its own node checks each row as it is
 * changed; foreign keys and deferred constraints appliers do not check. Only tables that refer to each other are emptied together. Not for use by
 * several threads.
 */
final class ChangeParts {
    /** Bytes of changes after which a part ends, but not behind a TRUNCATE. */
    static final int PART_BYTES = 4 << 20;

    private final ArrayDeque<byte[]> writes = new ArrayDeque<>();
    private Changes.Reader reader = new Changes.Reader(new byte[0]);

    /** @param writes as {@link Changes} writes them */
    ChangeParts(List<byte[]> writes) {
        this.writes.addAll(writes);
    }

    /**
     * Changes that are made together.
     *
     * @param rows what is no statement
     * @param statement that is executed behind them; null if there is none
     * @param last whether nothing follows
     */
    record Part(List<Change> rows, byte @Nullable [] statement, boolean last) {}

    /**
     * The next part: up to a statement, or to so many bytes.
     *
     * @throws IllegalArgumentException if the bytes are damaged
     */
    Part next() {
        List<Change> rows = new ArrayList<>();
        long bytes = 0;
        while ((bytes < PART_BYTES || rows.getLast() instanceof Change.Truncate) && hasNext()) {
            int before = reader.remaining();
            Change next = reader.next();
            if (next instanceof Change.Execute(byte[] statement)) {
                return new Part(rows, statement, !hasNext());
            }
            rows.add(next);
            bytes += before - reader.remaining();
        }
        return new Part(rows, null, !hasNext());
    }

    private boolean hasNext() {
        while (!reader.hasNext() && !writes.isEmpty()) {
            reader = new Changes.Reader(writes.remove());
        }
        return reader.hasNext();
    }
}
