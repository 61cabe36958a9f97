package tutti.order.raft;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import tutti.order.OrderDescriptor;
import tutti.runtime.Directory;
import tutti.runtime.Machine;

/**
 * Begins another history with the log of one node, when a majority of the members is lost for good.
 *
 * <p>
 * <b>What is given up.</b> What a lost majority had acknowledged beyond that log is gone: nobody who is left can tell what it was. Entries at the end of
 * the log that were not known to be committed are part of the new history.
 *
 * <p>
 * <b>Why nobody of the old history takes part.</b> Each directory of the new history has a number that follows from the history's name, the log's last entry and
 * the node ({@link #number}), and notes of every other member that it is known by the number that follows for it. So {@link MetNodes} turns away whoever comes
 * with a directory of before, and tells it that this is lost: it is given a copy, as any node that has lost its directory, and what it has promised before
 * counts for nothing, since it promised it to nobody of this history. Directories that were made from different logs, by mistake, do not know each other either.
 * A majority of the old members that come back, all at once and without anybody of the new history in reach, is not told: they are to be kept off the network.
 *
 * <p>
 * <b>Why the new members agree.</b> All begin with the same log, in its last term, in which each has voted for itself ({@link OrderCopy#adopt}). So no leader of
 * that term exists, and the first of a later one has all of the log.
 */
final class AnotherHistory {
    private AnotherHistory() {}

    /** As {@link OrderDescriptor#reach}. */
    static OrderDescriptor.Reach reach(RaftOrderConfig config, Machine machine, Directory directory)
            throws IOException {
        String unusable = NodeDirectory.unusable(directory);
        Directory files = directory.directory("log");
        if (!unusable.isEmpty() || !SegmentedLog.exists(files)) {
            throw new IOException(unusable.isEmpty() ? directory.location() + " holds no log of the order" : unusable);
        }
        try (Closeable _ = NodeDirectory.lock(directory);
                SegmentedLog log = SegmentedLog.open(machine, files, config.segmentBytes(), config.cacheBytes())) {
            Checkpoints.Checkpoint end = new Checkpoints(directory, log).atEnd();
            return new OrderDescriptor.Reach(end.term(), end.index(), end.positions());
        }
    }

    /** As {@link OrderDescriptor#beginAgain}. */
    static void begin(RaftOrderConfig config, Machine machine, Directory directory, String history) throws IOException {
        OrderDescriptor.Reach reach = reach(config, machine, directory);
        MetNodes.forget(directory);
        OrderCopy.adopt(config, machine, directory, number(history, reach, config.self()));
        for (int node : MemberList.read(directory, config).now().addresses().keySet()) {
            if (node != config.self()) {
                MetNodes.expect(directory, node, number(history, reach, node), reach.position());
            }
        }
        directory.sync();
    }

    /** Of a node's directory. */
    static long number(String history, OrderDescriptor.Reach reach, int node) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256")
                    .digest((history + ' ' + reach.term() + ' ' + reach.entry() + ' ' + node)
                            .getBytes(StandardCharsets.UTF_8));
            return ByteBuffer.wrap(digest).getLong();
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
