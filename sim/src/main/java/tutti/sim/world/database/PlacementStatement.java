package tutti.sim.world.database;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.TablePlacement;

/**
 * A statement that places tables.
 *
 * @param tables keys of them
 * @param nodes that keep them; none to forget that they are placed
 */
record PlacementStatement(Set<Long> tables, Set<Integer> nodes) {
    /** No other statement begins so: those of clients begin with the number of a node. */
    private static final byte[] MARK = {'p', 'l', 'a', 'c', 'e'};

    /** What a statement places; null if it is another one. */
    static @Nullable PlacementStatement parse(byte[] statement) {
        if (statement.length < MARK.length || !Arrays.equals(MARK, Arrays.copyOf(statement, MARK.length))) {
            return null;
        }
        ByteBuffer from = ByteBuffer.wrap(statement).position(MARK.length);
        Set<Long> tables = new TreeSet<>();
        for (int i = from.getInt(); i > 0; i--) {
            tables.add(from.getLong());
        }
        Set<Integer> nodes = new TreeSet<>();
        while (from.hasRemaining()) {
            nodes.add(from.getInt());
        }
        return new PlacementStatement(tables, nodes);
    }

    /** As {@link #parse} reads it. */
    byte[] statement() {
        ByteBuffer to = ByteBuffer
                .allocate(MARK.length + Integer.BYTES * (1 + nodes.size()) + Long.BYTES * tables.size());
        to.put(MARK).putInt(tables.size());
        tables.forEach(to::putLong);
        nodes.forEach(to::putInt);
        return to.array();
    }

    /** Whoever has named one of the tables before has not been here. */
    KeySet keys() {
        KeySet.Builder keys = new KeySet.Builder();
        tables.forEach(table -> keys.add(table, KeyKind.EXCLUSIVE));
        return keys.build();
    }

    /** Whether tables are to be forgotten, of which there are rows. */
    boolean forgets(TablePlacement before) {
        return nodes.isEmpty() && tables.stream().anyMatch(before.keepers()::containsKey);
    }

    /** Whether a node is to keep what it does not have. */
    boolean brings(LocalTables before) {
        return nodes.contains(before.node()) && !before.placement().keepsAll(before.node(), tables);
    }

    /** What holds then. */
    TablePlacement after(TablePlacement before) {
        Map<Long, Set<Integer>> keepers = new TreeMap<>(before.keepers());
        if (!nodes.isEmpty()) {
            tables.forEach(table -> keepers.put(table, nodes));
        }
        return new TablePlacement(keepers);
    }
}
