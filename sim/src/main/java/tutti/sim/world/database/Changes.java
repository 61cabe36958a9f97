package tutti.sim.world.database;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.check.isolation.LockExclusionCheck.Hold;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.RowLock;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * The rows that a transaction changed, as a write set carries them.
 *
 * @param transaction that changed them, so that versions can be told apart
 * @param rows by row, ascending; not to be modified
 */
record Changes(TransactionId transaction, TreeMap<Long, Change> rows) {
    private static final int ROWS_MAX = 1 << 16;

    /** What is done to a row. */
    enum Operation {
        INSERT, UPDATE, DELETE;

        private static final Operation[] VALUES = values();
    }

    /**
     * Of one row.
     *
     * @param value that it has then; null if it is deleted
     * @param released the register that a link no longer refers to, of its own transaction; null if there is none, or that is not told
     */
    record Change(Operation operation, int @Nullable [] value, @Nullable Long released) {
        /** As others are told of it. */
        Change(Operation operation, int @Nullable [] value) {
            this(operation, value, null);
        }

        /** What became of a row; null if nothing did. */
        static @Nullable Change between(long row, int @Nullable [] before, int @Nullable [] after) {
            if (before == null) {
                return after == null ? null : new Change(Operation.INSERT, after);
            }
            boolean released = Catalog.isLink(row)
                    && (after == null || Catalog.referred(after) != Catalog.referred(before));
            return new Change(after == null ? Operation.DELETE : Operation.UPDATE, after,
                    released ? Catalog.referred(before) : null);
        }
    }

    /** As a write set: rows are updated, come or go, tables and parents are referred to, and parents are released. */
    WriteSet writeSet() {
        if (rows.isEmpty()) {
            return WriteSet.EMPTY;
        }
        KeySet.Builder keys = new KeySet.Builder();
        TreeSet<Integer> tables = new TreeSet<>();
        int size = TransactionId.SCHEMA.size(transaction) + 4;
        for (Change change : rows.values()) {
            size += 8 + 1 + 4 + (change.value == null ? 0 : 4 * change.value.length);
        }
        ByteBuffer to = ByteBuffer.allocate(size);
        TransactionId.SCHEMA.write(transaction, to);
        to.putInt(rows.size());
        rows.forEach((row, change) -> {
            int[] value = change.value == null ? new int[0] : change.value;
            tables.add(Catalog.table(row));
            keys.add(Catalog.rowKey(row), switch (change.operation) {
                case INSERT -> KeyKind.CREATED;
                case UPDATE -> KeyKind.UPDATE;
                case DELETE -> KeyKind.GONE;
            });
            if (Catalog.isLink(row) && change.value != null) {
                keys.add(Catalog.rowKey(Catalog.referred(value)), KeyKind.REFERENCE);
            }
            if (change.released != null) {
                keys.add(Catalog.rowKey(change.released), KeyKind.RELEASED);
                keys.add(Catalog.rowKey(row), KeyKind.RELEASED);
            }
            to.putLong(row).put((byte) change.operation.ordinal()).putInt(value.length);
            for (int one : value) {
                to.putInt(one);
            }
        });
        for (int table : tables) {
            keys.add(Catalog.tableKey(table), KeyKind.REFERENCE);
        }
        return new WriteSet(keys.build(), to.array());
    }

    /** What it holds: the rows that it changes, and those that it refers to. */
    List<Hold> holds() {
        List<Hold> holds = new ArrayList<>();
        rows.forEach((row, change) -> {
            holds.add(new Hold(row,
                    change.operation == Operation.UPDATE ? RowLock.NO_KEY_UPDATE : RowLock.UPDATE, true));
            if (Catalog.isLink(row) && change.value != null) {
                holds.add(new Hold(Catalog.referred(change.value), RowLock.KEY_SHARE, false));
            }
        });
        return holds;
    }

    /** What several have changed in one transaction of the database, as one write set. */
    static WriteSet together(List<WriteSet> each) {
        KeySet.Builder keys = new KeySet.Builder();
        ByteBuffer to = ByteBuffer.allocate(each.stream().mapToInt(one -> one.changes().length).sum());
        for (WriteSet one : each) {
            for (int i = 0; i < one.keys().size(); i++) {
                keys.add(one.keys().hash(i), one.keys().kind(i));
            }
            to.put(one.changes());
        }
        return new WriteSet(keys.build(), to.array());
    }

    /**
     * Reads what {@link #writeSet} wrote, or {@link #together}; the write set must not be empty.
     *
     * @throws IllegalArgumentException if it is something else
     */
    static List<Changes> of(WriteSet writes) {
        ByteBuffer from = ByteBuffer.wrap(writes.changes());
        List<Changes> all = new ArrayList<>();
        do {
            all.add(read(from, writes));
        } while (from.hasRemaining());
        return all;
    }

    private static Changes read(ByteBuffer from, WriteSet writes) {
        try {
            TransactionId transaction = TransactionId.SCHEMA.read(from);
            TreeMap<Long, Change> rows = new TreeMap<>();
            int count = from.getInt();
            if (count < 1 || count > ROWS_MAX) {
                throw new IllegalArgumentException("changes of " + count + " rows");
            }
            for (int i = 0; i < count; i++) {
                long row = from.getLong();
                Operation operation = Operation.VALUES[from.get()];
                int[] value = new int[Math.min(from.getInt(), from.remaining() / 4)];
                for (int at = 0; at < value.length; at++) {
                    value[at] = from.getInt();
                }
                rows.put(row, new Change(operation, operation == Operation.DELETE ? null : value));
            }
            return new Changes(transaction, rows);
        } catch (BufferUnderflowException cut) {
            throw new IllegalArgumentException("damaged changes of " + writes.changes().length + " bytes", cut);
        }
    }

    /** Whether it can be done to the rows as they are, given what was done to them before in the same engine transaction. */
    static boolean fits(Change change, int @Nullable [] before) {
        return (change.operation == Operation.INSERT) == (before == null);
    }

    /** The value of a row behind all these changes, or as it was. */
    static int @Nullable [] valueAfter(Map<Long, int @Nullable []> done, long row, Store store) {
        return done.containsKey(row) ? done.get(row) : store.read(row, Long.MAX_VALUE).value();
    }
}
