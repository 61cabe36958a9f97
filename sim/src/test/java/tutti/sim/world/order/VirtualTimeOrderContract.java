package tutti.sim.world.order;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;
import tutti.core.spi.Order;
import tutti.order.OrderContract;
import tutti.sim.disk.Unsynced;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Nanos;
import tutti.sim.net.LinkConfig;
import tutti.sim.net.Network;
import tutti.sim.net.Segment;
import tutti.sim.thread.Threads;

/**
 * The contract of all orders, held against those of the simulated world. It is written for threads that wait: so a thread lets
 * virtual time pass as fast as it can, and takes turns with the test's calls by a lock.
 */
abstract class VirtualTimeOrderContract extends OrderContract {
    private static final long SLICE_NANOS = Nanos.MILLI;

    private final ReentrantLock turn = new ReentrantLock(true);
    private @Nullable Thread time;
    private volatile boolean over;

    /** What orders are opened with. */
    interface Opener {
        SimOrder open(Host host, int node);
    }

    /** A group of members on hosts of this network. */
    abstract Opener group(Kernel kernel, Network network, List<String> hosts, long queueBytes);

    @Override
    protected final Cluster cluster(int nodes, long queueBytes) {
        Kernel kernel = new Kernel(nodes);
        Network network = new Network(kernel);
        Segment lan = network.segment("lan", LinkConfig.LAN);
        // No simulated thread is ever made.
        Threads threads = new Threads(kernel);
        List<String> names = new ArrayList<>();
        for (int node = 0; node < nodes; node++) {
            names.add("n" + node);
            network.attach(new Host(kernel, threads, "n" + node, HostConfig.DEFAULT.withMessageCosts(0, 0)), lan);
        }
        Opener opener = group(kernel, network, names, queueBytes);
        time = Thread.ofPlatform().start(() -> {
            while (!over) {
                turn.lock();
                try {
                    kernel.runUntil(kernel.now() + SLICE_NANOS);
                } finally {
                    turn.unlock();
                }
            }
        });
        return node -> new Turns(network.host(names.get(node)), opener, node);
    }

    @AfterEach
    void stopTime() throws InterruptedException {
        over = true;
        Thread running = time;
        if (running != null) {
            running.join();
        }
    }

    /** One member, from its host's boot to its crash. */
    private final class Turns implements Order, DurableLog, Group {
        private final Host host;
        private final SimOrder order;

        Turns(Host host, Opener opener, int node) {
            this.host = host;
            turn.lock();
            try {
                host.boot();
                order = opener.open(host, node);
            } finally {
                turn.unlock();
            }
        }

        @Override
        public DurableLog log() {
            return this;
        }

        @Override
        public Group group() {
            return this;
        }

        @Override
        public void join(Listener listener) {
            order.join(listener);
        }

        @Override
        public View view() {
            turn.lock();
            try {
                return order.view();
            } finally {
                turn.unlock();
            }
        }

        @Override
        public void suspend() {
            turn.lock();
            try {
                order.suspend();
            } finally {
                turn.unlock();
            }
        }

        @Override
        public void resume() {
            turn.lock();
            try {
                order.resume();
            } finally {
                turn.unlock();
            }
        }

        @Override
        public void start(long after, Reader reader) throws TruncatedException {
            turn.lock();
            try {
                order.start(after, reader);
            } finally {
                turn.unlock();
            }
        }

        @Override
        public void append(byte[] payload) throws OverflowException {
            turn.lock();
            try {
                order.append(payload);
            } finally {
                turn.unlock();
            }
        }

        @Override
        public void multicast(byte[] payload, Set<Integer> nodes) {
            turn.lock();
            try {
                order.multicast(payload, nodes);
            } finally {
                turn.unlock();
            }
        }

        @Override
        public int maxPayloadBytes() {
            return order.maxPayloadBytes();
        }

        @Override
        public void truncate(long position) {
            turn.lock();
            try {
                order.truncate(position);
            } finally {
                turn.unlock();
            }
        }

        @Override
        public Status status() {
            turn.lock();
            try {
                return order.status();
            } finally {
                turn.unlock();
            }
        }

        @Override
        public void close() {
            turn.lock();
            try {
                order.close();
                host.crash(Unsynced.KEPT, host.random("crash"));
            } finally {
                turn.unlock();
            }
        }
    }
}
