package tutti.core.protocol;

import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.core.tune.ConcurrencyTuning;
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

    /**
     * Does something about an event that the world tells, unless a subclass has overridden that event.
     *
     * @param event tells another protocol the same
     */
    protected void tell(Consumer<Protocol> event) {
        event.accept(protocol);
    }

    @Override
    public void submitted(TransactionId transaction, TransactionRequest request) {
        tell(to -> to.submitted(transaction, request));
    }

    @Override
    public void executed(TransactionId transaction, Execution execution) {
        tell(to -> to.executed(transaction, execution));
    }

    @Override
    public void undertaken(TransactionId transaction, Execution execution, List<Response> responses) {
        tell(to -> to.undertaken(transaction, execution, responses));
    }

    @Override
    public void prepared(TransactionId transaction) {
        tell(to -> to.prepared(transaction));
    }

    @Override
    public void blocked(TransactionId transaction, Set<TransactionId> holders) {
        tell(to -> to.blocked(transaction, holders));
    }

    @Override
    public void failed(TransactionId transaction, AbortReason.Failed cause) {
        tell(to -> to.failed(transaction, cause));
    }

    @Override
    public void victim(TransactionId transaction, long forPosition) {
        tell(to -> to.victim(transaction, forPosition));
    }

    @Override
    public void locksLost(TransactionId transaction) {
        tell(to -> to.locksLost(transaction));
    }

    @Override
    public void committed(long position, long horizon) {
        tell(to -> to.committed(position, horizon));
    }

    @Override
    public void delivered(long position, int sender, Message message) {
        tell(to -> to.delivered(position, sender, message));
    }

    @Override
    public void tentative(int sender, Message message) {
        tell(to -> to.tentative(sender, message));
    }

    @Override
    public void received(int sender, Message message) {
        tell(to -> to.received(sender, message));
    }

    @Override
    public void view(Set<Integer> members) {
        tell(to -> to.view(members));
    }

    @Override
    public void members(long position, Set<Integer> members) {
        tell(to -> to.members(position, members));
    }

    @Override
    public void undertake(int executors, int together) {
        tell(to -> to.undertake(executors, together));
    }

    @Override
    public void timer(long timer) {
        tell(to -> to.timer(timer));
    }

    @Override
    public Set<Integer> orderers() {
        return protocol.orderers();
    }

    @Override
    public OptionalInt primary() {
        return protocol.primary();
    }

    @Override
    public boolean undecided(TransactionId transaction) {
        return protocol.undecided(transaction);
    }

    @Override
    public int remembered() {
        return protocol.remembered();
    }

    @Override
    public long waitingBytes() {
        return protocol.waitingBytes();
    }

    @Override
    public ConcurrencyTuning.@Nullable Choice undertaking() {
        return protocol.undertaking();
    }

    @Override
    public OrderedParameters ordered() {
        return protocol.ordered();
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
