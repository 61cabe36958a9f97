package tutti.engine.jdbc.reads;

import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.ReadSet;

/** What a session's open transaction has read, as far as its statements tell. For one thread at a time. */
public final class ReadLog {
    /** Rows are not counted beyond this: that much has read everything that it names. */
    private static final int ROWS_MAX = 100_000;

    private final Supplier<Footprints> footprints;
    private ReadSet.Builder reads = new ReadSet.Builder();
    private int statements;

    /** Of a session whose schema may change between transactions. */
    public ReadLog(Supplier<Footprints> footprints) {
        this.footprints = footprints;
    }

    /**
     * A statement is executed, or several.
     *
     * @param values bound to its parameters, as {@link Footprint#addTo} takes them
     */
    public void executes(String sql, List<? extends @Nullable Object> values) {
        statements++;
        footprints.get().of(sql).addTo(reads, statements > ROWS_MAX ? List.of() : values);
    }

    /** Something was looked at of which nothing is known, such as the rows because of which a statement has failed. */
    public void everything() {
        Footprint.EVERYTHING.addTo(reads, List.of());
    }

    /** What has been read since {@link #clear}. */
    public ReadSet reads() {
        return reads.build();
    }

    /** A transaction begins. */
    public void clear() {
        reads = new ReadSet.Builder();
        statements = 0;
    }
}
