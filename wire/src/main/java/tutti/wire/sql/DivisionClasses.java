package tutti.wire.sql;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.catalog.Division;
import tutti.engine.postgres.catalog.References;
import tutti.engine.postgres.catalog.Table;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.wire.sql.SqlText.Token;

/**
 * Computes which classes of {@linkplain Division divided} tables a statement touches: those of the values that it gives the dividing
 * column, in conditions that all have to hold ({@link KeyLookup}) or in the rows that it inserts; those of the values that a function
 * says; otherwise all of the table's.
 *
 * <p>
 * <b>Why none is missed.</b> A row of another class has another value in the column, so it does not meet the conditions, and is not
 * among the inserted ones. A statement that assigns to the column touches all classes. What functions say is held against
 * what they have changed when they are over. Who changes a shared table has all classes of its group, and so meets all who read it.
 */
final class DivisionClasses {
    private static final int INT2_ARRAY = 1005;
    private static final int INT4_ARRAY = 1007;
    private static final int INT8_ARRAY = 1016;

    private final List<Token> tokens;
    private final TableCatalog catalog;
    private final References references;
    private final ReadPlan.Values values;

    DivisionClasses(List<Token> tokens, TableCatalog catalog, References references, ReadPlan.Values values) {
        this.tokens = tokens;
        this.catalog = catalog;
        this.references = references;
        this.values = values;
    }

    /** The classes of all that a statement touches. */
    Set<Long> classes(TouchedTables.Tables tables) {
        Set<Long> whole = new HashSet<>(tables.brought());
        whole.addAll(tables.cascaded());
        Set<Long> classes = new HashSet<>();
        whole.forEach(table -> classes.addAll(all(table, references)));
        for (long table : tables.direct()) {
            if (!whole.contains(table)) {
                classes.addAll(direct(table));
            }
        }
        for (TouchedTables.Part part : tables.parts()) {
            for (long table : part.tables()) {
                classes.addAll(classes(table, said(part)));
            }
        }
        return classes;
    }

    /** All classes of a table. */
    static Set<Long> all(long table, References references) {
        Division division = references.divisions().get(table);
        return division == null ? Set.of(table) : division.all();
    }

    private Set<Long> classes(long table, @Nullable List<Long> of) {
        Division division = references.divisions().get(table);
        if (division == null || of == null) {
            return all(table, references);
        }
        Set<Long> classes = new HashSet<>();
        of.forEach(value -> classes.add(division.of(value)));
        return classes;
    }

    private Set<Long> direct(long hash) {
        Division division = references.divisions().get(hash);
        String column = division == null ? null : division.column();
        Table table = column == null ? null : table(hash);
        if (column == null || table == null || SqlText.mentions(tokens, table.name()) != 1 || assigns(column)) {
            return all(hash, references);
        }
        if (tokens.getFirst().isWord("insert")) {
            return classes(hash, inserted(table, column));
        }
        RowValue value = KeyLookup.value(tokens, catalog, hash, column);
        return classes(hash, value == null ? null : numbers(value));
    }

    private @Nullable Table table(long hash) {
        return catalog.tables().stream().filter(table -> table.hash() == hash).findFirst().orElse(null);
    }

    /** Whether a column of this name stands behind SET, before WHERE. */
    private boolean assigns(String column) {
        boolean set = false;
        for (Token token : tokens) {
            set = token.isWord("set") || (set && !token.isWord("where"));
            if (set && token.isName() && token.text().equals(column)) {
                return true;
            }
        }
        return false;
    }

    /** The values of a column in {@code INSERT INTO table (columns) VALUES (...), ...}; null if not all are known. */
    private @Nullable List<Long> inserted(Table table, String column) {
        int at = 2;
        while (at < tokens.size() && !tokens.get(at).isWord("values") && !tokens.get(at).is('(')) {
            at++;
        }
        List<String> columns = table.columns().stream().map(Table.Column::name).toList();
        if (at < tokens.size() && tokens.get(at).is('(')) {
            List<List<Token>> names = list(at);
            if (names == null || names.stream().anyMatch(name -> name.size() != 1)) {
                return null;
            }
            columns = names.stream().map(name -> name.getFirst().text()).toList();
            at = end(at);
        }
        int place = columns.indexOf(column);
        if (place < 0 || at >= tokens.size() || !tokens.get(at).isWord("values")) {
            return null;
        }
        List<Long> found = new ArrayList<>();
        at++;
        while (at < tokens.size() && tokens.get(at).is('(')) {
            List<List<Token>> row = list(at);
            RowValue value = row == null || row.size() <= place
                    ? null
                    : KeyLookup.value(row.get(place), 0, row.get(place).size());
            List<Long> numbers = value == null ? null : numbers(value);
            if (numbers == null) {
                return null;
            }
            found.addAll(numbers);
            at = end(at);
            if (at < tokens.size() && tokens.get(at).is(',')) {
                at++;
            }
        }
        return at >= tokens.size() || tokens.get(at).isWord("on") || tokens.get(at).isWord("returning") ? found : null;
    }

