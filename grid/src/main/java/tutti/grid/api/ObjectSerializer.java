package tutti.grid.api;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.ObjectStreamClass;
import java.util.Arrays;
import java.util.Set;

/**
 * Any keys and values as bytes: simple ones in the compact form, others by Java's serialization, which reads what the nodes of the grid have
 * written: they are trusted. What one has written, of keys or of values, each can read.
 */
public final class ObjectSerializer implements Serializer<Object> {
    private static final Set<Class<?>> SIMPLE = Set.of(String.class, Integer.class, Long.class, Double.class,
            Boolean.class, byte[].class);
    private static final Serializer<Object> COMPACT = Serializers.compact(Object.class);
    private static final byte OBJECT = 0;
    private static final byte COMPACT_FORM = 1;

    private final ClassLoader classLoader;
    private final boolean keys;

    /** For values, of classes that this loader knows. */
    public ObjectSerializer(ClassLoader classLoader) {
        this(classLoader, false);
    }

    private ObjectSerializer(ClassLoader classLoader, boolean keys) {
        this.classLoader = classLoader;
        this.keys = keys;
    }

    /**
     * For keys, of classes that this loader knows. Equal keys must become equal bytes. They do if they have equal parts of the same classes in the same order, whichever of them are the same object: text, numbers, dates,
     * enumerations, and records, arrays and lists of such. Sets and maps may not, nor what is equal to others that have other fields.
     */
    public static ObjectSerializer ofKeys(ClassLoader classLoader) {
        return new ObjectSerializer(classLoader, true);
    }

    /**
     * Writes one.
     *
     * @throws IllegalArgumentException if it, or something in it, is not serializable
     */
    @Override
    public byte[] write(Object value) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try {
            if (SIMPLE.contains(value.getClass())) {
                bytes.write(COMPACT_FORM);
                bytes.writeBytes(COMPACT.write(value));
            } else {
                bytes.write(OBJECT);
                try (ObjectOutputStream objects = keys ? new KeyOutputStream(bytes) : new ObjectOutputStream(bytes)) {
                    objects.writeObject(value);
                }
            }
        } catch (IOException wrong) {
            throw new IllegalArgumentException("a " + value.getClass().getName() + " cannot be stored by value: "
                    + wrong + "; let it, and all that it has, implement java.io.Serializable", wrong);
        }
        return bytes.toByteArray();
    }

    /**
     * Reads one.
     *
     * @throws IllegalArgumentException if its class is not known here, or it is damaged
     */
    @Override
    public Object read(byte[] bytes) {
        if (bytes.length > 0 && bytes[0] == COMPACT_FORM) {
            return COMPACT.read(Arrays.copyOfRange(bytes, 1, bytes.length));
        }
        try (ObjectInputStream objects = new Loaded(new ByteArrayInputStream(bytes, 1, bytes.length - 1))) {
            return objects.readObject();
        } catch (IOException | ClassNotFoundException | IndexOutOfBoundsException wrong) {
            throw new IllegalArgumentException("what the grid has cannot be read with " + classLoader + ": " + wrong,
                    wrong);
        }
    }

    private final class Loaded extends ObjectInputStream {
        Loaded(InputStream from) throws IOException {
            super(from);
        }

        @Override
        protected Class<?> resolveClass(ObjectStreamClass described) throws IOException, ClassNotFoundException {
            try {
                return Class.forName(described.getName(), false, classLoader);
            } catch (ClassNotFoundException primitive) {
                return super.resolveClass(described);
            }
        }
    }
}
