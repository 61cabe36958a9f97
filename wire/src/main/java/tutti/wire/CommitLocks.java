package tutti.wire;

import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.ReadSet;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.capture.LockedRows;
import tutti.pgwire.ErrorFields;

/**
 * What a transaction that commits has locked without changing it: it is certified with what it has changed (docs/decisions/0128, 0129). One that has changed nothing is
 * not ordered, whatever it has locked: others see nothing of what it decided. One that has changed the schema excludes everybody already. On the session's event loop.
 */
final class CommitLocks {
    /** The advisory locks that the session holds, if any; see {@link LockedRows#advisory}. And one that outlives its transaction, if any. */
    private static final String ADVISORY = "SELECT pg_catalog.string_agg(pg_catalog.concat(objsubid, ':', classid, ':', objid, ':', mode), ' '),"
            + " CASE WHEN pg_catalog.count(*) OPERATOR(pg_catalog.>) 0 THEN tutti.give_up_session_locks() END"
            + " FROM pg_catalog.pg_locks WHERE locktype OPERATOR(pg_catalog.=) 'advisory' AND granted"
            + " AND pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid()";
    /** Those that outlive their transaction. */
    private static final Pattern OF_SESSIONS = Pattern.compile("pg_(?:try_)?advisory_lock(?:_shared)?\\b",
            Pattern.CASE_INSENSITIVE);

    private final Session session;
    private final Consumer<ErrorFields> giveUp;

    /**
     * Of a session.
     *
     * @param giveUp rolls back the transaction that commits, whose client hears why
     */
    CommitLocks(Session session, Consumer<ErrorFields> giveUp) {
        this.session = session;
        this.giveUp = giveUp;
    }

    /** Why a text is refused where advisory locks are the cluster's; or null. */
    static @Nullable ErrorFields refusal(String sql) {
        return OF_SESSIONS.matcher(sql).find() ? outlives("") : null;
    }

    private static ErrorFields outlives(String held) {
        return Errors.notSupported("advisory locks that outlive their transaction keep out sessions of their own"
                + " node only, and " + Modes.ADVISORY_LOCKS + " is cluster" + held)
                .with('H', "Use pg_advisory_xact_lock() or pg_try_advisory_xact_lock(), or SET "
                        + Modes.ADVISORY_LOCKS + " = 'node'.");
    }

    /**
     * Reads which advisory locks it holds, if those are the cluster's, and goes on unless the transaction is rolled back. It is if its session
     * holds one that outlives it, which a function has taken, or a statement before they were the cluster's.
     */
    void gather(Runnable then) {
        if (!session.modes().locksInCluster()) {
            then.run();
            return;
        }
        session.backend().batch().query(ADVISORY, reply -> {
            ErrorFields failure = reply.error();
            if (session.transaction().rollbackWanted()) {
                session.rollback().begin();
            } else if (failure != null) {
                giveUp.accept(failure);
            } else if (reply.row().get(1) != null) {
                giveUp.accept(outlives(": the session has held (" + reply.row().get(1) + "), which is given up"));
            } else {
                session.transaction().work().locked().advisory(reply.row().getFirst());
                then.run();
            }
        });
    }

    /**
     * What it has changed is known.
     *
     * @param promised whether it is prepared, so that only what it writes is promised
     */
    void add(Capture.Captured read, boolean promised) throws Capture.CaptureException {
        OpenTransaction committing = session.transaction().get();
        LockedRows locked = session.transaction().work().lockedOrNull();
        if (locked == null || locked.isEmpty() || read.schemaChanged()) {
            committing.changed(read.writes(), read.describe());
            return;
        }
        int changed = read.writes().keys().size();
        WriteSet writes = locked.addTo(read.writes(), !promised
                && (session.node().takesReads() || session.node().needsReads()));
        if (writes.keys().size() > WriteSet.KEYS_MAX) {
            throw new Capture.CaptureException(Errors.error("54000",
                    "the transaction changes and locks more than " + WriteSet.KEYS_MAX
                            + " keys of rows, which is the limit of one transaction: make several of it"));
        }
        committing.changed(writes,
                key -> key < changed ? read.describe().apply(key) : locked.describe(key - changed));
    }

    /** What the node is told that it has read: that, if it is told anything, or else what it has locked. */
    ReadSet reads(ReadSet told, boolean promised) {
        LockedRows locked = session.transaction().work().lockedOrNull();
        return told.isEmpty() && locked != null && session.node().takesReads() && !promised ? locked.reads() : told;
    }
}
