package tutti.cli;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;

/**
 * Ports that the system does not give to whoever asks for any, that other virtual machines of tests do not take, so that they are still
 * free a moment later, and that clusters do not take by default, since others may be started on this machine at the same time.
 */
public final class FreePorts {
    private static final int FIRST = 20_000;
    private static final int STEP = 8;
    private static final int BASES = 1000;
    private static final int TRIES = 100;

    private FreePorts() {}

    /**
     * Looks for some that are free together.
     *
     * @param offsets of the wanted ones from the answer
     */
    public static int base(int... offsets) {
        for (int tries = 0; tries < TRIES; tries++) {
            int base = FIRST + ThreadLocalRandom.current().nextInt(BASES) * STEP;
            if (IntStream.of(offsets).allMatch(offset -> isFree(base + offset) && isClaimed(base + offset))) {
                return base;
            }
        }
        throw new AssertionError("no free ports");
    }

    /** For this virtual machine alone, until it ends: nobody takes the ports of a node that is down. */
    private static boolean isClaimed(int port) {
        try {
            return tutti.runtime.real.FreePorts.claim(port);
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    private static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
            return socket.isBound();
        } catch (IOException taken) {
            return false;
        }
    }
}
