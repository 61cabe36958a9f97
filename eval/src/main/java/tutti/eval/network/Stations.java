package tutti.eval.network;

import java.util.List;

/** Where programs run side by side, each at a station of its own, numbered as they are given. */
interface Stations {
    /** Datagrams that a station takes before it looks at anything else. */
    int READ_AT_ONCE = 16;
    /** What a station's socket holds of what has come, as the operating system counts it, if it allows so much. */
    int RECEIVE_BUFFER_BYTES = 2 << 20;
    /** Longest datagram. */
    int DATAGRAM_BYTES_MAX = 65_000;
    /** Timers and sleeps go by so many nanoseconds, rounded up, as those of a selector do. */
    long TICK_NANOS = 1_000_000;

    /**
     * Runs programs until the window ends.
     *
     * @return processor time in nanoseconds that each of them has used within the window
     */
    long[] run(List<SocketProgram> programs, Window window) throws InterruptedException;
}
