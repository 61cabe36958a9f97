package tutti.grid.api;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectOutputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Map;

/**
 * Writes a key by Java's serialization such that its bytes do not tell which of its parts are the same object. That writes an object once, and refers
 * to it where it comes again; but whether two equal parts of a key are one object is chance, and keys that differ in it are equal. So here each part is replaced by the first one that is
 * written like it, and whatever comes again is a reference.
 *
 * <p>
 * Parts have numbers, those that are written alike the same one. How a part is written is told from its class, its fields, and the numbers of the parts that it
 * has itself. What is written can be read by any {@link java.io.ObjectInputStream}, in which parts that were alike are one object.
 */
final class KeyOutputStream extends ObjectOutputStream {
    private final Parts parts;
    /** Whether parts are written as their numbers. */
    private final boolean numbers;
    private boolean begun;

    /** For one key. */
    KeyOutputStream(OutputStream to) throws IOException {
        this(to, new Parts(), false);
    }

    private KeyOutputStream(OutputStream to, Parts parts, boolean numbers) throws IOException {
        super(to);
        this.parts = parts;
        this.numbers = numbers;
        enableReplaceObject(true);
    }

    /** First asked for the whole, and then for what it has; what has a form of its own for serialization comes in that. */
    @Override
    protected Object replaceObject(Object object) throws IOException {
        if (!begun) {
            begun = true;
            return object;
        }
        Part part = parts.of(object);
        return numbers ? part.number : part.first;
    }

    private record Part(Object first, Integer number) {}

    /** The parts of a key. */
    private static final class Parts {
        private final IdentityHashMap<Object, Part> known = new IdentityHashMap<>();
        private final Map<ByteBuffer, Part> written = new HashMap<>();

        Part of(Object object) throws IOException {
            Part part = known.get(object);
            if (part == null) {
                part = new Part(object, known.size());
                // Before its own parts, of which it may be one.
                known.put(object, part);
                ByteArrayOutputStream bytes = new ByteArrayOutputStream();
                try (KeyOutputStream alone = new KeyOutputStream(bytes, this, true)) {
                    alone.writeObject(object);
                }
                Part alike = written.putIfAbsent(ByteBuffer.wrap(bytes.toByteArray()), part);
                if (alike != null) {
                    part = alike;
                    known.put(object, part);
                }
            }
            return part;
        }
    }
}
