package tutti.wire;

import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Frontend;

/**
 * Bounds the bytes of long messages that clients have sent and that are not complete, or not with the engine yet, of all sessions together. What has
 * come of a message counts, not what it announces, so that nobody keeps others out by words. A message for which there is no room is refused, and what
 * comes of it is dropped. On the session's event loop.
 */
public final class MessageIntake {
    /** What is not longer is not counted. */
    public static final int SMALL_BYTES = 1 << 20;
    /** Zeros that are the body of a Query, Parse or Bind: no names, no text, no values. One that is not taken is followed as such. */
    public static final int EMPTY_BODY = 8;

    private final KeptBytes room;
    private final int most;
    private final IntSupplier come;
    private long taken;
    private boolean complete;
    private @Nullable ErrorFields refusal;

    /**
     * For a session.
     *
     * @param most bytes of one message
     * @param come how many bytes have been received that nobody has seen yet
     */
    public MessageIntake(KeptBytes.Shared room, int most, IntSupplier come) {
        this.room = new KeptBytes(room);
        this.most = most;
        this.come = come;
    }

    /** How much is wanted of a message of so many bytes; asked again as it comes. */
    public int wanted(int bytes) {
        if (bytes > SMALL_BYTES && refusal == null) {
            complete = false;
            if (bytes > most) {
                refuse("54000", "a message of " + bytes + " bytes is longer than the limit of " + most
                        + " bytes: send less at a time");
            } else {
                take(bytes);
            }
        }
        return refusal == null ? bytes : 0;
    }

    private void take(int bytes) {
        long steps = ((long) come.getAsInt() + SMALL_BYTES - 1) / SMALL_BYTES;
        long more = Math.min(bytes, steps * SMALL_BYTES) - taken;
        if (more > 0 && !room.take(more)) {
            refuse("53200",
                    "clients of this node are sending so much at the moment that there is no room for a message of "
                            + bytes + " bytes: try again later, or send less at a time");
        } else {
            taken += Math.max(0, more);
        }
    }

    private void refuse(String sqlState, String why) {
        refusal = Errors.error(sqlState, why);
        room.insist(-taken);
        taken = 0;
    }

    /** The message is shown. Returns why it is not taken; null if it is. */
    public @Nullable ErrorFields shown() {
        ErrorFields why = refusal;
        refusal = null;
        complete = true;
        return why;
    }

    /** Whether a message that is not taken is refused like a statement; others end their session. */
    public static boolean isStatement(byte type) {
        return type == Frontend.QUERY || type == Frontend.PARSE || type == Frontend.BIND
                || type == Frontend.FUNCTION_CALL;
    }

    /** What was shown has gone to the engine. */
    public void gone() {
        if (complete && taken > 0) {
            room.insist(-taken);
            taken = 0;
        }
    }

    /** The session is over. */
    public void close() {
        room.close();
    }
}
