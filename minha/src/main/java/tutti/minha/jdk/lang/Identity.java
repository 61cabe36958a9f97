package tutti.minha.jdk.lang;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import tutti.minha.Jvm;

/**
 * Identity hash codes that are the same in each run: numbers in the order in which they are first asked for, one sequence
 * for each process. Kept in a map with weak keys; nothing iterates over it, so that the real hash codes which arrange it
 * have no effect on a run.
 */
final class Identity {
    private static final Map<Key, Integer> HASHES = new HashMap<>();
    private static final ReferenceQueue<Object> GONE = new ReferenceQueue<>();

    private Identity() {}

    private static final class Key extends WeakReference<Object> {
        private final int hash;

        Key(Object of, @Nullable ReferenceQueue<Object> queue) {
            super(of, queue);
            this.hash = java.lang.System.identityHashCode(of);
        }

        @Override
        public int hashCode() {
            return hash;
        }

        @Override
        @SuppressWarnings("ReferenceEquality")
        public boolean equals(@Nullable Object other) {
            return this == other || (other instanceof Key key && key.get() != null && key.get() == get());
        }
    }

    /** The number of an object, 0 for null. Simulations in several real threads may ask at once. */
    static int hashCode(@Nullable Object of) {
        if (of == null) {
            return 0;
        }
        Jvm jvm = Jvm.current();
        synchronized (HASHES) {
            for (Reference<?> gone = GONE.poll(); gone != null; gone = GONE.poll()) {
                HASHES.remove(gone);
            }
            Integer known = HASHES.get(new Key(of, null));
            if (known == null) {
                known = jvm.nextHash();
                HASHES.put(new Key(of, GONE), known);
            }
            return Objects.requireNonNull(known);
        }
    }
}
