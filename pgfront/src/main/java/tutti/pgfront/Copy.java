package tutti.pgfront;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.Backend;
import tutti.pgwire.Fields;
import tutti.pgwire.Frontend;
import tutti.pgwire.ProtocolViolation;

/**
 * COPY between client and database, as queries that the engines know: rows that come are inserted one by one, in the
 * statement's transaction; rows that go are a query's.
 */
final class Copy {
    private static final String SYNTAX = "42601";

    /** Takes the data of a COPY FROM STDIN apart, which comes in pieces of any size. */
    interface Reader {
        int VALUE_BYTES_MAX = 1 << 28;
        String BAD_FORMAT = "22P04";

        /** A piece of the data. */
        void add(ByteBuf data) throws SQLException;

        /** There is no more. */
        void end() throws SQLException;
    }

    private final ClientConnection client;
    private final PgSession session;
    private final Translator translator;

    Copy(ClientConnection client, PgSession session, Translator translator) {
        this.client = client;
        this.session = session;
        this.translator = translator;
    }

    static SQLException tooLarge() {
        return new SQLException("a value of the COPY is larger than 256 MiB", "54000");
    }

    /** Executes one; answers its tag. */
    String execute(List<Token> tokens) throws SQLException, InterruptedException {
        int at = 1;
        boolean query = tokens.size() > 1 && tokens.get(1).is('(');
        while (at < tokens.size() && (query ? depth(tokens, 1, at) > 0 : part(tokens.get(at)))) {
            at++;
        }
        List<Token> what = tokens.subList(1, query ? Math.min(at + 1, tokens.size()) : at);
        at += query ? 1 : 0;
        List<Token> columns = List.of();
        if (!query && at < tokens.size() && tokens.get(at).is('(')) {
            int from = at;
            while (at < tokens.size() && depth(tokens, from, at) > 0) {
                at++;
            }
            columns = tokens.subList(from + 1, Math.min(at, tokens.size()));
            at++;
        }
        if (at + 1 >= tokens.size() || what.isEmpty()) {
            throw new SQLException("syntax error in COPY", SYNTAX);
        }
        boolean in = tokens.get(at).is("from");
        if (!(in ? tokens.get(at + 1).is("stdin") : tokens.get(at).is("to") && tokens.get(at + 1).is("stdout"))
                || (in && query)) {
            throw new SQLException("this node copies FROM STDIN and TO STDOUT only, between client and database: with"
                    + " psql use \\copy", "0A000");
        }
        CopyFormat format = CopyFormat.of(tokens.subList(at + 2, tokens.size()));
        if (!in && format.header() == CopyFormat.Header.MATCH) {
            throw new SQLException("HEADER MATCH is of COPY FROM only: use HEADER", "0A000");
        }
        return "COPY " + (in ? in(what, columns, format) : out(query, what, columns, format));
    }

    private static boolean part(Token token) {
        return (token.name() && !token.is("from") && !token.is("to")) || token.is('.');
    }

    /** How many parentheses are open behind a token. */
    private static int depth(List<Token> tokens, int from, int to) {
        int depth = 0;
        for (int i = from; i <= to; i++) {
            depth += tokens.get(i).is('(') ? 1 : tokens.get(i).is(')') ? -1 : 0;
        }
        return depth;
    }

    private PgStatement translated(String sql) throws SQLException {
        PgStatement statement = translator.translate(Token.statements(sql).getFirst());
        session.check(statement);
        return statement;
    }

    private static String select(List<Token> table, List<Token> columns) {
        return "SELECT " + (columns.isEmpty() ? "*" : Token.text(columns)) + " FROM " + Token.text(table);
    }

    // ------------------------------------------------------------------------------------------ to the client

    private long out(boolean query, List<Token> what, List<Token> columns, CopyFormat format)
            throws SQLException, InterruptedException {
        PgStatement statement = translated(
                query ? Token.text(what.subList(1, what.size() - 1)) : select(what, columns));
        if (!statement.kind().prepared()) {
            throw new SQLException("COPY TO needs a query", SYNTAX);
        }
        short[] formats = {(short) (format.binary() ? 1 : 0)};
        try (Prepared prepared = session.prepare(statement, new int[0]);
                Rows rows = session.execute(prepared, new Object[0], formats)) {
            begin(Backend.COPY_OUT_RESPONSE, prepared.names().size(), format);
            if (format.binary()) {
                return binary(rows);
            }
            if (format.header() == CopyFormat.Header.YES) {
                data(format.line(prepared.names().stream().map(name -> name.getBytes(StandardCharsets.UTF_8))
                        .collect(Collectors.toList())));
            }
            for (List<byte @Nullable []> row = rows.next(); row != null; row = rows.next()) {
                data(format.line(row));
                client.mayFlush();
            }
            Backend.empty(client.out(), Backend.COPY_DONE);
            return rows.count();
        }
    }

