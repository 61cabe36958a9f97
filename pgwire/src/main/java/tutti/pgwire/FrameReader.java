package tutti.pgwire;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.ByteToMessageDecoder;
import io.netty.handler.codec.ByteToMessageDecoder.Cumulator;
import org.jspecify.annotations.Nullable;

/**
 * Finds where the messages of a PostgreSQL byte stream begin and end. Looks at each header once, shows the sink the
 * frames that it wants to see, and hands everything between them on as slices of the receive buffer: frames that nobody
 * wants to see are neither copied nor gathered, however long they are.
 *
 * <p>
 * Memory is bounded by {@code gatherLimit} plus two receive buffers per channel: a sink that cannot go on calls
 * {@link #pause()}, which also stops reading from the channel. All methods on the channel's event loop.
 */
public final class FrameReader extends ChannelInboundHandlerAdapter {
    /** Longest start-up packet, as in PostgreSQL. */
    public static final int STARTUP_LIMIT = 10_000;
    /** Longest message at all: what PostgreSQL takes, 1 GiB less one byte. */
    public static final int FRAME_LIMIT = 0x3fff_ffff;
    private static final int HEADER = 5;
    private static final Cumulator CUMULATOR = ByteToMessageDecoder.MERGE_CUMULATOR;

    private final int gatherLimit;
    private FrameSink sink;
    private boolean startup;
    private boolean paused;
    /** The channel does not read, since something came during a pause. */
    private boolean stopped;
    private boolean damaged;
    private boolean scanning;
    private @Nullable ChannelHandlerContext context;
    private @Nullable ByteBuf buffer;
    /** Index in the buffer behind the run that begins at its reader index. */
    private int next;
    private int passRemaining;
    private int skipRemaining;

    /**
     * Reads for a sink.
     *
     * @param startup whether the stream begins with start-up packets, which have no type byte; {@link #typed} ends that
     * @param gatherLimit most bytes of one frame that are gathered for a sink that wants to see them
     */
    public FrameReader(FrameSink sink, boolean startup, int gatherLimit) {
        this.sink = sink;
        this.startup = startup;
        this.gatherLimit = gatherLimit;
    }

    /** Another sink takes over, from the next frame on. */
    public void sink(FrameSink sink) {
        emitRun();
        this.sink = sink;
    }

    /** The start-up packets are over. */
    public void typed() {
        startup = false;
    }

    /** Most bytes of one frame that are gathered. */
    public int gatherLimit() {
        return gatherLimit;
    }

    /** Bytes received and not yet handed on or dealt with, the frame being shown included. */
    public int buffered() {
        return buffer == null ? 0 : buffer.readableBytes();
    }

    /**
     * Stops showing frames after the current one. Reading stops when more arrives: a pause is mostly over before that, and
     * to have the operating system look away and back again costs two calls.
     */
    public void pause() {
        if (!paused) {
            paused = true;
        }
    }

    /** Goes on after {@link #pause()}, with what is in the buffer first. */
    public void resume() {
        if (paused) {
            paused = false;
            if (!scanning && buffer != null) {
                scan(buffer);
                sink.readComplete();
            }
            if (!paused && stopped && context != null) {
                stopped = false;
                context.channel().config().setAutoRead(true);
            }
        }
    }

    /** The type of the next frame, while paused; -1 if nothing of one has come. */
    public int nextType() {
        return buffer == null || !buffer.isReadable() ? -1 : buffer.getByte(buffer.readerIndex());
    }

    /** Whether the reader is paused. */
    public boolean paused() {
        return paused;
    }

    /** Hands the bytes before the current frame to the sink. */
    public void emitRun() {
        if (scanning && buffer != null && next > buffer.readerIndex()) {
            sink.run(buffer.readRetainedSlice(next - buffer.readerIndex()));
        }
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        context = ctx;
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        damaged = true;
        release();
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        ByteBuf in = (ByteBuf) message;
        if (damaged) {
            in.release();
            return;
        }
        ByteBuf all = buffer == null ? in : CUMULATOR.cumulate(ctx.alloc(), buffer, in);
        buffer = all;
        if (paused) {
            stopReading(ctx);
        } else if (!scanning) {
            scan(all);
        }
    }

    private void stopReading(ChannelHandlerContext ctx) {
        if (!stopped) {
            stopped = true;
            ctx.channel().config().setAutoRead(false);
        }
    }

    private void scan(ByteBuf all) {
        scanning = true;
        next = all.readerIndex();
        try {
            boolean more = true;
            while (more && !paused && !damaged) {
                more = step(all);
            }
            if (!damaged) {
                emitRun();
            }
        } catch (ProtocolViolation violation) {
            emitRun();
            damaged = true;
            sink.violated(violation);
        } catch (RuntimeException | Error failure) {
            damaged = true;
            sink.failed(failure);
        } finally {
            scanning = false;
            if (damaged || !all.isReadable()) {
                release();
            }
        }
    }

    /** Deals with one frame, or with what has come of it. Returns false if it has to wait for more bytes. */
    private boolean step(ByteBuf all) {
        int end = all.writerIndex();
        if (passRemaining > 0) {
            int count = Math.min(passRemaining, end - next);
            next += count;
            passRemaining -= count;
            return passRemaining == 0;
        }
        if (skipRemaining > 0) {
            int count = Math.min(skipRemaining, end - next);
            next += count;
            skipRemaining -= count;
            all.readerIndex(next);
            return skipRemaining == 0;
        }
        int header = startup ? HEADER - 1 : HEADER;
        if (end - next < header) {
            return false;
        }
        byte type = startup ? 0 : all.getByte(next);
        int length = all.getInt(next + header - 4);
        int bodyLength = length - 4;
        if (length < Integer.BYTES || length > (startup ? STARTUP_LIMIT : FRAME_LIMIT)) {
            throw new ProtocolViolation(
                    "invalid length " + length + " of " + (startup ? "start-up packet" : describe(type)));
        }
        int wanted = startup ? bodyLength : sink.wanted(type, bodyLength);
        if (paused) {
            return false;
        }
        if (wanted == FrameSink.PASS) {
            passRemaining = header + bodyLength;
            return true;
        }
        wanted = Math.min(wanted, bodyLength);
        if (wanted > gatherLimit) {
            throw new ProtocolViolation(describe(type) + " of " + length + " bytes is longer than the limit of "
                    + gatherLimit + " bytes set for this server");
        }
        int present = end - next - header;
        if (present < wanted) {
            return false;
        }
        int whole = header + bodyLength;
        if (sink.frame(type, all, next + header, bodyLength)) {
            passRemaining = whole;
        } else if (!damaged) {
            emitRun();
            skipRemaining = whole;
        }
        return true;
    }

    private static String describe(byte type) {
        return type > 32 && type < 127 ? "message '" + (char) type + "'" : "message type " + (type & 0xff);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        sink.readComplete();
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext ctx) {
        sink.writabilityChanged(ctx.channel().isWritable());
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        sink.failed(cause);
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        damaged = true;
        if (!scanning) {
            release();
        }
        sink.inactive();
    }

    private void release() {
        if (buffer != null && !scanning) {
            buffer.release();
            buffer = null;
        }
        next = 0;
    }
}
