package tutti.grid.api;

/**
 * Turns keys or values into bytes and back. Equal keys must become equal bytes. Any thread.
 *
 * @param <T> what
 */
public interface Serializer<T> {
    /** As bytes. */
    byte[] write(T value);

    /**
     * What was written.
     *
     * @throws IllegalArgumentException if these bytes were not
     */
    T read(byte[] bytes);
}
