package tutti.engine.postgres.catalog;

import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Takes a row in PostgreSQL's composite text form apart, such as {@code (1,"a ""b""",,"")}. The form is
 * self-delimiting: a parenthesis outside quotes ends it. Reusable; not for use by several threads.
 */
public final class RowText {
    private byte[] text = {};
    private int[] starts = new int[32];
    private int[] ends = new int[32];
    private int columns;
    private int end;

    /**
     * Reads the row that begins at {@code start}.
     *
     * @throws IllegalArgumentException if there is none
     */
    public RowText parse(byte[] from, int start) {
        return parse(from, start, Integer.MAX_VALUE);
    }

    /**
     * Reads the first columns of the row that begins at {@code start}; {@link #end} is not known afterwards unless these are
     * all.
     *
     * @param wanted how many, at least 1; fewer are no error
     * @throws IllegalArgumentException if there is no row
     */
    public RowText parse(byte[] from, int start, int wanted) {
        text = from;
        int length = from.length;
        if (start >= length || from[start] != '(') {
            throw new IllegalArgumentException("no row begins at byte " + start);
        }
        int found = 0;
        int at = start + 1;
        int begin = at;
        boolean quoted = false;
        while (at < length) {
            byte b = from[at];
            if (b == '"') {
                quoted = !quoted;
            } else if (b == '\\') {
                at++;
            } else if (!quoted && (b == ',' || b == ')')) {
                if (found == starts.length) {
                    starts = Arrays.copyOf(starts, found * 2);
                    ends = Arrays.copyOf(ends, found * 2);
                }
                starts[found] = begin;
                ends[found++] = at;
                begin = at + 1;
                if (b == ')' || found == wanted) {
                    end = at + 1;
                    columns = found;
                    return this;
                }
            }
            at++;
        }
        throw new IllegalArgumentException("the row that begins at byte " + start + " has no end");
    }

    /** Number of columns that have been read; the row of a table without columns counts as one NULL. */
    public int columns() {
        return columns;
    }

    /** Index after the closing parenthesis. */
    public int end() {
        return end;
    }

    /** The column's value in its type's text form, or null for NULL. */
    public byte @Nullable [] value(int column) {
        int from = starts[column];
        int to = ends[column];
        if (from == to) {
            return null;
        }
        boolean plain = true;
        for (int i = from; i < to && plain; i++) {
            plain = text[i] != '"' && text[i] != '\\';
        }
        if (plain) {
            return Arrays.copyOfRange(text, from, to);
        }
        ByteArrayOutputStream value = new ByteArrayOutputStream(to - from);
        boolean quoted = false;
        for (int i = from; i < to; i++) {
            byte b = text[i];
            if (b == '\\' && i + 1 < to) {
                value.write(text[++i]);
            } else if (b == '"') {
                if (quoted && i + 1 < to && text[i + 1] == '"') {
                    value.write('"');
                    i++;
                } else {
                    quoted = !quoted;
                }
            } else {
                value.write(b);
            }
        }
        return value.toByteArray();
    }

    /** Whether the column's text here is the same as in another row. */
    public boolean sameText(int column, RowText other) {
        return Arrays.equals(text, starts[column], ends[column], other.text, other.starts[column], other.ends[column]);
    }

    /** Appends the column's text as it stands here. */
    public void copy(int column, ByteArrayOutputStream to) {
        to.write(text, starts[column], ends[column] - starts[column]);
    }
}
