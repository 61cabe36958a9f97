package tutti.macro;

/**
 * Brings the state of one implementation to another.
 *
 * @param <T> the interface of both
 */
@FunctionalInterface
public interface StateCopier<T> {
    /**
     * Copies. The source stands still meanwhile but may be read by others; the target is known to nobody else.
     *
     * @param from where the state is; must not be changed
     * @param to an implementation as it was when it was given to the component
     * @throws Exception if it cannot be done; the component then goes on without the new replica
     */
    void copy(T from, T to) throws Exception;
}
