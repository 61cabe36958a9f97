package tutti.wire;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.ReadSet;
import tutti.engine.postgres.capture.LockedRows;
import tutti.pgwire.QueryResult;

/**
 * What a session's open transaction has done so far, or what the cycle has done that may become one. On the session's event
 * loop.
 */
final class TransactionActivity {
    /** What may have been changed. */
    enum Change {
        /** Rows of tables. */
        ROWS,
        /** The schema. */
        SCHEMA,
        /** A temporary relation of the session's. */
        TEMPORARY_RELATION
    }

    private final Set<Change> changes = EnumSet.noneOf(Change.class);
    private final List<@Nullable QueryResult> catalogs = new ArrayList<>();
    private ReadSet.@Nullable Builder reads;
    private boolean noted = true;
    private InBandRows inBand = new InBandRows();
    private @Nullable LockedRows locked;
    private boolean setsSession;
    private boolean importsSnapshot;
    private boolean looked;

    /** A statement is about to be sent that may change something. */
    void mayChange(Change what) {
        changes.add(what);
    }

    /** Whether a statement has been sent that may change something. */
    boolean mayHaveChanged() {
        return !changes.isEmpty();
    }

    /** Whether a statement has been sent that may change this. */
    boolean mayHaveChanged(Change what) {
        return changes.contains(what);
    }

    /** A statement has been sent that changes the session's settings for longer than the transaction, or what it listens to. */
    void setsSession() {
        setsSession = true;
    }

    /** It sees what another transaction sees, which may be older than what was visible when it began. */
    void importsSnapshot() {
        importsSnapshot = true;
    }

    /** Whether it does. */
    boolean hasImportedSnapshot() {
        return importsSnapshot;
    }

    /** A statement has been sent that takes a snapshot, if none was. */
    void looks() {
        looked = true;
    }

    /** Whether one has been sent that takes a snapshot. */
    boolean hasLooked() {
        return looked;
    }

    /** Whether such a statement has been sent. */
    boolean hasSetSession() {
        return setsSession;
    }

    /**
     * Its next schema change is about to be made.
     *
     * @param before the catalog as it is; null if no row has been changed since the last one
     * @return which schema change of the transaction it is, from 0
     */
    int schemaChange(@Nullable QueryResult before) {
        catalogs.add(before);
        return catalogs.size() - 1;
    }

    /** The catalogs before each schema change, and this one at the end. */
    List<@Nullable QueryResult> catalogs(QueryResult end) {
        List<@Nullable QueryResult> all = new ArrayList<>(catalogs);
        all.add(end);
        return all;
    }

    /** Where to note what is read. */
    ReadSet.Builder reading() {
        ReadSet.Builder into = reads;
        if (into == null) {
            into = new ReadSet.Builder();
            reads = into;
        }
        return into;
    }

    /** A statement is executed, and what it reads is not noted. */
    void readsUnnoted() {
        noted = false;
    }

    /** Whether it has been noted of all statements what they read. */
    boolean noted() {
        return noted;
    }

    /** What has been read, as far as it has been noted. */
    ReadSet reads() {
        return reads == null ? ReadSet.EMPTY : reads.build();
    }

    /** The rows that it has changed, as far as its statements have told them. */
    InBandRows inBand() {
        return inBand;
    }

    /** Where to note what it has locked, as far as that is told. */
    LockedRows locked() {
        LockedRows into = locked;
        if (into == null) {
            into = new LockedRows();
            locked = into;
        }
        return into;
    }

    /** What it has locked; null if that is nothing. */
    @Nullable
    LockedRows lockedOrNull() {
        return locked;
    }

    /** Nothing has been read or told: what was belongs to no transaction. */
    void forgetReads() {
        locked = null;
        reads = null;
        noted = true;
        looked = false;
        inBand = new InBandRows();
    }
}
