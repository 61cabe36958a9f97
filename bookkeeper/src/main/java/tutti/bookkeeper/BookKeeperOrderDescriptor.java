package tutti.bookkeeper;

import java.io.IOException;
import java.util.Map;
import tutti.core.spi.Order;
import tutti.order.OrderDescriptor;
import tutti.order.OrderSettings;
import tutti.runtime.Directory;
import tutti.runtime.Machine;

/** {@code bookkeeper}: a log in Apache BookKeeper, on the disks of bookies. */
public final class BookKeeperOrderDescriptor implements OrderDescriptor {
    /** Longest message, in bytes: it is written in as many entries as it takes. */
    private static final int PAYLOAD_BYTES_MAX = 1 << 28;

    /** For {@link java.util.ServiceLoader}. */
    public BookKeeperOrderDescriptor() {}

    @Override
    public String name() {
        return "bookkeeper";
    }

    @Override
    public Durability durability() {
        return Durability.DISK;
    }

    @Override
    public int payloadBytesMax() {
        return PAYLOAD_BYTES_MAX;
    }

    @Override
    public boolean hasVoters() {
        return false;
    }

    @Override
    public void check(Map<String, String> parameters) {
        var _ = BookKeeperParameters.of(parameters, "cluster");
    }

    @Override
    public Order open(OrderSettings settings, Machine machine, Directory directory) throws IOException {
        try {
            return BookKeeperOrder.open(settings, machine, directory);
        } catch (IllegalArgumentException wrong) {
            throw new IOException(wrong.getMessage(), wrong);
        }
    }
}
