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
    private final Results results;

    Operation(int index, Method method, CallKind kind, Results results) {
        this.index = index;
        this.method = method;
        this.kind = kind;
        this.results = results;
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
        return results.detach() != null;
    }

    /**
     * Makes a result independent of the implementation that gave it, and comparable with those of others; called while the
     * implementation stands still.
     */
    public @Nullable Object detach(@Nullable Object result) {
        UnaryOperator<@Nullable Object> detach = results.detach();
        return detach == null ? result : detach.apply(result);
    }

    /** What the caller gets, of what {@link #detach} made. */
    public @Nullable Object present(@Nullable Object detached) {
        UnaryOperator<@Nullable Object> present = results.present();
        return present == null ? detached : present.apply(detached);
    }

    /** Whether what the caller gets is not what {@link #detach} made. */
    public boolean presents() {
        return results.present() != null;
    }

    /** Whether two detached results say the same although they are not equal: elements without an order, in another order. */
    public boolean alike(@Nullable Object one, @Nullable Object other) {
        return results.alike().test(one, other);
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
