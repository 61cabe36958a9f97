package tutti.core.flight;

import java.util.Set;
import tutti.core.protocol.Message;
import tutti.core.protocol.Replica;
import tutti.core.protocol.Request;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/** Writes down what a protocol asks for, and asks its world for it. */
final class RecordedReplica implements Replica {
    private final FlightRecorder recorder;
    private final Replica world;

    RecordedReplica(FlightRecorder recorder, Replica world) {
        this.recorder = recorder;
        this.world = world;
    }

    @Override
    public void run(TransactionId transaction, Priority priority) {
        recorder.effect(to -> to.run(transaction, priority));
        world.run(transaction, priority);
    }

    @Override
    public void prepare(TransactionId transaction, WriteSet writes) {
        recorder.effect(to -> to.prepare(transaction, writes));
        world.prepare(transaction, writes);
    }

    @Override
    public void apply(TransactionId transaction, long position, WriteSet writes) {
        recorder.effect(to -> to.apply(transaction, position, writes));
        world.apply(transaction, position, writes);
    }

    @Override
    public void commit(TransactionId transaction, long position, WriteSet writes) {
        recorder.effect(to -> to.commit(transaction, position, writes));
        world.commit(transaction, position, writes);
    }

    @Override
    public void execute(TransactionId transaction, long position, Request.Whole request) {
        recorder.effect(to -> to.execute(transaction, position, request));
        world.execute(transaction, position, request);
    }

    @Override
    public void skip(long position) {
        recorder.effect(to -> to.skip(position));
        world.skip(position);
    }

    @Override
    public void abort(TransactionId transaction) {
        recorder.effect(to -> to.abort(transaction));
        world.abort(transaction);
    }

    @Override
    public void answer(TransactionId transaction, Outcome outcome) {
        recorder.effect(to -> to.answer(transaction, outcome));
        world.answer(transaction, outcome);
    }

    @Override
    public void order(Message message) {
        recorder.effect(to -> to.order(message));
        world.order(message);
    }

    @Override
    public void multicast(Message message, Set<Integer> nodes) {
        recorder.effect(to -> to.multicast(message, nodes));
        world.multicast(message, nodes);
    }

    @Override
    public void timer(long timer, long delayNanos) {
        recorder.effect(to -> to.timer(timer, delayNanos));
        world.timer(timer, delayNanos);
    }
}
