package tutti.eval.network;

import java.nio.ByteBuffer;

/**
 * What runs at a station, a thread with a UDP socket: the same object on this machine ({@link RealStations}) and in the simulation
 * ({@link SimulatedStations}). Its methods are called one at a time, by its station.
 */
interface SocketProgram {
    /** Begins; called first. */
    void start(Port port);

    /**
     * A datagram has come.
     *
     * @param from the station that sent it
     * @param datagram its bytes; not to be kept
     */
    default void arrived(int from, ByteBuffer datagram) {
        // It was counted that it came.
    }

    /** A time that was asked for has passed. */
    default void timer(long id) {
        throw new IllegalStateException("nobody asked for timer " + id);
    }

    /**
     * Does what the program does without being asked, in a few microseconds.
     *
     * @return whether there may be more to do; if not, the station sleeps until something comes
     */
    default boolean work() {
        return false;
    }

    /** What a program asks of its station, during calls of its methods only. */
    interface Port {
        /** Nanoseconds since all stations began. */
        long now();

        /** Sends a datagram to a station, which it may not reach. What remains of the buffer is sent, and is the caller's again. */
        void send(int to, ByteBuffer datagram);

        /** Has {@link #timer} called after a time, at the latest a millisecond later than wanted. */
        void timer(long id, long delayNanos);
    }
}
