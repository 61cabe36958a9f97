package tutti.core.protocol;

import java.util.ArrayDeque;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;

/**
 * Local transactions that have a position, and are answered as soon as it is visible here: a client that was told of its
 * commit sees it from then on.
 */
final class Unanswered {
    private record Decided(long position, TransactionId transaction) {}

    /** In order of position. */
    private final ArrayDeque<Decided> waiting = new ArrayDeque<>();

    /** It will commit at this position, the highest so far. */
    void add(long position, TransactionId transaction) {
        waiting.add(new Decided(position, transaction));
    }

    /** Everything up to this position is visible. */
    void visible(long position, ReplicaWorld world) {
        while (!waiting.isEmpty() && waiting.peek().position() <= position) {
            Decided decided = waiting.remove();
            world.answer(decided.transaction(), new Outcome.Committed(decided.position()));
        }
    }
}
