package tutti.order.group;

import java.io.IOException;
import tutti.core.spi.Order;
import tutti.order.OrderDescriptor;
import tutti.order.OrderSettings;
import tutti.runtime.Directory;
import tutti.runtime.Machine;

/** {@code group}: group communication, in the nodes' memory. */
public final class GroupOrderDescriptor implements OrderDescriptor {
    @Override
    public String name() {
        return "group";
    }

    @Override
    public Durability durability() {
        return Durability.NONE;
    }

    @Override
    public int payloadBytesMax() {
        return GroupOrderConfig.PAYLOAD_BYTES_MAX;
    }

    @Override
    public boolean hasVoters() {
        return false;
    }

    @Override
    public boolean usesDatagrams() {
        return true;
    }

    @Override
    public Order open(OrderSettings settings, Machine machine, Directory directory) throws IOException {
        return GroupOrder.open(GroupOrderConfig.of(
                settings.clusterId().isEmpty() ? settings.cluster() : settings.clusterId(), settings.self(),
                settings.members(),
                settings.queueBytes(), settings.payloadBytesMax(), settings.failureTimeout())
                .withDatagramKeys(settings.datagramKeys()), machine, directory);
    }
}
