package tutti.minha.proxy;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import org.jspecify.annotations.Nullable;

/** What both kinds of proxies need of reflection. */
final class Calls {
    private Calls() {}

    /** A proxy whose methods of {@link Object} are its own and whose others go to a handler. */
    @SuppressWarnings("ReferenceEquality")
    static <I> I proxy(Class<I> type, String name, InvocationHandler handler) {
        if (!type.isInterface()) {
            throw new IllegalArgumentException(type.getName() + " is no interface; only interfaces have proxies");
        }
        return type
                .cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[]{type}, (self, method, arguments) -> {
                    if (method.getDeclaringClass() == Object.class) {
                        return switch (method.getName()) {
                            case "equals" -> self == arguments[0];
                            case "hashCode" -> System.identityHashCode(self);
                            default -> name;
                        };
                    }
                    return handler.invoke(self, method, arguments);
                }));
    }

    /** Calls a method, and throws what it throws. */
    static @Nullable Object call(Object target, Method method, Object @Nullable [] arguments) throws Throwable {
        try {
            method.setAccessible(true);
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause() == null ? e : e.getCause();
        }
    }
}
