package tutti.node;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * Rows that still name a parent here, since the position was left out at which they ceased to: who takes the parent away has not found them, and would
 * leave a reference that leads nowhere (docs/decisions/0185). The counterpart of {@link LostKeys}, by which it is told what happens.
 *
 * <p>
 * <b>Which rows.</b> Those that a position which is left out has {@linkplain KeyKind#RELEASED released} from their parents, up to the next position that is made
 * and changes the row: from there on it names what that says. A row that an earlier position had changed which was left out, too, was
 * another one here when it was released, and need not have named that parent; it does not count, nor does a parent that the same position names.
 *
 * <p>
 * <b>Nobody is refused who has found the rows.</b> Whoever has not made what is left out can take such a parent away only if the row has been
 * changed since, or changes it in the same transaction. So what is refused comes of somebody who has made it.
 *
 * <p>
 * <b>Why all who serve say the same, what each node executes, and memory</b>: as {@link LostKeys}. {@link #ROWS_MAX} rows, and those of the last
 * position.
 */
final class LostReleases {
    private static final int ROWS_MAX = WriteSet.KEYS_MAX;

    /**
     * One position that was left out.
     *
     * @param until position from which on only its transaction's life counts
     * @param rows that it changed and nobody has since: the parents that each still names, none if that is not known
     */
    private record Lost(long position, TransactionId transaction, long until, Map<Long, Set<Long>> rows) {
        static final Schema<Lost> SCHEMA = Schema.part("lost releases", Lost.class).of(
                Field.of("position", Types.NATURAL, Lost::position),
                Field.of("transaction", TransactionId.SCHEMA, Lost::transaction),
                Field.of("until", Types.NATURAL, Lost::until),
                Field.of("rows", Types.map(Types.LONG, Types.set(Types.LONG, ROWS_MAX), ROWS_MAX), Lost::rows),
                Lost::new);

        /** Of the same, with rows of its own. */
        Lost copy(long untilThen) {
            Map<Long, Set<Long>> copies = new TreeMap<>();
            rows.forEach((row, parents) -> copies.put(row, new TreeSet<>(parents)));
            return new Lost(position, transaction, untilThen, copies);
        }
    }

    /** All of it, as a snapshot keeps it. */
    record Image(List<Lost> positions) {
        static final Schema<Image> SCHEMA = Schema.part("releases that were left out", Image.class).of(
                Field.of("positions", Types.list(Lost.SCHEMA, ROWS_MAX), Image::positions), Image::new);
    }

    private final TreeMap<Long, Lost> positions = new TreeMap<>();
    /** By row: the first position that was left out and changed it. */
    private final Map<Long, Long> rows = new HashMap<>();
    /** By parent: the rows that still name it. */
    private final Map<Long, Set<Long>> held = new HashMap<>();

    boolean isEmpty() {
        return positions.isEmpty();
    }

    /** A position was left out. */
    void leftOut(long position, TransactionId transaction, KeySet touched) {
        Lost before = positions.get(position);
        if (before != null) {
            List.copyOf(before.rows.keySet()).forEach(this::forget);
        }
        Set<Long> named = touched.of(KeyKind.REFERENCE);
        Map<Long, Set<Long>> changed = new LinkedHashMap<>();
        changed(touched).stream().filter(row -> !rows.containsKey(row))
                .forEach(row -> changed.put(row, new HashSet<>()));
        releases(touched).forEach((parent, children) -> {
            if (!named.contains(parent)) {
                children.stream().filter(changed::containsKey).forEach(row -> changed.get(row).add(parent));
            }
        });
        if (!changed.isEmpty()) {
            add(new Lost(position, transaction, Long.MAX_VALUE, changed));
        }
        while (rows.size() > ROWS_MAX && positions.size() > 1) {
            List.copyOf(positions.firstEntry().getValue().rows.keySet()).forEach(this::forget);
        }
    }

    private void add(Lost lost) {
        positions.put(lost.position, lost);
        lost.rows.forEach((row, parents) -> {
            rows.put(row, lost.position);
            parents.forEach(parent -> held.computeIfAbsent(parent, _ -> new TreeSet<>()).add(row));
        });
    }

    private void forget(long row) {
        Long at = rows.remove(row);
        Lost lost = at == null ? null : positions.get(at);
        Set<Long> parents = lost == null ? null : lost.rows.remove(row);
        if (lost == null || parents == null) {
            return;
        }
        for (long parent : parents) {
            held.computeIfPresent(parent,
                    (_, children) -> children.remove(row) && children.isEmpty() ? null : children);
        }
        if (lost.rows.isEmpty()) {
            positions.remove(at);
        }
    }

    /** A position was made. */
    void made(KeySet touched) {
        if (!isEmpty()) {
            changed(touched).forEach(this::forget);
        }
    }

    /** Each node has executed this position by itself. */
    void executed(long position) {
        positions.replaceAll((_, lost) -> lost.copy(Math.min(lost.until, position)));
    }

    /** Rows that come, go or change, and other keys of theirs. */
    private static Set<Long> changed(KeySet touched) {
        Set<Long> changed = new HashSet<>();
        for (int i = 0; i < touched.size(); i++) {
            switch (touched.kind(i)) {
                case UPDATE, EXCLUSIVE, CREATED, GONE -> changed.add(touched.hash(i));
                case REFERENCE, RELEASED, READ, SCAN -> {
                    // Of other rows, or nothing is written.
                }
            }
        }
        return changed;
    }

    /** By parent: the rows that name it no longer. */
    private static Map<Long, Set<Long>> releases(KeySet touched) {
        Map<Long, Set<Long>> releases = new HashMap<>();
        for (int i = 0; i + 1 < touched.size(); i++) {
            if (touched.kind(i) == KeyKind.RELEASED) {
                releases.computeIfAbsent(touched.hash(i), _ -> new HashSet<>()).add(touched.hash(++i));
            }
        }
        return releases;
    }

    /** Why a position cannot be made: a row here names what it takes away. Null if none does. */
    @Nullable
    EngineFailure named(long position, TransactionId transaction, KeySet touched) {
        if (held.isEmpty()) {
            return null;
        }
        Set<Long> changed = null;
        for (long parent : touched.gone()) {
            for (long row : held.getOrDefault(parent, Set.of())) {
                Lost lost = positions.get(rows.get(row));
                if (lost == null
                        || !LostKeys.countsFor(lost.position, lost.transaction, lost.until, position, transaction)) {
                    continue;
                }
                changed = changed == null ? changed(touched) : changed;
                if (!changed.contains(row)) {
                    return new EngineFailure("23503",
                            "it takes a row away to which another one refers here, since position "
                                    + lost.position + " (" + lost.transaction + ") was left out",
                            false);
                }
            }
        }
        return null;
    }

    Image image() {
        List<Lost> copies = new ArrayList<>();
        positions.values().forEach(lost -> copies.add(lost.copy(lost.until)));
        return new Image(copies);
    }

    /** Begins from an image that was read. */
    void restore(Image image) {
        image.positions.forEach(lost -> add(lost.copy(lost.until)));
    }
}
