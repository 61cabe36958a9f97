package tutti.sim.net;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Writes what hosts send as a packet capture in the classic pcap format with nanoseconds, that Wireshark and tcpdump read:
 * IPv4 and UDP headers, and the payload where it is bytes; of other payloads the length alone. A datagram is one packet, whatever
 * the links cut it into, taken when it leaves its sender's line; who receives it, and when, is not in there. Hosts have the
 * addresses 10.0.0.1 and up in the order in which they were attached, groups 224.0.1.1 and up.
 */
public final class PacketCapture {
    private static final int MAGIC_NANOSECONDS = 0xA1B2_3C4D;
    private static final short VERSION_MAJOR = 2;
    private static final short VERSION_MINOR = 4;
    private static final int RAW_IP = 101;
    private static final int FILE_HEADER_BYTES = 24;
    private static final int RECORD_HEADER_BYTES = 16;
    private static final int IP_BYTES = 20;
    private static final int UDP_BYTES = 8;
    private static final int LENGTH_MAX = 0xFFFF;
    private static final int FIRST_HOST = 0x0A00_0001;
    private static final int FIRST_GROUP = 0xE000_0101;
    private static final long NANOS = 1_000_000_000;

    private final OutputStream to;
    private final Map<String, Integer> addresses = new HashMap<>();
    private int groups;
    private long packets;

    /**
     * A capture without packets.
     *
     * @param hosts their names, in the order of their addresses
     * @param to where it goes; whoever opened it closes it
     */
    public PacketCapture(List<String> hosts, OutputStream to) throws IOException {
        this.to = to;
        for (int i = 0; i < hosts.size(); i++) {
            addresses.put(hosts.get(i), FIRST_HOST + i);
        }
        to.write(ByteBuffer.allocate(FILE_HEADER_BYTES).putInt(MAGIC_NANOSECONDS).putShort(VERSION_MAJOR)
                .putShort(VERSION_MINOR).putInt(0).putInt(0).putInt(LENGTH_MAX).putInt(RAW_IP).array());
    }

    /** Packets so far. */
    public long packets() {
        return packets;
    }

    /** A datagram leaves its sender. */
    void sent(long nanos, Datagram datagram) {
        byte[] payload = datagram.payload() instanceof byte[] bytes ? bytes : new byte[0];
        int length = Math.min(LENGTH_MAX, datagram.bytes() + IP_BYTES + UDP_BYTES);
        int captured = Math.min(length, payload.length + IP_BYTES + UDP_BYTES);
        ByteBuffer record = ByteBuffer.allocate(RECORD_HEADER_BYTES + captured);
        record.putInt((int) (nanos / NANOS)).putInt((int) (nanos % NANOS)).putInt(captured).putInt(length);
        int ip = record.position();
        record.put((byte) 0x45).put((byte) 0).putShort((short) length).putShort((short) packets).putShort((short) 0)
                .put((byte) 64).put((byte) 17).putShort((short) 0).putInt(address(datagram.from()))
                .putInt(address(datagram.to()));
        record.putShort(ip + 10, checksum(record, ip));
        record.putShort((short) datagram.from().port()).putShort((short) datagram.to().port())
                .putShort((short) (length - IP_BYTES)).putShort((short) 0);
        record.put(payload, 0, captured - IP_BYTES - UDP_BYTES);
        packets++;
        try {
            to.write(record.array());
        } catch (IOException e) {
            throw new UncheckedIOException("the packet capture cannot be written", e);
        }
    }

    private int address(Address of) {
        return addresses.computeIfAbsent(of.host(), _ -> FIRST_GROUP + groups++);
    }

    /** Of RFC 791: the one's complement sum of the header's 16-bit words, complemented. */
    private static short checksum(ByteBuffer header, int at) {
        int sum = 0;
        for (int i = 0; i < IP_BYTES; i += 2) {
            sum += Short.toUnsignedInt(header.getShort(at + i));
        }
        sum = (sum & 0xFFFF) + (sum >>> 16);
        return (short) ~((sum & 0xFFFF) + (sum >>> 16));
    }
}
