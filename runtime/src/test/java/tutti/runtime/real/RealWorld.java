package tutti.runtime.real;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.function.BooleanSupplier;
import tutti.runtime.Directory;
import tutti.runtime.Machine;
import tutti.runtime.TestWorld;

/** This machine, twice. */
final class RealWorld implements TestWorld {
    private static final long NANOS_MAX = 60_000_000_000L;

    private final Path directory;

    RealWorld(Path directory) {
        this.directory = directory;
    }

    @Override
    public Machine machine(int number) {
        return RealMachine.INSTANCE;
    }

    @Override
    public Directory directory(int number) throws IOException {
        return PathDirectory.of(directory.resolve("machine" + number));
    }

    @Override
    public InetSocketAddress freeAddress(int number) throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return new InetSocketAddress(InetAddress.getLoopbackAddress(), socket.getLocalPort());
        }
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
