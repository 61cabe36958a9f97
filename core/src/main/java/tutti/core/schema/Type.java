package tutti.core.schema;

import java.nio.ByteBuffer;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * How values of one type are written, checked, read, and described. Those there are: {@link Types}, {@link Schema},
 * {@link MessageSet}. Immutable, for any thread.
 */
public abstract class Type<T extends @Nullable Object> {
    /** Fewest bytes that a value takes. */
    private final int bytesMin;

    Type(int bytesMin) {
        this.bytesMin = bytesMin;
    }

    final int bytesMin() {
        return bytesMin;
    }

    /** Whether all values take as many bytes. */
    boolean fixed() {
        return false;
    }

    /** Exact number of bytes that {@link #write(Object, ByteBuffer, int)} writes. */
    abstract int size(T value, int version);

    /** @throws IllegalArgumentException if the value may not be, or cannot be said in this version */
    abstract void write(T value, ByteBuffer to, int version);

    abstract T read(Input from);

    /** What it is, for the page. */
    abstract String words();

    /** Adds the parts that it is made of and that have sections of their own on the page. */
    void parts(Set<Schema<?>> to) {}

    /** Appends a value for people. */
    void print(T value, StringBuilder to, String indent) {
        to.append(value);
    }

    // -------------------------------------------------------------------- alone, in the newest version, without a head

    /** Exact number of bytes that {@link #write(Object, ByteBuffer)} writes. */
    public final int size(T value) {
        return size(value, Versions.SPOKEN.newest());
    }

    /**
     * Appends a value at the buffer's position: without a version, for those who have one around it.
     *
     * @throws IllegalArgumentException if the value may not be
     */
    public final void write(T value, ByteBuffer to) {
        write(value, to, Versions.SPOKEN.newest());
    }

    /**
     * Reads what {@link #write(Object, ByteBuffer)} wrote, and advances the buffer.
     *
     * @throws DecodeException if it is something else
     */
    public final T read(ByteBuffer from) {
        return read(new Input(from, Versions.SPOKEN.newest()));
    }
}
