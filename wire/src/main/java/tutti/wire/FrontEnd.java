package tutti.wire;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import tutti.pgwire.ErrorFields;

/** A node's PostgreSQL server, whatever the engine behind it. */
public interface FrontEnd extends AutoCloseable {
    /** What a client hears whose node stops. */
    ErrorFields SHUT_DOWN = ErrorFields.of("FATAL", "57P01",
            "terminating connection, because this node is told to stop; connect again, to another node");

    /**
     * Listens.
     *
     * @return where
     * @throws IOException if the address is taken or not this machine's
     */
    InetSocketAddress start() throws IOException;

    /** Clients with a session. Any thread. */
    int sessions();

    /**
     * What sessions have in memory.
     *
     * @param preparedBytes of texts and values of prepared statements; with H2 and HSQLDB also of results that are being read
     * @param messageBytes of long messages that are on their way to the engine
     * @param commitBytes of what transactions have changed that commit, small ones left out
     * @param commitsWaiting transactions that wait for room before they commit
     */
    record Memory(long preparedBytes, long messageBytes, long commitBytes, int commitsWaiting) {
        /** Nothing. */
        public static final Memory NONE = new Memory(0, 0, 0, 0);
    }

    /** What sessions have in memory, as far as it is counted. Any thread. */
    default Memory memory() {
        return Memory.NONE;
    }

    /**
     * Takes no further client, and lets those go that are there: each when its transaction is over, all of them after {@code grace}. Each
     * hears 57P01, by which drivers know that they may go to another node. Waits for that; not from an event loop.
     *
     * @return whether all have gone by themselves
     */
    boolean drain(Duration grace) throws InterruptedException;

    /** Stops listening and closes all clients' connections. Waits; not from an event loop. */
    @Override
    void close();
}
