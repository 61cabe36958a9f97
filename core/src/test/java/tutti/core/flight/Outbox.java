package tutti.core.flight;

import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Message;
import tutti.core.protocol.Replica;
import tutti.core.protocol.Request;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/** A world that does nothing, and keeps the last message that was to be ordered. */
final class Outbox implements Replica {
    private @Nullable Message last;
    int decided;

    Message last() {
        Message present = last;
        if (present == null) {
            throw new AssertionError("nothing was to be ordered");
        }
        return present;
    }

    @Override
    public void order(Message message) {
        last = message;
    }

    @Override
    public void apply(TransactionId transaction, long position, WriteSet writes) {
        decided++;
    }

    @Override
    public void commit(TransactionId transaction, long position, WriteSet writes) {
        decided++;
    }

    @Override
    public void run(TransactionId transaction, Priority priority) {
        // Nothing runs here.
    }

    @Override
    public void prepare(TransactionId transaction, WriteSet writes) {
        // As above.
    }

    @Override
    public void execute(TransactionId transaction, long position, Request.Whole request) {
        // As above.
    }

    @Override
    public void skip(long position) {
        // As above.
    }

    @Override
    public void abort(TransactionId transaction) {
        // As above.
    }

    @Override
    public void answer(TransactionId transaction, Outcome outcome) {
        // Nobody asked.
    }

    @Override
    public void multicast(Message message, Set<Integer> nodes) {
        // Nobody is there.
    }

    @Override
    public void timer(long timer, long delayNanos) {
        // Time does not pass here.
    }
}
