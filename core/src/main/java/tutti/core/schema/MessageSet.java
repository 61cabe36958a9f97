package tutti.core.schema;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The messages among which a reader must expect one, told apart by their kind. As a type of a field it is a byte with the kind,
 * and the fields.
 *
 * @param <M> what they have in common
 */
public final class MessageSet<M extends Encoded> extends Type<M> {
    private static final int KINDS = 256;

    private final String name;
    private final String about;
    private final Versions versions;
    private final List<Schema<? extends M>> schemas;
    private final @Nullable Schema<?>[] byKind;

    /**
     * Those of one place.
     *
     * @param name lower case, unique
     * @param about where they are found, in a sentence for the page
     */
    public MessageSet(String name, String about, List<Schema<? extends M>> schemas) {
        this(name, about, Versions.SPOKEN, schemas);
    }

    /**
     * The same, with versions of their own.
     *
     * @param versions that can be read
     */
    public MessageSet(String name, String about, Versions versions, List<Schema<? extends M>> schemas) {
        super(1 + schemas.stream().mapToInt(Type::bytesMin).min().orElse(0));
        this.name = name;
        this.about = about;
        this.versions = versions;
        this.schemas = List.copyOf(schemas);
        this.byKind = new Schema<?>[KINDS];
        Set<String> names = new TreeSet<>();
        for (Schema<? extends M> schema : schemas) {
            if (schema.kind() < 0 || byKind[schema.kind()] != null || !names.add(schema.name())) {
                throw new IllegalArgumentException(name + ": kind " + schema.kind() + " for " + schema.name());
            }
            byKind[schema.kind()] = schema;
        }
    }

    /** Its name. */
    public String name() {
        return name;
    }

    String about() {
        return about;
    }

    /** Versions that can be read. */
    public Versions versions() {
        return versions;
    }

    /** All of them. */
    public List<Schema<? extends M>> schemas() {
        return schemas;
    }

    /**
     * Reads one message, which takes all of the buffer, and advances it to its end.
     *
     * @throws DecodeException naming version and kind, if there is none, or of a version or kind that this build does not know
     */
    public M decode(ByteBuffer from) {
        if (from.remaining() < Encoded.HEAD_BYTES) {
            throw new DecodeException("a message of " + from.remaining() + " bytes").reading(name);
        }
        int version = Byte.toUnsignedInt(from.get());
        int kind = Byte.toUnsignedInt(from.get(from.position()));
        if (!versions.has(version)) {
            DecodeException foreign = new DecodeException("kind " + kind + " in wire version " + version
                    + ", but this build reads " + versions + ": " + (version > versions.newest()
                            ? "it was written by a newer release, so upgrade this node to that one"
                            : "it was written by an older release, or is something else; go through a release that"
                                    + " reads both"))
                    .reading(name);
            throw version == 0 ? foreign : foreign.asOfAnotherRelease();
        }
        try {
            M message = read(new Input(from, version));
            if (from.hasRemaining()) {
                throw new DecodeException(from.remaining() + " bytes follow its end");
            }
            return message;
        } catch (DecodeException wrong) {
            Schema<?> schema = byKind[kind];
            throw wrong.reading(name + ", " + (schema == null ? "" : schema.name() + ", ") + "kind " + kind
                    + ", wire version " + version);
        }
    }

    /**
     * Reads one that must be of this class.
     *
     * @throws DecodeException as {@link #decode(ByteBuffer)}, or if it is of another
     */
    public <T extends M> T decode(ByteBuffer from, Class<T> type) {
        M read = decode(from);
        if (!type.isInstance(read)) {
            throw new DecodeException("it is one of kind " + read.schema().name()).reading(name);
        }
        return type.cast(read);
    }

    // ------------------------------------------------------------------------------------------ writing

    static int encodedSize(Encoded message, int version) {
        return Encoded.HEAD_BYTES + sizeOf(message, version);
    }

    static void encode(Encoded message, ByteBuffer to, int version) {
        to.put((byte) version);
        put(message, to, version);
    }

    private static int sizeOf(Encoded message, int version) {
        return described(message).size(message, version);
    }

    private static void put(Encoded message, ByteBuffer to, int version) {
        Schema<Encoded> schema = described(message);
        to.put((byte) schema.kind());
        schema.write(message, to, version);
    }

    @SuppressWarnings("unchecked") // A message names the schema of its own class.
    private static Schema<Encoded> described(Encoded message) {
        return (Schema<Encoded>) message.schema();
    }

    @Override
    int size(M value, int version) {
        return 1 + sizeOf(value, version);
    }

    @Override
    void write(M value, ByteBuffer to, int version) {
        Schema<?> schema = value.schema();
        if (byKind[schema.kind()] != schema) {
            throw new IllegalArgumentException(schema.name() + " is no message of " + name);
        }
        put(value, to, version);
    }

    @Override
    @SuppressWarnings("unchecked") // Schemas of other messages are not in the table.
    M read(Input from) {
        from.need(1);
        int kind = Byte.toUnsignedInt(from.bytes.get());
        Schema<?> schema = byKind[kind];
        if (schema == null) {
            List<String> known = new ArrayList<>();
            schemas.forEach(one -> known.add(one.kind() + " " + one.name()));
            throw new DecodeException("unknown kind " + kind + "; " + name + " has " + String.join(", ", known))
                    .asOfAnotherRelease();
        }
        return ((Schema<? extends M>) schema).read(from);
    }

    @Override
    String words() {
        return "a message of [" + name + "](#" + name.replace(' ', '-') + "), without its version";
    }

    @Override
    void print(M value, StringBuilder to, String indent) {
        described(value).print(value, to, indent);
    }

    @Override
    public String toString() {
        return name;
    }
}
