package tutti.wire;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What is known of a session's prepared statements, or portals, by name. The unnamed one needs no look-up. Bounded: when
 * there are too many, or they are too large, {@link #put} says so.
 *
 * @param <T> what is known
 */
final class NamedObjects<T> {
    /** So many bytes of a name tell it from others, for the engine as well. */
    private static final int NAME_BYTES_MAX = 63;
    /** Most names. */
    static final int LIMIT = 10_000;

    /** What is known, what is taken for it, and when it came to be known. */
    private record Known<T>(@Nullable T value, long bytes, long since) {}

    private final KeptBytes room;
    private final Map<String, Known<T>> byName = new HashMap<>();
    private Known<T> unnamed = new Known<>(null, 0, 0);
    private long changes;
    private byte[] lastName = new byte[0];
    private @Nullable T last;

    NamedObjects(KeptBytes room) {
        this.room = room;
    }

    /**
     * Remembers.
     *
     * @param bytes what is kept for it, without the name
     * @return false if there are too many names, or too many bytes; then nothing has changed
     */
    boolean put(ByteBuf buffer, int start, int end, T value, long bytes) {
        if (start == end) {
            if (!room.take(bytes - unnamed.bytes)) {
                return false;
            }
            unnamed = new Known<>(value, bytes, ++changes);
            return true;
        }
        String name = name(buffer, start, end);
        Known<T> before = byName.get(name);
        long all = bytes + end - start;
        if ((before == null && byName.size() >= LIMIT) || !room.take(all - (before == null ? 0 : before.bytes))) {
            return false;
        }
        last = null;
        byName.put(name, new Known<>(value, all, ++changes));
        return true;
    }

    /** Something else is known of a name, if anything is, which takes the same room. */
    void replace(ByteBuf buffer, int start, int end, T value) {
        if (start == end) {
            unnamed = new Known<>(value, unnamed.bytes, ++changes);
            return;
        }
        last = null;
        byName.computeIfPresent(name(buffer, start, end), (_, known) -> new Known<>(value, known.bytes, ++changes));
    }

    /** Nothing is known of the unnamed one any more. */
    void forgetUnnamed() {
        room.insist(-unnamed.bytes);
        unnamed = new Known<>(null, 0, ++changes);
    }

    /** What is known of a name, or null. Repeated look-ups of one name allocate nothing. */
    @Nullable
    T get(ByteBuf buffer, int start, int end) {
        if (start == end) {
            return unnamed.value;
        }
        if (last != null && same(buffer, start, end)) {
            return last;
        }
        lastName = new byte[end - start];
        buffer.getBytes(start, lastName);
        Known<T> known = byName.get(name(buffer, start, end));
        last = known == null ? null : known.value;
        return last;
    }

    /** What a name is known by: a letter for each byte of it that counts. */
    private static String name(ByteBuf buffer, int start, int end) {
        return buffer.toString(start, Math.min(end - start, NAME_BYTES_MAX), StandardCharsets.ISO_8859_1);
    }

    private static String name(String name) {
        byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
        return new String(bytes, 0, Math.min(bytes.length, NAME_BYTES_MAX), StandardCharsets.ISO_8859_1);
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
            forgetUnnamed();
        } else {
            set(name(buffer, start, end), null);
        }
    }

    /** Now, for {@link #forget}: it counts what has come to be known. */
    long now() {
        return changes;
    }

    /** A name, or all if it is null, stands for nothing any more, unless it has come to stand for something else since then. */
    void forget(@Nullable String name, long then) {
        for (String each : name == null ? List.copyOf(byName.keySet()) : List.of(name(name))) {
            Known<T> known = byName.get(each);
            if (known != null && known.since <= then) {
                set(each, null);
            }
        }
    }

    private void set(String name, @Nullable Known<T> known) {
        last = null;
        Known<T> before = known == null ? byName.remove(name) : byName.put(name, known);
        room.insist((known == null ? 0 : known.bytes) - (before == null ? 0 : before.bytes));
    }

    /** What puts everything back that is known of a name now. */
    Runnable before(ByteBuf buffer, int start, int end) {
        if (start == end) {
            Known<T> known = unnamed;
            return () -> {
                room.insist(known.bytes - unnamed.bytes);
                unnamed = known;
            };
        }
        String name = name(buffer, start, end);
        Known<T> known = byName.get(name);
        return () -> set(name, known);
    }
}
