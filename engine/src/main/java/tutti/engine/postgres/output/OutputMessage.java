package tutti.engine.postgres.output;

import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.Fields;
import tutti.pgwire.ProtocolViolation;

/**
 * The messages of {@code pgoutput}, version 1 of its protocol, in which a transaction comes whole after it has committed ("Logical
 * Replication Message Formats" of PostgreSQL's manual). Arrays are not copied and must not be modified. Times are microseconds since
 * 2000-01-01 UTC; log positions (LSN) are unsigned.
 */
public sealed interface OutputMessage {
    /**
     * A transaction begins.
     *
     * @param commit log position of its commit
     * @param micros when it committed
     * @param transaction its id at the server
     */
    record Begin(long commit, long micros, int transaction) implements OutputMessage {
        /** As the server writes it. */
        public void write(ByteBuf out) {
            out.writeByte('B').writeLong(commit).writeLong(micros).writeInt(transaction);
        }
    }

    /**
     * It ends, committed.
     *
     * @param commit log position of its commit
     * @param end log position behind it, from which who has this transaction goes on
     * @param micros when it committed
     */
    record Commit(long commit, long end, long micros) implements OutputMessage {
        /** As the server writes it. */
        public void write(ByteBuf out) {
            out.writeByte('C').writeByte(0).writeLong(commit).writeLong(end).writeLong(micros);
        }
    }

    /** The transaction was executed elsewhere, and applied here by somebody who says so. */
    record Origin(long commit, String name) implements OutputMessage {}

    /**
     * A table as the rows that follow have it; comes before the first of them, and again when it has changed.
     *
     * @param id object id
     * @param identity what of an old row is told: {@code d}, its primary key; {@code i}, an index; {@code f}, all; {@code n}, nothing
     * @param columns those that are told
     */
    record Relation(int id, String schema, String name, char identity, List<Column> columns) implements OutputMessage {
        /** Keeps a copy. */
        public Relation {
            columns = List.copyOf(columns);
        }
    }

    /** A column, and whether it is of what is told of an old row. */
    record Column(boolean key, String name, int type, int modifier) {}

    /** A type that is not the server's own. */
    record Type(int id, String schema, String name) implements OutputMessage {}

    /** A row came into being. */
    record Insert(int relation, Row row) implements OutputMessage {}

    /**
     * A row changed.
     *
     * @param before what is told of the old row: null if that is nothing, because the key is as it was
     * @param whole whether that is all of it; otherwise it is its key, with nulls elsewhere
     */
    record Update(int relation, @Nullable Row before, boolean whole, Row row) implements OutputMessage {}

    /** A row vanished; {@code before} and {@code whole} as in {@link Update}. */
    record Delete(int relation, Row before, boolean whole) implements OutputMessage {}

    /** All rows of tables vanished. */
    record Truncate(List<Integer> relations) implements OutputMessage {
        /** Keeps a copy. */
        public Truncate {
            relations = List.copyOf(relations);
        }
    }

    /** Something that a program has written to the log. */
    record Said(boolean transactional, String prefix, byte[] content) implements OutputMessage {}

    /** Values in text form: null for SQL NULL, and {@link #UNCHANGED} where a value stored apart is as it was and not told. */
    record Row(List<byte @Nullable []> values) {
        /** Stands for a value that is not told; compared by identity. */
        public static final byte[] UNCHANGED = {};

        /** Whether the value in that place is not told. */
        @SuppressWarnings("ReferenceEquality")
        public boolean unchanged(int place) {
            return values.get(place) == UNCHANGED;
        }
    }

    /**
     * Reads one message, which is all of the buffer.
     *
     * @throws ProtocolViolation if it is none of version 1, or is damaged
     */
    static OutputMessage read(ByteBuf in) {
        try {
            OutputMessage message = message(in);
            if (in.isReadable()) {
                throw new ProtocolViolation(
                        in.readableBytes() + " bytes are left of a message of pgoutput: " + message);
            }
            return message;
        } catch (IndexOutOfBoundsException early) {
            throw new ProtocolViolation("a message of pgoutput is shorter than its contents say");
        }
    }

    private static OutputMessage message(ByteBuf in) {
        byte type = in.readByte();
        return switch (type) {
            case 'B' -> new Begin(in.readLong(), in.readLong(), in.readInt());
            case 'C' -> {
                in.skipBytes(1);
                yield new Commit(in.readLong(), in.readLong(), in.readLong());
            }
            case 'O' -> new Origin(in.readLong(), Fields.cString(in));
            case 'R' -> relation(in);
            case 'Y' -> new Type(in.readInt(), Fields.cString(in), Fields.cString(in));
            case 'I' -> {
                int relation = in.readInt();
                expect(in.readByte(), 'N');
                yield new Insert(relation, row(in));
            }
            case 'U' -> update(in);
            case 'D' -> {
                int relation = in.readInt();
                boolean whole = whole(in.readByte());
                yield new Delete(relation, row(in), whole);
            }
            case 'T' -> {
                int count = in.readInt();
                in.skipBytes(1);
                List<Integer> relations = new ArrayList<>();
                for (int i = 0; i < count; i++) {
                    relations.add(in.readInt());
                }
                yield new Truncate(relations);
            }
            case 'M' -> {
                boolean transactional = (in.readByte() & 1) != 0;
                in.skipBytes(Long.BYTES);
                String prefix = Fields.cString(in);
                yield new Said(transactional, prefix, bytes(in, in.readInt()));
            }
            default -> throw new ProtocolViolation("no message of pgoutput version 1: '" + (char) type + "'");
        };
    }

    private static Relation relation(ByteBuf in) {
        int id = in.readInt();
        String schema = Fields.cString(in);
        String name = Fields.cString(in);
        char identity = (char) in.readByte();
        int count = in.readUnsignedShort();
        List<Column> columns = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            columns.add(new Column((in.readByte() & 1) != 0, Fields.cString(in), in.readInt(), in.readInt()));
        }
        return new Relation(id, schema.isEmpty() ? "pg_catalog" : schema, name, identity, columns);
    }

    private static Update update(ByteBuf in) {
        int relation = in.readInt();
        byte part = in.readByte();
        if (part == 'N') {
            return new Update(relation, null, false, row(in));
        }
        boolean whole = whole(part);
        Row before = row(in);
        expect(in.readByte(), 'N');
        return new Update(relation, before, whole, row(in));
    }

    private static boolean whole(byte part) {
        if (part != 'K') {
            expect(part, 'O');
        }
        return part == 'O';
    }

    private static Row row(ByteBuf in) {
        int count = in.readUnsignedShort();
        List<byte @Nullable []> values = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            byte kind = in.readByte();
            values.add(switch (kind) {
                case 'n' -> null;
                case 'u' -> Row.UNCHANGED;
                case 't' -> bytes(in, in.readInt());
                default -> throw new ProtocolViolation("a value of kind '" + (char) kind + "' was not asked for");
            });
        }
        return new Row(values);
    }

    private static byte[] bytes(ByteBuf in, int length) {
        if (length < 0 || length > in.readableBytes()) {
            throw new ProtocolViolation("a value of " + length + " bytes in a message with " + in.readableBytes()
                    + " bytes left");
        }
        byte[] bytes = new byte[length];
        in.readBytes(bytes);
        return bytes;
    }

    private static void expect(byte found, char wanted) {
        if (found != wanted) {
            throw new ProtocolViolation("'" + wanted + "' expected in a message of pgoutput, found " + found);
        }
    }
}
