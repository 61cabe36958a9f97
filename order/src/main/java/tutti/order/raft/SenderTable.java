package tutti.order.raft;

import java.nio.ByteBuffer;
import java.util.Map;
import java.util.TreeMap;

/**
 * Decides which batches of the Raft log count, and numbers their messages. The log may hold a batch twice or out of
 * turn, because a sender repeats what it has not seen delivered; every node leaves the same ones out, since this
 * table is a function of the log alone. Not thread safe.
 */
final class SenderTable {
    private record Sender(long incarnation, long lastSequence) {}

    private final Map<Integer, Sender> senders = new TreeMap<>();
    private long positions;

    /** Messages numbered so far: the highest position. */
    long positions() {
        return positions;
    }

    /**
     * Numbers the messages of a batch if it is the next of its sender's incarnation: the successor of the last one, or
     * number 1 of a later incarnation.
     *
     * @return position of the batch's first message, or 0 if the batch does not count
     */
    long accept(int sender, long incarnation, long sequence, int messages) {
        Sender known = senders.get(sender);
        boolean next = sequence == 1 && (known == null || incarnation > known.incarnation());
        if (known != null && incarnation == known.incarnation()) {
            next = sequence == known.lastSequence() + 1;
        }
        if (!next) {
            return 0;
        }
        senders.put(sender, new Sender(incarnation, sequence));
        long first = positions + 1;
        positions += messages;
        return first;
    }

    byte[] encode() {
        ByteBuffer out = ByteBuffer.allocate(12 + 20 * senders.size());
        out.putLong(positions).putInt(senders.size());
        senders.forEach((id, s) -> out.putInt(id).putLong(s.incarnation()).putLong(s.lastSequence()));
        return out.array();
    }

    static SenderTable decode(ByteBuffer in) {
        SenderTable table = new SenderTable();
        table.positions = in.getLong();
        for (int n = in.getInt(); n > 0; n--) {
            int id = in.getInt();
            table.senders.put(id, new Sender(in.getLong(), in.getLong()));
        }
        return table;
    }
}
