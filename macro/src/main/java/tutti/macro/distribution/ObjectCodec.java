package tutti.macro.distribution;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Turns arguments and results into bytes and back: null, the JDK's value types (boxes, strings, big numbers, UUIDs, times,
 * optionals, arrays of bytes, ints, longs and objects), lists, sets, maps, and what was registered: enums, records, and
 * types with a codec of their own. Everything is told by registered names; bytes cannot make any other class be loaded. No
 * Java serialization.
 *
 * <p>
 * Collections come back unmodifiable, in the order in which they were; sorted ones must be in natural order and come back
 * sorted. Immutable: each {@code with} method gives a new one. Thread safe.
 */
public final class ObjectCodec implements Codec<@Nullable Object> {
    /** A codec of values with parts of any type, which the codec that it is used by knows, itself included. */
    private interface Composed<T> {
        void write(T value, Output to, ObjectCodec parts);

        T read(Input from, ObjectCodec parts);
    }

    private record Named<T>(String name, Composed<T> codec) {}

    private final Map<Class<?>, Named<?>> byType;
    private final Map<String, Named<?>> byName;

    private ObjectCodec(Map<Class<?>, Named<?>> byType, Map<String, Named<?>> byName) {
        this.byType = byType;
        this.byName = byName;
    }

    /** For the JDK's types alone. */
    public static ObjectCodec standard() {
        return new ObjectCodec(Map.of(), Map.of());
    }

    /**
     * Also knows this class, by this name; not its subclasses.
     *
     * @throws IllegalArgumentException if the name or the class is taken
     */
    public <T> ObjectCodec with(Class<T> type, String name, Codec<T> codec) {
        return with(type, name, new Composed<T>() {
            @Override
            public void write(T value, Output to, ObjectCodec parts) {
                codec.write(value, to);
            }

            @Override
            public T read(Input from, ObjectCodec parts) {
                return codec.read(from);
            }
        });
    }

    private <T> ObjectCodec with(Class<T> type, String name, Composed<T> codec) {
        Map<Class<?>, Named<?>> types = new HashMap<>(byType);
        Map<String, Named<?>> names = new HashMap<>(byName);
        Named<T> named = new Named<>(name, codec);
        if (types.put(type, named) != null || names.put(name, named) != null) {
            throw new IllegalArgumentException("there is a codec of " + type.getName() + " or by the name " + name);
        }
        return new ObjectCodec(types, names);
    }

    /**
     * Also knows these records and enums, by their class names.
     *
     * @throws IllegalArgumentException if one is neither, or not public (then pass a lookup)
     */
    public ObjectCodec withTypes(Class<?>... types) {
        return withTypes(MethodHandles.publicLookup(), types);
    }

    /** Also knows these records and enums, which the lookup has access to. */
    public ObjectCodec withTypes(MethodHandles.Lookup lookup, Class<?>... types) {
        ObjectCodec more = this;
        for (Class<?> type : types) {
            more = more.withType(lookup, type);
        }
        return more;
    }

    private <T> ObjectCodec withType(MethodHandles.Lookup lookup, Class<T> type) {
        if (type.isEnum()) {
            return with(type, type.getName(), enumCodec(type));
        }
        if (type.isRecord()) {
            return with(type, type.getName(), new RecordCodec<>(lookup, type));
        }
        throw new IllegalArgumentException(type.getName() + " is neither a record nor an enum: give it a codec");
    }

    private static <T> Composed<T> enumCodec(Class<T> type) {
        T[] constants = type.getEnumConstants();
        return new Composed<>() {
            @Override
            public void write(T value, Output to, ObjectCodec parts) {
                to.writeString(((Enum<?>) value).name());
            }

            @Override
            public T read(Input from, ObjectCodec parts) {
                String name = from.readString();
                return Arrays.stream(constants).filter(c -> ((Enum<?>) c).name().equals(name)).findFirst()
                        .orElseThrow(() -> new EncodingException(type.getName() + " has no constant " + name));
            }
        };
    }

    /** A record is its components, in order. */
    private static final class RecordCodec<T> implements Composed<T> {
        private final Class<T> type;
        private final MethodHandle[] accessors;
        private final MethodHandle constructor;

        RecordCodec(MethodHandles.Lookup lookup, Class<T> type) {
            this.type = type;
            RecordComponent[] components = type.getRecordComponents();
            try {
                accessors = new MethodHandle[components.length];
                for (int i = 0; i < components.length; i++) {
                    accessors[i] = lookup.unreflect(components[i].getAccessor())
                            .asType(MethodType.methodType(Object.class, Object.class));
                }
                constructor = lookup
                        .findConstructor(type,
                                MethodType.methodType(void.class,
                                        Arrays.stream(components).map(RecordComponent::getType)
                                                .toArray(Class<?>[]::new)))
                        .asSpreader(Object[].class, components.length)
                        .asType(MethodType.methodType(Object.class, Object[].class));
            } catch (ReflectiveOperationException e) {
                throw new IllegalArgumentException(
                        type.getName() + " is not accessible: make it public, or pass a lookup",
                        e);
            }
        }

        @Override
        public void write(T value, Output to, ObjectCodec parts) {
            to.writeUnsigned(accessors.length);
            for (MethodHandle accessor : accessors) {
                parts.write(get(accessor, value), to);
            }
        }

        private @Nullable Object get(MethodHandle accessor, Object value) {
            try {
                return (Object) accessor.invokeExact(value);
            } catch (Throwable e) {
                throw new EncodingException("a component of " + type.getName() + " cannot be read", e);
            }
        }

        @Override
        public T read(Input from, ObjectCodec parts) {
            int count = from.readCount();
            if (count != accessors.length) {
                throw new EncodingException(
                        type.getName() + " has " + accessors.length + " components here and " + count + " there");
            }
            @Nullable
            Object[] values = new Object[count];
            for (int i = 0; i < count; i++) {
                values[i] = parts.read(from);
            }
            try {
                return type.cast((Object) constructor.invokeExact(values));
            } catch (Throwable e) {
                throw new EncodingException(type.getName() + " does not take " + Arrays.toString(values), e);
            }
        }
    }

    /** Whether values of this very class were registered. */
    boolean knows(Class<?> type) {
        return byType.containsKey(type);
    }

    @Override
    public void write(@Nullable Object value, Output to) {
        if (JdkTypes.write(value, to, this)) {
            return;
        }
        Class<?> type = value instanceof Enum<?> constant ? constant.getDeclaringClass() : value.getClass();
        Named<?> named = byType.get(type);
        if (named == null) {
            throw new EncodingException(
                    "a " + type.getName() + " cannot be sent: register it if it is a record or an enum, "
                            + "give it a codec, or write a macro-operation that does without");
        }
        to.writeByte(JdkTypes.REGISTERED);
        to.writeString(named.name());
        writeNamed(named, value, to, this);
    }

    @SuppressWarnings("unchecked")
    private static <T> void writeNamed(Named<T> named, Object value, Output to, ObjectCodec parts) {
        named.codec().write((T) value, to, parts);
    }

    @Override
    public @Nullable Object read(Input from) {
        byte tag = from.readByte();
        if (tag != JdkTypes.REGISTERED) {
            return JdkTypes.read(tag, from, this);
        }
        String name = from.readString();
        Named<?> named = byName.get(name);
        if (named == null) {
            throw new EncodingException("nothing is registered by the name " + name + " at this node");
        }
        return named.codec().read(from, this);
    }
}
