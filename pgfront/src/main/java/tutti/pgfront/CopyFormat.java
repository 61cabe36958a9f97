package tutti.pgfront;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * How COPY writes rows: the options of the statement.
 *
 * @param binary whether values are in their binary forms; the other options mean nothing then
 * @param csv whether values are quoted; otherwise they are escaped by backslashes
 * @param delimiter between values
 * @param nullText what stands for null
 * @param header whether the names of the columns come first
 * @param quote around values, in CSV
 * @param escape before a quote in a value, in CSV
 */
record CopyFormat(boolean binary, boolean csv, char delimiter, String nullText, Header header, char quote,
        char escape) {
    private static final String SYNTAX = "42601";
    private static final String INVALID = "22023";
    private static final String UNSUPPORTED = "0A000";

    /** Whether the names of the columns come first. */
    enum Header {
        NO, YES,
        /** And must be those of the table; for what comes only. */
        MATCH;

        /** What an option says, or null if it says nothing of it. */
        private static @Nullable Header of(String said) {
            return switch (said) {
                case "true", "on", "1" -> YES;
                case "false", "off", "0" -> NO;
                case "match" -> MATCH;
                default -> null;
            };
        }
    }

    /**
     * Reads what stands behind STDIN or STDOUT, in the form with parentheses or in the older one.
     *
     * @throws SQLException with {@code 42601} if it is not understood, {@code 0A000} if it is not supported
     */
    static CopyFormat of(List<Token> options) throws SQLException {
        String form = "text";
        Header header = Header.NO;
        String delimiter = null;
        String nullText = null;
        String quote = null;
        String escape = null;
        for (int i = 0; i < options.size(); i++) {
            Token option = options.get(i);
            if (option.is('(') || option.is(')') || option.is(',') || option.is("with") || option.is("as")) {
                continue;
            }
            String name = option.lower();
            boolean asks = i + 1 < options.size() && options.get(i + 1).is("as");
            Token value = options.get(Math.min(options.size() - 1, asks ? i + 2 : i + 1));
            switch (name) {
                case "csv", "binary" -> form = name;
                case "format" -> {
                    form = value.value().toLowerCase(Locale.ROOT);
                    i++;
                }
                case "header" -> {
                    Header said = Header.of(i + 1 < options.size() ? options.get(i + 1).lower() : "");
                    header = said == null ? Header.YES : said;
                    i += said == null ? 0 : 1;
                }
                case "delimiter", "null", "quote", "escape", "encoding" -> {
                    if (!value.string()) {
                        throw new SQLException("COPY option " + name + " needs a string", SYNTAX);
                    }
                    switch (name) {
                        case "delimiter" -> delimiter = value.value();
                        case "null" -> nullText = value.value();
                        case "quote" -> quote = value.value();
                        case "escape" -> escape = value.value();
                        default -> encoding(value.value());
                    }
                    i += asks ? 2 : 1;
                }
                default -> throw new SQLException("COPY option \"" + option.text() + "\" is not supported by this node:"
                        + " there are FORMAT text, csv and binary, DELIMITER, NULL, HEADER, QUOTE and ESCAPE",
                        UNSUPPORTED);
            }
        }
        boolean csv = form.equals("csv");
        boolean binary = form.equals("binary");
        if (!csv && !binary && !form.equals("text")) {
            throw new SQLException("COPY format \"" + form + "\" not recognized: there are text, csv and binary",
                    INVALID);
        }
        if (binary && (header != Header.NO || delimiter != null || nullText != null)) {
            throw new SQLException("COPY HEADER, DELIMITER and NULL are of FORMAT text and csv only", UNSUPPORTED);
        }
        if (!csv && (quote != null || escape != null)) {
            throw new SQLException("COPY " + (quote == null ? "ESCAPE" : "QUOTE") + " is of FORMAT csv only",
                    UNSUPPORTED);
        }
        char around = one("quote", quote == null ? "\"" : quote);
        CopyFormat format = new CopyFormat(binary, csv,
                one("delimiter", delimiter == null ? csv ? "," : "\t" : delimiter),
                nullText == null ? csv ? "" : "\\N" : nullText, header, around,
                escape == null ? around : one("escape", escape));
        format.check();
        return format;
    }

    /** That what was written can be read. */
    private void check() throws SQLException {
        if (csv ? delimiter == quote : "\\.abcdefghijklmnopqrstuvwxyz0123456789".indexOf(delimiter) >= 0) {
            throw new SQLException(csv
                    ? "COPY delimiter and quote must be different"
                    : "COPY delimiter cannot be \"" + delimiter + "\": choose no letter, digit, dot or backslash",
                    INVALID);
        }
        if (nullText.indexOf('\n') >= 0 || nullText.indexOf('\r') >= 0 || nullText.indexOf(delimiter) >= 0
                || (csv && nullText.indexOf(quote) >= 0)) {
            throw new SQLException("COPY null must contain no line break, nor the delimiter, nor the quote of CSV",
                    INVALID);
        }
    }

    private static void encoding(String name) throws SQLException {
        if (!name.matches("(?i)utf-?8")) {
            throw new SQLException("this node copies in UTF8 only", UNSUPPORTED);
        }
    }

    private static char one(String option, String value) throws SQLException {
        if (value.length() != 1 || value.charAt(0) > 127 || value.charAt(0) == '\n' || value.charAt(0) == '\r') {
            throw new SQLException("COPY " + option + " must be a single one-byte character", INVALID);
        }
        return value.charAt(0);
    }

    // ------------------------------------------------------------------------------------------ writing

    /** A row as a line. */
    byte[] line(List<byte @Nullable []> values) {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int i = 0; i < values.size(); i++) {
            if (i > 0) {
                line.write(delimiter);
            }
            byte[] value = values.get(i);
            if (value == null) {
                line.writeBytes(nullText.getBytes(StandardCharsets.UTF_8));
            } else if (csv) {
                quoted(line, value);
            } else {
                escaped(line, value);
            }
        }
        line.write('\n');
        return line.toByteArray();
    }

    private void quoted(ByteArrayOutputStream line, byte[] value) {
        String text = new String(value, StandardCharsets.UTF_8);
        boolean plain = !text.equals(nullText) && !text.equals("\\.")
                && text.chars().noneMatch(at -> at == delimiter || at == quote || at == '\n' || at == '\r');
        if (plain) {
            line.writeBytes(value);
            return;
        }
        line.write(quote);
        for (byte at : value) {
            if (at == quote || at == escape) {
                line.write(escape);
            }
            line.write(at);
        }
        line.write(quote);
    }

    private void escaped(ByteArrayOutputStream line, byte[] value) {
        for (byte at : value) {
            int letter = switch (at) {
                case '\b' -> 'b';
                case '\f' -> 'f';
                case '\n' -> 'n';
                case '\r' -> 'r';
                case '\t' -> 't';
                case 11 -> 'v';
                case '\\' -> '\\';
                default -> at == delimiter ? at : 0;
            };
            if (letter != 0) {
                line.write('\\');
            }
            line.write(letter == 0 ? at : letter);
        }
    }
}
