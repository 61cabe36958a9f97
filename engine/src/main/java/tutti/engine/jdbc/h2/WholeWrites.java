package tutti.engine.jdbc.h2;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.lang.reflect.Field;
import java.util.AbstractCollection;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.MVStore;
import org.h2.mvstore.Page;
import org.h2.mvstore.RootReference;
import org.jspecify.annotations.Nullable;

/**
 * Has H2 write its file as of one moment, so that a crash leaves each transaction whole or nothing of it.
 *
 * <p>
 * <b>What is wrong without it.</b> H2 keeps each table, each index and what each open transaction has to undo in a map of its own. When it writes
 * the file, it takes the root of one map after the other ({@code MVStore.collectChangedMapRoots}) while others go on. So the file may hold a row
 * whose transaction's note of it came a moment too late, or not the note any more that a committed transaction left for a row that came too late. If
 * the process ends before the next writing, that stays: a part of a transaction, and rows that nobody can change.
 *
 * <p>
 * <b>What is done.</b> MVStore goes through the maps of this collection, which holds the roots of all of them while it does. Nobody changes a map
 * meanwhile; who reads does not wait. It takes microseconds: the pages are written later.
 *
 * <p>
 * <b>Why nobody waits for ever.</b> Who holds the root of a table's map may ask for the root of a transaction's notes, and never otherwise, and nobody holds
 * the roots of two tables ({@code TxDecisionMaker}). So the notes' are taken last. Nobody who holds a root waits for the lock under which the file is
 * written ({@code MVStore.beforeWrite}).
 */
final class WholeWrites extends ConcurrentHashMap<Integer, MVMap<?, ?>> {
    private static final long serialVersionUID = 1;
    private static final String NOTES_PREFIX = "undoLog";
    /** The method that takes the roots. */
    private static final String COLLECTING;
    private static final Field MAPS;
    private static final VarHandle WRITING;
    private static final MethodHandle LOCK;
    private static final MethodHandle UNLOCK;

    static {
        try {
            MethodHandles.Lookup inside = MethodHandles.privateLookupIn(MVMap.class, MethodHandles.lookup());
            LOCK = inside.findVirtual(MVMap.class, "lockRoot",
                    MethodType.methodType(RootReference.class, RootReference.class, int.class));
            UNLOCK = inside.findVirtual(MVMap.class, "unlockRoot", MethodType.methodType(void.class, Page.class));
            COLLECTING = MVStore.class.getDeclaredMethod("collectChangedMapRoots", long.class).getName();
            MAPS = MVStore.class.getDeclaredField("maps");
            MAPS.setAccessible(true);
            WRITING = MethodHandles.privateLookupIn(MVStore.class, MethodHandles.lookup())
                    .findVarHandle(MVStore.class, "storeOperationInProgress", AtomicBoolean.class);
        } catch (ReflectiveOperationException other) {
            throw new IllegalStateException("this is not the H2 that Tutti was made for; use H2 2.4.240", other);
        }
    }

    private final transient MVStore store;
    /** The version whose roots were taken last, or are being taken and held. */
    private volatile long collected;

    private WholeWrites(MVStore store, ConcurrentHashMap<Integer, MVMap<?, ?>> maps) {
        super(maps);
        this.store = store;
    }

    /** From now on, what is in this store is written as of one moment. */
    static void of(MVStore store) {
        store.executeFilestoreOperation(() -> {
            try {
                if (MAPS.get(store) instanceof ConcurrentHashMap<?, ?> maps && !(maps instanceof WholeWrites)) {
                    @SuppressWarnings("unchecked")
                    ConcurrentHashMap<Integer, MVMap<?, ?>> before = (ConcurrentHashMap<Integer, MVMap<?, ?>>) maps;
                    MAPS.set(store, new WholeWrites(store, before));
                }
            } catch (IllegalAccessException refused) {
                throw new IllegalStateException(refused);
            }
        });
    }

    /**
     * A new map is not among those whose roots are taken for a version that had begun before. So whoever made it for his notes must not write
     * rows before the tables' roots have been taken.
     */
    @Override
    public @Nullable MVMap<?, ?> putIfAbsent(Integer id, MVMap<?, ?> map) {
        MVMap<?, ?> present = super.putIfAbsent(id, map);
        while (((AtomicBoolean) WRITING.get(store)).get() && collected < store.getCurrentVersion()) {
            Thread.onSpinWait();
        }
        return present;
    }

    @Override
    public Collection<MVMap<?, ?>> values() {
        Collection<MVMap<?, ?>> all = super.values();
        boolean collecting = StackWalker.getInstance().walk(frames -> frames.skip(1).findFirst())
                .filter(caller -> caller.getMethodName().equals(COLLECTING)).isPresent();
        return collecting ? new Held(all) : all;
    }

    private static boolean isNotes(MVMap<?, ?> map) {
        return String.valueOf(map.getName()).startsWith(NOTES_PREFIX);
    }

    private static void lock(MVMap<?, ?> map) {
        try {
            RootReference<?, ?> _ = (RootReference<?, ?>) LOCK.invoke(map, map.getRoot(), 1);
        } catch (Throwable failed) {
            throw new IllegalStateException("the map " + map.getName() + " cannot be held", failed);
        }
    }

    private static void unlock(MVMap<?, ?> map) {
        try {
            UNLOCK.invoke(map, (Page<?, ?>) null);
        } catch (Throwable failed) {
            throw new IllegalStateException("the map " + map.getName() + " cannot be let go", failed);
        }
    }

    /** The maps, held from the beginning to the end of going through them. */
    private final class Held extends AbstractCollection<MVMap<?, ?>> {
        private final List<MVMap<?, ?>> maps;

        Held(Collection<MVMap<?, ?>> all) {
            maps = new ArrayList<>();
            List<MVMap<?, ?>> notes = new ArrayList<>();
            all.forEach(map -> (isNotes(map) ? notes : maps).add(map));
            maps.addAll(notes);
        }

        @Override
        public int size() {
            return maps.size();
        }

        @Override
        public Iterator<MVMap<?, ?>> iterator() {
            maps.forEach(WholeWrites::lock);
            collected = store.getCurrentVersion();
            return new Iterator<>() {
                private int next;
                private boolean ended;

                @Override
                public boolean hasNext() {
                    if (next < maps.size()) {
                        return true;
                    }
                    if (!ended) {
                        ended = true;
                        maps.forEach(WholeWrites::unlock);
                    }
                    return false;
                }

                @Override
                public MVMap<?, ?> next() {
                    if (!hasNext()) {
                        throw new NoSuchElementException();
                    }
                    return maps.get(next++);
                }

                @Override
                public void remove() {
                    MVMap<?, ?> map = maps.get(next - 1);
                    WholeWrites.this.remove(map.getId(), map);
                }
            };
        }
    }
}
