package tutti.engine.postgres.apply;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.EngineFailure;
import tutti.pgwire.Backend;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.ResponseHandler;

/**
 * Follows the responses to a batch of statements: whether each was answered.
 *
 * <p>
 * Of an answer that is too long neither rows nor notices are kept, none of them: with some it would look like all. A warning takes their place, since what was executed
 * has been.
 */
final class BatchHandler implements ResponseHandler {
    private static final int RESPONSE_LIMIT_BYTES = 16 << 20;
    /** A message's type and length. */
    private static final int HEADER_BYTES = 1 + Integer.BYTES;

    /** Told once how the batch ended. */
    interface Listener {
        /** All statements were answered, none with an error. */
        void done(BatchHandler results);

        /** Some statement was not, or the connection is lost; later statements have not been executed. */
        void failed(EngineFailure failure);

        /** Like {@link #failed}, for those who need to know more. */
        default void failedWith(EngineFailure failure, BatchHandler results) {
            failed(failure);
        }
    }

    private final int expected;
    private final BitSet responses;
    private final List<Integer> ends;
    private final int resultPlace;
    private final Listener listener;
    /** One for each end, while statements up to there are answered. */
    private final List<ByteArrayOutputStream> kept = new ArrayList<>(1);
    private int keptBytes;
    private boolean overflowed;
    private byte @Nullable [] result;
    private int completed;
    private boolean refusedByAll;
    private @Nullable EngineFailure failure;
    private boolean lost;

    /**
     * The responses to which statements are kept, is told by their places.
     *
     * @param expected how many statements and calls there are
     * @param ends last places of those whose responses are kept together, ascending
     * @param resultPlace of the function whose result is kept; -1 if there is none
     */
    BatchHandler(int expected, BitSet responses, List<Integer> ends, int resultPlace, Listener listener) {
        this.expected = expected;
        this.responses = responses;
        this.ends = ends;
        this.resultPlace = resultPlace;
        this.listener = listener;
    }

    @Override
    public void message(byte type, ByteBuf body) {
        if (failure != null) {
            return; // what follows fails because of it, or ends the transaction
        }
        boolean chosen = responses.get(completed);
        if (!chosen && !responses.isEmpty() && type == Backend.ERROR_RESPONSE) {
            kept.forEach(ByteArrayOutputStream::reset); // it failed in the end
            keptBytes = 0;
            chosen = true;
        }
        if (chosen) {
            keep(type, body);
        }
        switch (type) {
            case Backend.FUNCTION_CALL_RESPONSE -> {
                if (completed == resultPlace) {
                    keepResult(body);
                }
                completed++;
            }
            case Backend.COMMAND_COMPLETE, Backend.EMPTY_QUERY, Backend.PORTAL_SUSPENDED -> completed++;
            case Backend.ERROR_RESPONSE -> {
                ErrorFields fields = ErrorFields.read(body.duplicate());
                failure = failure(fields);
                refusedByAll = ServerTrouble.of(fields) == ServerTrouble.NONE;
            }
            default -> {
                // nothing that decides
            }
        }
    }

    private void keepResult(ByteBuf body) {
        int at = body.readerIndex();
        int length = body.getInt(at);
        if (length >= 0) {
            byte[] bytes = new byte[length];
            body.getBytes(at + Integer.BYTES, bytes);
            result = bytes;
        }
    }

    private void keep(byte type, ByteBuf body) {
        boolean wanted = isLong(type) || type == Backend.COMMAND_COMPLETE || type == Backend.ERROR_RESPONSE
                || type == Backend.EMPTY_QUERY || type == Backend.PORTAL_SUSPENDED;
        if (!wanted || (overflowed && isLong(type))) {
            return;
        }
        if (isLong(type) && keptBytes + HEADER_BYTES + body.readableBytes() > RESPONSE_LIMIT_BYTES) {
            overflowed = true;
            kept.replaceAll(BatchHandler::withoutWhatIsLong);
            keptBytes = kept.stream().mapToInt(ByteArrayOutputStream::size).sum();
            return;
        }
        byte[] bytes = new byte[body.readableBytes()];
        body.getBytes(body.readerIndex(), bytes);
        ByteArrayOutputStream response = current();
        write(response, type, bytes);
        keptBytes += HEADER_BYTES + bytes.length;
    }

