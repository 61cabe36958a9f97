package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import tutti.pgwire.ProtocolViolation;

/** Parts of a client's messages. */
final class Messages {
    /** Bytes of a message before its body: its type and its length. */
    static final int HEADER = 5;

    private Messages() {}

    /**
     * Where a string in a message ends, which begins at {@code start}.
     *
     * @throws ProtocolViolation if it does not end before {@code limit}
     */
    static int end(ByteBuf buffer, int start, int limit) {
        int zero = buffer.indexOf(start, limit, (byte) 0);
        if (zero < 0) {
            throw new ProtocolViolation("a string in a message has no end");
        }
        return zero;
    }

    /** A copy of a message whose body begins at {@code start}. */
    static byte[] copy(ByteBuf buffer, int start, int bodyLength) {
        byte[] message = new byte[HEADER + bodyLength];
        buffer.getBytes(start - HEADER, message);
        return message;
    }

    /** The same, to be sent later. */
    static ByteBuf copyToSend(ByteBuf buffer, int start, int bodyLength) {
        return Unpooled.wrappedBuffer(copy(buffer, start, bodyLength));
    }

    /** A copy of a message, whose body begins at {@code start}, in which other bytes stand between two places; into an empty buffer. */
    static ByteBuf replaced(ByteBuf out, ByteBuf buffer, int start, int from, byte[] bytes, int to, int limit) {
        int length = from - start + bytes.length + limit - to;
        out.writeByte(buffer.getByte(start - HEADER)).writeInt(Integer.BYTES + length);
        return out.writeBytes(buffer, start, from - start).writeBytes(bytes).writeBytes(buffer, to, limit - to);
    }

    /** What is in a buffer, which is released. */
    static byte[] bytes(ByteBuf buffer) {
        byte[] bytes = new byte[buffer.readableBytes()];
        buffer.readBytes(bytes);
        buffer.release();
        return bytes;
    }

    /** The text of a simple query. */
    static byte[] queryText(ByteBuf message, int start, int bodyLength) {
        byte[] sql = new byte[Math.max(0, bodyLength - 1)];
        message.getBytes(start, sql);
        return sql;
    }
}
