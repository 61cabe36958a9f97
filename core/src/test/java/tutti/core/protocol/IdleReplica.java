package tutti.core.protocol;

import java.util.Set;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/** A world that does nothing. */
public class IdleReplica implements Replica {
    @Override
    public void run(TransactionId transaction, Priority priority) {
        // Nobody does it.
    }

    @Override
    public void prepare(TransactionId transaction, WriteSet writes) {
        // Nobody does it.
    }

    @Override
    public void apply(TransactionId transaction, long position, WriteSet writes) {
        // Nobody does it.
    }

    @Override
    public void commit(TransactionId transaction, long position, WriteSet writes) {
        // Nobody does it.
    }

    @Override
    public void execute(TransactionId transaction, long position, Request.Whole request) {
        // Nobody does it.
    }

    @Override
    public void skip(long position) {
        // Nobody does it.
    }

    @Override
    public void abort(TransactionId transaction) {
        // Nobody does it.
    }

    @Override
    public void answer(TransactionId transaction, Outcome outcome) {
        // Nobody does it.
    }

    @Override
    public void order(Message message) {
        // Nobody does it.
    }

    @Override
    public void multicast(Message message, Set<Integer> nodes) {
        // Nobody does it.
    }

    @Override
    public void timer(long timer, long delayNanos) {
        // Nobody does it.
    }
}
