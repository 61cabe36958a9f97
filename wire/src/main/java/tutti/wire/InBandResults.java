package tutti.wire;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.Backend;
import tutti.pgwire.ErrorFields;

/**
 * Takes the column that an {@link InBandStatement} has for the node out of its result: the client sees the result that its own
 * text has. On the session's event loop.
 */
final class InBandResults {
    /** A row that is longer is not gathered, unless the client is shown a part of it. */
    private static final int ROW_BYTES_MAX = InBandRows.BYTES_MAX + 1024;
    private static final String SYNTAX_ERROR = "42601";
    private static final Pattern FROM = Pattern.compile("\\bfrom\\b", Pattern.CASE_INSENSITIVE);

    private static final Pattern FORMATS = Pattern
            .compile("(bind message has )(\\d+)( result formats but query has )(\\d+)( columns)");

    private final Session session;
    private final ClientStream client;
    /** Rows of the statement that is being answered. */
    private long seen;
    /** Whether they are told because they are locked: nothing depends on how many there are. */
    private boolean locks;

    InBandResults(Session session) {
        this.session = session;
        this.client = session.client();
    }

    private InBandRows rows() {
        return session.transaction().work().inBand();
    }

    /** How much of a row is looked at. */
    int wanted(SentMessage first, int bodyLength) {
        InBandStatement query = session.backend().parsing();
        boolean shown = first == SentMessage.RETURNING_IN_BAND
                || (first == SentMessage.QUERY_IN_BAND && query != null && query.returning());
        return bodyLength <= ROW_BYTES_MAX || shown ? bodyLength : Short.BYTES;
    }

    /**
     * A row.
     *
     * @return false: it does not go to the client as it is
     */
    boolean row(ByteBuf buffer, int start, int bodyLength) {
        seen++;
        int columns = buffer.getUnsignedShort(start) - 1;
        if (columns == 0 && bodyLength > ROW_BYTES_MAX) {
            rows().lose();
            return false;
        }
        int at = start + Short.BYTES;
        for (int i = 0; i < columns; i++) {
            at += Integer.BYTES + Math.max(0, buffer.getInt(at));
        }
        int length = buffer.getInt(at);
        if (InBandRows.locks(buffer, at + Integer.BYTES, length)) {
            locks = true;
            InBandRows.locked(buffer, at + Integer.BYTES, length, session.capture(),
                    session.transaction().work().locked());
        } else {
            InBandRows told = rows();
            told.row(buffer, at + Integer.BYTES, Math.max(0, length));
            if (told.temporaries()) {
                session.transaction().sawTemporaries();
            }
        }
        if (columns > 0) {
            ByteBuf out = client.buffer(Messages.HEADER + at - start);
            out.writeByte(Backend.DATA_ROW).writeInt(Integer.BYTES + at - start).writeShort(columns)
                    .writeBytes(buffer, start + Short.BYTES, at - start - Short.BYTES);
            client.write(out);
        }
        return false;
    }

    /**
     * What the columns are.
     *
     * @return false: it does not go to the client as it is
     */
    boolean description(SentMessage first, ByteBuf buffer, int start, int bodyLength) {
        boolean describes = first == SentMessage.DESCRIBE_IN_BAND;
        if (describes) {
            session.backend().answered();
        }
        int columns = buffer.getUnsignedShort(start) - 1;
        int at = start + Short.BYTES;
        for (int i = 0; i < columns; i++) {
            // name, table, column, type, length, modifier, format
            at = Messages.end(buffer, at, start + bodyLength) + 1 + 4 + 2 + 4 + 2 + 4 + 2;
        }
        ByteBuf out = client.buffer(Messages.HEADER + at - start);
        if (columns > 0) {
            out.writeByte(Backend.ROW_DESCRIPTION).writeInt(Integer.BYTES + at - start).writeShort(columns)
                    .writeBytes(buffer, start + Short.BYTES, at - start - Short.BYTES);
        } else if (describes) {
            Backend.empty(out, Backend.NO_DATA);
        }
        client.write(out);
        return false;
    }

    /** The statement is complete: as many rows must have been seen as it says. */
    void complete(ByteBuf buffer, int start, int bodyLength) {
        if (!locks && !counts(buffer, start, start + bodyLength - 2, seen)) {
            rows().lose();
        }
        failed();
    }

    /** Whether a tag, whose last letter this is, ends with a space and a number. */
    private static boolean counts(ByteBuf buffer, int start, int last, long number) {
        int at = last;
        long rest = number;
        do {
            if (at <= start || buffer.getByte(at--) != '0' + rest % 10) {
                return false;
            }
            rest /= 10;
        } while (rest > 0);
        return buffer.getByte(at) == ' ';
    }

    /** There are more rows, which the client may never ask for. */
    void suspended() {
        if (!locks) {
            rows().lose();
        }
        failed();
    }

    /** The statement has failed. */
    void failed() {
        seen = 0;
        locks = false;
    }

    /** A column is inserted in the middle: what is wrong behind it is so many characters before in the client's text. */
    private static ErrorFields inFront(ErrorFields fields, int position, InBandStatement statement) {
        String client = new String(statement.original(), StandardCharsets.UTF_8);
        String before = new String(statement.original(), 0, statement.appendedAt(), StandardCharsets.UTF_8);
        String sent = statement.toString();
        int ends = before.codePointCount(0, before.length());
        int inserted = sent.codePointCount(0, sent.length()) - client.codePointCount(0, client.length());
        if (position <= ends) {
            return fields;
        }
        if (position > ends + inserted || !fields.sqlState().equals(SYNTAX_ERROR)) {
            return fields.with('P', String.valueOf(Math.max(ends + 1, position - inserted)));
        }
        // what is wrong ends before the FROM, at which the server would have seen it
        Matcher from = FROM.matcher(client);
        return from.find(before.length())
                ? fields.with('M', "syntax error at or near \"" + from.group() + "\"").with('P',
                        String.valueOf(client.codePointCount(0, from.start()) + 1))
                : fields;
    }

    /** What the client hears of an error in its Bind: its result has a column less than is counted there. */
    static ErrorFields withoutColumn(ErrorFields fields) {
        Matcher counted = FORMATS.matcher(fields.message());
        return counted.matches()
                ? fields.with('M', counted.group(1) + (Integer.parseInt(counted.group(2)) - 1) + counted.group(3)
                        + (Integer.parseInt(counted.group(4)) - 1) + counted.group(5))
                : fields;
    }

    /** What the client hears of an error in its statement: nothing of what stands behind its own text. */
    static ErrorFields error(ErrorFields fields, @Nullable InBandStatement statement) {
        String position = fields.get('P');
        if (statement != null && position != null && statement.locks()) {
            return inFront(fields, Integer.parseInt(position), statement);
        }
        if (statement == null || position == null || !fields.sqlState().equals(SYNTAX_ERROR)) {
            return fields;
        }
        String client = new String(statement.original(), StandardCharsets.UTF_8);
        String before = new String(statement.original(), 0, statement.appendedAt(), StandardCharsets.UTF_8);
        int ends = before.codePointCount(0, before.length());
        if (Integer.parseInt(position) <= ends) {
            return fields;
        }
        int semicolon = client.indexOf(';', before.length());
        return semicolon < 0
                ? fields.with('M', "syntax error at end of input").with('P',
                        String.valueOf(client.codePointCount(0, client.length()) + 1))
                : fields.with('M', "syntax error at or near \";\"").with('P',
                        String.valueOf(client.codePointCount(0, semicolon) + 1));
    }
}
