package tutti.macro.distribution;

/** What the first byte of a message says, and how each kind is laid out. */
final class Messages {
    static final byte REQUEST = 0;
    static final byte RESPONSE = 1;
    static final byte PROBE = 2;
    static final byte PROBE_REPLY = 3;

    private static final int READS = 1;
    private static final int WANTS_REPLY = 2;

    private Messages() {}

    static byte[] request(RequestId id, int priority, boolean reads, boolean wantsReply, byte[] content) {
        Output to = new Output();
        to.writeByte(REQUEST);
        id.write(to);
        to.writeSigned(priority);
        to.writeByte((reads ? READS : 0) | (wantsReply ? WANTS_REPLY : 0));
        to.writeBytes(content);
        return to.toBytes();
    }

    /** What follows the first byte of a request. */
    static Request readRequest(Input from, int source, long position, boolean broadcast) {
        RequestId id = RequestId.read(from);
        int priority = (int) from.readSigned();
        int flags = from.readByte();
        return new Request(id, source, position, broadcast, priority, (flags & READS) != 0, (flags & WANTS_REPLY) != 0,
                from.readBytes());
    }

    static byte[] response(RequestId id, Response response, OperationCodec codec) {
        Output to = new Output();
        to.writeByte(RESPONSE);
        id.write(to);
        codec.write(response, to);
        return to.toBytes();
    }

    static byte[] probe(byte kind, RequestId id) {
        Output to = new Output();
        to.writeByte(kind);
        id.write(to);
        return to.toBytes();
    }
}
