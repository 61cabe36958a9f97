package tutti.grid.api;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import tutti.grid.store.Key;

/**
 * A map of the grid, each key on as many nodes as its degree says. Any thread.
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
        return new Key(number, keys.write(key));
    }

    /**
     * Reads a key in a transaction of this grid.
     *
     * @throws tutti.grid.GridException if that cannot be done
     */
    public Optional<V> get(Transaction in, K key) {
        byte[] bytes = in.read(key(key));
        return bytes == null ? Optional.empty() : Optional.of(values.read(bytes));
    }

    /**
     * Writes a key in a transaction of this grid.
     *
     * @throws tutti.grid.GridException if that cannot be done
     */
    public void put(Transaction in, K key, V value) {
        in.write(key(key), values.write(value));
    }

    /**
     * Removes a key in a transaction of this grid.
     *
     * @throws tutti.grid.GridException if that cannot be done
     */
    public void remove(Transaction in, K key) {
        in.write(key(key), null);
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

    /** The nodes that own a key, whether they live or not; {@link tutti.grid.node.GridStatus#members} says who does. */
    public List<Integer> owners(K key) {
        return Arrays.stream(grid.node().owners().of(key(key))).boxed().toList();
    }

    /** Reads a key in a transaction of its own; see {@link Grid#readOnly}. */
    public Optional<V> get(K key) {
        return grid.readOnly(in -> get(in, key));
    }

    /** Writes a key in a transaction of its own; see {@link Grid#transact}. */
    public void put(K key, V value) {
        grid.run(in -> put(in, key, value));
    }

    /** Removes a key in a transaction of its own; see {@link Grid#transact}. */
    public void remove(K key) {
        grid.run(in -> remove(in, key));
    }
}
