package tutti.core.flight;

import org.jspecify.annotations.Nullable;
import tutti.core.protocol.IdleReplica;
import tutti.core.protocol.Message;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/** A world that does nothing, and keeps the last message that was to be ordered. */
final class Outbox extends IdleReplica {
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
}
