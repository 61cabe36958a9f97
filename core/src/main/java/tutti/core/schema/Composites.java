package tutti.core.schema;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Types of {@link Types} that are made of others: lists, maps, sets, and values that may be missing. */
final class Composites {
    private Composites() {}

    static final class Listed<T> extends Type<List<T>> {
        private final Type<T> of;
        private final int max;

        Listed(Type<T> of, int max) {
            super(Integer.BYTES);
            if (of.bytesMin() < 1) {
                throw new IllegalArgumentException("nothing bounds a list of what takes no bytes");
            }
            this.of = of;
            this.max = max;
        }

        @Override
        int size(List<T> value, int version) {
            int size = Integer.BYTES;
            for (T one : value) {
                size = Math.addExact(size, of.size(one, version));
            }
            return size;
        }

        @Override
        void write(List<T> value, ByteBuffer to, int version) {
            to.putInt(Types.fitting(value.size(), max));
            for (T one : value) {
                of.write(one, to, version);
            }
        }

        @Override
        List<T> read(Input from) {
            int count = from.count(max, of.bytesMin());
            List<T> value = new ArrayList<>(count);
            try {
                for (int i = 0; i < count; i++) {
                    value.add(of.read(from));
                }
            } catch (DecodeException wrong) {
                throw wrong.within("[" + value.size() + "]");
            }
            return List.copyOf(value);
        }

        @Override
        String words() {
            return Types.upTo("list", max) + ", of: " + of.words();
        }

        @Override
        void parts(Set<Schema<?>> to) {
            of.parts(to);
        }

        @Override
        void print(List<T> value, StringBuilder to, String indent) {
            to.append(value.isEmpty() ? "none" : "");
            for (T one : value) {
                to.append('\n').append(indent).append("  - ");
                of.print(one, to, indent + "  ");
            }
        }
    }

    static final class Mapped<K extends Comparable<K>, V> extends Type<Map<K, V>> {
        private final Type<K> keys;
        private final Type<V> values;
        private final int max;

        Mapped(Type<K> keys, Type<V> values, int max) {
            super(Integer.BYTES);
            this.keys = keys;
            this.values = values;
            this.max = max;
        }

        @Override
        int size(Map<K, V> value, int version) {
            int size = Integer.BYTES;
            for (Map.Entry<K, V> one : value.entrySet()) {
                size = Math.addExact(size,
                        keys.size(one.getKey(), version) + values.size(one.getValue(), version));
            }
            return size;
        }

        @Override
        void write(Map<K, V> value, ByteBuffer to, int version) {
            to.putInt(Types.fitting(value.size(), max));
            new TreeMap<>(value).forEach((key, one) -> {
                keys.write(key, to, version);
                values.write(one, to, version);
            });
        }

        @Override
        Map<K, V> read(Input from) {
            int count = from.count(max, keys.bytesMin() + values.bytesMin());
            TreeMap<K, V> value = new TreeMap<>();
            try {
                for (int i = 0; i < count; i++) {
                    K key = keys.read(from);
                    if (i > 0 && key.compareTo(value.lastKey()) <= 0) {
                        throw new DecodeException("key " + key + " after " + value.lastKey());
                    }
                    value.put(key, values.read(from));
                }
            } catch (DecodeException wrong) {
                throw wrong.within("[" + value.size() + "]");
            }
            return Collections.unmodifiableMap(value);
        }

        @Override
        String words() {
            return Types.upTo("ascending pairs", max) + ", of: " + keys.words() + "; " + values.words();
        }

        @Override
        void parts(Set<Schema<?>> to) {
            keys.parts(to);
            values.parts(to);
        }

        @Override
        void print(Map<K, V> value, StringBuilder to, String indent) {
            to.append(value.isEmpty() ? "none" : "");
            new TreeMap<>(value).forEach((key, one) -> {
                to.append('\n').append(indent).append("  - ");
                keys.print(key, to, indent + "  ");
                to.append(" -> ");
                values.print(one, to, indent + "  ");
            });
        }
    }

    static final class Distinct<T extends Comparable<T>> extends Type<Set<T>> {
        private final Type<List<T>> list;

        Distinct(Type<T> of, int max) {
            super(Integer.BYTES);
            list = new Listed<>(of, max);
        }

        @Override
        int size(Set<T> value, int version) {
            return list.size(List.copyOf(value), version);
        }

        @Override
        void write(Set<T> value, ByteBuffer to, int version) {
            list.write(List.copyOf(new TreeSet<>(value)), to, version);
        }

        @Override
        Set<T> read(Input from) {
            TreeSet<T> value = new TreeSet<>();
            for (T one : list.read(from)) {
                if (!value.isEmpty() && one.compareTo(value.last()) <= 0) {
                    throw new DecodeException(one + " after " + value.last());
                }
                value.add(one);
            }
            return Collections.unmodifiableSet(value);
        }

        @Override
        String words() {
            return "ascending " + list.words();
        }

        @Override
        void parts(Set<Schema<?>> to) {
            list.parts(to);
        }

        @Override
        void print(Set<T> value, StringBuilder to, String indent) {
            list.print(List.copyOf(new TreeSet<>(value)), to, indent);
        }
    }

    static final class Optional<T> extends Type<@Nullable T> {
        private final Type<T> of;

        Optional(Type<T> of) {
            super(1);
            this.of = of;
        }

        @Override
        int size(@Nullable T value, int version) {
            return value == null ? 1 : 1 + of.size(value, version);
        }

        @Override
        void write(@Nullable T value, ByteBuffer to, int version) {
            to.put((byte) (value == null ? 0 : 1));
            if (value != null) {
                of.write(value, to, version);
            }
        }

        @Override
        @Nullable
        T read(Input from) {
            return Types.flag(from) ? of.read(from) : null;
        }

        @Override
        String words() {
            return "1 byte, 0 for nothing, or 1 and: " + of.words();
        }

        @Override
        void parts(Set<Schema<?>> to) {
            of.parts(to);
        }

        @Override
        void print(@Nullable T value, StringBuilder to, String indent) {
            if (value == null) {
                to.append("nothing");
            } else {
                of.print(value, to, indent);
            }
        }
    }
}
