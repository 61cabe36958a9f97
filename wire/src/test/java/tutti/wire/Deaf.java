package tutti.wire;

import io.netty.buffer.ByteBuf;
import tutti.pgwire.FrameSink;

/** Hears messages, and keeps nothing of them. */
final class Deaf implements FrameSink {
    @Override
    public int wanted(byte type, int bodyLength) {
        return 0;
    }

    @Override
    public boolean frame(byte type, ByteBuf buffer, int start, int bodyLength) {
        return false;
    }

    @Override
    public void failed(Throwable cause) {
        // the connection is closed in the end
    }

    @Override
    public void inactive() {
        // as it was meant to be
    }
}
