package tutti.jdbc.spi;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.SQLException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Calls through objects that stand in for those of another driver. */
public final class Calls {
    private Calls() {}

    /** An object with one interface whose methods all come to the handler. */
    public static <T> T proxy(Class<T> face, InvocationHandler handler) {
        return face.cast(Proxy.newProxyInstance(Calls.class.getClassLoader(), new Class<?>[]{face}, handler));
    }

    /** Calls a method of a JDBC interface; what it throws is thrown. */
    public static @Nullable Object call(Method method, Object target, @Nullable Object @Nullable [] arguments)
            throws SQLException {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException thrown) {
            Throwable cause = thrown.getCause();
            if (cause instanceof SQLException sqlException) {
                throw sqlException;
            }
            if (cause instanceof RuntimeException runtimeException) {
                throw runtimeException;
            }
            if (cause instanceof Error error) {
                throw error;
            }
            throw new IllegalStateException(cause);
        } catch (IllegalAccessException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** What the methods of {@link Object} answer for a proxy; null for other methods. */
    @SuppressWarnings("ReferenceEquality")
    public static @Nullable Object ofObject(Method method, Object proxy, @Nullable Object @Nullable [] arguments,
            Supplier<String> description) {
        if (method.getDeclaringClass() != Object.class) {
            return null;
        }
        return switch (method.getName()) {
            case "equals" ->
                arguments != null && proxy == arguments[0];
            case "hashCode" ->
                System.identityHashCode(proxy);
            default ->
                description.get();
        };
    }

    /** An argument that must not be null. */
    public static Object argument(@Nullable Object @Nullable [] arguments, int index) {
        if (arguments == null || arguments[index] == null) {
            throw new IllegalArgumentException("argument " + (index + 1) + " must not be null");
        }
        return arguments[index];
    }
}
