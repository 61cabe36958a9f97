package tutti.jdbc.spi;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.SQLException;
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
            if (cause instanceof SQLException) {
                throw (SQLException) cause;
            }
            if (cause instanceof RuntimeException) {
                throw (RuntimeException) cause;
            }
            if (cause instanceof Error) {
                throw (Error) cause;
            }
            throw new IllegalStateException(cause);
        } catch (IllegalAccessException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** What the methods of {@link Object} answer for a proxy; null for other methods. */
    public static @Nullable Object ofObject(Method method, Object proxy, @Nullable Object @Nullable [] arguments,
            String description) {
        if (method.getDeclaringClass() != Object.class) {
            return null;
        }
        switch (method.getName()) {
            case "equals" :
                return arguments != null && proxy == arguments[0];
            case "hashCode" :
                return System.identityHashCode(proxy);
            default :
                return description;
        }
    }

    /** An argument that must not be null. */
    public static Object argument(@Nullable Object @Nullable [] arguments, int index) {
        if (arguments == null || arguments[index] == null) {
            throw new IllegalArgumentException("argument " + (index + 1) + " must not be null");
        }
        return arguments[index];
    }
}
