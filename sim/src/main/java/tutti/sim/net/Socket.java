package tutti.sim.net;

import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import tutti.sim.host.Host;
import tutti.sim.kernel.Label;
import tutti.sim.thread.SimQueue;

/**
 * Datagrams for code that waits: a port whose datagrams queue up until a simulated thread receives them. What arrives when
 * the queue is full is dropped. Gone when its host crashes.
 */
public final class Socket implements AutoCloseable {
    private static final Label FULL = Label.of("net", "socket full");

    private final Network network;
    private final Host host;
    private final Address address;
    private final SimQueue<Datagram> queue;

    /**
     * Takes a port of a running host.
     *
     * @param queued datagrams that may wait, at least 1
     */
    public Socket(Network network, Host host, int port, int queued) {
        this.network = network;
        this.host = host;
        this.address = Address.of(host.name(), port);
        this.queue = new SimQueue<>(queued);
        network.bind(host, port, datagram -> {
            if (!queue.offer(datagram)) {
                host.kernel().trace(FULL, port);
            }
        });
    }

    /** Its address. */
    public Address address() {
        return address;
    }

    /** Sends bytes, which must not be modified afterwards. */
    public void send(Address to, byte[] bytes) {
        network.send(Datagram.of(address, to, bytes));
    }

    /** The next datagram; waits for it. */
    public Datagram receive() throws InterruptedException {
        return queue.take();
    }

    /** The next datagram, or null if there is none within a time. */
    public @Nullable Datagram receive(long nanos) throws InterruptedException {
        return queue.poll(nanos, TimeUnit.NANOSECONDS);
    }

    /** Gives the port back. */
    @Override
    public void close() {
        network.unbind(host, address.port());
    }
}
