package tutti.core.protocol;

import java.util.Arrays;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/**
 * What a client is told of a whole request that some replica has executed for it. Immutable; the content must not be modified.
 *
 * @param sqlState {@code 00000} if it took effect, else why it did not
 * @param message why it did not; empty if it did
 * @param content what the engine answered, in the form that the front end passes on to the client; may be empty if it did
 *            not take effect
 */
public record Response(String sqlState, String message, byte[] content) {
    private static final int MESSAGE_BYTES_MAX = 1 << 20;
    /** How it is written. */
    public static final Schema<Response> SCHEMA = Schema.part("response", Response.class).of(
            Field.of("sqlState", Types.text(5), Response::sqlState),
            Field.of("message", Types.text(MESSAGE_BYTES_MAX), Response::message),
            Field.of("content", Types.bytes(Types.BYTES_MAX), Response::content), Response::new);
    /** For the SQLSTATE, lengths, and the name of the request that goes with it. */
    private static final int EXTRA_BYTES = 64;
    private static final String SUCCESS = "00000";

    /** Of a request that took effect. */
    public static Response done(byte[] content) {
        return new Response(SUCCESS, "", content);
    }

    /** Whether it took effect. */
    public boolean tookEffect() {
        return sqlState.equals(SUCCESS);
    }

    /** About how many bytes it takes in a message, at most. */
    public long bytesMax() {
        return EXTRA_BYTES + 3L * message.length() + content.length;
    }

    /** Whether both tell the client the same. */
    boolean same(Response other) {
        return sqlState.equals(other.sqlState) && message.equals(other.message)
                && Arrays.equals(content, other.content);
    }

    @Override
    public String toString() {
        return (tookEffect() ? "done" : sqlState + " " + message) + ", " + content.length + " bytes";
    }
}
