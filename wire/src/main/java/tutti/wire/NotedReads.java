package tutti.wire;

import org.jspecify.annotations.Nullable;
import tutti.core.txn.ReadSet;
import tutti.node.Transactions;
import tutti.pgwire.ErrorFields;
import tutti.wire.sql.ReadPlan;

/**
 * Whether it is noted what a session's transactions read: under protocols that need it always, and under those that take it from the moment on
 * when the session may have asked for SERIALIZABLE, for as long as it lasts. Sessions that never do pay nothing. At which level a
 * transaction was, the engine tells when its capture is closed; what it has read is told to the node only if it was SERIALIZABLE. If it was, and
 * nothing had been noted of some statement (a function can set {@code default_transaction_isolation}), it has read everything
 * (docs/decisions/0040). On the session's event loop.
 */
final class NotedReads {
    private static final ReadSet EVERYTHING = everything();

    private final Transactions node;
    private boolean asked;

    NotedReads(Transactions node) {
        this.node = node;
        this.asked = node.needsReads();
    }

    private static ReadSet everything() {
        ReadSet.Builder all = new ReadSet.Builder();
        ReadPlan.EVERYTHING.addTo(all, ReadPlan.NO_VALUES);
        return all.build();
    }

    /** The session asks for SERIALIZABLE, or perhaps so. */
    void ask() {
        asked |= node.takesReads();
    }

    /** Whether what statements read is to be noted. */
    boolean on() {
        return asked;
    }

    /**
     * What the node is to be told that a transaction has read.
     *
     * @param work what it has done
     * @param serializable whether it was SERIALIZABLE in the engine
     */
    ReadSet told(TransactionActivity work, boolean serializable) {
        if (serializable) {
            ask();
        }
        return !tells(serializable) ? ReadSet.EMPTY : work.noted() ? work.reads() : EVERYTHING;
    }

    /** Why a transaction that has changed something cannot be certified by what it has read, or null. */
    @Nullable
    ErrorFields refusal(TransactionActivity work, boolean serializable) {
        return work.hasImportedSnapshot() && tells(serializable)
                ? Errors.notSupported(
                        "a transaction that has imported a snapshot, and is certified by what it has read, cannot change anything:"
                                + " that may be older than what it is compared with")
                        .with('H', "Leave SET TRANSACTION SNAPSHOT out.")
                : null;
    }

    /** Whether the node is told what a transaction has read. */
    private boolean tells(boolean serializable) {
        return node.needsReads() || (serializable && node.takesReads());
    }
}
