package tutti.core.flight;

import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Set;
import tutti.core.protocol.Execution;
import tutti.core.protocol.Message;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.Replica;
import tutti.core.protocol.Request;
import tutti.core.txn.AbortReason;
import tutti.core.txn.TransactionId;

/** {@code si} with faults that can be switched on between a recording and its replay. */
class Flawed implements Protocol {
    static boolean skipsWhatOthersDid;
    static boolean countsTwice;

    private final Replica replica;
    private final Protocol right;
    private long told;

    Flawed(Replica replica) {
        this.replica = replica;
        this.right = Protocols.create("si", 1, Set.of(1, 2), Map.of(), replica);
    }

    @Override
    public void delivered(long position, int sender, Message message) {
        told += countsTwice ? 2 : 1;
        if (skipsWhatOthersDid && sender == 2) {
            replica.skip(position);
        } else {
            right.delivered(position, sender, message);
        }
    }

    @Override
    public void submitted(TransactionId transaction, Request request) {
        right.submitted(transaction, request);
    }

    @Override
    public void executed(TransactionId transaction, Execution execution) {
        right.executed(transaction, execution);
    }

    @Override
    public void prepared(TransactionId transaction) {
        right.prepared(transaction);
    }

    @Override
    public void failed(TransactionId transaction, AbortReason.Failed cause) {
        right.failed(transaction, cause);
    }

    @Override
    public void victim(TransactionId transaction, long forPosition) {
        right.victim(transaction, forPosition);
    }

    @Override
    public void committed(long position, long horizon) {
        right.committed(position, horizon);
    }

    @Override
    public void received(int sender, Message message) {
        right.received(sender, message);
    }

    @Override
    public void view(Set<Integer> members) {
        right.view(members);
    }

    @Override
    public void timer(long timer) {
        right.timer(timer);
    }

    @Override
    public Message decode(ByteBuffer from) {
        return right.decode(from);
    }

    @Override
    public boolean executesAtOnce() {
        return right.executesAtOnce();
    }

    @Override
    public byte[] snapshot() {
        return right.snapshot();
    }

    @Override
    public void restore(byte[] snapshot) {
        right.restore(snapshot);
    }

    @Override
    public String toString() {
        return "flawed, " + told + " told";
    }
}
