package tutti.core.protocol;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** What {@link Wice} says: the first in the total order, and by multicast to whoever can have it ordered; the others by multicast. */
sealed interface WiceMessage extends Message {
    /**
     * A message of the certification, on its way into the order.
     *
     * @param origin who says it
     * @param life the sender's incarnation, by which {@code number} counts
     * @param number from 1; 0 if it does not matter how often it is said
     */
    record Numbered(int origin, long life, long number, Message message) implements WiceMessage {
        @Override
        public int encodedSize() {
            return 1 + 4 + 8 + 8 + message.encodedSize();
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put((byte) 1).putInt(origin).putLong(life).putLong(number);
            message.encode(to);
        }
    }

    /**
     * A message with its position in the order.
     *
     * @param previous the position before it, lower by more than one where the world uses positions for itself
     */
    record Relay(long position, long previous, Numbered message) implements WiceMessage {
        @Override
        public int encodedSize() {
            return 1 + 8 + 8 + message.encodedSize();
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put((byte) 2).putLong(position).putLong(previous);
            message.encode(to);
        }
    }

    /**
     * How far the sender has come.
     *
     * @param position everything up to it is visible there
     * @param reached everything up to it has been handed on there; below {@code position} only while it recovers
     */
    record Stored(long position, long reached) implements WiceMessage {
        @Override
        public int encodedSize() {
            return 1 + 8 + 8;
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put((byte) 3).putLong(position).putLong(reached);
        }
    }

    /** Somebody waits to hear how far the receiver has come: what was said of it may have been lost. */
    record Ask() implements WiceMessage {
        @Override
        public int encodedSize() {
            return 1;
        }

        @Override
        public void encode(ByteBuffer to) {
            to.put((byte) 4);
        }
    }

    /** Reads what one of them wrote. */
    static WiceMessage decode(ByteBuffer from) {
        byte tag = from.get();
        return switch (tag) {
            case 1 -> new Numbered(from.getInt(), from.getLong(), from.getLong(), SnapshotIsolation.decode(from));
            case 2 -> {
                long position = from.getLong();
                long previous = from.getLong();
                if (decode(from) instanceof Numbered numbered) {
                    yield new Relay(position, previous, numbered);
                }
                throw new IllegalArgumentException("a relay of something else than a numbered message");
            }
            case 3 -> new Stored(from.getLong(), from.getLong());
            case 4 -> new Ask();
            default -> throw new IllegalArgumentException("not a message of wice: tag " + tag);
        };
    }

    /** Bytes that {@link #putText} writes. */
    static int textSize(String text) {
        return 4 + text.getBytes(StandardCharsets.UTF_8).length;
    }

    /** Appends a text at the buffer's position. */
    static void putText(ByteBuffer to, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        to.putInt(bytes.length).put(bytes);
    }

    /** Reads what {@link #putText} wrote. */
    static String getText(ByteBuffer from) {
        int length = from.getInt();
        if (length < 0 || length > from.remaining()) {
            throw new IllegalArgumentException("text of " + length + " bytes in " + from.remaining());
        }
        byte[] bytes = new byte[length];
        from.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
