package tutti.order.raft;

import java.io.IOException;
import java.util.List;
import tutti.core.spi.Order;
import tutti.order.OrderDescriptor;
import tutti.order.OrderSettings;
import tutti.runtime.Directory;
import tutti.runtime.Machine;

/** {@code raft}: a Raft log on the nodes' disks. */
public final class RaftOrderDescriptor implements OrderDescriptor {
    private static final int BATCHES_UNDER_WAY = 4;

    @Override
    public String name() {
        return "raft";
    }

    @Override
    public Durability durability() {
        return Durability.DISK;
    }

    @Override
    public int payloadBytesMax() {
        return RaftOrderConfig.PAYLOAD_BYTES_MAX;
    }

    @Override
    public boolean hasVoters() {
        return true;
    }

    @Override
    public Order open(OrderSettings settings, Machine machine, Directory directory) throws IOException {
        return RaftOrder.open(config(settings), machine, directory);
    }

    @Override
    public void adopt(OrderSettings settings, Machine machine, Directory directory, long number) throws IOException {
        OrderCopy.adopt(config(settings), machine, directory, number);
    }

    @Override
    public long join(OrderSettings settings, Machine machine, List<Directory> copies, long position, Directory into)
            throws IOException {
        return JoinedCopies.write(config(settings), machine, copies, position, into);
    }

    @Override
    public Reach reach(OrderSettings settings, Machine machine, Directory directory) throws IOException {
        return AnotherHistory.reach(config(settings), machine, directory);
    }

    @Override
    public void beginAgain(OrderSettings settings, Machine machine, Directory directory, String history)
            throws IOException {
        AnotherHistory.begin(config(settings), machine, directory, history);
    }

    private static RaftOrderConfig config(OrderSettings settings) {
        return RaftOrderConfig.of(settings.self(), settings.members()).withCluster(settings.clusterId())
                .withVoters(settings.voters())
                .withQueue(settings.queueBytes(), settings.payloadBytesMax()).withSegmentBytes(settings.segmentBytes())
                .withBatches(settings.batchBytes(), BATCHES_UNDER_WAY)
                .withTimeouts(settings.failureTimeout(), settings.failureTimeout());
    }
}
