package tutti.jcache;

import javax.cache.CacheException;
import tutti.grid.api.ObjectSerializer;
import tutti.grid.api.Serializer;

/** Keys and values as bytes, with the exceptions that JCache asks for. */
final class Bytes implements Serializer<Object> {
    private final ObjectSerializer objects;

    private Bytes(ObjectSerializer objects) {
        this.objects = objects;
    }

    /** Keys, of classes that this loader knows. */
    static Bytes ofKeys(ClassLoader classLoader) {
        return new Bytes(ObjectSerializer.ofKeys(classLoader));
    }

    /** Values, of classes that this loader knows. */
    static Bytes ofValues(ClassLoader classLoader) {
        return new Bytes(new ObjectSerializer(classLoader));
    }

    @Override
    public byte[] write(Object value) {
        try {
            return objects.write(value);
        } catch (IllegalArgumentException wrong) {
            throw new CacheException(wrong.getMessage(), wrong);
        }
    }

    @Override
    public Object read(byte[] bytes) {
        try {
            return objects.read(bytes);
        } catch (IllegalArgumentException wrong) {
            throw new CacheException(wrong.getMessage(), wrong);
        }
    }
}
