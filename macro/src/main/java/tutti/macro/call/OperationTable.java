package tutti.macro.call;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
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
     * @throws IllegalArgumentException if the type is not an interface, or is sealed
     */
    public static Builder of(Class<?> type) {
        if (!type.isInterface() || type.isAnnotation()) {
            throw new IllegalArgumentException(type.getName()
                    + " is not an interface: name the interface that the implementations have in common");
        }
        if (type.isSealed()) {
            throw new IllegalArgumentException(type.getName()
                    + " is sealed, so that no class can be made that stands for its implementations");
        }
        return new Builder(type);
    }

    /** Collects the rules. Not thread safe. */
    public static final class Builder {
        private final Class<?> type;
        private Function<Method, @Nullable CallKind> function = method -> null;
        private final Map<Pattern, CallKind> patterns = new HashMap<>();
        private final Map<Pattern, UnaryOperator<@Nullable Object>> detachers = new HashMap<>();
        private boolean allClassified;

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

        /** Refuses an interface with a method that no rule knows, instead of taking it for a write. */
        public Builder allClassified() {
            allClassified = true;
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
         * @throws IllegalArgumentException if there is no method, if a pattern is the name of none, if one pattern calls a
         *             method a read and another calls it a write, if a method has both annotations, or if nothing is known
         *             of one and that was forbidden
         */
        public OperationTable build() {
            Map<String, Method> methods = new HashMap<>();
            for (Method method : type.getMethods()) {
                if (!Modifier.isStatic(method.getModifiers())) {
                    String key = method.getName() + descriptor(method);
                    methods.merge(key, method, Builder::closer);
                }
            }
            if (methods.isEmpty()) {
                throw new IllegalArgumentException(type.getName() + " has no methods");
            }
            patterns.keySet().forEach(pattern -> requireMatch(pattern, methods.values()));
            detachers.keySet().forEach(pattern -> requireMatch(pattern, methods.values()));
            JdkCollections.textOf(type).ifPresent(method -> methods.put(method.getName() + descriptor(method), method));
            List<Operation> operations = new ArrayList<>();
            for (Map.Entry<String, Method> entry : methods.entrySet().stream()
                    .sorted(Comparator.comparing(Map.Entry::getKey)).toList()) {
                Method method = entry.getValue();
                operations.add(new Operation(operations.size(), method, kind(method), results(method)));
            }
            return new OperationTable(type, operations);
        }

        /** What matches nothing is misspelt: its methods would be taken for writes. */
        private void requireMatch(Pattern pattern, Collection<Method> methods) {
            if (methods.stream().noneMatch(m -> pattern.matcher(m.getName()).matches())) {
                throw new IllegalArgumentException("no method of " + type.getName() + " has a name that matches "
                        + pattern + "; there are "
                        + methods.stream().map(Method::getName).distinct().sorted().collect(Collectors.joining(", ")));
            }
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
            if (method.getDeclaringClass() == Object.class) {
                return CallKind.READ;
            }
            CallKind found = function.apply(method);
            if (found == null) {
                found = byMark(method);
            }
            if (found == null) {
                found = byName(method);
            }
            if (found == null && declarations(method).anyMatch(JdkCollections::reads)) {
                found = CallKind.READ;
            }
            if (found == null && allClassified && declarations(method).noneMatch(JdkCollections::known)) {
                throw new IllegalArgumentException("nothing says whether " + method
                        + " reads or writes: mark it @Read or @Write, or name it to reads() or writes()");
            }
            return found == null ? CallKind.WRITE : found;
        }

        /** Its own mark, or else that of the declarations that it overrides. */
        private @Nullable CallKind byMark(Method method) {
            CallKind own = mark(method, Stream.of(method));
            return own != null ? own : mark(method, declarations(method));
        }

        private static @Nullable CallKind mark(Method method, Stream<Method> declarations) {
            List<Method> all = declarations.toList();
            boolean read = all.stream().anyMatch(m -> m.isAnnotationPresent(Read.class));
            boolean write = all.stream().anyMatch(m -> m.isAnnotationPresent(Write.class));
            if (read && write) {
                throw new IllegalArgumentException(method + " is marked both @Read and @Write");
            }
            return read ? CallKind.READ : write ? CallKind.WRITE : null;
        }

        private @Nullable CallKind byName(Method method) {
            List<CallKind> byName = patterns.entrySet().stream()
                    .filter(e -> e.getKey().matcher(method.getName()).matches()).map(Map.Entry::getValue).distinct()
                    .toList();
            if (byName.size() > 1) {
                throw new IllegalArgumentException("the name of " + method + " is that of a read and that of a write");
            }
            return byName.isEmpty() ? null : byName.getFirst();
        }

        /** The method, and those of the interface and its superinterfaces that it overrides or that differ in the result only. */
        private Stream<Method> declarations(Method method) {
            return interfaces(type).flatMap(i -> Arrays.stream(i.getDeclaredMethods()))
                    .filter(m -> m.getName().equals(method.getName())
                            && Arrays.equals(m.getParameterTypes(), method.getParameterTypes()));
        }

        private static Stream<Class<?>> interfaces(Class<?> type) {
            return Stream.concat(Stream.of(type), Arrays.stream(type.getInterfaces()).flatMap(Builder::interfaces))
                    .distinct();
        }

        private Results results(Method method) {
            for (Map.Entry<Pattern, UnaryOperator<@Nullable Object>> entry : detachers.entrySet()) {
                if (entry.getKey().matcher(method.getName()).matches()) {
                    return Results.copied(entry.getValue());
                }
            }
            return Stream.concat(Stream.of(method), declarations(method)).map(JdkCollections::results)
                    .filter(results -> !results.equals(Results.PLAIN)).findFirst().orElse(Results.PLAIN);
        }
    }
}
