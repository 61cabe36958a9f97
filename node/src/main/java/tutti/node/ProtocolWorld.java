package tutti.node;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import tutti.core.protocol.Message;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.protocol.Response;
import tutti.core.protocol.TransactionRequest;
import tutti.core.tune.ConcurrencyTuning;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.node.metrics.NodeMetrics;
import tutti.runtime.Loop;

/**
 * The world of the protocol: tells it one event after the other, and does after each what it asked for meanwhile. On the
 * replica's loop only; the protocol asks during an event.
 */
final class ProtocolWorld implements ReplicaWorld {
    /** What of the node is needed here. */
    interface Node {
        Protocol protocol();

        CommitPipeline pipeline();

        ClientTransactions transactions();

        Outcomes outcomes();

        /** Has a message ordered. */
        void order(Message message);

        /** Sends a message to some nodes outside of the order. */
        void multicast(Message message, Set<Integer> nodes);
    }

    private final Node node;
    private final Loop loop;
    private final NodeMetrics metrics;
    private final ArrayDeque<Runnable> events = new ArrayDeque<>();
    private final ArrayDeque<Runnable> effects = new ArrayDeque<>();
    private boolean telling;
    /** Which request of a timer counts. */
    private final Map<Long, Long> timers = new HashMap<>();
    private long timerTurns;

    ProtocolWorld(Node node, Loop loop, NodeMetrics metrics) {
        this.node = node;
        this.loop = loop;
        this.metrics = metrics;
    }

    /** Tells the protocol something, now or after what it is being told, and then does what it asked for. */
    void tell(Runnable event) {
        events.add(event);
        if (telling) {
            return;
        }
        telling = true;
        for (Runnable next = events.poll(); next != null; next = events.poll()) {
            next.run();
            for (Runnable effect = effects.poll(); effect != null; effect = effects.poll()) {
                effect.run();
            }
        }
        telling = false;
    }

    /** Tells the protocol of a message that the order has delivered. */
    void deliver(Protocol protocol, long position, int sender, Message message) {
        tell(() -> protocol.delivered(position, sender, message));
        metrics.remembered(protocol.remembered());
        ConcurrencyTuning.Choice chosen = protocol.undertaking();
        if (chosen != null) {
            metrics.undertaking(chosen.sideBySide(), chosen.together());
        }
    }

    @Override
    public void apply(TransactionId transaction, long position, WriteSet writes) {
        node.outcomes().committed(transaction);
        node.transactions().bookings().commits(transaction, position);
        effects.add(() -> {
            node.pipeline().drop(transaction);
            if (!node.pipeline().engineHeld(position)) {
                metrics.certified(writes.keys().size());
            }
            node.pipeline().remote(position, transaction, writes);
        });
    }

    @Override
    public void commit(TransactionId transaction, long position, WriteSet writes) {
        node.outcomes().committed(transaction);
        node.transactions().bookings().commits(transaction, position);
        effects.add(() -> {
            metrics.certified(writes.keys().size());
            if (!node.transactions().commit(transaction, position, writes)
                    && !node.pipeline().prepared(transaction, position, writes)) {
                throw new Defect(transaction + " is to be committed at position " + position
                        + " but is neither of this node nor prepared");
            }
        });
    }

    @Override
    public void execute(TransactionId transaction, long position, TransactionRequest.Whole request) {
        node.outcomes().request(transaction, position, node.pipeline().engineHeld(position));
        effects.add(() -> {
            if (!node.pipeline().engineHeld(position)) {
                node.transactions().executing(transaction, position);
            }
            node.pipeline().barrier(position, transaction, request);
        });
    }

    @Override
    public void run(TransactionId transaction, Priority priority) {
        effects.add(() -> node.transactions().run(transaction, priority));
    }

    @Override
    public void undertake(TransactionId transaction, List<TransactionRequest.Whole> requests) {
        effects.add(() -> node.transactions().undertake(transaction, requests));
    }

    @Override
    public void includes(TransactionId transaction, long position) {
        node.outcomes().committed(transaction);
        node.transactions().bookings().commits(transaction, position);
        effects.add(() -> node.transactions().included().add(position, transaction));
    }

    @Override
    public void respond(TransactionId transaction, Response response) {
        effects.add(() -> node.transactions().respond(transaction, response));
    }

    @Override
    public void prepare(TransactionId transaction, WriteSet writes) {
        effects.add(() -> node.pipeline().prepare(transaction, writes));
    }

    @Override
    public void skip(long position) {
        effects.add(() -> node.pipeline().skip(position));
    }

    @Override
    public void abort(TransactionId transaction) {
        effects.add(() -> {
            node.transactions().abort(transaction);
            node.pipeline().drop(transaction);
        });
    }

    @Override
    public void answer(TransactionId transaction, Outcome outcome) {
        effects.add(() -> node.transactions().answer(transaction, outcome));
    }

    @Override
    public void order(Message message) {
        effects.add(() -> node.order(message));
    }

    @Override
    public void multicast(Message message, Set<Integer> nodes) {
        effects.add(() -> node.multicast(message, nodes));
    }

    @Override
    public void timer(long timer, long delayNanos) {
        effects.add(() -> {
            long turn = ++timerTurns;
            timers.put(timer, turn);
            loop.schedule(delayNanos, () -> {
                if (timers.remove(timer, turn)) {
                    tell(() -> node.protocol().timer(timer));
                }
            });
        });
    }
}
