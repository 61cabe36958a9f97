package tutti.macro.call;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * All operations of an interface, classified: the same table for the same interface and rules in every program, whatever
 * order reflection lists methods in. Immutable.
 *
 * <p>
 * The first rule that has something to say decides: the function given to {@link Builder#classify}, the annotations
 * {@link Read} and {@link Write}, the patterns given to {@link Builder#reads} and {@link Builder#writes}, and for the
 * collection interfaces of {@code java.util} what their documentation says. What nobody knows is a write, which is
 * always safe.
 */
public final class OperationTable {
    private final Class<?> type;
    private final List<Operation> operations;

    private OperationTable(Class<?> type, List<Operation> operations) {
        this.type = type;
        this.operations = List.copyOf(operations);
    }

    /** The interface. */
    public Class<?> type() {
        return type;
    }

    /** The operations by their index. */
    public List<Operation> operations() {
        return operations;
    }

    /** The operation of this interface with the name and the parameter types of another interface's method. */
    Operation like(Method method) {
        return operations.stream()
                .filter(o -> o.method().getName().equals(method.getName())
                        && List.of(o.method().getParameterTypes()).equals(List.of(method.getParameterTypes())))
                .findFirst().orElseThrow(() -> new IllegalArgumentException(
                        type.getName() + " has no method with the name and the parameters of " + method));
    }

    /** A number that differs, in all likelihood, between interfaces and between versions of an interface. */
    public int fingerprint() {
        return operations.stream().map(o -> o.signature() + o.kind()).toList().hashCode();
    }

    /**
     * Begins a table.
     *
     * @throws IllegalArgumentException if the type is not an interface
     */
    public static Builder of(Class<?> type) {
        if (!type.isInterface() || type.isAnnotation()) {
            throw new IllegalArgumentException(type.getName() + " is not an interface");
        }
        return new Builder(type);
    }

    /** Collects the rules. Not thread safe. */
    public static final class Builder {
        private final Class<?> type;
        private Function<Method, @Nullable CallKind> function = method -> null;
        private final Map<Pattern, CallKind> patterns = new HashMap<>();
        private final Map<Pattern, UnaryOperator<@Nullable Object>> detachers = new HashMap<>();

        private Builder(Class<?> type) {
            this.type = type;
        }

        /** Decides by a function, which answers null for what it does not know. */
        public Builder classify(Function<Method, @Nullable CallKind> rule) {
            function = rule;
            return this;
        }

        /** Methods whose whole name matches this regular expression read. */
        public Builder reads(String names) {
            patterns.put(Pattern.compile(names), CallKind.READ);
            return this;
        }

        /** Methods whose whole name matches this regular expression write. */
        public Builder writes(String names) {
            patterns.put(Pattern.compile(names), CallKind.WRITE);
            return this;
        }

        /**
         * Results of methods whose whole name matches go through this function before anybody sees them, while the
         * implementation stands still: it must turn live views, iterators and mutable parts into copies. The collection
         * interfaces of {@code java.util} need none.
         */
        public Builder detach(String names, UnaryOperator<@Nullable Object> copy) {
            detachers.put(Pattern.compile(names), copy);
            return this;
        }

        /**
         * The table.
         *
         * @throws IllegalArgumentException if a pattern calls a method a read and another calls it a write, or if a method
         *             has both annotations
         */
        public OperationTable build() {
            Map<String, Method> methods = new HashMap<>();
            for (Method method : type.getMethods()) {
                if (!Modifier.isStatic(method.getModifiers())) {
                    String key = method.getName() + descriptor(method);
                    methods.merge(key, method, Builder::closer);
                }
            }
            List<Operation> operations = new ArrayList<>();
            for (Map.Entry<String, Method> entry : methods.entrySet().stream()
                    .sorted(Comparator.comparing(Map.Entry::getKey)).toList()) {
                Method method = entry.getValue();
                operations.add(new Operation(operations.size(), method, kind(method), detacher(method)));
            }
            return new OperationTable(type, operations);
        }

        /** Of two declarations of a method the one that counts: that of the subtype, or just always the same one. */
        private static Method closer(Method a, Method b) {
            Class<?> ofA = a.getDeclaringClass();
            Class<?> ofB = b.getDeclaringClass();
            if (ofA.isAssignableFrom(ofB) || ofB.isAssignableFrom(ofA)) {
                return ofA.isAssignableFrom(ofB) ? b : a;
            }
            return ofA.getName().compareTo(ofB.getName()) < 0 ? a : b;
        }

        private static String descriptor(Method method) {
            return java.lang.invoke.MethodType.methodType(method.getReturnType(), method.getParameterTypes())
                    .descriptorString();
        }

        private CallKind kind(Method method) {
            CallKind byFunction = function.apply(method);
            if (byFunction != null) {
                return byFunction;
            }
            boolean read = method.isAnnotationPresent(Read.class);
            if (read || method.isAnnotationPresent(Write.class)) {
                if (read && method.isAnnotationPresent(Write.class)) {
                    throw new IllegalArgumentException(method + " is marked both @Read and @Write");
                }
                return read ? CallKind.READ : CallKind.WRITE;
            }
            List<CallKind> byName = patterns.entrySet().stream()
                    .filter(e -> e.getKey().matcher(method.getName()).matches()).map(Map.Entry::getValue).distinct()
                    .toList();
            if (byName.size() > 1) {
                throw new IllegalArgumentException("the name of " + method + " is that of a read and that of a write");
            }
            if (!byName.isEmpty()) {
                return byName.getFirst();
            }
            return JdkCollections.reads(method) ? CallKind.READ : CallKind.WRITE;
        }

        private @Nullable UnaryOperator<@Nullable Object> detacher(Method method) {
            for (Map.Entry<Pattern, UnaryOperator<@Nullable Object>> entry : detachers.entrySet()) {
                if (entry.getKey().matcher(method.getName()).matches()) {
                    return entry.getValue();
                }
            }
            return JdkCollections.detacher(method);
        }
    }
}
