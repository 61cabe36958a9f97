package tutti.runtime;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * Streams of bytes and datagrams between machines, and the loop on which whatever concerns them happens. Methods are called on
 * that loop unless they say otherwise; so are all listeners.
 *
 * <p>
 * <b>Identities.</b> On a network with an {@link #identity}, both ends of a stream prove who they are before either is told that it
 * stands, and what is sent can be neither read nor changed on the way. Whoever proves nothing is refused; until then it costs
 * a place among a bounded number, for a bounded time. Datagrams prove nothing.
 */
public interface Network extends AutoCloseable {
    /** The loop. Any thread. */
    Loop loop();

    /**
     * What this end proves to others that it is; null on a network where nobody proves anything. Any thread.
     */
    @Nullable
    PeerIdentity identity();

    /**
     * Accepts connections at an address. Any thread, so that a node can say at its start that its port is taken.
     *
     * @param address may be unresolved; then its host name is looked up now
     * @return what stops that when it is closed; connections that were accepted stay
     * @throws IOException if the address is not known or not this machine's, or is in use
     */
    AutoCloseable listen(InetSocketAddress address, Acceptor acceptor) throws IOException;

    /**
     * Begins to connect. The listener hears of {@link StreamListener#connected}, or of {@link StreamListener#closed}, after
     * this has returned.
     *
     * @param address may be unresolved; then its host name is looked up now
     * @param timeoutNanos after which it is given up
     */
    Stream connect(InetSocketAddress address, long timeoutNanos, StreamListener listener);

    /**
     * Sends and receives datagrams at an address. Any thread.
     *
     * @throws IOException if the address is not this machine's, or is in use
     */
    Datagrams datagrams(InetSocketAddress address, DatagramListener listener) throws IOException;

    /** Closes everything, the loop included. The ports are free when it returns, unless called on the loop. Any thread. */
    @Override
    void close();

    /** Decides what becomes of those who connect. */
    interface Acceptor {
        /**
         * Somebody has connected, and has proven who it is where that is asked for.
         *
         * @return who listens to it from now on; it is not told {@link StreamListener#connected}
         */
        StreamListener accepted(Stream stream);

        /**
         * Somebody has connected and is gone again, because it did not prove in time who it is.
         *
         * @param remote who it was, for people
         * @param why what was wrong, for people
         */
        default void refused(String remote, String why) {}
    }

    /** One end of a connection: bytes in order, none lost or twice while it lasts. */
    interface Stream {
        /** Who is at the other end, for people. */
        String remote();

        /** Who has proven to be at the other end. Null on a network without {@link #identity}, and before it stands. */
        @Nullable
        PeerIdentity peer();

        /**
         * Sends bytes, soon: what is sent in one turn of the loop leaves together. Without effect before the connection stands
         * and once it is closed.
         *
         * @param bytes must not be modified afterwards
         */
        void send(ByteBuffer bytes);

        /** Bytes that were sent and not yet taken by the operating system. */
        long unsentBytes();

        /** Whether bytes are read; while not, the sender at the other end is slowed down. At first they are. */
        void read(boolean wanted);

        /** Ends it, and drops what has not been sent. The listener is not told. Any thread. */
        void close();
    }

    /** Hears of one connection. */
    interface StreamListener {
        /** It stands, from now on bytes may come. Not told of connections that were accepted. */
        default void connected() {}

        /**
         * Bytes have come.
         *
         * @param bytes valid during the call only
         */
        void received(ByteBuffer bytes);

        /**
         * One end does not take the other for who it says it is. Told at most once, and before {@link #closed}.
         *
         * @param why for people
         */
        default void distrusted(String why) {}

        /**
         * It never came about, since this machine had no socket for it: that says nothing of the other end. Told in place of {@link #closed}.
         *
         * @param why for people
         */
        default void untried(String why) {
            closed(why);
        }

        /**
         * It is over: the other end closed it, it broke, or it never came about. Told once, last, and not if this end closed it.
         *
         * @param why for people
         */
        void closed(String why);
    }

    /** A socket of datagrams: each may be lost, doubled or overtaken, and none is damaged. */
    interface Datagrams extends AutoCloseable {
        /**
         * Sends a datagram, or drops it: if it is empty, too large, or for nobody whom the operating system knows.
         *
         * @param bytes must not be modified afterwards
         */
        void send(InetSocketAddress to, ByteBuffer bytes);

        /** Largest that can be sent, in bytes. */
        int maxBytes();

        /** Closes it. The port is free when it returns, unless called on the loop. Any thread. */
        @Override
        void close();
    }

    /** Hears of datagrams. */
    interface DatagramListener {
        /**
         * One has come.
         *
         * @param bytes valid during the call only
         */
        void received(InetSocketAddress from, ByteBuffer bytes);
    }
}
