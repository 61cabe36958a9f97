package tutti.core.protocol;

import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/** A world that treats all effects alike, but for those that a subclass overrides. */
public abstract class UniformWorld implements ReplicaWorld {
    /**
     * Does something about an effect that a protocol asks for.
     *
     * @param effect asks another world for the same
     */
    protected abstract void ask(Consumer<ReplicaWorld> effect);

    @Override
    public void run(TransactionId transaction, Priority priority) {
        ask(world -> world.run(transaction, priority));
    }

    @Override
    public void undertake(TransactionId transaction, List<TransactionRequest.Whole> requests) {
        ask(world -> world.undertake(transaction, requests));
    }

    @Override
    public void includes(TransactionId transaction, long position) {
        ask(world -> world.includes(transaction, position));
    }

    @Override
    public void respond(TransactionId transaction, Response response) {
        ask(world -> world.respond(transaction, response));
    }

    @Override
    public void prepare(TransactionId transaction, WriteSet writes) {
        ask(world -> world.prepare(transaction, writes));
    }

    @Override
    public void apply(TransactionId transaction, long position, WriteSet writes) {
        ask(world -> world.apply(transaction, position, writes));
    }

    @Override
    public void commit(TransactionId transaction, long position, WriteSet writes) {
        ask(world -> world.commit(transaction, position, writes));
    }

    @Override
    public void execute(TransactionId transaction, long position, TransactionRequest.Whole request) {
        ask(world -> world.execute(transaction, position, request));
    }

    @Override
    public void skip(long position) {
        ask(world -> world.skip(position));
    }

    @Override
    public void abort(TransactionId transaction) {
        ask(world -> world.abort(transaction));
    }

    @Override
    public void answer(TransactionId transaction, Outcome outcome) {
        ask(world -> world.answer(transaction, outcome));
    }

    @Override
    public void order(Message message) {
        ask(world -> world.order(message));
    }

    @Override
    public void multicast(Message message, Set<Integer> nodes) {
        ask(world -> world.multicast(message, nodes));
    }

    @Override
    public void timer(long timer, long delayNanos) {
        ask(world -> world.timer(timer, delayNanos));
    }
}
