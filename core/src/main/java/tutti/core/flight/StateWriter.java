package tutti.core.flight;

import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.core.flight.StateShape.Kind;
import tutti.core.txn.TransactionId;

/** Writes one {@link StateImage}, breadth first, so that long chains of objects need no deep stack. */
final class StateWriter {
    private record Met(Object object, String path) {}

    private static final Comparator<Object> BY_KEY = (one, other) -> {
        if (one instanceof TransactionId a && other instanceof TransactionId b) {
            return a.node() != b.node() ? Integer.compare(a.node(), b.node()) : Long.compare(a.serial(), b.serial());
        }
        if (one instanceof Long a && other instanceof Long b) {
            return a.compareTo(b);
        }
        if (one instanceof Integer a && other instanceof Integer b) {
            return a.compareTo(b);
        }
        if (one instanceof String a && other instanceof String b) {
            return a.compareTo(b);
        }
        throw new IllegalArgumentException("a hash table has keys of " + one.getClass().getName() + " and "
                + other.getClass().getName()
                + ", which have no order, so that what a protocol does with them cannot be repeated; use a linked one");
    };

    private final Object world;
    private final int bytesMax;
    /** Where each value begins and what it is; only if asked for. */
    private final @Nullable TreeMap<Integer, String> paths;
    private final IdentityHashMap<Object, Integer> numbers = new IdentityHashMap<>();
    private final ArrayDeque<Met> queue = new ArrayDeque<>();
    private final Map<Class<?>, Integer> shapes = new HashMap<>();
    private final Map<Class<?>, StateShape> known = new HashMap<>();
    private ByteBuffer to = ByteBuffer.allocate(1 << 12);

    StateWriter(Object world, int bytesMax, boolean traced) {
        this.world = world;
        this.bytesMax = bytesMax;
        this.paths = traced ? new TreeMap<>() : null;
    }

    byte[] write(Object root) {
        numbers.put(root, 0);
        writeShape(shape(root.getClass()));
        queue.add(new Met(root, root.getClass().getSimpleName()));
        for (Met met = queue.poll(); met != null; met = queue.poll()) {
            content(met.object(), met.path());
        }
        return Arrays.copyOf(to.array(), to.position());
    }

    /** What was written at an offset, if paths were kept. */
    String at(int offset) {
        Map.Entry<Integer, String> nearest = paths == null ? null : paths.floorEntry(offset);
        return nearest == null ? "the protocol's class" : nearest.getValue();
    }

    private StateShape shape(Class<?> type) {
        return known.computeIfAbsent(type, StateShape::of);
    }

    private void room(int bytes) {
        if (to.remaining() >= bytes) {
            return;
        }
        long needed = (long) to.position() + bytes;
        if (needed > bytesMax) {
            throw new StateImage.TooLargeException(bytesMax);
        }
        int capacity = (int) Math.min(bytesMax, Math.max(needed, 2L * to.capacity()));
        to = ByteBuffer.wrap(Arrays.copyOf(to.array(), capacity)).position(to.position());
    }

    private void tag(byte tag) {
        room(1 + 8);
        to.put(tag);
    }

    private void count(int count) {
        room(4);
        to.putInt(count);
    }

    private void text(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        count(bytes.length);
        room(bytes.length);
        to.put(bytes);
    }

    /** Number of a class; name and fields too when it is met first. */
    private void writeShape(StateShape shape) {
        Integer known = shapes.get(shape.type());
        if (known != null) {
            count(known);
            return;
        }
        count(shapes.size());
        shapes.put(shape.type(), shapes.size());
        text(shape.type().getName());
        text(shape.layout());
    }

    private String below(String path, Object name) {
        return paths == null ? "" : path + "." + name;
    }

    private void note(String path, @Nullable Object value) {
        if (paths != null) {
            String text = String.valueOf(value);
            paths.put(to.position(), path + " = " + (text.length() > 120 ? text.substring(0, 120) + "…" : text));
        }
    }

    // ------------------------------------------------------------------------------------------ content

    private void content(Object object, String path) {
        StateShape shape = shape(object.getClass());
        switch (shape.kind()) {
            case OBJECT -> fields(shape, object, path);
            case COLLECTION -> elements((Collection<?>) object, object instanceof HashSet<?>
                    && object.getClass().equals(HashSet.class), path);
            case MAP -> entries((Map<?, ?>) object, object.getClass().equals(HashMap.class), path);
            case RECORD, ENUM -> throw new IllegalStateException("written where it was met: " + path);
        }
    }

    private void elements(Collection<?> elements, boolean hashed, String path) {
        List<Object> ordered = new ArrayList<>(elements);
        if (hashed) {
            ordered.sort(BY_KEY);
        }
        note(path, elements.size() + " elements");
        count(ordered.size());
        int index = 0;
        for (Object element : ordered) {
            value(element, paths == null ? "" : path + "[" + index++ + "]");
        }
    }

    private void entries(Map<?, ?> map, boolean hashed, String path) {
        List<Object> keys = new ArrayList<>(map.keySet());
        if (hashed) {
            keys.sort(BY_KEY);
        }
        note(path, map.size() + " entries");
        count(keys.size());
        for (Object key : keys) {
            String at = paths == null ? "" : path + "[" + key + "]";
            value(key, at);
            value(map.get(key), at);
        }
    }

