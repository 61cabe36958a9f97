package tutti.bookkeeper;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.DecodeException;
import tutti.order.batch.Batch;
import tutti.order.batch.SenderTable;

/**
 * Reads the entries of one ledger, one after the other, and numbers their messages. What a ledger holds is a function of its entries
 * alone, so every reader and the next writer come to the same. Not thread safe.
 */
final class LedgerScan {
    /** Longest entry that is written, in bytes: bookies take five mebibytes as they come. */
    static final int ENTRY_BYTES_MAX = 1 << 20;
    private static final byte COMPLETE = 0;
    private static final byte MORE = 1;

    /**
     * A batch that counts.
     *
     * @param first position of its first message
     */
    record Numbered(long first, Batch batch) {}

    private final long ledger;
    private final ByteArrayOutputStream begun = new ByteArrayOutputStream();
    private @Nullable SenderTable table;
    private long entry = -1;

    /** Of whose entries none has been read. */
    LedgerScan(long ledger) {
        this.ledger = ledger;
    }

    /** Number of the last entry that was read; -1 if none was. */
    long entry() {
        return entry;
    }

    /** Which senders have got how far; once the first entry has been read. */
    SenderTable table() {
        SenderTable known = table;
        if (known == null) {
            throw new IllegalStateException("the head of ledger " + ledger + " has not been read");
        }
        return known;
    }

    /**
     * Takes the next entry.
     *
     * @return what it completes, if it does
     * @throws IOException if no writer would have written it there
     */
    @Nullable
    Numbered take(byte[] bytes) throws IOException {
        entry++;
        try {
            if (table == null) {
                table = SenderTable.of(LedgerHead.SET.decode(ByteBuffer.wrap(bytes), LedgerHead.class).table());
                return null;
            }
            if (bytes.length == 0 || (bytes[0] != COMPLETE && bytes[0] != MORE)) {
                throw damaged("begins with none of 0 and 1", null);
            }
            begun.write(bytes, 1, bytes.length - 1);
            if (bytes[0] == MORE) {
                return null;
            }
            Batch batch = Batch.of(begun.toByteArray());
            begun.reset();
            long first = table().accept(batch.sender(), batch.incarnation(), batch.sequence(),
                    batch.messages().count());
            if (first == 0) {
                throw damaged("holds batch " + batch.sequence() + " of node " + batch.sender()
                        + ", which was not the next", null);
            }
            return new Numbered(first, batch);
        } catch (DecodeException wrong) {
            throw damaged("cannot be read: " + wrong.getMessage(), wrong);
        }
    }

    private IOException damaged(String how, @Nullable Exception cause) {
        return new IOException("entry " + entry + " of ledger " + ledger + " in BookKeeper " + how
                + ": somebody else has written to this log, or it is damaged. Look at who may write to the bookies, and begin a new"
                + " cluster with the database of the node whose position is highest", cause);
    }

    /** A batch as entries. */
    static byte[][] entries(byte[] batch) {
        int most = ENTRY_BYTES_MAX - 1;
        byte[][] entries = new byte[(batch.length + most - 1) / most][];
        for (int i = 0; i < entries.length; i++) {
            int from = i * most;
            int length = Math.min(most, batch.length - from);
            byte[] each = new byte[length + 1];
            each[0] = i == entries.length - 1 ? COMPLETE : MORE;
            System.arraycopy(batch, from, each, 1, length);
            entries[i] = each;
        }
        return entries;
    }
}
