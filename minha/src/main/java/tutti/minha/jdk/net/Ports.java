package tutti.minha.jdk.net;

import java.net.BindException;
import java.util.function.IntPredicate;
import tutti.sim.kernel.RandomStream;

/** Ports that nobody chose: from a random one on, upwards and around, in the range that Linux uses. */
final class Ports {
    private static final int FIRST = 32_768;
    private static final int COUNT = 28_232;

    private int next;

    Ports(RandomStream random) {
        next = random.nextInt(COUNT);
    }

    int free(IntPredicate taken) throws BindException {
        for (int i = 0; i < COUNT; i++) {
            int port = FIRST + next;
            next = (next + 1) % COUNT;
            if (!taken.test(port)) {
                return port;
            }
        }
        throw new BindException("Cannot assign requested address: all " + COUNT + " ephemeral ports are in use");
    }
}
