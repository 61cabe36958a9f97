package tutti.engine.postgres.capture;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The {@code changes} of a PostgreSQL write set: what was done, in order. Rows are in PostgreSQL's composite text form.
 *
 * <p>
 * The bytes: a version (1; 2 if there is an entry {@code c}, 3 if there is an {@code l} or {@code b}, which those who know only smaller ones cannot read); the number of tables; for each its schema and name; then entries until the end. An entry is
 * a letter, and for
 *
 * <pre>
 *   i  insert     table, row after
 *   u  update     table, row after; the primary key and all unique keys are as before
 *   c  update     table, columns, row after; as u, but other columns than these are as before, and nothing stands for them in the row
 *   k  update     table, row before, row after
 *   d  delete     table, row before
 *   t  truncate   table
 *   s  statement  a {@link tutti.engine.postgres.capture.Statement}'s bytes
 *   n  notification  channel, payload
 *   p  preparation  identifier, owner, when, token, keys, and the changes that are made when it is committed
 *   q  restart of a sequence  schema, name, last value, whether that has been given ({@code true}, {@code false})
 *   l  large object  object id, owner, rights; without an owner it is gone
 *   b  pages of a large object  object id, number of the first page that is gone, and of each page its number, length, bytes
 * </pre>
 *
 * Numbers (of tables, lengths, indexes into the tables) are unsigned LEB128; rows and texts are preceded by their length
 * in bytes. The numbers of an entry {@code b} are decimal, those within its pages of four bytes, the highest first. Columns are bits, the first one the lowest of the first byte.
 */
public final class Changes {
    private static final byte VERSION = 1;
    private static final byte VERSION_WITH_COLUMNS = 2;
    private static final byte VERSION_WITH_LARGE_OBJECTS = 3;
    private static final int TABLE_LIMIT = 1 << 20;

    private Changes() {}

    /** A table's name in a write set. */
    public record TableName(String schema, String name) {}

    /** Something done. Row bytes are not copied and must not be modified. */
    public sealed interface Change {
        /** The table whose rows are changed; null if it is something else. */
        default @Nullable TableName table() {
            return null;
        }

        /** A row came into being. */
        record Insert(TableName table, byte[] row) implements Change {}

        /** A row changed, its keys did not. */
        record Update(TableName table, byte[] row) implements Change {}

        /**
         * Some columns of a row changed, its keys did not.
         *
         * @param columns which of them are in the row, a bit for each, as {@link ColumnBits} has them: those that changed, the key's, and
         *            perhaps others
         * @param row with nothing in the place of the others
         */
        record Columns(TableName table, byte[] columns, byte[] row) implements Change {}

        /** A row changed, and so did some key of it. */
        record Rekey(TableName table, byte[] before, byte[] after) implements Change {}

        /** A row vanished. */
        record Delete(TableName table, byte[] row) implements Change {}

        /** All rows vanished. */
        record Truncate(TableName table) implements Change {}

        /** A statement was executed that is to be repeated. */
        record Execute(byte[] statement) implements Change {}

        /** Whoever listens to a channel is told something, in UTF-8. */
        record Notify(byte[] channel, byte[] payload) implements Change {}

        /**
         * A transaction is prepared for its client: nothing is made of it before it is committed, but its keys are promised to it.
         *
         * @param identifier by which its client knows it
         * @param owner the role that has prepared it
         * @param since when that was, as PostgreSQL writes it
         * @param token which no other preparation has
         * @param keys of what it changes, as {@link Promise} writes them
         * @param changes in the form of this class
         */
        record Prepare(String identifier, String owner, String since, String token, byte[] keys, byte[] changes)
                implements
                    Change {
            /** What a table of the node's, or a message, keeps of it. */
            public List<byte[]> parts() {
                return List.of(bytes(identifier), bytes(owner), bytes(since), bytes(token), keys, changes);
            }
        }

        /** A sequence stands at a value, which has been given or is next, and nobody has a share of it but who has put it there. */
        record Restart(String schema, String name, String last, String called) implements Change {
            List<byte[]> parts() {
                return Stream.of(schema, name, last, called).map(Changes::bytes).toList();
            }
        }

        /**
         * A large object came into being, or vanished.
         *
         * @param object its object id, which is the same at all nodes
         * @param owner a role; empty if it is gone, whether it was there or not
         * @param rights as {@code pg_largeobject_metadata.lomacl} has them; empty if they are those of the owner only
         */
        record LargeObject(String object, String owner, String rights) implements Change {
            /** What the function takes that makes it. */
            public List<byte[]> parts() {
                return Stream.of(object, owner, rights).map(Changes::bytes).toList();
            }
        }

