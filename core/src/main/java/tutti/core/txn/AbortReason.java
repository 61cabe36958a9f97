package tutti.core.txn;

/** Why a transaction was aborted: what the client's error, the metrics and the reports are made from. */
public sealed interface AbortReason {
    /** A short stable name for metrics and reports. */
    String label();

    /**
     * If the transaction is run again, it loses again before this position is visible to it: 0 if that is not known, -1 if it is of no use to run
     * it again.
     */
    default long lostTo() {
        return switch (this) {
            case LostCertification lost -> lost.winner();
            case StaleRead stale -> stale.winner();
            case Victim victim -> victim.forPosition();
            case TooOld _,Promised _ -> 0;
            case Refused _,Failed _,Inapplicable _ -> -1;
        };
    }

    /**
     * Certification found a concurrent transaction that came first in the total order.
     *
     * @param key index of the losing key in the transaction's own key set
     * @param winner position of the transaction that won
     */
    record LostCertification(int key, long winner) implements AbortReason {
        @Override
        public String label() {
            return "certification";
        }
    }

    /**
     * Certification found that a concurrent transaction which came first in the total order changed what this one read.
     *
     * @param winner position of that transaction
     */
    record StaleRead(long winner) implements AbortReason {
        @Override
        public String label() {
            return "stale-read";
        }
    }

    /**
     * Executed so long ago that certification has forgotten whom to compare it with.
     *
     * @param lastCommitted what its node had committed when it asked
     * @param oldestKept the oldest position that certification still knows
     */
    record TooOld(long lastCommitted, long oldestKept) implements AbortReason {
        @Override
        public String label() {
            return "too-old";
        }
    }

    /**
     * Held a lock that an ordered transaction needed, and had not been ordered itself.
     *
     * @param forPosition position of the transaction that it gave way to
     */
    record Victim(long forPosition) implements AbortReason {
        @Override
        public String label() {
            return "victim";
        }
    }

    /**
     * Touches what is promised to a transaction that its client has prepared, and neither committed nor rolled back yet.
     *
     * @param key index of the key in the transaction's own key set
     * @param to by what its client knows the prepared transaction
     */
    record Promised(int key, String to) implements AbortReason {
        @Override
        public String label() {
            return "promised";
        }
    }

    /**
     * This replica may not run it at this time, or not at all under its protocol.
     *
     * @param why for the person who reads it: what is not possible here, and what is
     */
    record Refused(String why) implements AbortReason {
        @Override
        public String label() {
            return "refused";
        }
    }

    /**
     * It had its place in the order, but most nodes could not make its changes, so all leave them out.
     *
     * @param sqlState of the error that the first of these nodes met
     * @param message likewise
     */
    record Inapplicable(String sqlState, String message) implements AbortReason {
        @Override
        public String label() {
            return "inapplicable";
        }
    }

    /**
     * The engine or the client ended it before it asked to commit.
     *
     * @param label a short stable name: {@code user}, {@code deadlock}, {@code first-updater}, {@code disconnect}, …
     */
    record Failed(String label) implements AbortReason {}
}
