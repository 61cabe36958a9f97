package tutti.group;

import java.nio.ByteBuffer;

/**
 * A message with its place in the total order, as it lies in every member's log.
 *
 * @param position 1 and up, without gaps
 * @param view number of the view in which the sequencer gave it this position; never decreases along the log
 * @param sender the member that submitted it
 * @param incarnation which life of the sender, 1 and up
 * @param number the how-manieth message of that life, 1 and up
 * @param payload what was submitted; shared, never to be modified
 */
public record Ordered(long position, long view, int sender, long incarnation, long number, byte[] payload) {
    private static final int HEADER_BYTES = 4 * 8 + 2 * 4;

    int encodedSize() {
        return HEADER_BYTES + payload.length;
    }

    void encode(ByteBuffer to) {
        to.putLong(position).putLong(view).putInt(sender).putLong(incarnation).putLong(number).putInt(payload.length)
                .put(payload);
    }

    static Ordered decode(ByteBuffer from) {
        Ordered read = new Ordered(from.getLong(), from.getLong(), from.getInt(), from.getLong(), from.getLong(),
                Packet.bytes(from));
        if (read.position < 1 || read.view < 0 || read.incarnation < 1 || read.number < 1) {
            throw new IllegalArgumentException("an ordered message with position " + read.position + ", view "
                    + read.view + ", incarnation " + read.incarnation + ", number " + read.number);
        }
        return read;
    }
}
