package tutti.core.flight;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.zip.CRC32C;
import tutti.core.protocol.Message;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.protocol.Response;
import tutti.core.protocol.TransactionRequest;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * A world that only writes down what is asked of it, as records of a tape: complete enough to be compared and to be told
 * in words. Changes and statements, which the events hold already, are told by their size and checksum.
 */
final class Effects implements ReplicaWorld {
    /** Length and checksum. */
    private static final int DIGEST_BYTES = 4 + 4;
    private static final int TRANSACTION_BYTES = Events.TRANSACTION_BYTES;
    /** Longer messages are written as their digest. */
    private static final int MESSAGE_MAX = 128;

    private final Tape to;
    private final CRC32C checksum = new CRC32C();
    private ByteBuffer scratch = ByteBuffer.allocate(1 << 10);

    Effects(Tape to) {
        this.to = to;
    }

    private ByteBuffer scratch(int bytes) {
        if (scratch.capacity() < bytes) {
            scratch = ByteBuffer.allocate(Math.max(bytes, 2 * scratch.capacity()));
        }
        return scratch.clear();
    }

    private void digest(ByteBuffer into, ByteBuffer content) {
        checksum.reset();
        checksum.update(content);
        into.putInt(content.limit()).putInt((int) checksum.getValue());
    }

    private void writes(RecordKind kind, TransactionId transaction, long position, WriteSet writes) {
        ByteBuffer payload = to.begin(kind, TRANSACTION_BYTES + 8 + 4 + DIGEST_BYTES);
        TransactionId.SCHEMA.write(transaction, payload);
        payload.putLong(position).putInt(writes.keys().size());
        ByteBuffer content = scratch(WriteSet.SCHEMA.size(writes));
        WriteSet.SCHEMA.write(writes, content);
        digest(payload, content.flip());
        to.end();
    }

    @Override
    public void run(TransactionId transaction, Priority priority) {
        ByteBuffer payload = to.begin(RecordKind.RUN, TRANSACTION_BYTES + 1);
        TransactionId.SCHEMA.write(transaction, payload);
        payload.put((byte) priority.ordinal());
        to.end();
    }

    @Override
    public void prepare(TransactionId transaction, WriteSet writes) {
        writes(RecordKind.PREPARE, transaction, 0, writes);
    }

    @Override
    public void apply(TransactionId transaction, long position, WriteSet writes) {
        writes(RecordKind.APPLY, transaction, position, writes);
    }

    @Override
    public void commit(TransactionId transaction, long position, WriteSet writes) {
        writes(RecordKind.COMMIT, transaction, position, writes);
    }

    @Override
    public void undertake(TransactionId transaction, List<TransactionRequest.Whole> requests) {
        requests(RecordKind.UNDERTAKE, transaction, 0, requests);
    }

    @Override
    public void includes(TransactionId transaction, long position) {
        ByteBuffer payload = to.begin(RecordKind.INCLUDES, TRANSACTION_BYTES + 8);
        TransactionId.SCHEMA.write(transaction, payload);
        payload.putLong(position);
        to.end();
    }

    @Override
    public void respond(TransactionId transaction, Response response) {
        ByteBuffer payload = to.begin(RecordKind.RESPOND, TRANSACTION_BYTES + DIGEST_BYTES);
        TransactionId.SCHEMA.write(transaction, payload);
        digest(payload, ByteBuffer.wrap(response.content()));
        to.end();
    }

    @Override
    public void execute(TransactionId transaction, long position, TransactionRequest.Whole request) {
        requests(RecordKind.EXECUTE, transaction, position, List.of(request));
    }

    private void requests(RecordKind kind, TransactionId transaction, long position,
            List<TransactionRequest.Whole> requests) {
        ByteBuffer payload = to.begin(kind, TRANSACTION_BYTES + 8 + DIGEST_BYTES);
        TransactionId.SCHEMA.write(transaction, payload);
        payload.putLong(position);
        ByteBuffer content = scratch(requests.stream().mapToInt(TransactionRequest.Whole.SCHEMA::size).sum());
        requests.forEach(request -> TransactionRequest.Whole.SCHEMA.write(request, content));
        digest(payload, content.flip());
        to.end();
    }

    @Override
    public void skip(long position) {
        to.begin(RecordKind.SKIP, 8).putLong(position);
        to.end();
    }

    @Override
    public void abort(TransactionId transaction) {
        TransactionId.SCHEMA.write(transaction, to.begin(RecordKind.ABORT, TRANSACTION_BYTES));
        to.end();
    }

    @Override
    public void answer(TransactionId transaction, Outcome outcome) {
        switch (outcome) {
            case Outcome.Committed committed -> {
                ByteBuffer payload = to.begin(RecordKind.ANSWER, TRANSACTION_BYTES + 8 + 4);
                TransactionId.SCHEMA.write(transaction, payload);
                payload.putLong(committed.position()).putInt(0);
            }
            case Outcome.Aborted aborted -> {
                byte[] reason = aborted.reason().toString().getBytes(StandardCharsets.UTF_8);
                ByteBuffer payload = to.begin(RecordKind.ANSWER, TRANSACTION_BYTES + 8 + 4 + reason.length);
                TransactionId.SCHEMA.write(transaction, payload);
                payload.putLong(-1).putInt(reason.length).put(reason);
            }
        }
        to.end();
    }

    private void message(ByteBuffer payload, Message message) {
        ByteBuffer content = scratch(message.encodedSize());
        message.encode(content);
        content.flip();
        if (content.limit() <= MESSAGE_MAX) {
            payload.put((byte) 1).put(content);
        } else {
            digest(payload.put((byte) 0), content);
        }
    }

    private static int messageBytesMax(Message message) {
        return 1 + Math.max(DIGEST_BYTES, Math.min(MESSAGE_MAX, message.encodedSize()));
    }

    @Override
    public void order(Message message) {
        message(to.begin(RecordKind.ORDER, messageBytesMax(message)), message);
        to.end();
    }

    @Override
    public void multicast(Message message, Set<Integer> nodes) {
        ByteBuffer payload = to.begin(RecordKind.MULTICAST, 4 + 4 * nodes.size() + messageBytesMax(message));
        Events.putNodes(payload, nodes);
        message(payload, message);
        to.end();
    }

    @Override
    public void timer(long timer, long delayNanos) {
        to.begin(RecordKind.SET_TIMER, 16).putLong(timer).putLong(delayNanos);
        to.end();
    }

    /** The end of an event that was {@code Protocol.snapshot}. */
    void snapshotTaken(byte[] snapshot) {
        digest(to.begin(RecordKind.SNAPSHOT_TAKEN, DIGEST_BYTES), ByteBuffer.wrap(snapshot));
        to.end();
    }

    /** The end of an event in which the protocol threw. */
    void threw(Throwable thrown) {
        byte[] type = thrown.getClass().getName().getBytes(StandardCharsets.UTF_8);
        to.begin(RecordKind.THREW, 4 + type.length).putInt(type.length).put(type);
        to.end();
    }
}
