package tutti.runtime.real;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import tutti.keys.ClusterAuthority;
import tutti.runtime.Directory;
import tutti.runtime.Machine;
import tutti.runtime.PeerIdentity;
import tutti.runtime.TestWorld;

/** This machine, twice. */
final class RealWorld implements TestWorld {
    private static final long NANOS_MAX = 60_000_000_000L;

    private final Path directory;
    /** None if the machines prove nothing to each other. */
    private final List<PeerKeys> keys;

    RealWorld(Path directory) {
        this(directory, List.of());
    }

    private RealWorld(Path directory, List<PeerKeys> keys) {
        this.directory = directory;
        this.keys = keys;
    }

    /** The same, of a cluster in which each is a node. */
    static RealWorld proving(Path directory) throws IOException {
        ClusterAuthority authority = ClusterAuthority.create(Instant.now());
        return new RealWorld(directory, List.of(TestKeys.of(directory.resolve("keys0"), authority, 0),
                TestKeys.of(directory.resolve("keys1"), authority, 1)));
    }

    @Override
    public Machine machine(int number) {
        return keys.isEmpty() ? RealMachine.INSTANCE : RealMachine.INSTANCE.proving(keys.get(number));
    }

    @Override
    public @Nullable PeerIdentity identity(int number) {
        return keys.isEmpty() ? null : keys.get(number).identity();
    }

    @Override
    public Directory directory(int number) throws IOException {
        return PathDirectory.of(directory.resolve("machine" + number));
    }

    @Override
    public InetSocketAddress freeAddress(int number) throws IOException {
        return FreePorts.addresses(1).getFirst();
    }

    @Override
    public void await(String what, BooleanSupplier condition) {
        long begin = System.nanoTime();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - begin > NANOS_MAX) {
                throw new AssertionError("not within a minute: " + what);
            }
            Thread.onSpinWait();
        }
    }

    @Override
    public void close() {
        // It goes on.
    }
}
