package tutti.sim.net;

/**
 * A message on its way: whole or not at all, once, more than once or never.
 *
 * @param from who sends it; a host's, not a group's
 * @param to whom
 * @param payload bytes, or any object that nobody modifies afterwards
 * @param bytes what it takes on the wire without headers, at least 0
 */
public record Datagram(Address from, Address to, Object payload, int bytes) {
    public Datagram {
        if (from.isGroup() || bytes < 0) {
            throw new IllegalArgumentException("a datagram of " + bytes + " bytes from " + from);
        }
    }

    /** Bytes; they must not be modified afterwards. */
    public static Datagram of(Address from, Address to, byte[] payload) {
        return new Datagram(from, to, payload, payload.length);
    }

    /** The payload, when it is bytes. */
    public byte[] payloadBytes() {
        return (byte[]) payload;
    }
}
