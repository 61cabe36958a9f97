package tutti.pgwire;

import io.netty.buffer.ByteBuf;

/**
 * Receives what a {@link FrameReader} finds in a byte stream. Called on the channel's event loop only.
 */
public interface FrameSink {
    /** From {@link #wanted}: this frame is passed on with the run, unseen and possibly in pieces. */
    int PASS = -1;

    /**
     * How many bytes of a frame's body must have arrived before {@link #frame} is called: {@link #PASS} for none of it
     * and no call, 0 for a call as soon as the header is there, {@code bodyLength} for all. May be asked repeatedly for
     * the same frame. A sink that cannot take the frame now calls {@link FrameReader#pause()} in here.
     *
     * @param type the message type byte; 0 for a start-up packet, which is always gathered whole
     * @param bodyLength bytes after the length field
     * @throws ProtocolViolation if there is no such message in this direction
     */
    int wanted(byte type, int bodyLength);

    /**
     * A frame, of which as much as was wanted is in the buffer from {@code start}. Indices of the buffer must not be
     * changed. A sink that writes something itself, which must come after earlier frames, calls
     * {@link FrameReader#emitRun()} first.
     *
     * @return true to pass the frame on with the run, false if the sink has dealt with it
     */
    boolean frame(byte type, ByteBuf buffer, int start, int bodyLength);

    /** Bytes of consecutive frames to be passed on. The sink becomes their owner; one that passes nothing on drops them. */
    default void run(ByteBuf bytes) {
        bytes.release();
    }

    /** No more bytes for now: the moment to flush, for a sink that has not flushed what it wrote. */
    default void readComplete() {}

    /** The stream is damaged; nothing more of it will be looked at. Unless a sink says otherwise, the channel has failed. */
    default void violated(ProtocolViolation violation) {
        failed(violation);
    }

    /** The channel's outbound buffer filled or drained. */
    default void writabilityChanged(boolean writable) {}

    /** The channel failed. It is not closed by the reader. */
    void failed(Throwable cause);

    /** The channel is closed. Called once, last. */
    void inactive();
}
