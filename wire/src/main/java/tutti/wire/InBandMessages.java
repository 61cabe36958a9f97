package tutti.wire;

import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/** A client's messages of statements that tell their rows, as they are sent in place of what the client has said. On the session's event loop. */
final class InBandMessages {
    private final ClientStream client;

    InBandMessages(ClientStream client) {
        this.client = client;
    }

    /** A message with other bytes in place of those from {@code from} to {@code to}. */
    ByteBuf replaced(ByteBuf buffer, int start, int from, byte[] bytes, int to, int limit) {
        ByteBuf out = client.buffer(Messages.HEADER + from - start + bytes.length + limit - to);
        return Messages.replaced(out, buffer, start, from, bytes, to, limit);
    }

    /**
     * The formats of the result's columns may be told one by one: the column that is told to the node is one more.
     *
     * @return the message to be sent; null if it is the client's as it came
     */
    @Nullable
    ByteBuf bind(InBandStatement sent, ByteBuf buffer, int start, int limit) {
        int formats;
        try {
            int at = Messages.end(buffer, start, limit) + 1;
            at = Messages.end(buffer, at, limit) + 1;
            at += 2 + 2 * buffer.getUnsignedShort(at);
            int values = buffer.getUnsignedShort(at);
            at += 2;
            for (int i = 0; i < values; i++) {
                at += Integer.BYTES + Math.max(0, buffer.getInt(at));
                if (at < 0 || at > limit) {
                    return null;
                }
            }
            formats = at;
        } catch (IndexOutOfBoundsException tooShort) {
            return null;
        }
        int count = limit - formats < 2 ? 0 : buffer.getUnsignedShort(formats);
        if (count < 2 || limit - formats != 2 + 2 * count) {
            return null;
        }
        ByteBuf all = client.buffer();
        if (sent.returning()) {
            all.writeShort(count + 1).writeBytes(buffer, formats + 2, 2 * count).writeShort(0);
        } else {
            all.writeShort(0);
        }
        return replaced(buffer, start, formats, Messages.bytes(all), limit, limit);
    }
}
