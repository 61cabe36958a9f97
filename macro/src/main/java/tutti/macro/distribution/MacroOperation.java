package tutti.macro.distribution;

import org.jspecify.annotations.Nullable;

/**
 * What is to be done with a component, in a form that can be sent (MacroDDB, section 4.2.2, table 4.3). Calls of the
 * component's interface become macro-operations by themselves. One of your own, a record registered with the
 * {@link ObjectCodec}, computes whatever it likes in one step of the total order: several calls, say, between which
 * nothing else happens.
 *
 * <p>
 * It is executed at every node and must be deterministic: no clocks, no random numbers, no threads, nothing outside the
 * component. What it returns must be encodable. What it throws is its result, too, and is thrown at the caller.
 *
 * @param <C> the component's interface
 */
@FunctionalInterface
public interface MacroOperation<C> {
    /** Uses the component's operations to do what it is for. */
    @Nullable
    Object execute(C component) throws Throwable;

    /** Likewise, and may create further components, or use them: {@code EXECUTE(MC, MT)}. */
    default @Nullable Object execute(C component, MessageTranslator translator) throws Throwable {
        return execute(component);
    }

    /** Whether it affects no later result. Then one node is enough. */
    default boolean reads() {
        return false;
    }
}
