package tutti.macro.distribution;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The JDK's types in {@link ObjectCodec}: one byte tells which, and stays what it is for ever. */
final class JdkTypes {
    static final byte REGISTERED = 0;
    private static final byte NULL = 1;
    private static final byte TRUE = 2;
    private static final byte FALSE = 3;
    private static final byte BYTE = 4;
    private static final byte SHORT = 5;
    private static final byte CHARACTER = 6;
    private static final byte INTEGER = 7;
    private static final byte LONG = 8;
    private static final byte FLOAT = 9;
    private static final byte DOUBLE = 10;
    private static final byte STRING = 11;
    private static final byte BIG_INTEGER = 12;
    private static final byte BIG_DECIMAL = 13;
    private static final byte UNIQUE_ID = 14;
    private static final byte INSTANT = 15;
    private static final byte DATE = 16;
    private static final byte TIME = 17;
    private static final byte DATE_TIME = 18;
    private static final byte OFFSET_DATE_TIME = 19;
    private static final byte DURATION = 20;
    private static final byte OPTIONAL = 21;
    private static final byte BYTES = 22;
    private static final byte INTS = 23;
    private static final byte LONGS = 24;
    private static final byte OBJECTS = 25;
    private static final byte LIST = 26;
    private static final byte SET = 27;
    private static final byte SORTED_SET = 28;
    private static final byte MAP = 29;
    private static final byte SORTED_MAP = 30;
    private static final byte ENTRY = 31;

    private JdkTypes() {}

    private static Output tag(byte tag, Output to) {
        to.writeByte(tag);
        return to;
    }

    /** Returns false if it is none of these; null is one. */
    static boolean write(@Nullable Object value, Output to, ObjectCodec codec) {
        switch (value) {
            case null -> tag(NULL, to);
            case Boolean b -> tag(b ? TRUE : FALSE, to);
            case Byte b -> tag(BYTE, to).writeByte(b);
            case Short s -> tag(SHORT, to).writeSigned(s);
            case Character c -> tag(CHARACTER, to).writeUnsigned(c);
            case Integer i -> tag(INTEGER, to).writeSigned(i);
            case Long l -> tag(LONG, to).writeSigned(l);
            case Float f -> tag(FLOAT, to).writeSigned(Float.floatToRawIntBits(f));
            case Double d -> tag(DOUBLE, to).writeLong(Double.doubleToRawLongBits(d));
            case String s -> tag(STRING, to).writeString(s);
            case BigInteger i -> tag(BIG_INTEGER, to).writeBytes(i.toByteArray());
            case BigDecimal d -> {
                tag(BIG_DECIMAL, to).writeSigned(d.scale());
                to.writeBytes(d.unscaledValue().toByteArray());
            }
            case Optional<?> o -> codec.write(o.orElse(null), tag(OPTIONAL, to));
            case Map.Entry<?, ?> e -> {
                codec.write(e.getKey(), tag(ENTRY, to));
                codec.write(e.getValue(), to);
            }
            case UUID u -> {
                tag(UNIQUE_ID, to).writeLong(u.getMostSignificantBits());
                to.writeLong(u.getLeastSignificantBits());
            }
            default -> {
                return writeTime(value, to) || writeMany(value, to, codec);
            }
        }
        return true;
    }

    private static boolean writeTime(Object value, Output to) {
        switch (value) {
            case Instant i -> {
                tag(INSTANT, to).writeSigned(i.getEpochSecond());
                to.writeUnsigned(i.getNano());
            }
            case LocalDate d -> tag(DATE, to).writeSigned(d.toEpochDay());
            case LocalTime t -> tag(TIME, to).writeUnsigned(t.toNanoOfDay());
            case LocalDateTime t -> {
                tag(DATE_TIME, to).writeSigned(t.toLocalDate().toEpochDay());
                to.writeUnsigned(t.toLocalTime().toNanoOfDay());
            }
            case OffsetDateTime t -> {
                tag(OFFSET_DATE_TIME, to).writeSigned(t.toLocalDate().toEpochDay());
                to.writeUnsigned(t.toLocalTime().toNanoOfDay());
                to.writeSigned(t.getOffset().getTotalSeconds());
            }
            case Duration d -> {
                tag(DURATION, to).writeSigned(d.getSeconds());
                to.writeUnsigned(d.getNano());
            }
            default -> {
                return false;
            }
        }
        return true;
    }

