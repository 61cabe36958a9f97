package tutti.bookkeeper;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/**
 * Of which ledgers the log consists, as ZooKeeper keeps it. It changes by compare and set only. Immutable.
 *
 * <p>
 * <b>What holds of it.</b> Whoever adds a ledger has closed the one before it, or had it closed by fencing. So all ledgers but the last
 * are closed for good, and a ledger holds messages only after it has become the last.
 *
 * @param identity whose log it is, in words that people can compare
 * @param segments the ledgers, the oldest first
 * @param doomed ledgers that belong to the log no more and are being removed
 */
record LedgerList(String identity, List<Segment> segments, List<Long> doomed) implements Encoded {
    /** So many ledgers can be in it: what ZooKeeper takes as one value, with room to spare. */
    static final int SEGMENTS_MAX = 20_000;

    /**
     * A ledger.
     *
     * @param ledger its id in BookKeeper
     * @param before the last position of the ledgers before it, 0 if there were none
     * @param bytes of its entries; 0 until the next one is added
     */
    record Segment(long ledger, long before, long bytes) {
        static final Schema<Segment> SCHEMA = Schema.part("segment", Segment.class).of(
                Field.of("ledger", Types.NATURAL, Segment::ledger), Field.of("before", Types.NATURAL, Segment::before),
                Field.of("bytes", Types.NATURAL, Segment::bytes), Segment::new);
    }

    static final Schema<LedgerList> SCHEMA = Schema
            .message("ledger-list", 1, LedgerList.class, "Of which ledgers the log consists.").of(
                    Field.of("identity", Types.text(1 << 14), LedgerList::identity),
                    Field.of("segments", Types.list(Segment.SCHEMA, SEGMENTS_MAX), LedgerList::segments),
                    Field.of("doomed", Types.list(Types.NATURAL, SEGMENTS_MAX), LedgerList::doomed), LedgerList::new);

    /** It alone. */
    static final MessageSet<LedgerList> SET = new MessageSet<>("ledger lists",
            "In ZooKeeper, at `ledgers` below the path of a log in BookKeeper.", List.of(SCHEMA));

    LedgerList {
        segments = List.copyOf(segments);
        doomed = List.copyOf(doomed);
    }

    /** Of a log that has not begun. */
    static LedgerList empty(String identity) {
        return new LedgerList(identity, List.of(), List.of());
    }

    /** The ledger that is written, or was last. */
    @Nullable
    Segment last() {
        return segments.isEmpty() ? null : segments.getLast();
    }

    /** The one of an id. */
    @Nullable
    Segment find(long ledger) {
        return segments.stream().filter(each -> each.ledger() == ledger).findAny().orElse(null);
    }

    /** The one behind another, which must be in it. */
    @Nullable
    Segment next(Segment of) {
        int index = index(of);
        return index + 1 < segments.size() ? segments.get(index + 1) : null;
    }

    private int index(Segment of) {
        for (int i = 0; i < segments.size(); i++) {
            if (segments.get(i).ledger() == of.ledger()) {
                return i;
            }
        }
        throw new IllegalArgumentException("ledger " + of.ledger() + " is not in the list");
    }

    /** The one that holds what comes behind a position, or will; null if that has been let go. */
    @Nullable
    Segment behind(long position) {
        Segment found = null;
        for (Segment each : segments) {
            if (each.before() <= position) {
                found = each;
            }
        }
        return found;
    }

    /** The first position that is there, or will be. */
    long firstRetained() {
        return segments.isEmpty() ? 1 : segments.getFirst().before() + 1;
    }

    /** Bytes of all ledgers but the last. */
    long closedBytes() {
        return segments.stream().mapToLong(Segment::bytes).sum();
    }

    /**
     * With another ledger at its end.
     *
     * @param lastBytes what the one before it has come to
     */
    LedgerList with(long ledger, long before, long lastBytes) {
        List<Segment> more = new ArrayList<>(segments);
        if (!more.isEmpty()) {
            Segment closed = more.removeLast();
            more.add(new Segment(closed.ledger(), closed.before(), lastBytes));
        }
        more.add(new Segment(ledger, before, 0));
        return new LedgerList(identity, more, doomed);
    }

    /** Without the ledgers that hold nothing behind a position; they are doomed. The last one stays. */
    LedgerList truncated(long position) {
        List<Segment> kept = new ArrayList<>(segments);
        List<Long> gone = new ArrayList<>(doomed);
        while (kept.size() > 1 && kept.get(1).before() <= position) {
            gone.add(kept.removeFirst().ledger());
        }
        return new LedgerList(identity, kept, gone);
    }

    /** Without those that have been removed. */
    LedgerList removed(List<Long> ledgers) {
        List<Long> left = new ArrayList<>(doomed);
        left.removeAll(ledgers);
        return new LedgerList(identity, segments, left);
    }
}
