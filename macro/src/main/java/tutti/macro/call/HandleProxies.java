package tutti.macro.call;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** {@link Invocation#METHOD_HANDLES}: what {@link Proxies} does, without generating classes of our own. */
final class HandleProxies {
    private static final Object[] NONE = {};

    private HandleProxies() {}

    static Object proxy(OperationTable table, Operation[] operations, Dispatcher dispatcher) {
        Map<Method, Operation> byMethod = new HashMap<>();
        for (Method method : table.type().getMethods()) {
            for (Operation own : table.operations()) {
                if (own.method().getName().equals(method.getName())
                        && own.method().getReturnType() == method.getReturnType()
                        && Arrays.equals(own.method().getParameterTypes(), method.getParameterTypes())) {
                    byMethod.put(method, operations[own.index()]);
                }
            }
        }
        // A proxy reports Object's methods as Object's even if the interface declares them.
        for (Method method : Object.class.getMethods()) {
            for (Operation own : table.operations()) {
                if (own.method().getName().equals(method.getName())
                        && Arrays.equals(own.method().getParameterTypes(), method.getParameterTypes())) {
                    byMethod.put(method, operations[own.index()]);
                }
            }
        }
        return Proxy.newProxyInstance(table.type().getClassLoader(), new Class<?>[]{table.type()},
                (proxy, method, arguments) -> {
                    Operation operation = byMethod.get(method);
                    if (operation != null) {
                        return dispatcher.call(operation, arguments == null ? NONE : arguments);
                    }
                    return ofObject(proxy, method, arguments, dispatcher);
                });
    }

    @SuppressWarnings("ReferenceEquality")
    private static @Nullable Object ofObject(Object proxy, Method method, Object @Nullable [] arguments,
            Dispatcher dispatcher) throws InvocationTargetException, IllegalAccessException {
        return switch (method.getName()) {
            case "equals" -> arguments != null && proxy == arguments[0];
            case "hashCode" -> System.identityHashCode(proxy);
            default -> method.invoke(dispatcher, arguments);
        };
    }

    static Invoker invoker(MethodHandles.Lookup lookup, OperationTable table) {
        MethodHandle[] handles = new MethodHandle[table.operations().size()];
        for (Operation operation : table.operations()) {
            try {
                MethodHandle handle = lookup.in(table.type()).unreflect(operation.method());
                handles[operation.index()] = handle.asFixedArity()
                        .asSpreader(Object[].class, operation.method().getParameterCount())
                        .asType(MethodType.methodType(Object.class, Object.class, Object[].class));
            } catch (IllegalAccessException e) {
                throw new IllegalArgumentException(operation.method() + " is not accessible to "
                        + lookup.lookupClass().getName() + ": pass MethodHandles.lookup() of a class that may call it",
                        e);
            }
        }
        return (operation, implementation, arguments) -> (Object) handles[operation].invokeExact(implementation,
                arguments);
    }
}
