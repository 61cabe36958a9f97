package tutti.core.flight;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.LongSupplier;
import tutti.core.protocol.Execution;
import tutti.core.protocol.Message;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Response;
import tutti.core.protocol.TransactionRequest;
import tutti.core.txn.AbortReason;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * A protocol that only writes down what it is told, as records of a tape: complete, so that it can be told again. Every event
 * begins with the time that the world gave for it.
 */
final class Events implements Protocol {
    /** What every name of a transaction takes. */
    static final int TRANSACTION_BYTES = TransactionId.SCHEMA.size(new TransactionId(0, 0));

    private static final byte INTERACTIVE = 0;
    private static final byte WHOLE = 1;

    private final Tape to;
    private final LongSupplier nanos;

    /** @param nanos the time, in nanoseconds since any moment */
    Events(Tape to, LongSupplier nanos) {
        this.to = to;
        this.nanos = nanos;
    }

    private ByteBuffer begin(RecordKind kind, int payloadMax) {
        return to.begin(kind, Math.addExact(8, payloadMax)).putLong(nanos.getAsLong());
    }

    @Override
    public void submitted(TransactionId transaction, TransactionRequest request) {
        switch (request) {
            case TransactionRequest.Interactive interactive -> {
                ByteBuffer payload = begin(RecordKind.SUBMITTED,
                        TRANSACTION_BYTES + 1 + ConflictClasses.SCHEMA.size(interactive.classes()));
                TransactionId.SCHEMA.write(transaction, payload);
                payload.put(INTERACTIVE);
                ConflictClasses.SCHEMA.write(interactive.classes(), payload);
            }
            case TransactionRequest.Whole whole -> {
                ByteBuffer payload = begin(RecordKind.SUBMITTED,
                        TRANSACTION_BYTES + 1 + TransactionRequest.Whole.SCHEMA.size(whole));
                TransactionId.SCHEMA.write(transaction, payload);
                payload.put(WHOLE);
                TransactionRequest.Whole.SCHEMA.write(whole, payload);
            }
        }
        to.end();
    }

    @Override
    public void executed(TransactionId transaction, Execution execution) {
        execution(RecordKind.EXECUTED, transaction, execution, 0);
        to.end();
    }

    @Override
    public void undertaken(TransactionId transaction, Execution execution, List<Response> responses) {
        ByteBuffer payload = execution(RecordKind.UNDERTAKEN, transaction, execution,
                4 + responses.stream().mapToInt(Response.SCHEMA::size).sum());
        payload.putInt(responses.size());
        responses.forEach(response -> Response.SCHEMA.write(response, payload));
        to.end();
    }

    private ByteBuffer execution(RecordKind kind, TransactionId transaction, Execution execution, int more) {
        ByteBuffer payload = begin(kind, TRANSACTION_BYTES + 16 + WriteSet.SCHEMA.size(execution.writes())
                + ReadSet.SCHEMA.size(execution.reads()) + more);
        TransactionId.SCHEMA.write(transaction, payload);
        payload.putLong(execution.begun()).putLong(execution.lastCommitted());
        WriteSet.SCHEMA.write(execution.writes(), payload);
        ReadSet.SCHEMA.write(execution.reads(), payload);
        return payload;
    }

    @Override
    public void prepared(TransactionId transaction) {
        TransactionId.SCHEMA.write(transaction, begin(RecordKind.PREPARED, TRANSACTION_BYTES));
        to.end();
    }

    @Override
    public void blocked(TransactionId transaction, Set<TransactionId> holders) {
        ByteBuffer payload = begin(RecordKind.BLOCKED, TRANSACTION_BYTES * (1 + holders.size()) + 4);
        TransactionId.SCHEMA.write(transaction, payload);
        payload.putInt(holders.size());
        holders.forEach(holder -> TransactionId.SCHEMA.write(holder, payload));
        to.end();
    }

    @Override
    public void failed(TransactionId transaction, AbortReason.Failed cause) {
        byte[] label = cause.label().getBytes(StandardCharsets.UTF_8);
        ByteBuffer payload = begin(RecordKind.FAILED, TRANSACTION_BYTES + 4 + label.length);
        TransactionId.SCHEMA.write(transaction, payload);
        payload.putInt(label.length).put(label);
        to.end();
    }

