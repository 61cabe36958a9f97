package tutti.node;

import java.util.Set;
import tutti.core.protocol.Message;
import tutti.core.protocol.Replica;
import tutti.core.protocol.Request;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/** A world of which nothing may be asked. */
final class NoWorld implements Replica {
    private static AssertionError asked() {
        return new AssertionError("nothing may be asked");
    }

    @Override
    public void run(TransactionId transaction, Priority priority) {
        throw asked();
    }

    @Override
    public void prepare(TransactionId transaction, WriteSet writes) {
        throw asked();
    }

    @Override
    public void apply(TransactionId transaction, long position, WriteSet writes) {
        throw asked();
    }

    @Override
    public void commit(TransactionId transaction, long position, WriteSet writes) {
        throw asked();
    }

    @Override
    public void execute(TransactionId transaction, long position, Request.Whole request) {
        throw asked();
    }

    @Override
    public void skip(long position) {
        throw asked();
    }

    @Override
    public void abort(TransactionId transaction) {
        throw asked();
    }

    @Override
    public void answer(TransactionId transaction, Outcome outcome) {
        throw asked();
    }

    @Override
    public void order(Message message) {
        throw asked();
    }

    @Override
    public void multicast(Message message, Set<Integer> nodes) {
        throw asked();
    }

    @Override
    public void timer(long timer, long delayNanos) {
        throw asked();
    }
}
