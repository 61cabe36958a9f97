package tutti.group;

import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/**
 * A message with its place in the total order, as it lies in every member's log.
 *
 * @param position 1 and up, without gaps
 * @param view number of the view in which the sequencer gave it this position; never decreases along the log
 * @param sender the member that submitted it
 * @param incarnation which life of the sender, 1 and up
 * @param number the how-manieth message of that life, of those that were multicast, 1 and up
 * @param payload what was submitted; shared, never to be modified
 */
public record Ordered(long position, long view, int sender, long incarnation, long number, byte[] payload) {
    static final Schema<Ordered> SCHEMA = Schema.part("ordered message", Ordered.class).of(
            Field.of("position", Types.POSITIVE, Ordered::position), Field.of("view", Types.NATURAL, Ordered::view),
            Field.of("sender", Types.INT, Ordered::sender),
            Field.of("incarnation", Types.POSITIVE, Ordered::incarnation),
            Field.of("number", Types.POSITIVE, Ordered::number),
            Field.of("payload", Types.bytes(Packet.PAYLOAD_BYTES_MAX), Ordered::payload), Ordered::new);

    int encodedSize() {
        return SCHEMA.size(this);
    }
}
