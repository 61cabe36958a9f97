package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.Frontend;

/**
 * The messages that a client has sent since its transaction began, as they came, one behind the other; a message is named by where it
 * begins. At most {@value #BYTES_MAX} bytes. On the session's event loop.
 */
final class SaidMessages {
    private static final int BYTES_MAX = 256 << 10;
    private static final int BYTES_KEPT = 4 << 10;

    /**
     * A statement that was executed.
     *
     * @param message the Query or Bind by which
     * @param parse the Parse by which it was prepared; null if that was before
     */
    record Executed(byte[] message, byte @Nullable [] parse) {
        boolean query() {
            return message[0] == Frontend.QUERY;
        }
    }

    private byte[] bytes = new byte[BYTES_KEPT];
    private int size;

    /** Forgets them all. */
    void clear() {
        if (bytes.length > BYTES_KEPT) {
            bytes = new byte[BYTES_KEPT];
        }
        size = 0;
    }

    /** Another one; false if there is no room for it. */
    boolean add(ByteBuf buffer, int start, int bodyLength) {
        int length = Messages.HEADER + bodyLength;
        if (size + length > BYTES_MAX) {
            return false;
        }
        if (size + length > bytes.length) {
            bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, size + length));
        }
        buffer.getBytes(start - Messages.HEADER, bytes, size, length);
        size += length;
        return true;
    }

    /** Behind the last one. */
    int end() {
        return size;
    }

    byte type(int at) {
        return bytes[at];
    }

    int length(int at) {
        return 1 + Unpooled.wrappedBuffer(bytes).getInt(at + 1);
    }

    byte[] message(int at) {
        return Arrays.copyOfRange(bytes, at, at + length(at));
    }

    /** A whole message, a character for each byte. */
    String text(int at) {
        return new String(bytes, at, length(at), StandardCharsets.ISO_8859_1);
    }

    /** The string with which the body of a message begins, a character for each byte. */
    String name(int at) {
        return string(at + Messages.HEADER);
    }

    /** The string behind that one. */
    private String secondName(int at) {
        return string(at + Messages.HEADER + name(at).length() + 1);
    }

    private String string(int from) {
        int end = from;
        while (bytes[end] != 0) {
            end++;
        }
        return new String(bytes, from, end - from, StandardCharsets.ISO_8859_1);
    }

    /**
     * Whether something was said to a prepared statement before it was prepared, since the transaction began.
     *
     * @param statement its name, a character for each byte
     */
    boolean used(String statement) {
        for (int at = 0; at < size; at += length(at)) {
            if (type(at) == Frontend.PARSE && name(at).equals(statement)) {
                return false;
            }
            boolean bound = type(at) == Frontend.BIND && secondName(at).equals(statement);
            boolean described = type(at) == Frontend.DESCRIBE && bytes[at + Messages.HEADER] == 'S'
                    && string(at + Messages.HEADER + 1).equals(statement);
            if (bound || described) {
                return true;
            }
        }
        return false;
    }

    /**
     * What was executed by one of the messages before {@code end}.
     *
     * @param behind how many Query and Execute messages follow it there
     * @return null if that cannot be told
     */
    @Nullable
    Executed executed(int end, int behind) {
        int executes = 0;
        for (int at = 0; at < end; at += length(at)) {
            executes += executes(at) ? 1 : 0;
        }
        int before = executes - 1 - behind;
        for (int at = 0; at < end && before >= 0; at += length(at)) {
            if (executes(at) && before-- == 0) {
                return type(at) == Frontend.QUERY ? new Executed(message(at), null) : executed(at);
            }
        }
        return null;
    }

    private boolean executes(int at) {
        return type(at) == Frontend.EXECUTE || type(at) == Frontend.QUERY;
    }

    private @Nullable Executed executed(int execute) {
        int bind = lastBefore(execute, Frontend.BIND, name(execute));
        if (bind < 0) {
            return null;
        }
        int parse = lastBefore(bind, Frontend.PARSE, secondName(bind));
        return new Executed(message(bind), parse < 0 ? null : message(parse));
    }

    private int lastBefore(int end, byte type, String name) {
        int found = -1;
        for (int at = 0; at < end; at += length(at)) {
            if (type(at) == type && name(at).equals(name)) {
                found = at;
            }
        }
        return found;
    }
}
