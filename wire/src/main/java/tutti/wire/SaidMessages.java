package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.Frontend;

/**
 * The messages that a client has sent since its transaction began, as they came, one behind the other, and whether they can be said
 * again; a message is named by where it begins. At most {@value #BYTES_MAX} bytes. For one thread at a time.
 *
 * <p>
 * <b>What a rollback does not undo</b> must not be met twice. Statements prepared by the protocol are to be closed before they are prepared
 * again; if a message uses a statement that an earlier message of the transaction would now replace, or the text speaks of
 * prepared statements or of advisory locks that outlive it, or moves a cursor that may ({@link MovedCursors}), nothing is said again.
 */
public final class SaidMessages {
    private static final int BYTES_MAX = 256 << 10;
    private static final int BYTES_KEPT = 4 << 10;
    private static final Pattern NOT_UNDONE = Pattern.compile(
            "prepare|deallocate|discard|advisory(?!_xact_lock)|dblink",
            Pattern.CASE_INSENSITIVE);

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
    /** Where the last one begins. */
    private int last;
    /** Where the last Parse begins; -1 if there is none. */
    private int lastParse = -1;
    /** Why what was said cannot be said again. */
    private boolean unrepeatable;
    /** The same, for whatever this session says. */
    private boolean never;
    private boolean unnamedPrepared;
    private boolean unnamedUsed;
    /** Up to where it has been {@linkplain #undone looked through}, with what came of it. */
    private int looked;
    private boolean undone = true;
    private MovedCursors cursors = new MovedCursors();

    /** A transaction may begin with the next one: forgets them all. */
    public void begin() {
        if (bytes.length > BYTES_KEPT) {
            bytes = new byte[BYTES_KEPT];
        }
        size = 0;
        lastParse = -1;
        unrepeatable = never;
        unnamedPrepared = false;
        unnamedUsed = false;
        if (looked > 0) {
            looked = 0;
            undone = true;
            cursors = new MovedCursors();
        }
    }

    /** What has been said cannot be said again, for another reason. */
    public void spoil() {
        unrepeatable = true;
    }

    /** Whether it can be said again, as far as is known while it is not {@linkplain #undone looked through}. */
    public boolean repeatable() {
        return !unrepeatable;
    }

    /** Whether a rollback undoes all that has been said. Looks at each message once, however often it is asked. */
    public boolean undone() {
        for (; undone && looked < size; looked += length(looked)) {
            undone = undone(looked);
        }
        return undone;
    }

    private boolean undone(int at) {
        byte type = type(at);
        return (type == Frontend.BIND || ClientSide.copies(type) || !notUndone(text(at)))
                && (type != Frontend.QUERY || !cursors.in(name(at)))
                && (type != Frontend.PARSE || !cursors.in(secondName(at)));
    }

    private static boolean notUndone(String text) {
        return NOT_UNDONE.matcher(text).find();
    }

    /** Another one, whose body begins at {@code start}; it is not kept if all cannot be said again. */
    public void say(byte type, ByteBuf buffer, int start, int bodyLength) {
        if (!unrepeatable) {
            names(type, buffer, start, bodyLength);
            unrepeatable |= !add(type, buffer, start, bodyLength);
        }
    }

    /** Looks after what is prepared under which name. */
    private void names(byte type, ByteBuf buffer, int start, int bodyLength) {
        int limit = start + bodyLength;
        switch (type) {
            case Frontend.PARSE -> {
                int end = Messages.end(buffer, start, limit);
                if (end == start) {
                    unrepeatable |= unnamedUsed;
                    unnamedPrepared = true;
                } else {
                    String text = buffer.toString(end + 1, Messages.end(buffer, end + 1, limit) - end - 1,
                            StandardCharsets.UTF_8);
                    never |= notUndone(text) || new MovedCursors().in(text);
                    unrepeatable |= never
                            || used(buffer.toString(start, end - start, StandardCharsets.ISO_8859_1));
                }
            }
            case Frontend.BIND -> {
                int name = Messages.end(buffer, start, limit) + 1;
                unnamedUsed |= !unnamedPrepared && name < limit && buffer.getByte(name) == 0;
            }
            case Frontend.CLOSE -> {
                if (bodyLength > 2 && buffer.getByte(start) == 'S') {
                    unrepeatable |= used(buffer.toString(start + 1, bodyLength - 2, StandardCharsets.ISO_8859_1));
                }
            }
            default -> {
                // names nothing that outlives a transaction
            }
        }
    }

    private boolean add(byte type, ByteBuf buffer, int start, int bodyLength) {
        int length = Messages.HEADER + bodyLength;
        if (size + length > BYTES_MAX) {
            return false;
        }
        if (size + length > bytes.length) {
            bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, size + length));
        }
        ByteBuffer.wrap(bytes, size, Messages.HEADER).put(type).putInt(length - 1);
        buffer.getBytes(start, bytes, size + Messages.HEADER, bodyLength);
        last = size;
        lastParse = type == Frontend.PARSE ? size : lastParse;
        size += length;
        return true;
    }

    /** Behind the last one. */
    public int end() {
        return size;
    }

    /** Its type. */
    public byte type(int at) {
        return bytes[at];
    }

    /** How many bytes it has, its type included. */
    public int length(int at) {
        return 1 + ByteBuffer.wrap(bytes).getInt(at + 1);
    }

    /** A copy of a whole one. */
    byte[] message(int at) {
        return Arrays.copyOfRange(bytes, at, at + length(at));
    }

    /** A copy of the body of one. */
    public ByteBuf body(int at) {
        return Unpooled.wrappedBuffer(Arrays.copyOfRange(bytes, at + Messages.HEADER, at + length(at)));
    }

    /** A whole message, a character for each byte. */
    String text(int at) {
        return new String(bytes, at, length(at), StandardCharsets.ISO_8859_1);
    }

    /** The string with which the body of a message begins, a character for each byte. */
    public String name(int at) {
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
    private boolean used(String statement) {
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
        return before < 0 ? null : executed(before);
    }

    /**
     * What was executed by the Query or Execute message that so many such messages precede.
     *
     * @return null if that cannot be told
     */
    @Nullable
    Executed executed(int before) {
        int left = before;
        for (int at = 0; at < size; at += length(at)) {
            if (executes(at) && left-- == 0) {
                return type(at) == Frontend.QUERY ? new Executed(message(at), null) : bound(at, name(at));
            }
        }
        return null;
    }

    /** What the last message, a Query or Bind, is about to execute. */
    Executed executedNext() {
        boolean parsed = type(last) == Frontend.BIND && lastParse >= 0;
        String statement = parsed ? secondName(last) : "";
        int parse = !parsed || name(lastParse).equals(statement)
                ? lastParse
                : lastBefore(last, Frontend.PARSE, statement);
        return new Executed(message(last), parsed && parse >= 0 ? message(parse) : null);
    }

    private boolean executes(int at) {
        return type(at) == Frontend.EXECUTE || type(at) == Frontend.QUERY;
    }

    private @Nullable Executed bound(int end, String portal) {
        int bind = lastBefore(end, Frontend.BIND, portal);
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
