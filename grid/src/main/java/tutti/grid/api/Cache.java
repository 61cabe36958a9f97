package tutti.grid.api;

import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import tutti.grid.node.GridTransaction;
import tutti.grid.store.Key;
import tutti.grid.store.Version;

/**
 * A map of the grid, each key on as many nodes as its degree says. Any thread.
 *
 * <p>
 * A null that is given, or a transaction of another {@link Grid}, is refused with a {@link NullPointerException} or an {@link IllegalArgumentException}.
 *
 * @param <K> keys
 * @param <V> values
 */
public final class Cache<K, V> {
    private final Grid grid;
    private final int number;
    private final Serializer<K> keys;
    private final Serializer<V> values;

    Cache(Grid grid, int number, Serializer<K> keys, Serializer<V> values) {
        this.grid = grid;
        this.number = number;
        this.keys = keys;
        this.values = values;
    }

    private Key key(K key) {
        return new Key(number, keys.write(Objects.requireNonNull(key, "key")));
    }

    private byte[] bytes(V value) {
        byte[] bytes = values.write(Objects.requireNonNull(value, "value: to have none, remove the key"));
        return Objects.requireNonNull(bytes, "what the serializer has made of the value");
    }

    /** A transaction, unless it is of another grid, whose caches have other numbers. */
    private Transaction own(Transaction in) {
        if (!in.isOf(grid)) {
            throw new IllegalArgumentException("cache '" + grid.cacheNames().get(number)
                    + "' is used in a transaction of another grid: take the cache of that one");
        }
        return in;
    }

    /**
     * Reads a key in a transaction of this grid.
     *
     * @throws tutti.grid.GridException if that cannot be done
     */
    public Optional<V> get(Transaction in, K key) {
        byte[] bytes = own(in).read(key(key));
        return bytes == null ? Optional.empty() : Optional.of(values.read(bytes));
    }

    /**
     * Writes a key in a transaction of this grid.
     *
     * @throws tutti.grid.GridException if that cannot be done
     */
    public void put(Transaction in, K key, V value) {
        own(in).write(key(key), bytes(value));
    }

    /**
     * Writes a key in a transaction of this grid, for some time.
     *
     * @param timeToLive after the transaction's {@link Transaction#time}, to the millisecond, whatever the cache's configuration says; none, and it is
     *            removed
     * @throws tutti.grid.GridException if that cannot be done
     */
    public void put(Transaction in, K key, V value, Duration timeToLive) {
        own(in).write(key(key), bytes(value), Objects.requireNonNull(timeToLive, "timeToLive"));
    }

    /**
     * Writes a key in a transaction of this grid, until an instant.
     *
     * @param expiry from when on it is absent, to the millisecond; {@link Instant#MAX} if it stays
     * @throws tutti.grid.GridException if that cannot be done
     */
    public void put(Transaction in, K key, V value, Instant expiry) {
        own(in).write(key(key), bytes(value), millis(expiry));
    }

    private static long millis(Instant expiry) {
        try {
            return expiry.toEpochMilli();
        } catch (ArithmeticException tooFar) {
            return expiry.isAfter(Instant.EPOCH) ? Version.NEVER : 0;
        }
    }

    /**
     * An entry as it was written.
     *
     * @param expiry from when on it is absent; {@link Instant#MAX} if it stays
     */
    public record Entry<V>(V value, Instant expiry) {}

    /**
     * Reads a key in a transaction of this grid, and when it expires.
     *
     * @throws tutti.grid.GridException if that cannot be done
     */
    public Optional<Entry<V>> entry(Transaction in, K key) {
        GridTransaction.Value found = own(in).readWhole(key(key));
        byte[] bytes = found.bytes();
        long expiry = found.expiryMillis();
        return bytes == null
                ? Optional.empty()
                : Optional.of(new Entry<>(values.read(bytes),
                        expiry == Version.NEVER ? Instant.MAX : Instant.ofEpochMilli(expiry)));
    }

    /**
     * Finds all keys that the snapshot of a read-only transaction has. Every node is asked and looks through all its keys.
     *
     * @param prefix how the bytes of the keys begin
     * @return in no order; all of them must have room here
     * @throws tutti.grid.GridException if that cannot be done, or the transaction is not read-only
     */
    public List<K> keys(Transaction in, byte[] prefix) {
        return own(in).keys(number, Objects.requireNonNull(prefix, "prefix")).stream()
                .map(key -> keys.read(key.bytes())).toList();
    }

    /** All keys; see {@link #keys(Transaction, byte[])}. */
    public List<K> keys(Transaction in) {
        return keys(in, new byte[0]);
    }

    /**
     * The keys that a transaction of this grid has put, and not removed since.
     *
     * @return in the order in which they were written first
     */
    public List<K> written(Transaction in) {
        return own(in).written(number).stream().map(key -> keys.read(key.bytes())).toList();
    }

    /**
     * Removes a key in a transaction of this grid.
     *
     * @throws tutti.grid.GridException if that cannot be done
     */
    public void remove(Transaction in, K key) {
        own(in).write(key(key), null);
    }

    /**
     * Hears, from now on, of changes of those entries that this node owns. Changes of a key are told in their order, those of other keys in
     * any order; one that another has overtaken before it was told may be left out. To hear of all entries, listen at every node: each
     * change is told at each owner.
     *
     * @return to be closed when nobody listens any more; the grid closes it, too
     */
    public Subscription listen(Listener<K, V> listener) {
        return grid.changes().listen(number, keys, values, listener);
    }

    /**
     * The nodes that own a key now, whether they live or not; {@link tutti.grid.node.GridStatus#members} says who does.
     *
     * @throws tutti.grid.GridException if the node does not become a member in time
     */
    public List<Integer> owners(K key) {
        return Arrays.stream(grid.owners(key(key))).boxed().toList();
    }

    /** Reads a key in a transaction of its own; see {@link Grid#readOnly}. */
    public Optional<V> get(K key) {
        return grid.readOnly(in -> get(in, key));
    }

    /** Writes a key in a transaction of its own; see {@link Grid#transact}. */
    public void put(K key, V value) {
        grid.run(in -> put(in, key, value));
    }

    /** Writes a key for some time, in a transaction of its own; see {@link #put(Transaction, Object, Object, Duration)}. */
    public void put(K key, V value, Duration timeToLive) {
        grid.run(in -> put(in, key, value, timeToLive));
    }

    /** Removes a key in a transaction of its own; see {@link Grid#transact}. */
    public void remove(K key) {
        grid.run(in -> remove(in, key));
    }
}
