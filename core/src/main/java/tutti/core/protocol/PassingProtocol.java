package tutti.core.protocol;

import java.nio.ByteBuffer;
import java.util.Set;
import tutti.core.txn.AbortReason;
import tutti.core.txn.TransactionId;

/** Passes everything on that a world tells a protocol: for whoever stands between the two and changes a part of it. */
public class PassingProtocol implements Protocol {
    /** That is told. */
    protected final Protocol protocol;

    /** In front of a protocol. */
    public PassingProtocol(Protocol protocol) {
        this.protocol = protocol;
    }

    @Override
    public void submitted(TransactionId transaction, Request request) {
        protocol.submitted(transaction, request);
    }

    @Override
    public void executed(TransactionId transaction, Execution execution) {
        protocol.executed(transaction, execution);
    }

    @Override
    public void prepared(TransactionId transaction) {
        protocol.prepared(transaction);
    }

    @Override
    public void blocked(TransactionId transaction, Set<TransactionId> holders) {
        protocol.blocked(transaction, holders);
    }

    @Override
    public void failed(TransactionId transaction, AbortReason.Failed cause) {
        protocol.failed(transaction, cause);
    }

    @Override
    public void victim(TransactionId transaction, long forPosition) {
        protocol.victim(transaction, forPosition);
    }

    @Override
    public void committed(long position, long horizon) {
        protocol.committed(position, horizon);
    }

    @Override
    public void delivered(long position, int sender, Message message) {
        protocol.delivered(position, sender, message);
    }

    @Override
    public void tentative(int sender, Message message) {
        protocol.tentative(sender, message);
    }

    @Override
    public void received(int sender, Message message) {
        protocol.received(sender, message);
    }

    @Override
    public void view(Set<Integer> members) {
        protocol.view(members);
    }

    @Override
    public void timer(long timer) {
        protocol.timer(timer);
    }

    @Override
    public Message decode(ByteBuffer from) {
        return protocol.decode(from);
    }

    @Override
    public boolean executesAtOnce() {
        return protocol.executesAtOnce();
    }

    @Override
    public boolean commitsByOwnMessage() {
        return protocol.commitsByOwnMessage();
    }

    @Override
    public Set<Integer> orderers() {
        return protocol.orderers();
    }

    @Override
    public boolean visibilityAwaitedElsewhere() {
        return protocol.visibilityAwaitedElsewhere();
    }

    @Override
    public boolean needsReads() {
        return protocol.needsReads();
    }

    @Override
    public byte[] snapshot() {
        return protocol.snapshot();
    }

    @Override
    public void restore(byte[] snapshot) {
        protocol.restore(snapshot);
    }
}
