package tutti.core.flight;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.ReplicaWorld;

/**
 * The whole state of a protocol as bytes: not only what follows from the ordered prefix, as {@link Protocol#snapshot}
 * gives, but also what it knows of local transactions, timers and views, so that it can be continued from anywhere.
 *
 * <p>
 * <b>Why that can be done from outside.</b> A protocol owns no thread, clock, socket or database; it is a graph of its own
 * objects, records, enums, numbers and containers of the JDK, and the one thing that leads out of the graph is its
 * {@link ReplicaWorld}. The image holds that graph: every mutable object once, with its fields, and a mark where the world was.
 * Elements keep their order, except in hash tables, where it depends on more than what is in them; they are written in
 * ascending order of their keys, and a protocol whose effects depend on the order of a hash table shows when it is replayed.
 * A protocol that holds something else (a lambda, a thread) is refused by the name of the field.
 *
 * <p>
 * An image names classes and fields and can be read by a build in which they are the same.
 */
final class StateImage {
    /* What stands before a value. */
    static final byte NULL = 0;
    static final byte WORLD = 1;
    /** Number of an object that was met before. */
    static final byte AGAIN = 2;
    /** Class of an object that is met for the first time and gets the next number; what is in it follows in its turn. */
    static final byte NEW = 3;
    /** Class and fields. */
    static final byte INLINE = 4;
    /** Class and components of a record, which gets the next number after them. */
    static final byte NEW_RECORD = 5;
    static final byte LONG = 6;
    static final byte INT = 7;
    static final byte BOOLEAN = 8;
    static final byte DOUBLE = 9;
    static final byte STRING = 10;
    static final byte ENUM = 11;
    static final byte LONGS = 12;
    static final byte INTS = 13;
    static final byte BYTES = 14;
    static final byte IMMUTABLE_LIST = 15;
    static final byte IMMUTABLE_SET = 16;
    static final byte IMMUTABLE_MAP = 17;
    static final byte ENUM_MAP = 18;

    private StateImage() {}

    /**
     * Writes it down.
     *
     * @param world what the protocol was made with
     * @param bytesMax no image is longer than that
     * @throws TooLargeException if it would be longer
     * @throws IllegalArgumentException if the protocol holds something that cannot be written, naming the field
     */
    static byte[] capture(Protocol protocol, ReplicaWorld world, int bytesMax) {
        return new StateWriter(world, bytesMax, false).write(protocol);
    }

    /**
     * Brings a protocol that was told nothing yet into a state.
     *
     * @param world what the protocol was made with
     * @throws IllegalArgumentException if the image is damaged, or of another protocol or another build
     */
    static void restore(byte[] image, Protocol protocol, ReplicaWorld world) {
        new StateReader(image, world).read(protocol);
    }

    /** Where the state of a protocol differs from an image, as a path of field names with the present value; null if nowhere. */
    static @Nullable String difference(byte[] image, Protocol protocol, ReplicaWorld world) {
        StateWriter present = new StateWriter(world, Integer.MAX_VALUE - 64, true);
        byte[] bytes = present.write(protocol);
        int at = Arrays.mismatch(image, bytes);
        return at < 0 ? null : present.at(at);
    }

    /** An image would be longer than it may be. */
    static final class TooLargeException extends RuntimeException {
        private static final long serialVersionUID = 1;

        TooLargeException(int bytesMax) {
            super("the protocol's state takes more than " + bytesMax + " bytes");
        }
    }
}
