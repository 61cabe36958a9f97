package tutti.node;

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/**
 * Sees to it that what the order delivers continues what this node has: every position once and without a gap, and first the
 * message after which its snapshot was taken, which must be the same one. A data directory that was put back from an old copy,
 * or that belongs to another cluster, is found so before it is used. Of the replica's loop, except {@link #digest}.
 */
final class LogContinuity {
    private static final int NOTHING = 0;

    private long last;
    private int lastDigest = NOTHING;
    /** What has been delivered last was before the snapshot. */
    private boolean agreed = true;

    /** What a message comes down to. Any thread. */
    static int digest(int sender, ByteBuffer payload) {
        CRC32C sum = new CRC32C();
        sum.update(sender);
        sum.update(payload.duplicate());
        return (int) sum.getValue();
    }

    /**
     * The node begins with a snapshot.
     *
     * @param position after which it was taken; 0 for none
     * @param digest of the message there
     */
    void begin(long position, int digest) {
        last = position;
        lastDigest = digest;
        agreed = position == 0;
    }

    /** Position behind which the order is to deliver: the snapshot's own message is wanted, too. */
    long startAfter() {
        return Math.max(0, last - 1);
    }

    /**
     * A message was delivered.
     *
     * @return whether it is a new one, which the snapshot does not know
     * @throws IllegalStateException if it does not continue what came before
     */
    boolean isNew(long position, int digest) {
        if (!agreed) {
            if (position != last || digest != lastDigest) {
                throw new IllegalStateException("the order begins with position " + position + ", digest "
                        + Integer.toHexString(digest) + ", but this node's snapshot was taken after position " + last
                        + ", digest " + Integer.toHexString(lastDigest)
                        + ": its data directory belongs to another cluster"
                        + " or is an old copy; remove it, and give the node a copy of another node's database");
            }
            agreed = true;
            return false;
        }
        if (position != last + 1) {
            throw new Defect("the order delivered position " + position + ", expected " + (last + 1)
                    + ": each is delivered once, without a gap");
        }
        last = position;
        lastDigest = digest;
        return true;
    }

    /** Of the message delivered last. */
    int lastDigest() {
        return lastDigest;
    }
}
