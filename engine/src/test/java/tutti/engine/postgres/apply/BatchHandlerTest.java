package tutti.engine.postgres.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.BitSet;
import java.util.List;
import org.junit.jupiter.api.Test;
import tutti.core.spi.EngineFailure;
import tutti.pgwire.Backend;
import tutti.pgwire.ErrorFields;

/** What is kept of answers that are long. */
class BatchHandlerTest {
    private static final int ROW_BYTES = 1 << 20;

    private final BatchHandler handler = new BatchHandler(2, places(), List.of(1), -1, new BatchHandler.Listener() {
        @Override
        public void done(BatchHandler results) {
            // Looked at by the test.
        }

        @Override
        public void failed(EngineFailure failure) {
            // Likewise.
        }
    });

    private static BitSet places() {
        BitSet both = new BitSet();
        both.set(0, 2);
        return both;
    }

    private void answered(ByteBuf message) {
        byte type = message.readByte();
        message.skipBytes(Integer.BYTES);
        handler.message(type, message);
    }

    private static ByteBuf tag(String tag) {
        ByteBuf message = Unpooled.buffer();
        Backend.commandComplete(message, tag);
        return message;
    }

    private void rows(int count) {
        ByteBuf description = Unpooled.buffer();
        Backend.rowDescription(description, "note");
        answered(description);
        for (int i = 0; i < count; i++) {
            ByteBuf row = Unpooled.buffer();
            Backend.dataRow(row, "x".repeat(ROW_BYTES));
            answered(row);
        }
    }

    /** The types of the messages that are kept. */
    private String kept() {
        StringBuilder types = new StringBuilder();
        ByteBuf messages = Unpooled.wrappedBuffer(handler.response());
        while (messages.isReadable()) {
            types.append((char) messages.readByte());
            messages.skipBytes(messages.readInt() - Integer.BYTES);
        }
        return types.toString();
    }

    @Test
    void rowsAreKeptWithTheirTag() {
        rows(3);
        answered(tag("SELECT 3"));
        answered(tag("UPDATE 1"));
        assertFalse(handler.overflowed());
        assertEquals("TDDDCC", kept());
    }

    @Test
    void ofTooManyRowsNoneIsToldButThatTheyAreMissing() {
        rows(1);
        answered(tag("INSERT 0 1"));
        rows(20);
        ByteBuf small = Unpooled.buffer();
        Backend.dataRow(small, "small");
        answered(small);
        answered(tag("INSERT 0 21"));
        assertTrue(handler.overflowed());
        assertEquals("NCC", kept());
    }

    @Test
    void anErrorIsToldHoweverLongWhatCameBeforeIt() {
        rows(20);
        ByteBuf error = Unpooled.buffer();
        Backend.errorResponse(error, ErrorFields.of("ERROR", "23505", "there is one"));
        answered(error);
        assertEquals("E", kept());
    }
}
