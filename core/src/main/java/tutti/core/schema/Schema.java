package tutti.core.schema;

import java.nio.ByteBuffer;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The declaration of a message, or of a part of messages: its name, and its fields in the order in which they are written.
 *
 * <pre>
 * record Vote(TransactionId transaction, boolean commit) implements Message {
 *     static final Schema&lt;Vote&gt; SCHEMA = Schema.message("vote", 4, Vote.class, "What its replica has decided.").of(
 *             Field.of("transaction", TransactionId.SCHEMA, Vote::transaction),
 *             Field.of("commit", Types.BOOLEAN, Vote::commit), Vote::new);
 * </pre>
 *
 * @param <R> what it describes
 */
public final class Schema<R> extends Type<R> {
    /** Of each class of messages, in an array's only place, the declaration that was made first: that of its constant. */
    private static final ClassValue<Schema<?>[]> DECLARED = new ClassValue<>() {
        @Override
        protected Schema<?>[] computeValue(Class<?> type) {
            return new Schema<?>[1];
        }
    };

    private final Head<R> head;
    private final Function<@Nullable Object[], R> make;
    private final Field<R, ?>[] fields;

    @SuppressWarnings("unchecked") // It holds what the list has.
    private Schema(Head<R> head, Function<@Nullable Object[], R> make, List<Field<R, ?>> fields) {
        super(fields.stream().filter(field -> field.since == 0).mapToInt(field -> field.type.bytesMin()).sum());
        this.head = head;
        this.make = make;
        this.fields = (Field<R, ?>[]) fields.toArray(new Field<?, ?>[0]);
        Set<String> names = new HashSet<>();
        for (Field<R, ?> field : fields) {
            if (!names.add(field.name)) {
                throw new IllegalArgumentException(head.name + " has two fields " + field.name);
            }
            if (field.since != 0 && field.since <= head.since) {
                throw new IllegalArgumentException(head.name + ", since " + head.since + ", has a field " + field.name
                        + " since " + field.since);
            }
        }
        if (head.kind >= 0) {
            Schema<?>[] place = DECLARED.get(head.type);
            place[0] = place[0] == null ? this : place[0];
        }
    }

    /** The declaration of a class of messages of which there are some, and which is initialised therefore. */
    static Schema<?> of(Class<? extends Encoded> type) {
        Schema<?> declared = DECLARED.get(type)[0];
        if (declared == null) {
            throw new IllegalStateException(type + " is a message, but no constant of it declares its fields");
        }
        return declared;
    }

    /**
     * Begins the declaration of a message.
     *
     * @param name lower case, unique among those of a {@link MessageSet}
     * @param kind number by which it is known there, 0 to 255, never used again for another
     * @param about what it says, in a sentence for the page
     */
    public static <R> Head<R> message(String name, int kind, Class<R> type, String about) {
        return new Head<>(name, kind, type, about, 0);
    }

    /**
     * Begins the declaration of what is part of messages.
     *
     * @param name lower case, unique among parts
     */
    public static <R> Head<R> part(String name, Class<R> type) {
        return new Head<>(name, -1, type, "", 0);
    }

    /** Its name. */
    public String name() {
        return head.name;
    }

    /** The class that it describes. */
    public Class<R> type() {
        return head.type;
    }

    int kind() {
        return head.kind;
    }

    String about() {
        return head.about;
    }

    /** Since which version it is there; 0 for ever. */
    int since() {
        return head.since;
    }

    List<Field<R, ?>> fields() {
        return List.of(fields);
    }

    /** Whether it is itself of this version, or a field of it or of one of its parts is. */
    boolean changed(int version) {
        if (head.since == version) {
            return true;
        }
        Set<Schema<?>> parts = new HashSet<>();
        for (Field<R, ?> field : fields) {
            if (field.since == version) {
                return true;
            }
            field.type.parts(parts);
        }
        return parts.stream().anyMatch(part -> part.changed(version));
    }

    /**
     * Where a field begins, of what is written with this schema: for those who look at it before all of it is read.
     *
     * @throws IllegalArgumentException if it has none of this name, or if not all fields before it have a fixed size
     */
    public int offset(String field) {
        int offset = 0;
        for (Field<R, ?> before : fields) {
            if (before.name.equals(field)) {
                return offset;
            }
            if (!before.type.fixed()) {
                break;
            }
            offset += before.type.bytesMin();
        }
        throw new IllegalArgumentException(head.name + " has no field " + field + " at a fixed place");
    }

    @Override
    boolean fixed() {
        return fields().stream().allMatch(field -> field.since == 0 && field.type.fixed());
    }

    @Override
    int size(R value, int version) {
        int size = 0;
        for (Field<R, ?> field : fields) {
            size = Math.addExact(size, field.size(value, version));
        }
        return size;
    }

    @Override
    void write(R value, ByteBuffer to, int version) {
        if (version < head.since) {
            throw new IllegalArgumentException(
                    head.name + " cannot be said in wire version " + version + ", only since " + head.since);
        }
        for (Field<R, ?> field : fields) {
            field.write(value, to, version);
        }
    }

    @Override
    R read(Input from) {
        if (from.version < head.since) {
            throw new DecodeException(
                    head.name + " in wire version " + from.version + ", but it is there only since " + head.since);
        }
        @Nullable
        Object[] values = new @Nullable Object[fields.length];
        for (int i = 0; i < values.length; i++) {
            try {
                values[i] = fields[i].read(from);
            } catch (DecodeException wrong) {
                throw wrong.within(fields[i].name);
            }
        }
        try {
            return make.apply(values);
        } catch (IllegalArgumentException wrong) {
            throw new DecodeException(wrong.getMessage(), wrong);
        }
    }

    @Override
    String words() {
        return "[" + head.name + "](#" + head.name.replace(' ', '-') + ")";
    }

    @Override
    void parts(Set<Schema<?>> to) {
        if (to.add(this)) {
            for (Field<R, ?> field : fields) {
                field.type.parts(to);
            }
        }
    }

    @Override
    void print(R value, StringBuilder to, String indent) {
        to.append(head.name);
        for (Field<R, ?> field : fields) {
            to.append('\n').append(indent).append("  ").append(field.name).append(':');
            int before = to.length();
            field.print(value, to.append(' '), indent + "  ");
            if (to.charAt(before + 1) == '\n') {
                to.deleteCharAt(before);
            }
        }
    }

    /** The value of all that is declared of something, a line for each field, for people. */
    public String text(R value) {
        StringBuilder text = new StringBuilder();
        print(value, text, "");
        return text.toString();
    }

    @Override
    public String toString() {
        return head.name;
    }

    /** Makes it of 1 field. */
    public interface Make1<A, R> {
        /** Throws {@link IllegalArgumentException} if these values do not go together. */
        R of(A a);
    }

    /** Makes it of 2 fields. */
    public interface Make2<A, B, R> {
        /** Throws {@link IllegalArgumentException} if these values do not go together. */
        R of(A a, B b);
    }

    /** Makes it of 3 fields. */
    public interface Make3<A, B, C, R> {
        /** Throws {@link IllegalArgumentException} if these values do not go together. */
        R of(A a, B b, C c);
    }

    /** Makes it of 4 fields. */
    public interface Make4<A, B, C, D, R> {
        /** Throws {@link IllegalArgumentException} if these values do not go together. */
        R of(A a, B b, C c, D d);
    }

    /** Makes it of 5 fields. */
    public interface Make5<A, B, C, D, E, R> {
        /** Throws {@link IllegalArgumentException} if these values do not go together. */
        R of(A a, B b, C c, D d, E e);
    }

    /** Makes it of 6 fields. */
    public interface Make6<A, B, C, D, E, F, R> {
        /** Throws {@link IllegalArgumentException} if these values do not go together. */
        R of(A a, B b, C c, D d, E e, F f);
    }

    /** Makes it of 7 fields. */
    public interface Make7<A, B, C, D, E, F, G, R> {
        /** Throws {@link IllegalArgumentException} if these values do not go together. */
        R of(A a, B b, C c, D d, E e, F f, G g);
    }

    /** The beginning of a declaration; {@code of} ends it. */
    public static final class Head<R> {
        private final String name;
        private final int kind;
        private final Class<R> type;
        private final String about;
        private final int since;

        private Head(String name, int kind, Class<R> type, String about, int since) {
            this.name = name;
            this.kind = kind;
            this.type = type;
            this.about = about;
            this.since = since;
        }

        /** The same, but there since a version that is not the first. */
        public Head<R> since(int version) {
            return new Head<>(name, kind, type, about, version);
        }

        /** Without a field. */
        public Schema<R> of(Supplier<R> make) {
            return new Schema<>(this, _ -> make.get(), List.of());
        }

        /** With these fields. */
        @SuppressWarnings("unchecked") // Each place of the array holds what the field of the same place has read.
        public <A> Schema<R> of(Field<R, A> a,
                Make1<A, R> make) {
            return new Schema<>(this, v -> make.of((A) v[0]), List.of(a));
        }

        /** With these fields. */
        @SuppressWarnings("unchecked") // Each place of the array holds what the field of the same place has read.
        public <A, B> Schema<R> of(Field<R, A> a, Field<R, B> b,
                Make2<A, B, R> make) {
            return new Schema<>(this, v -> make.of((A) v[0], (B) v[1]), List.of(a, b));
        }

        /** With these fields. */
        @SuppressWarnings("unchecked") // Each place of the array holds what the field of the same place has read.
        public <A, B, C> Schema<R> of(Field<R, A> a, Field<R, B> b, Field<R, C> c,
                Make3<A, B, C, R> make) {
            return new Schema<>(this, v -> make.of((A) v[0], (B) v[1], (C) v[2]), List.of(a, b, c));
        }

        /** With these fields. */
        @SuppressWarnings("unchecked") // Each place of the array holds what the field of the same place has read.
        public <A, B, C, D> Schema<R> of(Field<R, A> a, Field<R, B> b, Field<R, C> c, Field<R, D> d,
                Make4<A, B, C, D, R> make) {
            return new Schema<>(this, v -> make.of((A) v[0], (B) v[1], (C) v[2], (D) v[3]), List.of(a, b, c, d));
        }

        /** With these fields. */
        @SuppressWarnings("unchecked") // Each place of the array holds what the field of the same place has read.
        public <A, B, C, D, E> Schema<R> of(Field<R, A> a, Field<R, B> b, Field<R, C> c, Field<R, D> d, Field<R, E> e,
                Make5<A, B, C, D, E, R> make) {
            return new Schema<>(this, v -> make.of((A) v[0], (B) v[1], (C) v[2], (D) v[3], (E) v[4]),
                    List.of(a, b, c, d, e));
        }

        /** With these fields. */
        @SuppressWarnings("unchecked") // Each place of the array holds what the field of the same place has read.
        public <A, B, C, D, E, F> Schema<R> of(Field<R, A> a, Field<R, B> b, Field<R, C> c, Field<R, D> d,
                Field<R, E> e, Field<R, F> f,
                Make6<A, B, C, D, E, F, R> make) {
            return new Schema<>(this, v -> make.of((A) v[0], (B) v[1], (C) v[2], (D) v[3], (E) v[4], (F) v[5]),
                    List.of(a, b, c, d, e, f));
        }

        /** With these fields. */
        @SuppressWarnings("unchecked") // Each place of the array holds what the field of the same place has read.
        public <A, B, C, D, E, F, G> Schema<R> of(Field<R, A> a, Field<R, B> b, Field<R, C> c, Field<R, D> d,
                Field<R, E> e, Field<R, F> f, Field<R, G> g,
                Make7<A, B, C, D, E, F, G, R> make) {
            return new Schema<>(this,
                    v -> make.of((A) v[0], (B) v[1], (C) v[2], (D) v[3], (E) v[4], (F) v[5], (G) v[6]),
                    List.of(a, b, c, d, e, f, g));
        }
    }
}
