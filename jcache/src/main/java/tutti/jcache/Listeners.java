package tutti.jcache;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.cache.Cache;
import javax.cache.configuration.CacheEntryListenerConfiguration;
import javax.cache.configuration.Factory;
import javax.cache.event.CacheEntryCreatedListener;
import javax.cache.event.CacheEntryEvent;
import javax.cache.event.CacheEntryEventFilter;
import javax.cache.event.CacheEntryListener;
import javax.cache.event.CacheEntryListenerException;
import javax.cache.event.CacheEntryRemovedListener;
import javax.cache.event.CacheEntryUpdatedListener;
import javax.cache.event.EventType;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Who hears of what is done with a cache through this manager: each change once, on the thread that made it, when it has committed, whether
 * the listener asks for that or not. Changes of a key are told in their order.
 */
final class Listeners<K, V> {
    private static final Logger LOGGER = LoggerFactory.getLogger(Listeners.class);

    private final List<Registered<K, V>> all = new CopyOnWriteArrayList<>();

    private record Registered<K, V>(CacheEntryListenerConfiguration<K, V> configuration,
            CacheEntryListener<? super K, ? super V> listener,
            @Nullable CacheEntryEventFilter<? super K, ? super V> filter) {}

    /** A change. */
    static final class Event<K, V> extends CacheEntryEvent<K, V> {
        private static final long serialVersionUID = 1;

        private final transient K key;
        private final transient @Nullable V value;
        private final transient @Nullable V old;

        Event(Cache<K, V> source, EventType type, K key, @Nullable V value, @Nullable V old) {
            super(source, type);
            this.key = key;
            this.value = value;
            this.old = old;
        }

        @Override
        public K getKey() {
            return key;
        }

        @Override
        public @Nullable V getValue() {
            return value;
        }

        @Override
        public @Nullable V getOldValue() {
            return old;
        }

        @Override
        public boolean isOldValueAvailable() {
            return old != null;
        }

        @Override
        public <T> T unwrap(Class<T> type) {
            if (type.isInstance(this)) {
                return type.cast(this);
            }
            throw new IllegalArgumentException("an event is no " + type.getName());
        }
    }

    boolean isEmpty() {
        return all.isEmpty();
    }

    void add(CacheEntryListenerConfiguration<K, V> configuration) {
        if (all.stream().anyMatch(one -> one.configuration.equals(configuration))) {
            throw new IllegalArgumentException("this listener is registered already");
        }
        Factory<CacheEntryEventFilter<? super K, ? super V>> filter = configuration.getCacheEntryEventFilterFactory();
        all.add(new Registered<>(configuration, configuration.getCacheEntryListenerFactory().create(),
                filter == null ? null : filter.create()));
    }

    void remove(CacheEntryListenerConfiguration<K, V> configuration) {
        all.removeIf(one -> one.configuration.equals(configuration));
    }

    /** Closes those that can be. */
    void close() {
        for (Registered<K, V> one : all) {
            Closing.close(one.listener);
            if (one.filter != null) {
                Closing.close(one.filter);
            }
        }
        all.clear();
    }

    /** Tells of a change. What a synchronous listener throws is thrown when all have been told. */
    void tell(Event<K, V> event) {
        CacheEntryListenerException failure = null;
        for (Registered<K, V> one : all) {
            try {
                if (one.filter == null || one.filter.evaluate(event)) {
                    tell(one.listener, event);
                }
            } catch (RuntimeException thrown) {
                if (one.configuration.isSynchronous()) {
                    failure = thrown instanceof CacheEntryListenerException known
                            ? known
                            : new CacheEntryListenerException(thrown);
                } else {
                    LOGGER.error("a listener of a cache has failed, and is told the next change", thrown);
                }
            }
        }
        if (failure != null) {
            throw failure;
        }
    }

    @SuppressWarnings("unchecked")
    private static <K, V> void tell(CacheEntryListener<? super K, ? super V> listener, Event<K, V> event) {
        List<CacheEntryEvent<? extends K, ? extends V>> events = List.of(event);
        switch (event.getEventType()) {
            case CREATED -> {
                if (listener instanceof CacheEntryCreatedListener<?, ?> created) {
                    ((CacheEntryCreatedListener<K, V>) created).onCreated(events);
                }
            }
            case UPDATED -> {
                if (listener instanceof CacheEntryUpdatedListener<?, ?> updated) {
                    ((CacheEntryUpdatedListener<K, V>) updated).onUpdated(events);
                }
            }
            case REMOVED -> {
                if (listener instanceof CacheEntryRemovedListener<?, ?> removed) {
                    ((CacheEntryRemovedListener<K, V>) removed).onRemoved(events);
                }
            }
            case EXPIRED -> throw new IllegalArgumentException("nobody is told that an entry has expired");
        }
    }
}
