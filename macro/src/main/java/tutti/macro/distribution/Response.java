package tutti.macro.distribution;

import org.jspecify.annotations.Nullable;

/** How a macro-operation ended (MacroDDB, section 4.3.4.1). */
public sealed interface Response {
    /** It was a call without a result. */
    record Empty() implements Response {}

    /**
     * It has a result.
     *
     * @param value which must be encodable if it is to travel
     */
    record Value(@Nullable Object value) implements Response {}

    /**
     * It threw something.
     *
     * @param thrown the very exception where the operation was executed, an equal one or an
     *            {@link OperationFailedException} elsewhere
     */
    record ExceptionResponse(Throwable thrown) implements Response {}

    /** The value, null if there is none, or throws the exception. */
    default @Nullable Object get() throws Throwable {
        return switch (this) {
            case Empty() -> null;
            case Value(Object value) -> value;
            case ExceptionResponse(Throwable thrown) -> throw thrown;
        };
    }
}
