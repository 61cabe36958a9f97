package tutti.session;

import java.io.Serial;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.AbortReason;
import tutti.core.txn.KeySet;
import tutti.core.txn.TransactionId;
import tutti.engine.jdbc.rows.CapturedWrites;
import tutti.node.TransactionNames;

/** A transaction could not commit because of others: SQLSTATE {@code 40001}. */
public final class LostTransaction extends SQLException {
    @Serial
    private static final long serialVersionUID = 1;

    private final transient @Nullable Loss loss;

    /**
     * Why a transaction was lost that can be run again.
     *
     * @param winner position before which it would be lost again; 0 if that is not known
     * @param keys that it has lost, as far as they are known; must not be modified
     */
    public record Loss(long winner, long[] keys) {
        /** Of which nothing is known. */
        public static final Loss UNKNOWN = new Loss(0, new long[0]);

        /** The same, with what the transaction was looking for when it failed, if it is not known which keys it has lost. */
        public Loss looking(long[] at) {
            return keys.length == 0 ? new Loss(winner, at) : this;
        }

        /** As the node has decided; null if it would decide the same again. */
        static @Nullable Loss of(AbortReason reason, KeySet keys) {
            long[] lost = reason instanceof AbortReason.LostCertification(int key, long _) && key < keys.size()
                    ? new long[]{keys.hash(key)}
                    : UNKNOWN.keys;
            return reason.lostTo() < 0 ? null : new Loss(reason.lostTo(), lost);
        }
    }

    /** @param loss null if the transaction cannot be run again */
    LostTransaction(String message, @Nullable Loss loss, @Nullable Throwable cause) {
        super(message, "40001", cause);
        this.loss = loss;
    }

    /** What is known of it; null if it cannot be run again. */
    public @Nullable Loss loss() {
        return loss;
    }

    /** Why a transaction that has asked to commit did not. */
    static SQLException of(AbortReason reason, CapturedWrites captured) {
        return switch (reason) {
            case AbortReason.LostCertification lost -> lost("could not commit: a concurrent transaction, at position "
                    + lost.winner() + ", changed " + captured.describe(lost.key()) + "; try again", reason, captured);
            case AbortReason.StaleRead stale -> lost(
                    "could not commit: it has read what a concurrent transaction, at position " + stale.winner()
                            + ", changed; try again",
                    reason, captured);
            case AbortReason.Failed(String label) when label.equals("unavailable") -> new SQLException(
                    "could not commit: the node does not accept writes at the moment; try again, or at another node",
                    "57P03");
            case AbortReason.Refused(String why) -> new SQLException(why, "0A000");
            case AbortReason.Inapplicable(String state, String message) -> new SQLException(
                    "could not commit, for most nodes cannot make its changes: " + message, state);
            default -> lost("could not commit because of a concurrent transaction (" + reason.label() + "); try again",
                    reason, captured);
        };
    }

    /** Nobody can tell at the moment whether it commits. */
    static SQLException inDoubt(TransactionNames names, TransactionId name) {
        return new SQLException(names.inDoubt(name) + ". " + names.howToAsk(name), TransactionNames.IN_DOUBT);
    }

    /** It waits for a turn that does not come without a majority. */
    static SQLException awaitsNoTurn() {
        return new SQLException(
                "the transaction was rolled back: this node cannot reach a majority of the cluster, so that"
                        + " its turn does not come; run it again at another node",
                "57P03");
    }

    private static SQLException lost(String message, AbortReason reason, CapturedWrites captured) {
        return new LostTransaction(message, Loss.of(reason, captured.writes().keys()), null);
    }
}
