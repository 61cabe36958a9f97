package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.ReadSet;
import tutti.pgwire.ProtocolViolation;
import tutti.wire.sql.ReadPlan;

/**
 * Which keys has a transaction lost whose statement the engine has failed? PostgreSQL does not tell; the statement's text and values do, as far
 * as they give a row's primary key: the key is then the one by which the row is certified. Otherwise it is that of a
 * table. Who waits for whom depends on it ({@link RetryQueue}), and nothing else, so a wrong guess costs time only. On the session's event
 * loop.
 */
final class LostRows {
    /** Of somebody of whom it cannot be told. */
    static final long[] UNKNOWN = {};

    /** What has been prepared. */
    interface Statements {
        /** The statement that a Bind message names; see {@link ExtendedMessages#bound}. */
        Prepared bound(ByteBuf buffer, int start, int bodyLength);
    }

    private final Capture capture;
    private final TextSettings texts;
    private final Statements prepared;

    LostRows(Capture capture, TextSettings texts, Statements prepared) {
        this.capture = capture;
        this.texts = texts;
        this.prepared = prepared;
    }

    /** The keys of the rows that a statement looked for, and of the tables of which it may have looked for any row. */
    long[] of(SaidMessages.@Nullable Executed statement) {
        ReadSet reads = statement == null ? null : reads(statement);
        return reads == null ? UNKNOWN : RetryQueue.keys(reads);
    }

    private @Nullable ReadSet reads(SaidMessages.Executed statement) {
        ReadSet.Builder reads = new ReadSet.Builder();
        byte[] message = statement.message();
        if (statement.query()) {
            capture.reads(message, Messages.HEADER, message.length - 1, texts.standardStrings())
                    .addTo(reads, ReadPlan.NO_VALUES);
            return reads.build();
        }
        ByteBuf bind = Unpooled.wrappedBuffer(message);
        try {
            StatementAccess access = access(statement, bind);
            if (access == null) {
                return null;
            }
            access.bind(bind, values(bind), message.length).addTo(reads);
        } catch (ProtocolViolation tooShort) {
            return null;
        }
        return reads.build();
    }

    private @Nullable StatementAccess access(SaidMessages.Executed statement, ByteBuf bind) {
        byte[] parse = statement.parse();
        return parse == null
                ? prepared.bound(bind, Messages.HEADER, bind.readableBytes() - Messages.HEADER).access()
                : access(parse);
    }

    /** Where the formats and values of a Bind message begin. */
    private static int values(ByteBuf bind) {
        int limit = bind.readableBytes();
        int portal = Messages.end(bind, Messages.HEADER, limit);
        return Messages.end(bind, portal + 1, limit) + 1;
    }

    // ------------------------------------------------------------------------------------------ bookings

    /**
     * How a statement looks at something: a hash of its text.
     *
     * @return 0 if it is not known
     */
    int kind(SaidMessages.Executed statement) {
        if (statement.query()) {
            return Arrays.hashCode(statement.message());
        }
        byte[] parse = statement.parse();
        if (parse != null) {
            return Arrays.hashCode(text(parse));
        }
        try {
            StatementAccess access = access(statement, Unpooled.wrappedBuffer(statement.message()));
            return access == null ? 0 : Arrays.hashCode(access.sql());
        } catch (ProtocolViolation tooShort) {
            return 0;
        }
    }

    /** As {@link RetryQueue#booking}, of that {@link #kind}. */
    long booked(SaidMessages.Executed statement, int kind) {
        byte[] message = statement.message();
        return RetryQueue.booking(kind, reads(statement), () -> Arrays.hashCode(Arrays.copyOfRange(message,
                statement.query() ? Messages.HEADER : values(Unpooled.wrappedBuffer(message)), message.length)));
    }

    private StatementAccess access(byte[] parse) {
        byte[] sql = text(parse);
        ByteBuf message = Unpooled.wrappedBuffer(parse);
        return new StatementAccess(capture, sql, texts.standardStrings(),
                StatementAccess.types(message, Messages.end(message, Messages.HEADER, parse.length) + sql.length + 2,
                        parse.length));
    }

    private static byte[] text(byte[] parse) {
        ByteBuf message = Unpooled.wrappedBuffer(parse);
        int name = Messages.end(message, Messages.HEADER, parse.length);
        return Arrays.copyOfRange(parse, name + 1, Messages.end(message, name + 1, parse.length));
    }
}
