package tutti.macro.call;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * One method of an interface as everything that schedules, stores or sends calls sees it: its place in the
 * {@link OperationTable}, whether it reads or writes, and what must be done to its results. Immutable.
 */
public final class Operation {
    private final int index;
    private final Method method;
    private final CallKind kind;
    private final @Nullable UnaryOperator<@Nullable Object> detacher;

    Operation(int index, Method method, CallKind kind, @Nullable UnaryOperator<@Nullable Object> detacher) {
        this.index = index;
        this.method = method;
        this.kind = kind;
        this.detacher = detacher;
    }

    /** Its place in the table, from 0. */
    public int index() {
        return index;
    }

    /** The method of the interface. */
    public Method method() {
        return method;
    }

    /** Whether it reads or writes. */
    public CallKind kind() {
        return kind;
    }

    /** Whether it only reads. */
    public boolean reads() {
        return kind == CallKind.READ;
    }

    /** Whether results are copied out of the implementation before anybody sees them. */
    public boolean detaches() {
        return detacher != null;
    }

    /** Makes a result independent of the implementation that gave it; called while the implementation stands still. */
    public @Nullable Object detach(@Nullable Object result) {
        return detacher == null ? result : detacher.apply(result);
    }

    /** Name and parameter types, the same for the same method in every program. */
    public String signature() {
        return method.getName() + Arrays.stream(method.getParameterTypes()).map(Class::getName)
                .collect(Collectors.joining(",", "(", ")")) + method.getReturnType().getName();
    }

    /** Name and parameter types, for people. */
    @Override
    public String toString() {
        return method.getName() + Arrays.stream(method.getParameterTypes()).map(Class::getSimpleName)
                .collect(Collectors.joining(", ", "(", ")"));
    }
}
