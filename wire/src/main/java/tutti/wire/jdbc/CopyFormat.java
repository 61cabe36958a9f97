package tutti.wire.jdbc;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import java.util.Set;
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
record CopyFormat(boolean binary, boolean csv, char delimiter, String nullText, boolean header, char quote,
        char escape) {
    private static final String SYNTAX = "42601";
    private static final Set<String> YES = Set.of("true", "on", "1", "match");
    private static final Set<String> NO = Set.of("false", "off", "0");

    /**
     * Reads what stands behind STDIN or STDOUT, in the form with parentheses or in the older one.
     *
     * @throws SQLException with {@code 42601} if it is not understood, {@code 0A000} if it is not supported
     */
    static CopyFormat of(List<Token> options) throws SQLException {
        String format = "text";
        boolean header = false;
        String delimiter = null;
        String nullText = null;
        String quote = "\"";
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
                case "csv", "binary" -> format = name;
                case "format" -> {
                    format = value.value().toLowerCase(Locale.ROOT);
                    i++;
                }
                case "header" -> {
                    String said = i + 1 < options.size() ? options.get(i + 1).lower() : "";
                    header = !NO.contains(said);
                    i += NO.contains(said) || YES.contains(said) ? 1 : 0;
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
                        + " there are FORMAT text, csv and binary, DELIMITER, NULL, HEADER, QUOTE and ESCAPE", "0A000");
            }
        }
        boolean csv = format.equals("csv");
        if (!csv && !format.equals("text") && !format.equals("binary")) {
            throw new SQLException("COPY format \"" + format + "\" not recognized: there are text, csv and binary",
                    "22023");
        }
        return new CopyFormat(format.equals("binary"), csv,
                one("delimiter", delimiter == null ? csv ? "," : "\t" : delimiter),
                nullText == null ? csv ? "" : "\\N" : nullText, header, one("quote", quote),
                one("escape", escape == null ? quote : escape));
    }

    private static void encoding(String name) throws SQLException {
        if (!name.matches("(?i)utf-?8")) {
            throw new SQLException("this node copies in UTF8 only", "0A000");
        }
    }

    private static char one(String option, String value) throws SQLException {
        if (value.length() != 1 || value.charAt(0) > 127 || value.charAt(0) == '\n' || value.charAt(0) == '\r') {
            throw new SQLException("COPY " + option + " must be a single one-byte character", "22023");
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