        /**
         * Pages of a large object were written.
         *
         * @param object its object id
         * @param keeps how many pages it keeps: those from this number on vanish, before these are written
         * @param pages of each its number, its length and its bytes
         */
        record LargePages(String object, String keeps, byte[] pages) implements Change {
            /** What the function takes that writes them. */
            public List<byte[]> parts() {
                return List.of(bytes(object), bytes(keeps), pages);
            }
        }
    }

    /** Collects changes. Not for use by several threads. */
    public static final class Writer {
        private final Map<TableName, Integer> tables = new LinkedHashMap<>();
        private byte[] bytes;
        private int size;
        private byte version = VERSION;

        /** Expects about that many bytes. */
        public Writer(int expected) {
            bytes = new byte[Math.max(64, expected)];
        }

        /** Appends an entry about rows: one, or before and after. */
        void rows(byte operation, TableName table, byte[] from, int start, int end) {
            begin(operation, table);
            blob(from, start, end);
        }

        /** Appends an entry about some columns of a row. */
        void columns(TableName table, byte[] columns, byte[] from, int start, int end) {
            atLeast(VERSION_WITH_COLUMNS);
            begin((byte) 'c', table);
            blob(columns, 0, columns.length);
            blob(from, start, end);
        }

        private void atLeast(byte needed) {
            version = (byte) Math.max(version, needed);
        }

        /** Appends an entry that is made of parts. */
        private void parts(byte operation, List<byte[]> parts) {
            ensure(1);
            bytes[size++] = operation;
            parts.forEach(part -> blob(part, 0, part.length));
        }

        /** Appends a row to the entry begun by {@link #rows}. */
        void blob(byte[] from, int start, int end) {
            number(end - start);
            ensure(end - start);
            System.arraycopy(from, start, bytes, size, end - start);
            size += end - start;
        }

        /** Appends an entry without rows. */
        void begin(byte operation, TableName table) {
            ensure(1);
            bytes[size++] = operation;
            number(tables.computeIfAbsent(table, _ -> tables.size()));
        }

        /** Appends a change. */
        public Writer add(Change change) {
            switch (change) {
                case Change.Insert(TableName table, byte[] row) -> rows((byte) 'i', table, row, 0, row.length);
                case Change.Update(TableName table, byte[] row) -> rows((byte) 'u', table, row, 0, row.length);
                case Change.Columns(TableName table, byte[] columns, byte[] row) ->
                    columns(table, columns, row, 0, row.length);
                case Change.Delete(TableName table, byte[] row) -> rows((byte) 'd', table, row, 0, row.length);
                case Change.Rekey(TableName table, byte[] before, byte[] after) -> {
                    rows((byte) 'k', table, before, 0, before.length);
                    blob(after, 0, after.length);
                }
                case Change.Truncate(TableName table) -> begin((byte) 't', table);
                case Change.Execute(byte[] statement) -> parts((byte) 's', List.of(statement));
                case Change.Notify(byte[] channel, byte[] payload) -> parts((byte) 'n', List.of(channel, payload));
                case Change.Prepare prepare -> parts((byte) 'p', prepare.parts());
                case Change.Restart restart -> parts((byte) 'q', restart.parts());
                case Change.LargeObject object -> {
                    atLeast(VERSION_WITH_LARGE_OBJECTS);
                    parts((byte) 'l', object.parts());
                }
                case Change.LargePages pages -> {
                    atLeast(VERSION_WITH_LARGE_OBJECTS);
                    parts((byte) 'b', pages.parts());
                }
            }
            return this;
        }

        /** Everything. */
        public byte[] toBytes() {
            byte[] entries = bytes;
            int entriesSize = size;
            bytes = new byte[16 + 40 * tables.size()];
            size = 0;
            bytes[size++] = version;
            number(tables.size());
            for (TableName table : tables.keySet()) {
                byte[] schema = table.schema().getBytes(StandardCharsets.UTF_8);
                byte[] name = table.name().getBytes(StandardCharsets.UTF_8);
                blob(schema, 0, schema.length);
                blob(name, 0, name.length);
            }
            byte[] all = Arrays.copyOf(bytes, size + entriesSize);
            System.arraycopy(entries, 0, all, size, entriesSize);
            bytes = entries;
            size = entriesSize;
            return all;
        }

        private void number(int value) {
            ensure(5);
            int left = value;
            while ((left & ~0x7f) != 0) {
                bytes[size++] = (byte) ((left & 0x7f) | 0x80);
                left >>>= 7;
            }
            bytes[size++] = (byte) left;
        }

        private void ensure(int more) {
            if (bytes.length - size < more) {
                bytes = Arrays.copyOf(bytes, Math.max(Math.addExact(size, more), (int) Math.min(size * 2L, 1 << 30)));
            }
        }
    }

    /**
     * Reads what a {@link Writer} wrote.
     *
     * @throws IllegalArgumentException if the bytes are damaged
     */
    public static List<Change> read(byte[] changes) {
        List<Change> all = new ArrayList<>();
        new Reader(changes).forEachRemaining(all::add);
        return all;
    }

