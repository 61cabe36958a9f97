package tutti.sim.tcp;

import java.util.Arrays;

/**
 * What TCP sends. Positions in a stream are counted without wrapping around, from a random beginning below 2^32, which
 * changes nothing that can be seen and saves the arithmetic modulo 2^32.
 *
 * @param fromPort port of the sender
 * @param toPort port of the receiver
 * @param seq position of the first byte, or of SYN or FIN
 * @param ack the next position that the sender expects, if {@code hasAck}
 * @param hasAck whether there is one
 * @param syn begins the stream
 * @param fin ends the stream, behind the data
 * @param rst ends the connection
 * @param window bytes that the sender has room for, from {@code ack}
 * @param data bytes, not modified any more
 */
public record TcpSegment(int fromPort, int toPort, long seq, long ack, boolean hasAck, boolean syn, boolean fin,
        boolean rst,
        int window, byte[] data) {
    /** Header of a segment beyond that of a datagram, which links count already. */
    public static final int HEADER_BYTES = 12;

    /** Positions that it takes. */
    public int length() {
        return data.length + (syn ? 1 : 0) + (fin ? 1 : 0);
    }

    /** The answer to one that nobody is there for. */
    public TcpSegment refusal() {
        int answerer = toPort;
        int asker = fromPort;
        return hasAck
                ? new TcpSegment(answerer, asker, ack, 0, false, false, false, true, 0, new byte[0])
                : new TcpSegment(answerer, asker, 0, seq + length(), true, false, false, true, 0, new byte[0]);
    }

    /** For the trace. */
    public long digest() {
        long flags = (hasAck ? 1 : 0) | (syn ? 2 : 0) | (fin ? 4 : 0) | (rst ? 8 : 0);
        return ((seq * 31 + ack) * 31 + window * 16L + flags) * 31 + Arrays.hashCode(data) + fromPort * 65_536L
                + toPort;
    }
}
