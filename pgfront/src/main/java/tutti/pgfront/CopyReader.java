package tutti.pgfront;

import io.netty.buffer.ByteBuf;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Takes the data of a COPY FROM STDIN apart, in formats text and csv. For one thread at a time. */
final class CopyReader implements Copy.Reader {
    /** Takes rows. */
    @FunctionalInterface
    interface RowTaker {
        void row(List<byte @Nullable []> values) throws SQLException;
    }

    private final CopyFormat format;
    private final List<String> names;
    private final RowTaker taker;
    /** The value as it is written, to know a null by; and as it is meant. */
    private final ByteArrayOutputStream written = new ByteArrayOutputStream();
    private final ByteArrayOutputStream meant = new ByteArrayOutputStream();
    private List<byte @Nullable []> values = new ArrayList<>();
    private boolean headerIsNext;
    private boolean ended;
    /** The character before was a backslash, or the escape in a quoted value. */
    private boolean escaped;
    private boolean inQuotes;
    private boolean wasQuoted;

    /**
     * A reader.
     *
     * @param names of the columns that a row has values for
     */
    CopyReader(CopyFormat format, List<String> names, RowTaker taker) {
        this.format = format;
        this.names = names;
        this.taker = taker;
        this.headerIsNext = format.header() != CopyFormat.Header.NO;
    }

    @Override
    public void add(ByteBuf data) throws SQLException {
        while (data.isReadable() && !ended) {
            byte at = data.readByte();
            if (format.csv()) {
                csv(at);
            } else {
                text(at);
            }
            if (written.size() > VALUE_BYTES_MAX) {
                throw Copy.tooLarge();
            }
        }
    }

    @Override
    public void end() throws SQLException {
        if (inQuotes && !escaped) {
            throw new SQLException("unterminated CSV quoted field", BAD_FORMAT);
        }
        if (!ended && (written.size() > 0 || wasQuoted || !values.isEmpty())) {
            endRow();
        }
    }

    private void text(byte at) throws SQLException {
        if (escaped) {
            escaped = false;
            written.write(at);
            meant.write(switch (at) {
                case 'b' -> '\b';
                case 'f' -> '\f';
                case 'n' -> '\n';
                case 'r' -> '\r';
                case 't' -> '\t';
                case 'v' -> 11;
                default -> at;
            });
        } else if (at == '\\') {
            escaped = true;
            written.write(at);
        } else {
            plain(at);
        }
    }

    private void csv(byte at) throws SQLException {
        if (escaped) {
            escaped = false;
            if (at == format.quote() || at == format.escape()) {
                put(at);
                return;
            }
            if (format.quote() == format.escape()) {
                inQuotes = false;
                plain(at);
            } else {
                put((byte) format.escape());
                csv(at);
            }
        } else if (inQuotes && at == format.escape()) {
            escaped = true;
        } else if (at == format.quote()) {
            inQuotes = !inQuotes;
            wasQuoted = true;
        } else if (inQuotes) {
            put(at);
        } else {
            plain(at);
        }
    }

    private void put(byte at) {
        written.write(at);
        meant.write(at);
    }

    /** Outside of quotes, and not escaped. */
    private void plain(byte at) throws SQLException {
        if (at == format.delimiter()) {
            endValue(false);
        } else if (at == '\n') {
            endRow();
        } else {
            put(at);
        }
    }

    private void endValue(boolean last) {
        String text = written.toString(StandardCharsets.UTF_8);
        boolean carriage = last && text.endsWith("\r");
        if (carriage) {
            text = text.substring(0, text.length() - 1);
        }
        byte[] value = meant.toByteArray();
        boolean absent = !wasQuoted && text.equals(format.nullText());
        values.add(absent ? null : carriage ? Arrays.copyOf(value, value.length - 1) : value);
        ended = last && values.size() == 1 && !wasQuoted && text.equals("\\.");
        written.reset();
        meant.reset();
        wasQuoted = false;
    }

    private void endRow() throws SQLException {
        endValue(true);
        List<byte @Nullable []> row = values;
        values = new ArrayList<>();
        inQuotes = false;
        escaped = false;
        if (ended) {
            return;
        }
        if (headerIsNext) {
            headerIsNext = false;
            if (format.header() == CopyFormat.Header.MATCH) {
                match(row);
            }
            return;
        }
        if (row.size() != names.size()) {
            throw new SQLException(row.size() < names.size()
                    ? "missing data: a row has " + row.size() + " values, and there are " + names.size() + " columns"
                    : "extra data after last expected column", BAD_FORMAT);
        }
        taker.row(row);
    }

    private void match(List<byte @Nullable []> header) throws SQLException {
        List<String> found = header.stream()
                .map(name -> name == null ? format.nullText() : new String(name, StandardCharsets.UTF_8)).toList();
        if (!found.equals(names)) {
            throw new SQLException("the header names the columns " + String.join(", ", found) + ", not "
                    + String.join(", ", names), BAD_FORMAT);
        }
    }
}