    private long binary(Rows rows) throws InterruptedException {
        // As from PostgreSQL, the header comes in one message with what follows it; clients rely on that.
        byte[] before = BinaryCopy.header();
        for (List<byte @Nullable []> row = rows.next(); row != null; row = rows.next()) {
            data(before, BinaryCopy.row(row));
            before = new byte[0];
            client.mayFlush();
        }
        data(before, BinaryCopy.trailer());
        Backend.empty(client.out(), Backend.COPY_DONE);
        return rows.count();
    }

    private void begin(byte type, int columns, CopyFormat format) {
        int code = format.binary() ? 1 : 0;
        ByteBuf out = client.out();
        int start = out.writerIndex();
        out.writeByte(type).writeInt(0).writeByte(code).writeShort(columns);
        for (int i = 0; i < columns; i++) {
            out.writeShort(code);
        }
        out.setInt(start + 1, out.writerIndex() - start - 1);
    }

    private void data(byte[]... parts) {
        int length = 0;
        for (byte[] part : parts) {
            length += part.length;
        }
        client.out().writeByte(Backend.COPY_DATA).writeInt(4 + length);
        for (byte[] part : parts) {
            client.out().writeBytes(part);
        }
    }

    // ------------------------------------------------------------------------------------------ from the client

    private long in(List<Token> table, List<Token> columns, CopyFormat format)
            throws SQLException, InterruptedException {
        session.copies();
        List<String> names;
        int[] types = new int[0];
        try (Prepared shape = session.prepare(translated(select(table, columns)), new int[0])) {
            names = List.copyOf(shape.names());
            List<PgType.Column> told = shape.columns();
            if (format.binary() && told != null) {
                types = told.stream().mapToInt(PgType.Column::oid).toArray();
            }
        }
        StringBuilder insert = new StringBuilder("INSERT INTO " + Token.text(table) + " (" + (columns.isEmpty()
                ? names.stream().map(name -> '"' + name.replace("\"", "\"\"") + '"').collect(Collectors.joining(", "))
                : Token.text(columns)) + ") VALUES (");
        for (int i = 1; i <= names.size(); i++) {
            insert.append(i > 1 ? ", $" : "$").append(i);
        }
        try (Prepared prepared = session.prepare(translated(insert.append(')').toString()), types)) {
            begin(Backend.COPY_IN_RESPONSE, names.size(), format);
            client.flush();
            return read(prepared, format, names);
        }
    }

    private long read(Prepared prepared, CopyFormat format, List<String> names)
            throws SQLException, InterruptedException {
        long[] count = {0};
        CopyReader.RowTaker taker = values -> {
            @Nullable
            Object[] bound = new @Nullable Object[values.size()];
            for (int i = 0; i < bound.length; i++) {
                byte[] value = values.get(i);
                bound[i] = value == null
                        ? null
                        : prepared.value(i, Unpooled.wrappedBuffer(value), format.binary(), session.zone());
            }
            session.execute(prepared, bound, new short[0]);
            count[0]++;
        };
        Reader reader = format.binary() ? new BinaryCopy(names.size(), taker) : new CopyReader(format, names, taker);
        while (true) {
            ClientConnection.Message message = client.next(false);
            if (message == null) {
                throw new SQLException("the client has gone during COPY FROM STDIN", "08006");
            }
            switch (message.type()) {
                case Frontend.COPY_DATA -> reader.add(message.body());
                case Frontend.COPY_DONE -> {
                    reader.end();
                    return count[0];
                }
                case Frontend.COPY_FAIL -> throw new SQLException(
                        "COPY from stdin failed: " + Fields.cString(message.body()), "57014");
                case Frontend.FLUSH, Frontend.SYNC -> {
                    // Of clients that do not look at what they copy for.
                }
                default -> throw new ProtocolViolation("unexpected message type " + message.type()
                        + " during COPY from stdin");
            }
        }
    }
}
