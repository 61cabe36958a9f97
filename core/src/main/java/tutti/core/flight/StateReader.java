package tutti.core.flight;

import java.lang.reflect.Field;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.flight.StateShape.Kind;

/** Reads one {@link StateImage} into a protocol. */
final class StateReader {
    private final ByteBuffer from;
    private final Object world;
    private final List<StateShape> shapes = new ArrayList<>();
    private final Map<Class<?>, StateShape> known = new HashMap<>();
    private final List<Object> objects = new ArrayList<>();
    /** Made, and not filled. */
    private final ArrayDeque<Object> queue = new ArrayDeque<>();

    StateReader(byte[] image, Object world) {
        this.from = ByteBuffer.wrap(image);
        this.world = world;
    }

    void read(Object root) {
        try {
            StateShape shape = readShape();
            if (!shape.type().equals(root.getClass())) {
                throw new IllegalArgumentException("the state is one of " + shape.type().getSimpleName()
                        + ", the protocol is " + root.getClass().getSimpleName());
            }
            objects.add(root);
            queue.add(root);
            for (Object next = queue.poll(); next != null; next = queue.poll()) {
                content(next);
            }
            if (from.hasRemaining()) {
                throw new IllegalArgumentException("the state has " + from.remaining() + " bytes too many");
            }
        } catch (BufferUnderflowException short_) {
            throw new IllegalArgumentException("the state ends too early, at byte " + from.position(), short_);
        } catch (ClassCastException | IndexOutOfBoundsException wrong) {
            throw new IllegalArgumentException("the state is damaged near byte " + from.position() + ": "
                    + wrong.getMessage(), wrong);
        }
    }

    /** A count of things that take at least so many bytes each. */
    private int count(int bytesEach) {
        int count = from.getInt();
        if (count < 0 || (long) count * bytesEach > from.remaining()) {
            throw new IllegalArgumentException("the state is damaged at byte " + (from.position() - 4) + ": count "
                    + count + ", " + from.remaining() + " bytes left");
        }
        return count;
    }

    private String text() {
        byte[] bytes = new byte[count(1)];
        from.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private StateShape readShape() {
        int number = from.getInt();
        if (number == shapes.size()) {
            shapes.add(StateShape.named(text(), text()));
        }
        return shapes.get(number);
    }

    // ------------------------------------------------------------------------------------------ content

    @SuppressWarnings("unchecked") // An element of another type than the protocol expects shows when it is used.
    private void content(Object object) {
        StateShape shape = known.computeIfAbsent(object.getClass(), StateShape::of);
        switch (shape.kind()) {
            case OBJECT -> fields(shape, object);
            case COLLECTION -> elements((Collection<@Nullable Object>) object);
            case MAP -> entries((Map<@Nullable Object, @Nullable Object>) object);
            case RECORD, ENUM -> throw new IllegalStateException("read where it was met");
        }
    }

    private void elements(Collection<@Nullable Object> into) {
        for (int count = count(1); count > 0; count--) {
            into.add(value());
        }
    }

    private void entries(Map<@Nullable Object, @Nullable Object> into) {
        for (int count = count(2); count > 0; count--) {
            into.put(value(), value());
        }
    }

    private void fields(StateShape shape, Object object) {
        for (Field field : shape.fields()) {
            try {
                field.set(object, field(field));
            } catch (IllegalAccessException broken) {
                throw new IllegalArgumentException("cannot set " + field, broken);
            }
        }
    }

    private @Nullable Object field(Field field) {
        Class<?> type = field.getType();
        if (!type.isPrimitive()) {
            return value();
        }
        if (type == long.class) {
            return from.getLong();
        }
        if (type == int.class) {
            return from.getInt();
        }
        if (type == boolean.class) {
            return from.get() != 0;
        }
        return type == byte.class ? (Object) from.get() : (Object) from.getDouble();
    }

    // ------------------------------------------------------------------------------------------ values

    private @Nullable Object value() {
        byte tag = from.get();
        return switch (tag) {
            case StateImage.NULL -> null;
            case StateImage.WORLD -> world;
            case StateImage.AGAIN -> objects.get(from.getInt());
            case StateImage.NEW -> {
                Object made = readShape().make();
                objects.add(made);
                queue.add(made);
                yield made;
            }
            case StateImage.INLINE -> inline(readShape());
            case StateImage.NEW_RECORD -> {
                Object made = inline(readShape());
                objects.add(made);
                yield made;
            }
            case StateImage.LONG -> from.getLong();
            case StateImage.INT -> from.getInt();
            case StateImage.BOOLEAN -> from.get() != 0;
            case StateImage.DOUBLE -> from.getDouble();
            case StateImage.STRING -> text();
            case StateImage.ENUM -> constant(readShape(), text());
            case StateImage.LONGS -> {
                long[] numbers = new long[count(Long.BYTES)];
                from.asLongBuffer().get(numbers);
                from.position(from.position() + numbers.length * Long.BYTES);
                yield numbers;
            }
            case StateImage.INTS -> {
                int[] numbers = new int[count(Integer.BYTES)];
                from.asIntBuffer().get(numbers);
                from.position(from.position() + numbers.length * Integer.BYTES);
                yield numbers;
            }
            case StateImage.BYTES -> {
                byte[] bytes = new byte[count(1)];
                from.get(bytes);
                yield bytes;
            }
            case StateImage.IMMUTABLE_LIST -> {
                List<@Nullable Object> list = new ArrayList<>();
                elements(list);
                yield List.copyOf(list);
            }
            case StateImage.IMMUTABLE_SET -> {
                Set<@Nullable Object> set = new LinkedHashSet<>();
                elements(set);
                yield Collections.unmodifiableSet(set);
            }
            case StateImage.IMMUTABLE_MAP -> {
                Map<@Nullable Object, @Nullable Object> map = new LinkedHashMap<>();
                entries(map);
                yield Collections.unmodifiableMap(map);
            }
            case StateImage.ENUM_MAP -> enumMap(readShape());
            default -> throw new IllegalArgumentException("the state is damaged at byte " + (from.position() - 1)
                    + ": no value begins with " + tag);
        };
    }

    private Object inline(StateShape shape) {
        if (shape.kind() == Kind.RECORD) {
            Object[] components = new Object[shape.fields().length];
            for (int i = 0; i < components.length; i++) {
                components[i] = field(shape.fields()[i]);
            }
            return shape.make(components);
        }
        Object made = shape.make();
        fields(shape, made);
        return made;
    }

    private static Object constant(StateShape of, String name) {
        for (Object constant : of.type().getEnumConstants()) {
            if (((Enum<?>) constant).name().equals(name)) {
                return constant;
            }
        }
        throw new IllegalArgumentException("this build has no " + of.type().getSimpleName() + "." + name
                + ": the recording is of another build; replay it with that one");
    }

    @SuppressWarnings({"unchecked", "rawtypes"}) // The key's class is known at run time only.
    private Object enumMap(StateShape keys) {
        EnumMap map = new EnumMap(keys.type());
        entries(map);
        return map;
    }
}
