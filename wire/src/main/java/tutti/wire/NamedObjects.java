package tutti.wire;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What is known of a session's prepared statements, or portals, by name. The unnamed one needs no look-up. Bounded: when
 * there are too many, {@link #put} says so.
 *
 * @param <T> what is known
 */
final class NamedObjects<T> {
    /** Most names. */
    static final int LIMIT = 10_000;

    private final Map<String, T> byName = new HashMap<>();
    private @Nullable T unnamed;
    private byte[] lastName = new byte[0];
    private @Nullable T last;

    /** Remembers. Returns false if there are too many names. */
    boolean put(ByteBuf buffer, int start, int end, T value) {
        if (start == end) {
            unnamed = value;
            return true;
        }
        last = null;
        String name = buffer.toString(start, end - start, StandardCharsets.UTF_8);
        if (byName.size() >= LIMIT && !byName.containsKey(name)) {
            return false;
        }
        byName.put(name, value);
        return true;
    }

    /** What is known of a name, or null. Repeated look-ups of one name allocate nothing. */
    @Nullable
    T get(ByteBuf buffer, int start, int end) {
        if (start == end) {
            return unnamed;
        }
        if (last != null && same(buffer, start, end)) {
            return last;
        }
        lastName = new byte[end - start];
        buffer.getBytes(start, lastName);
        last = byName.get(new String(lastName, StandardCharsets.UTF_8));
        return last;
    }

    private boolean same(ByteBuf buffer, int start, int end) {
        if (end - start != lastName.length) {
            return false;
        }
        for (int i = 0; i < lastName.length; i++) {
            if (buffer.getByte(start + i) != lastName[i]) {
                return false;
            }
        }
        return true;
    }

    void remove(ByteBuf buffer, int start, int end) {
        if (start == end) {
            unnamed = null;
        } else {
            last = null;
            byName.remove(buffer.toString(start, end - start, StandardCharsets.UTF_8));
        }
    }

    /** What puts everything back that is known of a name now. */
    Runnable before(ByteBuf buffer, int start, int end) {
        T known = get(buffer, start, end);
        if (start == end) {
            return () -> unnamed = known;
        }
        String name = buffer.toString(start, end - start, StandardCharsets.UTF_8);
        return () -> {
            last = null;
            if (known == null) {
                byName.remove(name);
            } else {
                byName.put(name, known);
            }
        };
    }
}