    /** Whether there may be any number of such messages. */
    private static boolean isLong(byte type) {
        return type == Backend.ROW_DESCRIPTION || type == Backend.DATA_ROW || type == Backend.NOTICE_RESPONSE;
    }

    private static void write(ByteArrayOutputStream to, byte type, byte[] body) {
        to.write(type);
        to.writeBytes(ByteBuffer.allocate(Integer.BYTES).putInt(Integer.BYTES + body.length).array());
        to.writeBytes(body);
    }

    private static ByteArrayOutputStream withoutWhatIsLong(ByteArrayOutputStream messages) {
        ByteArrayOutputStream left = new ByteArrayOutputStream(0);
        ByteBuffer from = ByteBuffer.wrap(messages.toByteArray());
        while (from.hasRemaining()) {
            byte type = from.get();
            byte[] body = new byte[from.getInt() - Integer.BYTES];
            from.get(body);
            if (!isLong(type)) {
                write(left, type, body);
            }
        }
        return left;
    }

    private ByteArrayOutputStream current() {
        int before = groups();
        while (kept.size() <= before) {
            kept.add(new ByteArrayOutputStream(0));
        }
        return kept.get(before == ends.size() ? 0 : before);
    }

    /** So many of those statements whose responses are kept together have completed, before the first that failed. */
    int groups() {
        int before = 0;
        while (before < ends.size() && ends.get(before) < completed) {
            before++;
        }
        return before;
    }

    /** Whether the connection was lost, so that the server may do, or have done, more than it has answered. */
    boolean lost() {
        return lost;
    }

    /** Number of statements that completed before the first that failed. */
    int completed() {
        return completed;
    }

    /** What the chosen function returned; null if that was NULL. */
    byte @Nullable [] result() {
        return result;
    }

    /** Whether what is kept lacks rows and notices, because it was too long. */
    boolean overflowed() {
        return overflowed;
    }

    /** The messages that all chosen statements were answered with, or the error that undid them. */
    byte[] response() {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        if (overflowed && failure == null) {
            ByteBuf warning = Unpooled.buffer();
            Backend.noticeResponse(warning, ErrorFields.of("WARNING", "54000", "the answer is longer than "
                    + RESPONSE_LIMIT_BYTES + " bytes, and its rows are not told; what was asked for has been done"));
            all.writeBytes(ByteBufUtil.getBytes(warning));
        }
        kept.forEach(each -> all.writeBytes(each.toByteArray()));
        return all.toByteArray();
    }

    /** Those of one of several groups of statements, by its number from 0. */
    byte[] response(int group) {
        return group < kept.size() ? kept.get(group).toByteArray() : new byte[0];
    }

    @Override
    public void ready(byte status) {
        EngineFailure failed = failure;
        if (failed == null && completed != expected) {
            failed = new EngineFailure("08P01", completed + " of " + expected + " statements were answered",
                    true);
        }
        if (failed == null) {
            listener.done(this);
        } else {
            listener.failedWith(failed, this);
        }
    }

    @Override
    public void lost(Throwable cause) {
        lost = true;
        listener.failedWith(new EngineFailure("08006", String.valueOf(cause.getMessage()), true), this);
    }

    /** An engine's error; those that another attempt may not meet are transient. */
    static EngineFailure failure(ErrorFields fields) {
        return new EngineFailure(fields.sqlState(), fields.toString(),
                switch (ServerTrouble.of(fields)) {
                    case NONE, DAMAGED -> EngineFailure.Kind.LASTING;
                    case PASSING -> EngineFailure.Kind.PASSING;
                    case OWN -> EngineFailure.Kind.TROUBLE;
                });
    }

    /** Whether every server gives the same error, so that it is the result of the statement. */
    boolean refusedByAll() {
        return refusedByAll;
    }
}