    @Override
    public void victim(TransactionId transaction, long forPosition) {
        ByteBuffer payload = begin(RecordKind.VICTIM, TRANSACTION_BYTES + 8);
        TransactionId.SCHEMA.write(transaction, payload);
        payload.putLong(forPosition);
        to.end();
    }

    @Override
    public void locksLost(TransactionId transaction) {
        TransactionId.SCHEMA.write(transaction, begin(RecordKind.LOCKS_LOST, TRANSACTION_BYTES));
        to.end();
    }

    @Override
    public void committed(long position, long horizon) {
        begin(RecordKind.COMMITTED, 16).putLong(position).putLong(horizon);
        to.end();
    }

    @Override
    public void delivered(long position, int sender, Message message) {
        ByteBuffer payload = begin(RecordKind.DELIVERED, 12 + message.encodedSize()).putLong(position).putInt(sender);
        message.encode(payload);
        to.end();
    }

    @Override
    public void tentative(int sender, Message message) {
        heard(RecordKind.TENTATIVE, sender, message);
    }

    @Override
    public void received(int sender, Message message) {
        heard(RecordKind.RECEIVED, sender, message);
    }

    private void heard(RecordKind kind, int sender, Message message) {
        ByteBuffer payload = begin(kind, 4 + message.encodedSize()).putInt(sender);
        message.encode(payload);
        to.end();
    }

    @Override
    public void view(Set<Integer> members) {
        putNodes(begin(RecordKind.VIEW, 4 + 4 * members.size()), members);
        to.end();
    }

    @Override
    public void members(long position, Set<Integer> members) {
        putNodes(begin(RecordKind.MEMBERS, 12 + 4 * members.size()).putLong(position), members);
        to.end();
    }

    @Override
    public void undertake(int executors, int together) {
        begin(RecordKind.LIMITED, 8).putInt(executors).putInt(together);
        to.end();
    }

    @Override
    public void timer(long timer) {
        begin(RecordKind.TIMER, 8).putLong(timer);
        to.end();
    }

    /** Only that it was asked for. */
    @Override
    public byte[] snapshot() {
        begin(RecordKind.SNAPSHOT, 0);
        to.end();
        return NOTHING;
    }

    /** Is no event: a recording begins with a state. */
    @Override
    public void restore(byte[] snapshot) {
        throw new IllegalStateException("a protocol is restored before its first event");
    }

    static void putNodes(ByteBuffer to, Collection<Integer> nodes) {
        to.putInt(nodes.size());
        nodes.stream().sorted().forEach(to::putInt);
    }

    static Set<Integer> nodes(ByteBuffer from) {
        Set<Integer> nodes = new TreeSet<>();
        for (int count = from.getInt(); count > 0; count--) {
            nodes.add(from.getInt());
        }
        return nodes;
    }

