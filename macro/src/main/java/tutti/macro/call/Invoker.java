package tutti.macro.call;

import org.jspecify.annotations.Nullable;

/** Calls implementations of an interface by the index of the operation. From any thread. */
public interface Invoker {
    /**
     * Calls.
     *
     * @param operation index in the {@link OperationTable}
     * @param implementation of the interface
     * @param arguments boxed, as many as the method has parameters
     * @return the result, boxed; null if there is none
     * @throws Throwable what the implementation threw, unchanged
     */
    @Nullable
    Object invoke(int operation, Object implementation, @Nullable Object[] arguments) throws Throwable;
}
