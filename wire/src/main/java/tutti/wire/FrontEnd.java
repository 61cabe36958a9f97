package tutti.wire;

import java.io.IOException;
import java.net.InetSocketAddress;

/** A node's PostgreSQL server, whatever the engine behind it. */
public interface FrontEnd extends AutoCloseable {
    /**
     * Listens.
     *
     * @return where
     * @throws IOException if the address is taken or not this machine's
     */
    InetSocketAddress start() throws IOException;

    /** Clients with a session. Any thread. */
    int sessions();

    /** Stops listening and closes all clients' connections. Waits; not from an event loop. */
    @Override
    void close();
}
