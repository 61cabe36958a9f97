package tutti.macro.distribution;

import org.jspecify.annotations.Nullable;
import tutti.macro.call.Invoker;
import tutti.macro.call.Operation;

/** The macro-operation that a call of the component's interface becomes. */
record MethodCall(Operation operation, Invoker invoker,
        @Nullable Object[] arguments) implements MacroOperation<Object> {
    @Override
    public @Nullable Object execute(Object component) throws Throwable {
        return operation.detach(invoker.invoke(operation.index(), component, arguments));
    }

    @Override
    public boolean reads() {
        return operation.reads();
    }
}
