package tutti.node;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
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
 * Keys that would have come into being at positions that were left out, so that no row here has them: who refers to one refers to a row
 * that is not here.
 *
 * <p>
 * <b>Why they are looked at.</b> A node that has made a position which is {@linkplain Ballots left out} afterwards goes on until it hears
 * of that, and what it commits meanwhile may refer to rows of that position. Its engine has found them; others' engines are not asked,
 * for references were checked where the rows were made, and would take the row that refers and have nothing that it refers to. So such a
 * position is refused as the engine would refuse it ({@link #missing}), and settled like any that is.
 *
 * <p>
 * <b>Why all who serve say the same.</b> What is kept is a function of the positions that are visible and of which of them were left
 * out, in which those who serve agree: a position that is left out adds the keys that it {@linkplain KeyKind#CREATED created},
 * and one that is made takes away those that it creates, since from there on all have their rows. A key that is
 * here has no row, so whoever has not made what is left out can neither refer to it nor take it away. A life begins with what a snapshot has and is told of the
 * positions behind it again. A snapshot is completed as soon as its position is visible, and has what there is of later ones that the engine has made in
 * the same transaction, so that it holds these, too, whatever a crash takes back; that of a copy is completed later, but before the database is copied. So
 * later positions of which a snapshot tells are those that the engine holds: they are told again before anything is asked about, and come to the same.
 *
 * <p>
 * <b>What every node executes</b> tells nobody which rows it has made. Behind it a key counts for what the same life sends that had
 * sent what was left out, and for nobody else.
 *
 * <p>
 * <b>Memory.</b> {@link #KEYS_MAX} keys, and those of the last position that was left out; older positions are forgotten. They matter
 * until those who have made them have heard that they are left out.
 *
 * <p>
 * Of the replica's loop.
 */
final class LostKeys {
    private static final int KEYS_MAX = WriteSet.KEYS_MAX;

    /**
     * One position that was left out.
     *
     * @param until position from which on only its transaction's life counts
     * @param hashes of keys that nobody has created since
     */
    private record Lost(long position, TransactionId transaction, long until, Set<Long> hashes) {
        static final Schema<Lost> SCHEMA = Schema.part("lost keys", Lost.class).of(
                Field.of("position", Types.NATURAL, Lost::position),
                Field.of("transaction", TransactionId.SCHEMA, Lost::transaction),
                Field.of("until", Types.NATURAL, Lost::until),
                Field.of("hashes", Types.set(Types.LONG, KEYS_MAX), Lost::hashes), Lost::new);

        boolean countsFor(long later, TransactionId by) {
            return LostKeys.countsFor(position, transaction, until, later, by);
        }
    }

    /** Whether what was left out at a position, and counts for all until another one, counts for somebody. */
    static boolean countsFor(long position, TransactionId transaction, long until, long later, TransactionId by) {
        boolean sameLife = transaction.node() == by.node() && transaction.incarnation() == by.incarnation();
        return position < later && (later < until || sameLife);
    }

    /** All of it, as a snapshot keeps it. */
    record Image(List<Lost> positions) {
        static final Schema<Image> SCHEMA = Schema.part("keys of what was left out", Image.class).of(
                Field.of("positions", Types.list(Lost.SCHEMA, KEYS_MAX), Image::positions), Image::new);
    }

    private final TreeMap<Long, Lost> positions = new TreeMap<>();
    /** By key: the last position that was left out and would have created it. */
    private final Map<Long, Long> keys = new HashMap<>();
    private final LostReleases releases = new LostReleases();

    boolean isEmpty() {
        return positions.isEmpty();
    }

    /** The other direction: rows that name somebody's key here and nowhere else. */
    LostReleases releases() {
        return releases;
    }

    /** It is over what becomes of a position. */
    void settled(Slot slot, boolean leftOut) {
        if (slot.kind() == Slot.Kind.BARRIER) {
            if (!leftOut) {
                executed(slot.position());
            }
        } else if (leftOut && !slot.writes().isEmpty()) {
            leftOut(slot.position(), slot.transaction(), slot.writes().keys());
        } else {
            made(slot.writes().keys());
        }
    }

    /** A position was left out. */
    void leftOut(long position, TransactionId transaction, KeySet touched) {
        releases.leftOut(position, transaction, touched);
        Set<Long> created = touched.came();
        if (created.isEmpty()) {
            return;
        }
        forget(created);
        add(new Lost(position, transaction, Long.MAX_VALUE, created));
        while (keys.size() > KEYS_MAX && positions.size() > 1) {
            keys.keySet().removeAll(positions.pollFirstEntry().getValue().hashes());
        }
    }

    private void add(Lost lost) {
        positions.put(lost.position(), lost);
        lost.hashes().forEach(hash -> keys.put(hash, lost.position()));
    }

    /** A position was made. */
    void made(KeySet touched) {
        releases.made(touched);
        if (!isEmpty()) {
            forget(touched.came());
        }
    }

    /** Each node has executed this position by itself. */
    void executed(long position) {
        positions.replaceAll((_, lost) -> new Lost(lost.position(), lost.transaction(),
                Math.min(lost.until(), position), lost.hashes()));
        releases.executed(position);
    }

    private void forget(Set<Long> hashes) {
        for (long hash : hashes) {
            Long at = keys.remove(hash);
            Lost lost = at == null ? null : positions.get(at);
            if (lost != null) {
                lost.hashes().remove(hash);
                if (lost.hashes().isEmpty()) {
                    positions.remove(at);
                }
            }
        }
    }

    /** Why a position that others have made cannot be made here; null if nothing is missing. */
    @Nullable
    EngineFailure missingFor(Slot slot) {
        boolean others = slot.kind() == Slot.Kind.REMOTE || slot.kind() == Slot.Kind.PREPARED;
        if (!others) {
            return null;
        }
        EngineFailure missing = missing(slot.position(), slot.transaction(), slot.writes().keys());
        return missing != null
                ? missing
                : releases.named(slot.position(), slot.transaction(), slot.writes().keys());
    }

    /** Why a position cannot be made: it refers to a row that was left out. Null if it does not. */
    @Nullable
    EngineFailure missing(long position, TransactionId transaction, KeySet touched) {
        if (isEmpty()) {
            return null;
        }
        Set<Long> referred = touched.of(KeyKind.REFERENCE);
        referred.removeAll(touched.came());
        for (long hash : referred) {
            Long at = keys.get(hash);
            Lost lost = at == null ? null : positions.get(at);
            if (lost != null && lost.countsFor(position, transaction)) {
                return new EngineFailure("23503", "it refers to a row of position " + at + " (" + lost.transaction()
                        + "), which was left out", false);
            }
        }
        return null;
    }

    Image image() {
        List<Lost> copies = new ArrayList<>();
        positions.values().forEach(lost -> copies.add(
                new Lost(lost.position(), lost.transaction(), lost.until(), new HashSet<>(lost.hashes()))));
        return new Image(copies);
    }

    /** Begins from an image that was read. */
    void restore(Image image) {
        image.positions.forEach(lost -> add(
                new Lost(lost.position(), lost.transaction(), lost.until(), new HashSet<>(lost.hashes()))));
    }
}
