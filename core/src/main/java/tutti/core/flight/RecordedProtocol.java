package tutti.core.flight;

import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Consumer;
import tutti.core.protocol.Execution;
import tutti.core.protocol.Message;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Request;
import tutti.core.txn.AbortReason;
import tutti.core.txn.TransactionId;

/** Writes down what a protocol is told, and tells it. Each event excludes whoever asks the recorder for a recording. */
final class RecordedProtocol implements Protocol {
    private final FlightRecorder recorder;
    private final Protocol protocol;

    RecordedProtocol(FlightRecorder recorder, Protocol protocol) {
        this.recorder = recorder;
        this.protocol = protocol;
    }

    private void event(Consumer<Events> note, Runnable event) {
        synchronized (recorder) {
            recorder.event(note);
            try {
                event.run();
            } catch (RuntimeException | Error thrown) {
                recorder.effect(to -> to.threw(thrown));
                throw thrown;
            }
        }
    }

    @Override
    public void submitted(TransactionId transaction, Request request) {
        event(to -> to.submitted(transaction, request), () -> protocol.submitted(transaction, request));
    }

    @Override
    public void executed(TransactionId transaction, Execution execution) {
        event(to -> to.executed(transaction, execution), () -> protocol.executed(transaction, execution));
    }

    @Override
    public void prepared(TransactionId transaction) {
        event(to -> to.prepared(transaction), () -> protocol.prepared(transaction));
    }

    @Override
    public void blocked(TransactionId transaction, Set<TransactionId> holders) {
        event(to -> to.blocked(transaction, holders), () -> protocol.blocked(transaction, holders));
    }

    @Override
    public void failed(TransactionId transaction, AbortReason.Failed cause) {
        event(to -> to.failed(transaction, cause), () -> protocol.failed(transaction, cause));
    }

    @Override
    public void victim(TransactionId transaction, long forPosition) {
        event(to -> to.victim(transaction, forPosition), () -> protocol.victim(transaction, forPosition));
    }

    @Override
    public void committed(long position, long horizon) {
        event(to -> to.committed(position, horizon), () -> protocol.committed(position, horizon));
    }

    @Override
    public void delivered(long position, int sender, Message message) {
        event(to -> to.delivered(position, sender, message), () -> protocol.delivered(position, sender, message));
    }

    @Override
    public void tentative(int sender, Message message) {
        event(to -> to.heard(Kind.TENTATIVE, sender, message), () -> protocol.tentative(sender, message));
    }

    @Override
    public void received(int sender, Message message) {
        event(to -> to.heard(Kind.RECEIVED, sender, message), () -> protocol.received(sender, message));
    }

    @Override
    public void view(Set<Integer> members) {
        event(to -> to.view(members), () -> protocol.view(members));
    }

    @Override
    public void timer(long timer) {
        event(to -> to.timer(timer), () -> protocol.timer(timer));
    }

    @Override
    public byte[] snapshot() {
        byte[][] taken = new byte[1][];
        event(Events::snapshot, () -> {
            byte[] snapshot = protocol.snapshot();
            recorder.effect(to -> to.snapshotTaken(snapshot));
            taken[0] = snapshot;
        });
        return taken[0];
    }

    /** Is in the state of the first segment, which is written down at the first event. */
    @Override
    public void restore(byte[] snapshot) {
        if (recorder.events() > 0) {
            throw new IllegalStateException("a protocol is restored before its first event");
        }
        protocol.restore(snapshot);
    }

    @Override
    public Set<Integer> orderers() {
        return protocol.orderers();
    }

    @Override
    public OptionalInt primary() {
        return protocol.primary();
    }
}
