package tutti.order.batch;

import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/**
 * Decides which batches of a log count, and numbers their messages. The log may hold a batch twice or out of
 * turn, because a sender repeats what it has not seen delivered; every node leaves the same ones out, since this
 * table is a function of the log alone. Not thread safe.
 */
public final class SenderTable {
    /** How far a sender has got. */
    public record Sender(long incarnation, long lastSequence) {
        /** As a part of messages. */
        public static final Schema<Sender> SCHEMA = Schema.part("sender", Sender.class).of(
                Field.of("incarnation", Types.NATURAL, Sender::incarnation),
                Field.of("lastSequence", Types.NATURAL, Sender::lastSequence), Sender::new);
    }

    /**
     * The table as of an entry. Immutable.
     *
     * @param positions highest position that was given out
     */
    public record Image(long positions, Map<Integer, Sender> senders) {
        /** As a part of messages. */
        public static final Schema<Image> SCHEMA = Schema.part("sender table", Image.class).of(
                Field.of("positions", Types.NATURAL, Image::positions),
                Field.of("senders", Types.map(Types.INT, Sender.SCHEMA, 1 << 16), Image::senders), Image::new);

        /** Copies the table. */
        public Image {
            senders = Collections.unmodifiableMap(new TreeMap<>(senders));
        }
    }

    private final Map<Integer, Sender> senders = new TreeMap<>();
    private long positions;

    /** Of an empty log. */
    public SenderTable() {}

    /** Messages numbered so far: the highest position. */
    public long positions() {
        return positions;
    }

    /**
     * Numbers the messages of a batch if it is the next of its sender's incarnation: the successor of the last one, or
     * number 1 of a later incarnation.
     *
     * @return position of the batch's first message, or 0 if the batch does not count
     */
    public long accept(int sender, long incarnation, long sequence, int messages) {
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

    /** As it is now. */
    public Image image() {
        return new Image(positions, senders);
    }

    /** One that goes on where the image was taken. */
    public static SenderTable of(Image image) {
        SenderTable table = new SenderTable();
        table.positions = image.positions();
        table.senders.putAll(image.senders());
        return table;
    }
}
