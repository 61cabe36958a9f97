package tutti.core.protocol;

import java.util.Set;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/** Passes everything on that a protocol asks of its world: for whoever stands between the two and changes a part of it. */
public class PassingReplica implements Replica {
    /** That is asked. */
    protected final Replica world;

    /** In front of a world. */
    public PassingReplica(Replica world) {
        this.world = world;
    }

    @Override
    public void run(TransactionId transaction, Priority priority) {
        world.run(transaction, priority);
    }

    @Override
    public void prepare(TransactionId transaction, WriteSet writes) {
        world.prepare(transaction, writes);
    }

    @Override
    public void apply(TransactionId transaction, long position, WriteSet writes) {
        world.apply(transaction, position, writes);
    }

    @Override
    public void commit(TransactionId transaction, long position, WriteSet writes) {
        world.commit(transaction, position, writes);
    }

    @Override
    public void execute(TransactionId transaction, long position, Request.Whole request) {
        world.execute(transaction, position, request);
    }

    @Override
    public void skip(long position) {
        world.skip(position);
    }

    @Override
    public void abort(TransactionId transaction) {
        world.abort(transaction);
    }

    @Override
    public void answer(TransactionId transaction, Outcome outcome) {
        world.answer(transaction, outcome);
    }

    @Override
    public void order(Message message) {
        world.order(message);
    }

    @Override
    public void multicast(Message message, Set<Integer> nodes) {
        world.multicast(message, nodes);
    }

    @Override
    public void timer(long timer, long delayNanos) {
        world.timer(timer, delayNanos);
    }
}
