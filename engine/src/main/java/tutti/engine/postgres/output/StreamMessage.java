package tutti.engine.postgres.output;

import io.netty.buffer.ByteBuf;
import tutti.pgwire.ProtocolViolation;

/**
 * What publisher and subscriber say within the copy of a replication connection ("Streaming Replication Protocol" of PostgreSQL's
 * manual): the content of CopyData messages. Log positions are unsigned; times are microseconds since 2000-01-01 UTC.
 */
public sealed interface StreamMessage {
    /**
     * Something of the log, from the publisher.
     *
     * @param start where it is in the log
     * @param content a message of the plugin; a slice, valid as long as what it was read from
     */
    record Data(long start, ByteBuf content) implements StreamMessage {
        /** Writes what comes before the content. */
        public static void writeHead(ByteBuf out, long start, long micros) {
            out.writeByte('w').writeLong(start).writeLong(start).writeLong(micros);
        }
    }

    /**
     * The publisher is there.
     *
     * @param end up to here there is nothing more to be told
     * @param reply whether it wants to hear from the subscriber at once
     */
    record KeepAlive(long end, boolean reply) implements StreamMessage {
        /** As a publisher writes it. */
        public void write(ByteBuf out, long micros) {
            out.writeByte('k').writeLong(end).writeLong(micros).writeByte(reply ? 1 : 0);
        }
    }

    /**
     * How far the subscriber is. What it has {@code flushed} it never asks for again, and the publisher may forget it.
     *
     * @param reply whether it wants to hear from the publisher at once
     */
    record Status(long written, long flushed, long applied, boolean reply) implements StreamMessage {
        /** As a subscriber writes it. */
        public void write(ByteBuf out, long micros) {
            out.writeByte('r').writeLong(written).writeLong(flushed).writeLong(applied).writeLong(micros)
                    .writeByte(reply ? 1 : 0);
        }
    }

    /** Something of the subscriber's that is of no interest here: what its own readers may still see. */
    record Other() implements StreamMessage {}

    /**
     * Reads one.
     *
     * @throws ProtocolViolation if it is none, or is damaged
     */
    static StreamMessage read(ByteBuf in) {
        try {
            byte type = in.readByte();
            switch (type) {
                case 'w' -> {
                    long start = in.readLong();
                    in.skipBytes(2 * Long.BYTES);
                    return new Data(start, in.readSlice(in.readableBytes()));
                }
                case 'k' -> {
                    long end = in.readLong();
                    in.skipBytes(Long.BYTES);
                    return new KeepAlive(end, in.readByte() != 0);
                }
                case 'r' -> {
                    long written = in.readLong();
                    long flushed = in.readLong();
                    long applied = in.readLong();
                    in.skipBytes(Long.BYTES);
                    return new Status(written, flushed, applied, in.readByte() != 0);
                }
                case 'h', 'p' -> {
                    return new Other();
                }
                default -> throw new ProtocolViolation("no message of a replication stream: '" + (char) type + "'");
            }
        } catch (IndexOutOfBoundsException early) {
            throw new ProtocolViolation("a message of a replication stream is shorter than its contents say");
        }
    }
}