    static String text(ByteBuffer from) {
        int length = from.getInt();
        if (length < 0 || length > from.remaining()) {
            throw new IllegalArgumentException("a text of " + length + " bytes in " + from.remaining());
        }
        byte[] bytes = new byte[length];
        from.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /**
     * An event that was read back.
     *
     * @param nanos when it happened, by the world's time
     * @param words what it was
     * @param again tells it once more, to the protocol that it was read with; what it answers is of interest only
     *            for a snapshot
     */
    record Event(long nanos, String words, Telling again) {}

    /** Tells a protocol something. */
    interface Telling {
        /** Answers the snapshot, if that was the event; otherwise nothing of interest. */
        byte[] tell();
    }

    private static final byte[] NOTHING = new byte[0];

    private static Telling of(Runnable event) {
        return () -> {
            event.run();
            return NOTHING;
        };
    }

    /**
     * Reads the payload of an event.
     *
     * @param protocol that it will be told to
     * @param messages reads those of the protocol
     */
    static Event read(RecordKind kind, ByteBuffer from, Protocol protocol, Function<ByteBuffer, Message> messages) {
        long nanos = from.getLong();
        return switch (kind) {
            case SUBMITTED -> {
                TransactionId transaction = TransactionId.SCHEMA.read(from);
                TransactionRequest request = from.get() == INTERACTIVE
                        ? new TransactionRequest.Interactive(ConflictClasses.SCHEMA.read(from))
                        : TransactionRequest.Whole.SCHEMA.read(from);
                yield new Event(nanos, "submitted " + transaction + " (" + RecordText.of(request) + ")",
                        of(() -> protocol.submitted(transaction, request)));
            }
            case EXECUTED, UNDERTAKEN -> {
                TransactionId transaction = TransactionId.SCHEMA.read(from);
                Execution execution = new Execution(from.getLong(), from.getLong(), WriteSet.SCHEMA.read(from),
                        ReadSet.SCHEMA.read(from));
                String words = kind.words() + " " + transaction + " (begun at " + execution.begun()
                        + ", last committed " + execution.lastCommitted() + ", " + RecordText.of(execution.writes())
                        + (execution.reads().isEmpty() ? "" : ", reads " + RecordText.shortened(execution.reads()));
                if (kind == RecordKind.EXECUTED) {
                    yield new Event(nanos, words + ")", of(() -> protocol.executed(transaction, execution)));
                }
                List<Response> responses = new ArrayList<>();
                for (int count = from.getInt(); count > 0; count--) {
                    responses.add(Response.SCHEMA.read(from));
                }
                yield new Event(nanos, words + "; " + RecordText.shortened(responses) + ")",
                        of(() -> protocol.undertaken(transaction, execution, responses)));
            }
            case PREPARED -> {
                TransactionId transaction = TransactionId.SCHEMA.read(from);
                yield new Event(nanos, "prepared " + transaction, of(() -> protocol.prepared(transaction)));
            }
            case BLOCKED -> {
                TransactionId transaction = TransactionId.SCHEMA.read(from);
                Set<TransactionId> holders = new LinkedHashSet<>();
                for (int count = from.getInt(); count > 0; count--) {
                    holders.add(TransactionId.SCHEMA.read(from));
                }
                yield new Event(nanos, "blocked " + transaction + " (waits for " + holders + ")",
                        of(() -> protocol.blocked(transaction, holders)));
            }
            case FAILED -> {
                TransactionId transaction = TransactionId.SCHEMA.read(from);
                String label = text(from);
                yield new Event(nanos, "failed " + transaction + " (" + label + ")",
                        of(() -> protocol.failed(transaction, new AbortReason.Failed(label))));
            }
            case VICTIM -> {
                TransactionId transaction = TransactionId.SCHEMA.read(from);
                long forPosition = from.getLong();
                yield new Event(nanos, "victim " + transaction + " (gave way to position " + forPosition + ")",
                        of(() -> protocol.victim(transaction, forPosition)));
            }
            case LOCKS_LOST -> {
                TransactionId transaction = TransactionId.SCHEMA.read(from);
                yield new Event(nanos, "locks lost of " + transaction, of(() -> protocol.locksLost(transaction)));
            }
            case COMMITTED -> {
                long position = from.getLong();
                long horizon = from.getLong();
                yield new Event(nanos, "committed position " + position + " (horizon " + horizon + ")",
                        of(() -> protocol.committed(position, horizon)));
            }
            case DELIVERED -> {
                long position = from.getLong();
                int sender = from.getInt();
                Message message = messages.apply(from);
                yield new Event(nanos, "delivered position " + position + " from node " + sender + ": "
                        + RecordText.shortened(message), of(() -> protocol.delivered(position, sender, message)));
            }
            case TENTATIVE, RECEIVED -> {
                int sender = from.getInt();
                Message message = messages.apply(from);
                yield new Event(nanos, kind.words() + " from node " + sender + ": " + RecordText.shortened(message),
                        of(() -> {
                            if (kind == RecordKind.RECEIVED) {
                                protocol.received(sender, message);
                            } else {
                                protocol.tentative(sender, message);
                            }
                        }));
            }
            case VIEW -> {
                Set<Integer> members = nodes(from);
                yield new Event(nanos, "view " + members, of(() -> protocol.view(members)));
            }
            case MEMBERS -> {
                long position = from.getLong();
                Set<Integer> members = nodes(from);
                yield new Event(nanos, "members as of position " + position + ": " + members,
                        of(() -> protocol.members(position, members)));
            }
            case TIMER -> {
                long timer = from.getLong();
                yield new Event(nanos, "timer " + timer, of(() -> protocol.timer(timer)));
            }
            case LIMITED -> {
                int executors = from.getInt();
                int together = from.getInt();
                yield new Event(nanos, "to undertake " + executors + " times " + together + " requests",
                        of(() -> protocol.undertake(executors, together)));
            }
            case SNAPSHOT -> new Event(nanos, "a snapshot was asked for", protocol::snapshot);
            default -> throw new IllegalArgumentException("not an event: " + kind);
        };
    }
}
