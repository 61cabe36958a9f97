package tutti.sim.net;

import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.RandomStream;

/** One direction of a link: a queue before the wire, the wire, and the way. First in, first out. */
final class Pipe {
    /** That there was no room. */
    static final long DROPPED = -1;

    private final Kernel kernel;
    private final LinkConfig config;
    private final RandomStream random;
    private long freeAt;
    private long lastArrival;

    Pipe(Kernel kernel, LinkConfig config, RandomStream random) {
        this.kernel = kernel;
        this.config = config;
        this.random = random;
    }

    LinkConfig config() {
        return config;
    }

    /** Sends, and returns after how many nanoseconds it arrives, or {@link #DROPPED}. */
    long transmit(int bytes) {
        long now = kernel.now();
        long wire = config.wireBytes(bytes);
        long backlog = Math.max(0, freeAt - now);
        if (backlog > 0 && backlog + config.wireNanos(wire) > config.wireNanos(config.queueBytes())) {
            return DROPPED;
        }
        freeAt = now + backlog + config.wireNanos(wire);
        lastArrival = Math.max(lastArrival, freeAt + config.latency().sample(random));
        return lastArrival - now;
    }

    /**
     * Receives what came from another pipe at the speed of this one, and returns for how long it must wait for what came
     * before it; 0 on a quiet line, since the bits came in while they were sent.
     */
    long receive(int bytes) {
        long now = kernel.now();
        freeAt = Math.max(now, freeAt + config.wireNanos(config.wireBytes(bytes)));
        return freeAt - now;
    }
}
