package tutti.core.spi;

/**
 * Told once how something asynchronous ended. From any thread, and never before the call that it was passed to returns
 * unless that call says so.
 *
 * @param <T> what success brings
 */
public interface Completion<T> {
    /** It worked. */
    void succeeded(T value);

    /** It did not. */
    void failed(EngineFailure failure);
}
