package tutti.wire;

import io.netty.buffer.ByteBuf;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.ReadSet;
import tutti.pgwire.ProtocolViolation;
import tutti.wire.sql.StatementClasses;
import tutti.wire.sql.ReadPlan;

/** What a prepared statement touches, and, once values are bound to its parameters, which rows. On a session's event loop. */
final class StatementAccess {
    /** The first number that PostgreSQL gives to what users make. */
    private static final int FIRST_OWN_TYPE = 16_384;

    private final Capture capture;
    private final byte[] sql;
    private final boolean standardStrings;
    private final int[] types;
    private @Nullable ReadPlan plan;
    private Object asOf;
    private StatementClasses.@Nullable Statements statements;
    private Object statementsAsOf;
    private HiddenWords hidden = HiddenWords.NONE;
    private boolean hides;

    /** Of a statement with so many declared types of parameters. */
    StatementAccess(Capture capture, byte[] sql, boolean standardStrings, int[] types) {
        this.capture = capture;
        this.sql = sql;
        this.standardStrings = standardStrings;
        this.types = types;
        this.asOf = this;
        this.statementsAsOf = this;
    }

    byte[] sql() {
        return sql;
    }

    /** Whether it may do more than its words say. */
    boolean hides(HiddenWords now) {
        if (now != hidden) {
            hidden = now;
            hides = now.in(sql, 0, sql.length, standardStrings, true);
        }
        return hides;
    }

    int[] types() {
        return types;
    }

    /** Whether its parameters are of types that have the same numbers at every node. */
    boolean typesOfPostgres() {
        return Arrays.stream(types).allMatch(type -> type >= 0 && type < FIRST_OWN_TYPE);
    }

    /** What is known of it if every node were to execute it. */
    StatementClasses.Statements statements() {
        Object now = capture.schemaVersion();
        StatementClasses.Statements known = statements;
        if (known == null || !now.equals(statementsAsOf)) {
            statementsAsOf = now;
            known = capture.statements(sql, standardStrings);
            statements = known;
        }
        return known;
    }

    /** The types that a Parse message declares, which begin here. */
    static int[] types(ByteBuf buffer, int start, int limit) {
        int count = limit - start < 2 ? 0 : buffer.getUnsignedShort(start);
        if (limit - start - 2 < 4 * count) {
            throw new ProtocolViolation("Parse ends before its " + count + " types");
        }
        int[] types = new int[count];
        for (int i = 0; i < count; i++) {
            types[i] = buffer.getInt(start + 2 + 4 * i);
        }
        return types;
    }

    /** What it reads with the values of a Bind message, which begin here with their formats. */
    Bound bind(ByteBuf buffer, int start, int limit) {
        try {
            return new Bound(this, Values.read(types, buffer, start));
        } catch (IndexOutOfBoundsException tooShort) {
            throw new ProtocolViolation("Bind of " + (limit - start) + " bytes ends before its values: " + tooShort);
        }
    }

    private ReadPlan plan() {
        Object now = capture.schemaVersion();
        ReadPlan known = plan;
        if (known == null || !now.equals(asOf)) {
            asOf = now;
            known = capture.reads(sql, 0, sql.length, standardStrings);
            plan = known;
        }
        return known;
    }

    /** Its conflict classes with the values of a Bind message, which begin here with their formats. */
    Capture.Classified classes(ByteBuf buffer, int start) {
        return capture.classes(sql, 0, sql.length, standardStrings, Values.read(types, buffer, start));
    }

    /** A portal's. */
    record Bound(StatementAccess of, Values values) {
        Capture.Classified classes() {
            return of.capture.classes(of.sql, 0, of.sql.length, of.standardStrings, values);
        }

        void addTo(ReadSet.Builder reads) {
            of.plan().addTo(reads, values);
        }
    }

    /** The values of a Bind message. */
    private record Values(int[] types, boolean[] binary, byte[] @Nullable [] values) implements ReadPlan.Values {
        static Values read(int[] types, ByteBuf buffer, int start) {
            int formats = buffer.getUnsignedShort(start);
            int at = start + 2 + 2 * formats;
            int count = buffer.getUnsignedShort(at);
            at += 2;
            boolean[] binary = new boolean[count];
            byte[] @Nullable [] values = new byte[count][];
            for (int i = 0; i < count; i++) {
                int format = formats == 0 ? 0 : buffer.getUnsignedShort(start + 2 + 2 * (formats == 1 ? 0 : i));
                binary[i] = format != 0;
                int length = buffer.getInt(at);
                at += 4;
                if (length >= 0) {
                    byte[] value = new byte[length];
                    buffer.getBytes(at, value);
                    values[i] = value;
                    at += length;
                }
            }
            return new Values(types, binary, values);
        }

        @Override
        public int count() {
            return values.length;
        }

        @Override
        public int type(int index) {
            return index < types.length ? types[index] : 0;
        }

        @Override
        public boolean binary(int index) {
            return binary[index];
        }

        @Override
        public byte @Nullable [] value(int index) {
            return values[index];
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Values that && Arrays.equals(types, that.types)
                    && Arrays.equals(binary, that.binary) && Arrays.deepEquals(values, that.values);
        }

        @Override
        public int hashCode() {
            return Arrays.deepHashCode(values);
        }

        @Override
        public String toString() {
            return values.length + " values";
        }
    }
}
