package tutti.sim.world.engine;

import java.nio.ByteBuffer;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * The rows that a transaction changed, as a write set carries them.
 *
 * @param transaction that changed them, so that versions can be told apart
 * @param rows new values by row, ascending; null for rows that are deleted. Not to be modified
 */
record Changes(TransactionId transaction, TreeMap<Long, int @Nullable []> rows) {
    private static final int DELETED = -1;

    /**
     * As a write set. A row that was there before and after is updated; every other key is exclusive; and the tables are
     * referred to.
     */
    WriteSet writeSet(Map<Long, int @Nullable []> before) {
        if (rows.isEmpty()) {
            return WriteSet.EMPTY;
        }
        KeySet.Builder keys = new KeySet.Builder();
        TreeSet<Integer> tables = new TreeSet<>();
        int size = TransactionId.ENCODED_BYTES + 4;
        for (Map.Entry<Long, int @Nullable []> row : rows.entrySet()) {
            int[] value = row.getValue();
            size += 8 + 4 + (value == null ? 0 : 4 * value.length);
        }
        ByteBuffer to = ByteBuffer.allocate(size);
        transaction.encode(to);
        to.putInt(rows.size());
        rows.forEach((row, value) -> {
            tables.add(Catalog.table(row));
            boolean stays = before.get(row) != null && value != null;
            keys.add(Catalog.rowKey(row), stays ? KeyKind.UPDATE : KeyKind.EXCLUSIVE);
            to.putLong(row).putInt(value == null ? DELETED : value.length);
            if (value != null) {
                for (int one : value) {
                    to.putInt(one);
                }
            }
        });
        for (int table : tables) {
            keys.add(Catalog.tableKey(table), KeyKind.REFERENCE);
        }
        return new WriteSet(keys.build(), to.array());
    }

    /** Reads what {@link #writeSet} wrote; the write set must not be empty. */
    static Changes of(WriteSet writes) {
        ByteBuffer from = ByteBuffer.wrap(writes.changes());
        TransactionId transaction = TransactionId.decode(from);
        TreeMap<Long, int @Nullable []> rows = new TreeMap<>();
        for (int i = from.getInt(); i > 0; i--) {
            long row = from.getLong();
            int length = from.getInt();
            int[] value = length == DELETED ? null : new int[length];
            for (int at = 0; at < length; at++) {
                value[at] = from.getInt();
            }
            rows.put(row, value);
        }
        return new Changes(transaction, rows);
    }
}
