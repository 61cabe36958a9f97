package tutti.macro.distribution;

/**
 * Turns values of one type into bytes and back. Thread safe.
 *
 * @param <T> the type
 */
public interface Codec<T> {
    /** Writes a value. */
    void write(T value, Output to);

    /**
     * Reads what {@link #write} wrote.
     *
     * @throws EncodingException if it cannot have
     */
    T read(Input from);
}