    private static boolean writeMany(Object value, Output to, ObjectCodec codec) {
        switch (value) {
            case byte[] b -> tag(BYTES, to).writeBytes(b);
            case int[] ints -> {
                tag(INTS, to).writeUnsigned(ints.length);
                for (int i : ints) {
                    to.writeSigned(i);
                }
            }
            case long[] longs -> {
                tag(LONGS, to).writeUnsigned(longs.length);
                for (long l : longs) {
                    to.writeSigned(l);
                }
            }
            case Object[] objects when value.getClass() == Object[].class -> {
                tag(OBJECTS, to).writeUnsigned(objects.length);
                for (Object o : objects) {
                    codec.write(o, to);
                }
            }
            case NavigableSet<?> s -> elements(natural(s.comparator(), SORTED_SET, to), s, codec);
            case Set<?> s -> elements(tag(SET, to), s, codec);
            case List<?> l -> elements(tag(LIST, to), l, codec);
            case NavigableMap<?, ?> m -> entries(natural(m.comparator(), SORTED_MAP, to), m, codec);
            case Map<?, ?> m -> entries(tag(MAP, to), m, codec);
            default -> {
                return false;
            }
        }
        return true;
    }

    private static Output natural(@Nullable Comparator<?> order, byte tag, Output to) {
        if (order != null && !order.equals(Comparator.naturalOrder())) {
            throw new EncodingException("a collection sorted by a comparator of its own cannot be sent");
        }
        return tag(tag, to);
    }

    private static void elements(Output to, Collection<?> all, ObjectCodec codec) {
        to.writeUnsigned(all.size());
        for (Object element : all) {
            codec.write(element, to);
        }
    }

    private static void entries(Output to, Map<?, ?> all, ObjectCodec codec) {
        to.writeUnsigned(all.size());
        for (Map.Entry<?, ?> entry : all.entrySet()) {
            codec.write(entry.getKey(), to);
            codec.write(entry.getValue(), to);
        }
    }

    static @Nullable Object read(byte tag, Input from, ObjectCodec codec) {
        return switch (tag) {
            case NULL -> null;
            case TRUE -> true;
            case FALSE -> false;
            case BYTE -> from.readByte();
            case SHORT -> (short) from.readSigned();
            case CHARACTER -> (char) from.readUnsigned();
            case INTEGER -> (int) from.readSigned();
            case LONG -> from.readSigned();
            case FLOAT -> Float.intBitsToFloat((int) from.readSigned());
            case DOUBLE -> Double.longBitsToDouble(from.readLong());
            case STRING -> from.readString();
            case BIG_INTEGER -> new BigInteger(from.readBytes());
            case BIG_DECIMAL -> {
                int scale = (int) from.readSigned();
                yield new BigDecimal(new BigInteger(from.readBytes()), scale);
            }
            case UNIQUE_ID -> new UUID(from.readLong(), from.readLong());
            case INSTANT -> Instant.ofEpochSecond(from.readSigned(), from.readUnsigned());
            case DATE -> LocalDate.ofEpochDay(from.readSigned());
            case TIME -> LocalTime.ofNanoOfDay(from.readUnsigned());
            case DATE_TIME -> dateTime(from);
            case OFFSET_DATE_TIME ->
                OffsetDateTime.of(dateTime(from), ZoneOffset.ofTotalSeconds((int) from.readSigned()));
            case DURATION -> Duration.ofSeconds(from.readSigned(), from.readUnsigned());
            case OPTIONAL -> Optional.ofNullable(codec.read(from));
            case BYTES -> from.readBytes();
            case INTS -> {
                int[] ints = new int[from.readCount()];
                for (int i = 0; i < ints.length; i++) {
                    ints[i] = (int) from.readSigned();
                }
                yield ints;
            }
            case LONGS -> {
                long[] longs = new long[from.readCount()];
                for (int i = 0; i < longs.length; i++) {
                    longs[i] = from.readSigned();
                }
                yield longs;
            }
            case OBJECTS -> elements(from, codec).toArray();
            case LIST -> Collections.unmodifiableList(elements(from, codec));
            case SET -> Collections.unmodifiableSequencedSet(new LinkedHashSet<>(elements(from, codec)));
            case SORTED_SET -> Collections.unmodifiableNavigableSet(new TreeSet<>(elements(from, codec)));
            case MAP -> Collections.unmodifiableSequencedMap(entries(new LinkedHashMap<>(), from, codec));
            case SORTED_MAP -> Collections.unmodifiableNavigableMap(entries(new TreeMap<>(), from, codec));
            case ENTRY -> new java.util.AbstractMap.SimpleImmutableEntry<>(codec.read(from), codec.read(from));
            default -> throw new EncodingException("no type has the number " + tag);
        };
    }

    private static LocalDateTime dateTime(Input from) {
        return LocalDateTime.of(LocalDate.ofEpochDay(from.readSigned()), LocalTime.ofNanoOfDay(from.readUnsigned()));
    }

    private static List<@Nullable Object> elements(Input from, ObjectCodec codec) {
        int count = from.readCount();
        List<@Nullable Object> elements = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            elements.add(codec.read(from));
        }
        return elements;
    }

    private static <M extends Map<@Nullable Object, @Nullable Object>> M entries(M into, Input from,
            ObjectCodec codec) {
        int count = from.readCount();
        for (int i = 0; i < count; i++) {
            Object key = codec.read(from);
            into.put(key, codec.read(from));
        }
        return into;
    }
}
