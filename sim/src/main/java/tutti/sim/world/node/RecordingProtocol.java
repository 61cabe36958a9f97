package tutti.sim.world.node;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import tutti.core.protocol.Message;
import tutti.core.protocol.PassingProtocol;
import tutti.core.protocol.PassingWorld;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.protocol.TransactionRequest;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/** Has it taken down what a protocol decides, and sees to it that it decides each delivered position once. */
final class RecordingProtocol {
    private final int node;
    private final WorldLog log;
    private long delivered;
    private int decisions;
    /** What commits with what is decided next. */
    private final List<TransactionId> included = new ArrayList<>();

    private RecordingProtocol(int node, WorldLog log) {
        this.node = node;
        this.log = log;
    }

    /** Makes a protocol between a node and what the maker makes. */
    static Protocol between(int node, WorldLog log, Function<ReplicaWorld, Protocol> maker, ReplicaWorld world) {
        RecordingProtocol recording = new RecordingProtocol(node, log);
        return recording.new Told(maker.apply(recording.new Asked(world)));
    }

    private void decided(long position) {
        if (position != delivered || ++decisions > 1) {
            log.violated("decisions", "node " + node + " decides position " + position + " for the " + decisions
                    + ". time when " + delivered + " is delivered");
        }
    }

    private void changed(long position, TransactionId transaction) {
        decided(position);
        included.forEach(each -> log.decidedWith(node, position, each));
        included.clear();
        log.decided(node, position, transaction);
    }

    private final class Told extends PassingProtocol {
        Told(Protocol protocol) {
            super(protocol);
        }

        @Override
        public void delivered(long position, int sender, Message message) {
            delivered = position;
            decisions = 0;
            super.delivered(position, sender, message);
            if (decisions == 0) {
                log.violated("decisions",
                        "node " + node + " decides nothing for position " + position + ", " + message);
            }
        }
    }

    private final class Asked extends PassingWorld {
        Asked(ReplicaWorld world) {
            super(world);
        }

        @Override
        public void apply(TransactionId transaction, long position, WriteSet writes) {
            changed(position, transaction);
            super.apply(transaction, position, writes);
        }

        @Override
        public void commit(TransactionId transaction, long position, WriteSet writes) {
            changed(position, transaction);
            super.commit(transaction, position, writes);
        }

        @Override
        public void includes(TransactionId transaction, long position) {
            included.add(transaction);
            super.includes(transaction, position);
        }

        @Override
        public void execute(TransactionId transaction, long position, TransactionRequest.Whole request) {
            decided(position);
            log.decided(node, position, transaction);
            super.execute(transaction, position, request);
        }

        @Override
        public void skip(long position) {
            decided(position);
            included.clear(); // they have changed nothing
            super.skip(position);
        }
    }
}
