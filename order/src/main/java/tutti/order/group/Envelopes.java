package tutti.order.group;

import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32C;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.DecodeException;
import tutti.core.schema.Encoded;
import tutti.core.schema.Versions;

/**
 * Puts frames and announcements into datagrams and takes them out: what nodes of the same group have sent, and nobody else. Of one life of a node, and
 * of one loop.
 *
 * <pre>
 * without keys: CRC32C of all that follows 4 | tag of the group 8 | sender 4 | message
 * with keys: HMAC of all that follows 16 | tag 8 | sender 4 | receiver or -1 4 | sender's life 8 | number 8 | message
 * </pre>
 *
 * The tag is inverted if the message is an {@link Announcement}, and as it is for a {@link Frame}.
 *
 * <p>
 * <b>Without keys</b> this keeps damage and chance out, not adversaries.
 *
 * <p>
 * <b>With keys</b>, secrets that all nodes share, a datagram is taken only if a node of the group has made it (HMAC-SHA-256, RFC
 * 2104, of which 16 bytes are kept), for this receiver or for all, and if it has not been taken before: a sender numbers its
 * datagrams, and a receiver remembers which of the last {@link #WINDOW} it has had of the newest life of each sender; older ones
 * it drops. So an adversary can only drop, delay and reorder, which networks do. Before a receiver that has just started
 * has heard of a sender's present life, it takes datagrams of an earlier one, each once, as if they had been delayed for so long;
 * the group communication stands that. What is said can be read by whoever sees the datagrams, and a node can speak in
 * another's name.
 */
final class Envelopes {
    /** The longer one. */
    static final int BYTES = 16 + 8 + 4 + 4 + 8 + 8;
    /** To all. */
    static final int ALL = -1;
    private static final int PLAIN_BYTES = 4 + 8 + 4;
    private static final int PROOF_BYTES = 16;
    private static final int WINDOW = 4096;
    private static final String ALGORITHM = "HmacSHA256";

    private final long tag;
    private final int self;
    private final long life;
    /** One for each key, that with which to send first; none if nothing is proven. */
    private final List<Mac> keys = new ArrayList<>();
    private final Map<Integer, Taken> taken = new HashMap<>();
    private long sent;

    /**
     * Of a node.
     *
     * @param tag what tells the group's datagrams from others'
     * @param life of the node, greater than all before
     * @param secrets that nodes share: the first is used, all are taken
     */
    Envelopes(long tag, int self, long life, List<byte[]> secrets) {
        this.tag = tag;
        this.self = self;
        this.life = life;
        for (byte[] secret : secrets) {
            try {
                Mac mac = Mac.getInstance(ALGORITHM);
                mac.init(new SecretKeySpec(secret, ALGORITHM));
                keys.add(mac);
            } catch (GeneralSecurityException impossible) {
                throw new IllegalStateException(impossible);
            }
        }
    }

    /**
     * The whole datagram.
     *
     * @param to whom it is for, or {@link #ALL}
     * @param version in which the frame is written
     */
    ByteBuffer seal(int to, Frame frame, int version) {
        return seal(to, tag, frame, version);
    }

    /** The same around an announcement. */
    ByteBuffer seal(int to, Announcement announcement) {
        return seal(to, ~tag, announcement, Versions.FOREVER.newest());
    }

    private ByteBuffer seal(int to, long kind, Encoded message, int version) {
        if (keys.isEmpty()) {
            ByteBuffer datagram = ByteBuffer.allocate(PLAIN_BYTES + message.encodedSize(version)).position(4)
                    .putLong(kind).putInt(self);
            message.encode(datagram, version);
            datagram.flip();
            return datagram.putInt(0, checksum(datagram));
        }
        ByteBuffer datagram = ByteBuffer.allocate(BYTES + message.encodedSize(version)).position(PROOF_BYTES)
                .putLong(kind).putInt(self).putInt(to).putLong(life).putLong(++sent);
        message.encode(datagram, version);
        datagram.flip();
        return datagram.put(0, proof(keys.getFirst(), datagram), 0, PROOF_BYTES);
    }

    /**
     * One that came.
     *
     * @param from id of the node that says to have sent it
     * @param message a {@link Frame} or an {@link Announcement}
     */
    record Received(int from, Encoded message) {}

    /**
     * Reads a datagram; null if no node of this group has sent it, or not to this one, or if it was read before, is damaged or
     * malformed. What it holds shares the buffer.
     */
    @Nullable
    Received open(ByteBuffer datagram) {
        if (datagram.remaining() > Frame.DATAGRAM_BYTES_MAX
                || datagram.remaining() < (keys.isEmpty() ? PLAIN_BYTES : BYTES)) {
            return null;
        }
        ByteBuffer in = datagram.slice();
        if (!(keys.isEmpty() ? in.getInt(0) == checksum(in) : isProven(in))) {
            return null;
        }
        in.position(keys.isEmpty() ? 4 : PROOF_BYTES);
        long kind = in.getLong();
        if (kind != tag && kind != ~tag) {
            return null;
        }
        int from = in.getInt();
        if (!keys.isEmpty()) {
            int to = in.getInt();
            long itsLife = in.getLong();
            long number = in.getLong();
            if ((to != self && to != ALL) || !taken.computeIfAbsent(from, _ -> new Taken()).take(itsLife, number)) {
                return null;
            }
        }
        try {
            return new Received(from, kind == tag ? Frame.SET.decode(in) : Announcement.SET.decode(in));
        } catch (DecodeException malformed) {
            return null;
        }
    }

    private static int checksum(ByteBuffer datagram) {
        CRC32C sum = new CRC32C();
        sum.update(datagram.duplicate().position(4));
        return (int) sum.getValue();
    }

    private boolean isProven(ByteBuffer datagram) {
        byte[] shown = new byte[PROOF_BYTES];
        datagram.get(0, shown);
        for (Mac key : keys) {
            if (MessageDigest.isEqual(shown, Arrays.copyOf(proof(key, datagram), PROOF_BYTES))) {
                return true;
            }
        }
        return false;
    }

    private static byte[] proof(Mac key, ByteBuffer datagram) {
        key.update(datagram.duplicate().position(PROOF_BYTES));
        return key.doFinal();
    }

    /** Which datagrams of one sender were taken. */
    private static final class Taken {
        private long ofLife = Long.MIN_VALUE;
        private long highest;
        /** Of number n, bit n modulo the window: whether it was taken, for the last numbers up to the highest. */
        private final long[] bits = new long[WINDOW / Long.SIZE];

        boolean take(long itsLife, long number) {
            if (itsLife < ofLife || number <= 0) {
                return false;
            }
            if (itsLife > ofLife) {
                ofLife = itsLife;
                highest = 0;
                Arrays.fill(bits, 0);
            }
            if (number <= highest - WINDOW) {
                return false;
            }
            if (number - highest >= WINDOW) {
                Arrays.fill(bits, 0);
                highest = number;
            }
            while (highest < number) {
                highest++;
                bits[word(highest)] &= ~bit(highest);
            }
            boolean unknown = (bits[word(number)] & bit(number)) == 0;
            bits[word(number)] |= bit(number);
            return unknown;
        }

        private static int word(long number) {
            return (int) (number % WINDOW) / Long.SIZE;
        }

        private static long bit(long number) {
            return 1L << number;
        }
    }
}
