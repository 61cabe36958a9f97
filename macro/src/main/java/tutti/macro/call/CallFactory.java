package tutti.macro.call;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;

/**
 * Makes, for one interface, objects whose calls go to a {@link Dispatcher}, and the {@link Invoker} that calls
 * implementations. Thread safe.
 */
public final class CallFactory {
    private final OperationTable table;
    private final Invocation invocation;
    private final Operation[] operations;
    private final Function<Dispatcher, Object> proxies;
    private final Invoker invoker;

    private CallFactory(OperationTable table, Invocation invocation, Operation[] operations,
            MethodHandles.Lookup lookup, boolean invokes) {
        this.table = table;
        this.invocation = invocation;
        this.operations = operations;
        if (invocation == Invocation.GENERATED_CLASSES) {
            MethodHandle constructor = Proxies.proxyConstructor(lookup, table);
            proxies = dispatcher -> construct(constructor, dispatcher);
            invoker = invokes ? Proxies.invoker(lookup, table) : CallFactory::refuse;
        } else {
            proxies = dispatcher -> HandleProxies.proxy(table, operations, dispatcher);
            invoker = invokes ? HandleProxies.invoker(lookup, table) : CallFactory::refuse;
        }
    }

    private static Object refuse(int operation, Object implementation, Object[] arguments) {
        throw new UnsupportedOperationException("this interface stands for another one and is not called itself");
    }

    /**
     * Prepares an interface.
     *
     * @param lookup of a class that may use the interface, or null if it is public
     * @throws IllegalArgumentException if the interface is not accessible
     */
    public static CallFactory of(OperationTable table, Invocation invocation,
            MethodHandles.@org.jspecify.annotations.Nullable Lookup lookup) {
        return new CallFactory(table, invocation, table.operations().toArray(Operation[]::new),
                lookup == null ? MethodHandles.lookup() : lookup, true);
    }

    /**
     * Prepares another interface whose methods stand for those of this table with the same names and parameter types,
     * whatever they return.
     *
     * @throws IllegalArgumentException if it has a method that stands for none, or whose result is not of the given type
     */
    public CallFactory standIn(Class<?> type, Class<?> result,
            MethodHandles.@org.jspecify.annotations.Nullable Lookup lookup) {
        OperationTable names = OperationTable.of(type).classify(_ -> CallKind.WRITE).build();
        Map<Integer, Operation> standsFor = new HashMap<>();
        for (Operation name : names.operations()) {
            Method method = name.method();
            if (!method.getReturnType().isAssignableFrom(result)) {
                throw new IllegalArgumentException(method + " must return " + result.getName());
            }
            standsFor.put(name.index(), table.like(method));
        }
        Operation[] mapped = new Operation[names.operations().size()];
        standsFor.forEach((index, operation) -> mapped[index] = operation);
        return new CallFactory(names, invocation, mapped, lookup == null ? MethodHandles.lookup() : lookup, false);
    }

    /** The operations. */
    public OperationTable table() {
        return table;
    }

    /** Calls implementations. */
    public Invoker invoker() {
        return invoker;
    }

    /** A new object of the interface whose calls go to the dispatcher. */
    public Object proxy(Dispatcher dispatcher) {
        return proxies.apply(dispatcher);
    }

    private Object construct(MethodHandle constructor, Dispatcher dispatcher) {
        try {
            return (Object) constructor.invokeExact(dispatcher, operations);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException("an object of " + table.type() + " cannot be made", e);
        }
    }
}
