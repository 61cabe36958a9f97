package tutti.node;

import java.io.IOException;
import java.util.function.UnaryOperator;
import tutti.runtime.Directory;

/**
 * What a replica begins anew with at another node, besides the rows of a database that holds all up to {@link #position} and
 * perhaps more, and the order's log from there on.
 */
public final class StateCopy {
    private final long position;
    private final byte[] snapshot;
    private final long lastLife;
    private final long number;

    /**
     * Of a node.
     *
     * @param position after which the snapshot was taken; 0 for none
     * @param snapshot of the protocol, as files have it
     * @param lastLife number of the receiver's last life that the order has heard of
     * @param number by which its donor tells it from others for the same receiver
     */
    StateCopy(long position, byte[] snapshot, long lastLife, long number) {
        this.position = position;
        this.snapshot = snapshot;
        this.lastLife = lastLife;
        this.number = number;
    }

    /** With the snapshot as files have it. */
    StateCopy as(UnaryOperator<byte[]> complete) {
        return new StateCopy(position, complete.apply(snapshot), lastLife, number);
    }

    /** Its donor has given no other one this number. */
    long number() {
        return number;
    }

    /** The database must hold at least all up to here, the log all behind, and the message at this position. */
    public long position() {
        return position;
    }

    /**
     * Writes the files of a replica that begins with it. Blocks.
     *
     * @param into an empty directory, which becomes the replica's own
     */
    public void write(Directory into) throws IOException {
        NodeFiles files = new NodeFiles(into);
        files.keepIncarnation(lastLife);
        if (position > 0) {
            files.save(new NodeFiles.Snapshot(position, snapshot));
        }
    }
}
