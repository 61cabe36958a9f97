package tutti.jcache;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.ObjectStreamClass;
import java.util.Arrays;
import java.util.Set;
import javax.cache.CacheException;
import tutti.grid.api.Serializer;
import tutti.grid.api.Serializers;

/**
 * Keys and values as bytes: simple ones in the compact form, others by Java's serialization, which reads what the nodes of the grid have
 * written. Equal keys must become equal bytes; that is so for records, enumerations, dates and the like, not for sets and maps.
 */
final class Bytes implements Serializer<Object> {
    private static final Set<Class<?>> SIMPLE = Set.of(String.class, Integer.class, Long.class, Double.class,
            Boolean.class, byte[].class);
    private static final Serializer<Object> COMPACT = Serializers.compact(Object.class);
    private static final byte OBJECT = 0;
    private static final byte COMPACT_FORM = 1;

    private final ClassLoader classLoader;

    /** Of classes that this loader knows. */
    Bytes(ClassLoader classLoader) {
        this.classLoader = classLoader;
    }

    @Override
    public byte[] write(Object value) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try {
            if (SIMPLE.contains(value.getClass())) {
                bytes.write(COMPACT_FORM);
                bytes.writeBytes(COMPACT.write(value));
            } else {
                bytes.write(OBJECT);
                try (ObjectOutputStream objects = new ObjectOutputStream(bytes)) {
                    objects.writeObject(value);
                }
            }
        } catch (IOException wrong) {
            throw new CacheException("a " + value.getClass().getName() + " cannot be stored by value: " + wrong, wrong);
        }
        return bytes.toByteArray();
    }

    @Override
    public Object read(byte[] bytes) {
        if (bytes.length > 0 && bytes[0] == COMPACT_FORM) {
            return COMPACT.read(Arrays.copyOfRange(bytes, 1, bytes.length));
        }
        try (ObjectInputStream objects = new Loaded(new ByteArrayInputStream(bytes, 1, bytes.length - 1))) {
            return objects.readObject();
        } catch (IOException | ClassNotFoundException | IndexOutOfBoundsException wrong) {
            throw new CacheException("what the grid has cannot be read with " + classLoader + ": " + wrong, wrong);
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
