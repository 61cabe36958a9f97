package tutti.grid.api;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.grid.store.Key;
import tutti.grid.store.Version;

/**
 * That a listener hears of a cache's changes, until it is closed. Changes wait in a queue of limited size for a thread of their own, so
 * a slow listener holds up nobody but itself. Any thread.
 */
public final class Subscription implements AutoCloseable {
    /** What may wait for a listener, in bytes of keys and values; what is more is counted as missed. */
    public static final int WAITING_BYTES_MAX = 16 << 20;
    private static final Logger LOGGER = LoggerFactory.getLogger(Subscription.class);
    private static final int OVERHEAD_BYTES = 64;

    private final int cache;
    private final Call call;
    private final Consumer<Subscription> closed;
    private final Deque<Waiting> queue = new ArrayDeque<>();
    private long waitingBytes;
    private boolean over;

    /** What happens with what has waited. */
    private interface Call {
        void changed(Key key, Version version);

        void missed(long changes);
    }

    /** A change; or, without a key, how many were missed. */
    private static final class Waiting {
        private final @Nullable Key key;
        private final Version version;
        private long missed;

        Waiting(@Nullable Key key, Version version) {
            this.key = key;
            this.version = version;
        }

        long bytes() {
            byte[] value = version.value();
            return (long) OVERHEAD_BYTES + (key == null ? 0 : key.bytes().length) + (value == null ? 0 : value.length);
        }
    }

    private Subscription(int cache, Call call, Consumer<Subscription> closed) {
        this.cache = cache;
        this.call = call;
        this.closed = closed;
    }

    static <K, V> Subscription start(int cache, Serializer<K> keys, Serializer<V> values, Listener<K, V> listener,
            Consumer<Subscription> closed) {
        Subscription started = new Subscription(cache, new Call() {
            @Override
            public void changed(Key key, Version version) {
                byte[] value = version.value();
                listener.changed(keys.read(key.bytes()),
                        value == null ? Optional.empty() : Optional.of(values.read(value)));
            }

            @Override
            public void missed(long changes) {
                listener.missed(changes);
            }
        }, closed);
        Thread.ofVirtual().name("grid listener").start(started::tell);
        return started;
    }

    int cache() {
        return cache;
    }

    /** Something has changed. Does not wait. */
    synchronized void changed(Key key, Version version) {
        Waiting next = new Waiting(key, version);
        if (over) {
            return;
        }
        if (waitingBytes + next.bytes() > WAITING_BYTES_MAX) {
            Waiting last = queue.peekLast();
            if (last == null || last.key != null) {
                last = new Waiting(null, Version.ABSENT);
                waitingBytes += last.bytes();
                queue.add(last);
            }
            last.missed++;
        } else {
            waitingBytes += next.bytes();
            queue.add(next);
        }
        notifyAll();
    }

    private synchronized @Nullable Waiting next() throws InterruptedException {
        while (queue.isEmpty() && !over) {
            wait();
        }
        Waiting next = over ? null : queue.removeFirst();
        if (next != null) {
            waitingBytes -= next.bytes();
        }
        return next;
    }

    private void tell() {
        try {
            for (Waiting next = next(); next != null; next = next()) {
                tell(next);
            }
        } catch (InterruptedException interrupted) {
            LOGGER.debug("a listener of the grid is not told any more", interrupted);
        }
    }

    private void tell(Waiting next) {
        try {
            if (next.key == null) {
                call.missed(next.missed);
            } else {
                call.changed(next.key, next.version);
            }
        } catch (Throwable failed) {
            // An error, too: all that waits would wait for ever.
            LOGGER.error("a listener of the grid has failed, and is told the next change", failed);
        }
    }

    /** Bytes of keys and values that wait to be told. */
    public synchronized long waitingBytes() {
        return waitingBytes;
    }

    /** Nothing is told any more, apart from what is being told now. */
    @Override
    public void close() {
        synchronized (this) {
            over = true;
            queue.clear();
            waitingBytes = 0;
            notifyAll();
        }
        closed.accept(this);
    }
}
