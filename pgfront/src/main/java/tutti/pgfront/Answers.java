package tutti.pgfront;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.time.ZoneId;
import java.util.List;
import tutti.pgwire.Backend;
import tutti.pgwire.Fields;
import tutti.wire.LoggedRequests;

/** Messages by which clients are told of statements and rows. */
final class Answers {
    private Answers() {}

    /** ParameterDescription. */
    static void parameters(ByteBuf out, int[] types) {
        int start = begin(out, Backend.PARAMETER_DESCRIPTION, types.length);
        for (int type : types) {
            out.writeInt(type);
        }
        end(out, start);
    }

    /** RowDescription. */
    static void columns(ByteBuf out, List<String> names, List<PgType.Column> columns, short[] formats) {
        int start = begin(out, Backend.ROW_DESCRIPTION, columns.size());
        for (int i = 0; i < columns.size(); i++) {
            PgType.Column column = columns.get(i);
            out.writeCharSequence(names.get(i), StandardCharsets.UTF_8);
            out.writeByte(0).writeInt(0).writeShort(0).writeInt(column.oid()).writeShort(column.size())
                    .writeInt(column.modifier()).writeShort(Rows.binary(formats, i) ? 1 : 0);
        }
        end(out, start);
    }

    /** The row that a command answers. */
    static void row(ByteBuf out, Commands.Answer answer, Commands.Answered column, short[] formats, ZoneId zone) {
        int start = begin(out, Backend.DATA_ROW, 1);
        PgValues.write(out, answer.row(), PgType.Column.of(column.type()), Rows.binary(formats, 0), zone);
        end(out, start);
    }

    private static int begin(ByteBuf out, byte type, int parts) {
        int start = out.writerIndex();
        out.writeByte(type).writeInt(0).writeShort(parts);
        return start;
    }

    private static void end(ByteBuf out, int start) {
        out.setInt(start + 1, out.writerIndex() - start - 1);
    }

    /** What tells that a statement has been executed or logged. */
    static String tag(PgStatement statement, Rows rows) {
        return rows.ticket() == null ? tag(statement, rows.count()) : LoggedRequests.TAG;
    }

    /** What tells that a statement has been executed, which was about so many rows. */
    static String tag(PgStatement statement, long count) {
        return statement.tag().equals(PgStatement.CALL) || statement.tag().equals("EXPLAIN")
                ? statement.tag()
                : statement.tag() + " " + count;
    }

    /** Formats of parameters or columns, as Bind lists them. */
    static short[] formats(ByteBuf body) {
        short[] formats = new short[Fields.int16(body) & 0xffff];
        for (int i = 0; i < formats.length; i++) {
            formats[i] = (short) Fields.int16(body);
        }
        return formats;
    }
}
