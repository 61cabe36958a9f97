package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.ReadSet;
import tutti.pgwire.ProtocolViolation;
import tutti.wire.sql.ReadPlan;

/**
 * Which keys has a transaction lost whose statement the engine has failed? PostgreSQL does not tell; the statement's text and values do, as far
 * as they give a row's primary key: the key is then the one by which the row is certified. Otherwise it is that of a
 * table. Who waits for whom depends on it ({@link LosersInLine}), and nothing else, so a wrong guess costs time only. On the session's event
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
        if (statement == null) {
            return UNKNOWN;
        }
        ReadSet.Builder reads = new ReadSet.Builder();
        byte[] message = statement.message();
        if (statement.query()) {
            capture.reads(message, Messages.HEADER, message.length - 1, texts.standardStrings())
                    .addTo(reads, ReadPlan.NO_VALUES);
        } else {
            byte[] parse = statement.parse();
            ByteBuf bind = Unpooled.wrappedBuffer(message);
            try {
                int portal = Messages.end(bind, Messages.HEADER, message.length);
                int values = Messages.end(bind, portal + 1, message.length) + 1;
                StatementAccess access = parse == null
                        ? prepared.bound(bind, Messages.HEADER, message.length - Messages.HEADER).access()
                        : access(parse);
                if (access == null) {
                    return UNKNOWN;
                }
                access.bind(bind, values, message.length).addTo(reads);
            } catch (ProtocolViolation tooShort) {
                return UNKNOWN;
            }
        }
        return LosersInLine.keys(reads.build());
    }

    private StatementAccess access(byte[] parse) {
        ByteBuf message = Unpooled.wrappedBuffer(parse);
        int name = Messages.end(message, Messages.HEADER, parse.length);
        int text = Messages.end(message, name + 1, parse.length);
        byte[] sql = new byte[text - name - 1];
        message.getBytes(name + 1, sql);
        return new StatementAccess(capture, sql, texts.standardStrings(),
                StatementAccess.types(message, text + 1, parse.length));
    }
}