    /** Whether large objects are among them. */
    public static boolean touchLargeObjects(byte[] changes) {
        return changes.length > 0 && changes[0] >= VERSION_WITH_LARGE_OBJECTS;
    }

    /** Reads what a {@link Writer} wrote, one after the other. Not for use by several threads. */
    public static final class Reader implements Iterator<Change> {
        private final ByteBuffer from;
        private byte version = VERSION;
        private TableName[] tables = {};

        /** @throws IllegalArgumentException if the bytes are damaged */
        public Reader(byte[] changes) {
            from = ByteBuffer.wrap(changes);
            if (changes.length == 0) {
                return;
            }
            version = from.get();
            if (version < VERSION || version > VERSION_WITH_LARGE_OBJECTS) {
                throw new IllegalArgumentException("changes of version " + version + ", this build reads versions "
                        + VERSION + " to " + VERSION_WITH_LARGE_OBJECTS
                        + ": upgrade it to the release that wrote them");
            }
            try {
                int count = number(from);
                if (count > Math.min(TABLE_LIMIT, from.remaining())) {
                    throw new IllegalArgumentException(count + " tables in " + from.remaining() + " bytes");
                }
                tables = new TableName[count];
                for (int i = 0; i < count; i++) {
                    tables[i] = new TableName(text(from), text(from));
                }
            } catch (BufferUnderflowException early) {
                throw early(early);
            }
        }

        private static IllegalArgumentException early(BufferUnderflowException cause) {
            return new IllegalArgumentException("the changes end too early", cause);
        }

        /** Bytes that have not been read. */
        public int remaining() {
            return from.remaining();
        }

        @Override
        public boolean hasNext() {
            return from.hasRemaining();
        }

        /** @throws IllegalArgumentException if the bytes are damaged */
        @Override
        public Change next() {
            if (!hasNext()) {
                throw new NoSuchElementException("all changes have been read");
            }
            try {
                return entry(from, tables, version);
            } catch (BufferUnderflowException early) {
                throw early(early);
            }
        }
    }

    private static Change entry(ByteBuffer from, TableName[] tables, byte version) {
        byte operation = from.get();
        if (operation == 'c' && version < VERSION_WITH_COLUMNS) {
            throw new IllegalArgumentException("columns of a row in changes of version " + version);
        }
        if ((operation == 'l' || operation == 'b') && version < VERSION_WITH_LARGE_OBJECTS) {
            throw new IllegalArgumentException("large objects in changes of version " + version);
        }
        return switch (operation) {
            case 'i' -> new Change.Insert(table(from, tables), blob(from));
            case 'u' -> new Change.Update(table(from, tables), blob(from));
            case 'c' -> new Change.Columns(table(from, tables), blob(from), blob(from));
            case 'k' -> new Change.Rekey(table(from, tables), blob(from), blob(from));
            case 'd' -> new Change.Delete(table(from, tables), blob(from));
            case 't' -> new Change.Truncate(table(from, tables));
            case 's' -> new Change.Execute(blob(from));
            case 'n' -> new Change.Notify(blob(from), blob(from));
            case 'p' -> new Change.Prepare(text(from), text(from), text(from), text(from), blob(from), blob(from));
            case 'q' -> new Change.Restart(text(from), text(from), text(from), text(from));
            case 'l' -> new Change.LargeObject(text(from), text(from), text(from));
            case 'b' -> new Change.LargePages(text(from), text(from), blob(from));
            default -> throw new IllegalArgumentException("no such change: " + operation);
        };
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static TableName table(ByteBuffer from, TableName[] tables) {
        int index = number(from);
        if (index >= tables.length) {
            throw new IllegalArgumentException("table " + index + " of " + tables.length);
        }
        return tables[index];
    }

    private static String text(ByteBuffer from) {
        byte[] bytes = blob(from);
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
        } catch (CharacterCodingException notText) {
            throw new IllegalArgumentException("a name is not UTF-8", notText);
        }
    }

    private static byte[] blob(ByteBuffer from) {
        int length = number(from);
        if (length > from.remaining()) {
            throw new IllegalArgumentException(length + " bytes announced, " + from.remaining() + " left");
        }
        byte[] bytes = new byte[length];
        from.get(bytes);
        return bytes;
    }

    private static int number(ByteBuffer from) {
        long value = 0;
        for (int shift = 0; shift < 35; shift += 7) {
            byte b = from.get();
            value |= (long) (b & 0x7f) << shift;
            if (b >= 0) {
                if (value > Integer.MAX_VALUE) {
                    throw new IllegalArgumentException("a number is too large: " + value);
                }
                return (int) value;
            }
        }
        throw new IllegalArgumentException("a number has no end");
    }
}
