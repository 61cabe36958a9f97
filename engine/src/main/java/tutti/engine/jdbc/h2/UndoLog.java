package tutti.engine.jdbc.h2;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import org.h2.mvstore.Cursor;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.tx.Transaction;
import org.h2.mvstore.tx.TransactionStore;
import org.jspecify.annotations.Nullable;

/**
 * What a transaction of H2 has overwritten, entry by entry, from the oldest to the newest.
 *
 * <p>
 * H2 hands this out, too ({@code Transaction.getChanges}), but looks each entry up by itself, and reads the name of its map
 * out of a line of text: for a transaction of forty entries that takes longer than to write them. Here they are read as
 * they lie, and a map is told by its number.
 *
 * <p>
 * Only under the lock of the transaction's session.
 */
final class UndoLog {
    /** H2 names an entry by its transaction, and below these bits by its place in that one's log. */
    private static final int PLACE_BITS = 40;
    private static final VarHandle STORE;
    private static final VarHandle LOGS;
    private static final MethodHandle MAP;
    private static final MethodHandle KEY;

    static {
        try {
            MethodHandles.Lookup store = MethodHandles.privateLookupIn(TransactionStore.class, MethodHandles.lookup());
            STORE = store.findVarHandle(Transaction.class, "store", TransactionStore.class);
            LOGS = store.findVarHandle(TransactionStore.class, "undoLogs", MVMap[].class);
            Class<?> entry = store.findClass("org.h2.mvstore.tx.Record");
            MAP = store.findGetter(entry, "mapId", int.class)
                    .asType(MethodType.methodType(int.class, Object.class));
            KEY = store.findGetter(entry, "key", Object.class)
                    .asType(MethodType.methodType(Object.class, Object.class));
        } catch (ReflectiveOperationException other) {
            throw new IllegalStateException("this is not the H2 that Tutti was made for; use H2 2.4.240", other);
        }
    }

    private final Cursor<Long, Object> entries;
    private final int transaction;
    private long operation;
    private @Nullable Object entry;

    /**
     * Before its first entry.
     *
     * @param from the place in the log to begin at, 0 for its beginning
     */
    @SuppressWarnings("unchecked")
    UndoLog(Transaction of, long from) {
        transaction = of.getId();
        MVMap<Long, Object>[] logs = (MVMap<Long, Object>[]) LOGS.get((TransactionStore) STORE.get(of));
        entries = logs[transaction].cursor((long) transaction << PLACE_BITS | from);
    }

    /** Goes on to the next entry; answers whether there is one. */
    boolean next() {
        if (!entries.hasNext()) {
            return false;
        }
        operation = entries.next();
        entry = entries.getValue();
        return operation >>> PLACE_BITS == transaction;
    }

    /** The entry's name, which the version that overwrote has, too, until the transaction ends. */
    long operation() {
        return operation;
    }

    /** The number of the map that the entry was overwritten in. */
    int map() {
        try {
            return (int) MAP.invokeExact(entry);
        } catch (Throwable impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** The key of what was overwritten. */
    Object key() {
        try {
            return (Object) KEY.invokeExact(entry);
        } catch (Throwable impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
