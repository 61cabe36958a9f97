package tutti.engine.postgres.catalog;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * The 64-bit hash of a certification key. It is the same on every machine and in every release, since it travels in
 * messages: a chain over (seed, length and bytes of each part), whose step and final mixing are those that xxHash64
 * applies to short inputs. Two keys that differ collide with a probability of 2<sup>-64</sup>.
 */
public final class KeyHash {
    private static final long P1 = 0x9E3779B185EBCA87L;
    private static final long P2 = 0xC2B2AE3D27D4EB4FL;
    private static final long P3 = 0x165667B19E3779F9L;
    private static final long P4 = 0x85EBCA77C2B2AE63L;
    private static final long P5 = 0x27D4EB2F165667C5L;
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    private KeyHash() {}

    /** A seed for keys of that name. */
    public static long seed(String name) {
        byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
        return finish(part(P5, bytes, 0, bytes.length));
    }

    /** Adds a part to a hash begun with a seed. */
    public static long part(long hash, byte[] bytes, int start, int end) {
        long h = word(hash, (end - start) + 1L);
        int at = start;
        for (; at + 8 <= end; at += 8) {
            h = word(h, (long) LONG.get(bytes, at));
        }
        long last = 0;
        for (int shift = 0; at < end; at++, shift += 8) {
            last |= (bytes[at] & 0xffL) << shift;
        }
        return word(h, last);
    }

    /** Adds SQL NULL as a part. */
    public static long nullPart(long hash) {
        return word(hash, 0);
    }

    private static long word(long hash, long word) {
        return Long.rotateLeft(hash ^ Long.rotateLeft(word * P2, 31) * P1, 27) * P1 + P4;
    }

    /** The key's hash, when all parts have been added. */
    public static long finish(long hash) {
        long h = (hash ^ (hash >>> 33)) * P2;
        h = (h ^ (h >>> 29)) * P3;
        return h ^ (h >>> 32);
    }
}
