package tutti.macro.call;

import org.jspecify.annotations.Nullable;

/** Where the calls of a generated object go. From any thread. */
public interface Dispatcher {
    /**
     * Asked before each call of an operation that reads: whether the caller's thread may read an implementation itself, now
     * and without boxing of arguments.
     *
     * @return leave, or null if the call must go through {@link #call}
     */
    default @Nullable DirectRead beginRead(Operation operation) {
        return null;
    }

    /**
     * Executes a call.
     *
     * @param arguments boxed; the callee keeps the array
     * @return the result, boxed
     * @throws Throwable what the implementation threw, unchanged, or an unchecked exception of the dispatcher's own
     */
    @Nullable
    Object call(Operation operation, @Nullable Object[] arguments) throws Throwable;
}