    /** What stands between the parenthesis at {@code open} and the one that closes it, at the commas; null if none does. */
    private @Nullable List<List<Token>> list(int open) {
        int close = end(open) - 1;
        if (close >= tokens.size()) {
            return null;
        }
        List<List<Token>> parts = new ArrayList<>();
        int depth = 0;
        int start = open + 1;
        for (int i = start; i <= close; i++) {
            Token token = tokens.get(i);
            if (depth == 0 && (token.is(',') || i == close)) {
                if (i > start) {
                    parts.add(tokens.subList(start, i));
                }
                start = i + 1;
            }
            depth += token.is('(') || token.is('[') ? 1 : token.is(')') || token.is(']') ? -1 : 0;
        }
        return parts;
    }

    /** Behind the parenthesis that closes the one at {@code open}. */
    private int end(int open) {
        int depth = 0;
        for (int i = open; i < tokens.size(); i++) {
            depth += tokens.get(i).is('(') ? 1 : tokens.get(i).is(')') ? -1 : 0;
            if (depth == 0) {
                return i + 1;
            }
        }
        return tokens.size() + 1;
    }

    /** The values of which a function says that it touches their rows; null if they are not known. */
    private @Nullable List<Long> said(TouchedTables.Part part) {
        String text = part.value().text();
        if (!text.startsWith("$")) {
            return List.of(Long.parseLong(text));
        }
        String function = part.function();
        if (function == null || SqlText.mentions(tokens, function) != 1) {
            return null;
        }
        for (int i = 0; i + 1 < tokens.size(); i++) {
            if (tokens.get(i).isName() && tokens.get(i).text().equals(function) && tokens.get(i + 1).is('(')) {
                List<List<Token>> arguments = list(i + 1);
                int index = Integer.parseInt(text.substring(1)) - 1;
                if (arguments == null || index < 0 || index >= arguments.size()) {
                    return null;
                }
                RowValue value = KeyLookup.value(arguments.get(index), 0, arguments.get(index).size());
                List<Long> numbers = value == null ? null : numbers(value);
                return numbers == null || numbers.isEmpty() ? null : numbers;
            }
        }
        return null;
    }

    /** The numbers that a value stands for: none for NULL, several for an array; null if it is something else. */
    private @Nullable List<Long> numbers(RowValue value) {
        return switch (value) {
            case RowValue.Literal literal -> numbers(literal.text());
            case RowValue.Parameter(int index) -> {
                if (index >= values.count()) {
                    yield null;
                }
                byte[] bytes = values.value(index);
                yield bytes == null
                        ? List.of()
                        : values.binary(index)
                                ? binary(values.type(index), ByteBuffer.wrap(bytes))
                                : numbers(new String(bytes, StandardCharsets.UTF_8));
            }
        };
    }

    private static @Nullable List<Long> numbers(String text) {
        String stripped = text.strip();
        if (stripped.equals("{}")) {
            return List.of();
        }
        boolean array = stripped.startsWith("{") && stripped.endsWith("}");
        List<Long> numbers = new ArrayList<>();
        for (String part : (array ? stripped.substring(1, stripped.length() - 1) : stripped).split(",", -1)) {
            String number = array ? unquoted(part.strip()) : part.strip();
            if (!RowValue.INTEGER.matcher(number).matches()) {
                return null;
            }
            numbers.add(Long.parseLong(number));
        }
        return array || numbers.size() == 1 ? numbers : null;
    }

    /** An array's element without the quotes that it may stand in, as those do that pgjdbc writes. */
    private static String unquoted(String element) {
        boolean quoted = element.length() > 1 && element.startsWith("\"") && element.endsWith("\"");
        return (quoted ? element.substring(1, element.length() - 1) : element).strip();
    }

    private static @Nullable List<Long> binary(int type, ByteBuffer bytes) {
        int size = switch (type) {
            case RowValue.INT2, INT2_ARRAY -> 2;
            case RowValue.INT4, INT4_ARRAY -> 4;
            case RowValue.INT8, INT8_ARRAY -> 8;
            default -> 0;
        };
        if (size == 0) {
            return null;
        }
        if (type == RowValue.INT2 || type == RowValue.INT4 || type == RowValue.INT8) {
            return bytes.remaining() == size ? List.of(number(bytes, size)) : null;
        }
        // Dimensions, whether there are NULLs, type of the elements; of the only dimension: size, lower bound.
        int dimensions = bytes.getInt();
        int nulls = bytes.getInt();
        bytes.getInt();
        if (dimensions == 0) {
            return List.of();
        }
        if (dimensions != 1 || nulls != 0) {
            return null;
        }
        int count = bytes.getInt();
        bytes.getInt();
        List<Long> numbers = new ArrayList<>();
        for (int i = 0; i < count && bytes.getInt() == size; i++) {
            numbers.add(number(bytes, size));
        }
        return numbers.size() == count ? numbers : null;
    }

    private static long number(ByteBuffer bytes, int size) {
        return size == 2 ? bytes.getShort() : size == 4 ? bytes.getInt() : bytes.getLong();
    }
}
