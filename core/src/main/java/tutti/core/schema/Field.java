package tutti.core.schema;

import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A field of what a {@link Schema} describes. Immutable.
 *
 * @param <R> whose field
 * @param <T> what it holds
 */
public final class Field<R, T extends @Nullable Object> {
    final String name;
    final Type<T> type;
    final int since;
    private final Function<R, T> get;
    private final @Nullable T otherwise;
    /** Bytes that every value takes, or -1 if that depends on it. */
    private final int bytes;

    private Field(String name, Type<T> type, Function<R, T> get, int since, @Nullable T otherwise) {
        this.name = name;
        this.type = type;
        this.get = get;
        this.since = since;
        this.otherwise = otherwise;
        this.bytes = type.fixed() ? type.bytesMin() : -1;
    }

    /** There as long as what it is a field of. */
    public static <R, T extends @Nullable Object> Field<R, T> of(String name, Type<T> type, Function<R, T> get) {
        return new Field<>(name, type, get, 0, null);
    }

    /**
     * The same, but there since a later version than that.
     *
     * @param otherwise its value for who does not know it. Whoever writes an older version can say nothing else.
     */
    public Field<R, T> since(int version, T otherwise) {
        return new Field<>(name, type, get, version, otherwise);
    }

    int size(R of, int version) {
        if (version < since) {
            return 0;
        }
        return bytes >= 0 ? bytes : type.size(get.apply(of), version);
    }

    void write(R of, ByteBuffer to, int version) {
        T value = get.apply(of);
        if (version >= since) {
            type.write(value, to, version);
        } else if (!Objects.deepEquals(value, otherwise)) {
            throw new IllegalArgumentException(
                    name + " is " + value + ", which cannot be said in wire version " + version + ", only since "
                            + since);
        }
    }

    @Nullable
    T read(Input from) {
        return from.version >= since ? type.read(from) : otherwise;
    }

    void print(R of, StringBuilder to, String indent) {
        type.print(get.apply(of), to, indent);
    }

    String words() {
        return type.words() + (since == 0 ? "" : "; since version " + since + ", before that " + otherwise);
    }
}