    private void fields(StateShape shape, Object object, String path) {
        for (Field field : shape.fields()) {
            try {
                Class<?> type = field.getType();
                Object value = field.get(object);
                String at = below(path, field.getName());
                if (type.isPrimitive()) {
                    note(at, value);
                    primitive(type, value);
                } else {
                    value(value, at);
                }
            } catch (IllegalAccessException broken) {
                throw new IllegalArgumentException("cannot read " + field, broken);
            } catch (IllegalArgumentException broken) {
                throw new IllegalArgumentException(shape.type().getSimpleName() + "." + field.getName() + ": "
                        + broken.getMessage(), broken);
            }
        }
    }

    private void primitive(Class<?> type, Object value) {
        room(8);
        if (type == long.class) {
            to.putLong((Long) value);
        } else if (type == int.class) {
            to.putInt((Integer) value);
        } else if (type == boolean.class) {
            to.put((byte) ((Boolean) value ? 1 : 0));
        } else if (type == byte.class) {
            to.put((Byte) value);
        } else if (type == double.class) {
            to.putDouble((Double) value);
        } else {
            throw new IllegalArgumentException("fields of type " + type + " are not foreseen");
        }
    }

    // ------------------------------------------------------------------------------------------ values

    private void value(@Nullable Object value, String path) {
        note(path, value);
        if (value == null) {
            tag(StateImage.NULL);
            return;
        }
        if (world.equals(value)) {
            tag(StateImage.WORLD);
            return;
        }
        switch (value) {
            case Long number -> {
                tag(StateImage.LONG);
                to.putLong(number);
            }
            case Integer number -> {
                tag(StateImage.INT);
                to.putInt(number);
            }
            case Boolean yes -> {
                tag(StateImage.BOOLEAN);
                to.put((byte) (yes ? 1 : 0));
            }
            case Double number -> {
                tag(StateImage.DOUBLE);
                to.putDouble(number);
            }
            case String text -> {
                tag(StateImage.STRING);
                text(text);
            }
            case Enum<?> constant -> {
                tag(StateImage.ENUM);
                writeShape(shape(constant.getDeclaringClass()));
                text(constant.name());
            }
            case long[] numbers -> {
                tag(StateImage.LONGS);
                count(numbers.length);
                room(Math.multiplyExact(numbers.length, Long.BYTES));
                for (long number : numbers) {
                    to.putLong(number);
                }
            }
            case int[] numbers -> {
                tag(StateImage.INTS);
                count(numbers.length);
                room(Math.multiplyExact(numbers.length, Integer.BYTES));
                to.asIntBuffer().put(numbers);
                to.position(to.position() + numbers.length * Integer.BYTES);
            }
            case byte[] bytes -> {
                tag(StateImage.BYTES);
                count(bytes.length);
                room(bytes.length);
                to.put(bytes);
            }
            case EnumMap<?, ?> map -> {
                tag(StateImage.ENUM_MAP);
                Enum<?> any = map.keySet().stream().findFirst()
                        .orElseThrow(() -> new IllegalArgumentException("an empty EnumMap does not tell its keys"));
                writeShape(shape(any.getDeclaringClass()));
                entries(map, false, path);
            }
            default -> reference(value, path);
        }
    }

    private void reference(Object value, String path) {
        Integer known = numbers.get(value);
        if (known != null) {
            tag(StateImage.AGAIN);
            to.putInt(known);
            return;
        }
        if (immutable(value, path)) {
            return;
        }
        StateShape shape = shape(value.getClass());
        if (shape.kind() == Kind.RECORD) {
            tag(shape.isValue() ? StateImage.INLINE : StateImage.NEW_RECORD);
            writeShape(shape);
            fields(shape, value, path);
            if (!shape.isValue()) {
                numbers.put(value, numbers.size());
            }
        } else if (shape.isValue()) {
            tag(StateImage.INLINE);
            writeShape(shape);
            fields(shape, value, path);
        } else {
            tag(StateImage.NEW);
            writeShape(shape);
            numbers.put(value, numbers.size());
            queue.add(new Met(value, path));
        }
    }

    /** Containers that never change have no identity; the JDK's own have no stable order either, unless they are lists. */
    private boolean immutable(Object value, String path) {
        String type = value.getClass().getName();
        boolean unordered = type.startsWith("java.util.ImmutableCollections$")
                || type.equals("java.util.Collections$EmptySet") || type.equals("java.util.Collections$EmptyMap");
        boolean ordered = type.startsWith("java.util.Collections$Unmodifiable");
        if (!unordered && !ordered) {
            return false;
        }
        switch (value) {
            case List<?> list -> {
                tag(StateImage.IMMUTABLE_LIST);
                elements(list, false, path);
            }
            case Set<?> set -> {
                tag(StateImage.IMMUTABLE_SET);
                elements(set, unordered, path);
            }
            case Map<?, ?> map -> {
                tag(StateImage.IMMUTABLE_MAP);
                entries(map, unordered, path);
            }
            default -> {
                return false;
            }
        }
        return true;
    }
}
