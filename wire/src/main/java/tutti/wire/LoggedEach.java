package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.TransactionId;
import tutti.node.TransactionNames;
import tutti.pgwire.Backend;
import tutti.pgwire.ErrorFields;

/**
 * What a client is told of statements of one cycle that are logged each by itself: when all of them are, or are refused. One that is
 * refused ends the cycle for its client, as always; of those behind it that are logged all the same it is told before, with their
 * numbers. On the session's event loop.
 */
final class LoggedEach {
    /**
     * What it is told.
     *
     * @param bytes messages, which end with an error if one was refused
     */
    record Answers(byte[] bytes, boolean refused) {}

    private final TransactionNames names;
    private final Consumer<Answers> done;
    private final @Nullable TransactionId[] tickets;
    private final @Nullable EngineFailure[] failures;
    private int missing;

    /**
     * Of so many, at least one, of which nothing is known.
     *
     * @param done told once
     */
    LoggedEach(int statements, TransactionNames names, Consumer<Answers> done) {
        this.names = names;
        this.done = done;
        this.tickets = new TransactionId[statements];
        this.failures = new EngineFailure[statements];
        this.missing = statements;
    }

    /** One is in the order. */
    void logged(int number, TransactionId ticket) {
        tickets[number] = ticket;
        known();
    }

    /** One is not, and will not be. */
    void refused(int number, EngineFailure why) {
        failures[number] = why;
        known();
    }

    private void known() {
        if (--missing > 0) {
            return;
        }
        ByteBuf out = Unpooled.buffer();
        EngineFailure refused = null;
        for (int i = 0; i < tickets.length; i++) {
            TransactionId ticket = tickets[i];
            if (ticket == null) {
                refused = refused == null ? failures[i] : refused;
            } else if (refused == null) {
                Backend.noticeResponse(out, LoggedRequests.notice(names.of(ticket)));
                Backend.commandComplete(out, LoggedRequests.TAG);
            } else {
                Backend.noticeResponse(out, LoggedRequests.notice(names.of(ticket), i + 1));
            }
        }
        if (refused != null) {
            Backend.errorResponse(out, ErrorFields.of("ERROR", refused.sqlState(), refused.message()));
        }
        byte[] bytes = new byte[out.readableBytes()];
        out.readBytes(bytes);
        done.accept(new Answers(bytes, refused != null));
    }
}
