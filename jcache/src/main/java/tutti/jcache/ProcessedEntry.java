package tutti.jcache;

import javax.cache.processor.MutableEntry;
import org.jspecify.annotations.Nullable;

/** An entry while a processor works on it. What it has done is done to the entry at the end. One thread. */
final class ProcessedEntry<K, V> implements MutableEntry<K, V> {
    private enum Done {
        NOTHING,
        READ,
        LOADED,
        WRITTEN,
        REMOVED
    }

    private final GridCache<K, V> cache;
    private final Step<K, V> step;
    private Done done = Done.NOTHING;
    private @Nullable V value;

    ProcessedEntry(GridCache<K, V> cache, Step<K, V> step) {
        this.cache = cache;
        this.step = step;
        this.value = step.lookedFor();
    }

    @Override
    public K getKey() {
        return step.key();
    }

    @Override
    public boolean exists() {
        return value != null;
    }

    @Override
    public @Nullable V getValue() {
        if (done == Done.NOTHING) {
            if (value != null) {
                done = Done.READ;
            } else {
                value = cache.load(step.key());
                done = value == null ? Done.NOTHING : Done.LOADED;
            }
        }
        return value;
    }

    @Override
    public void setValue(V to) {
        cache.check(step.key(), to);
        value = to;
        done = Done.WRITTEN;
    }

    @Override
    public void remove() {
        // What was not there before, and was only made by this processor, is as if nothing had happened.
        done = step.old() == null && (done == Done.LOADED || done == Done.WRITTEN) ? Done.NOTHING : Done.REMOVED;
        value = null;
    }

    @Override
    public <T> T unwrap(Class<T> type) {
        if (type.isInstance(this)) {
            return type.cast(this);
        }
        throw new IllegalArgumentException("an entry is no " + type.getName());
    }

    /** The processor has ended. */
    void finish() {
        V to = value;
        switch (done) {
            case NOTHING -> {
                // There is nothing to do.
            }
            case READ -> step.accessed();
            case LOADED -> {
                if (to != null) {
                    step.write(to);
                }
            }
            case WRITTEN -> {
                if (to != null) {
                    cache.writeThrough(step.key(), to);
                    step.put(to);
                }
            }
            case REMOVED -> {
                cache.deleteThrough(step.key());
                step.remove();
            }
        }
    }
}
