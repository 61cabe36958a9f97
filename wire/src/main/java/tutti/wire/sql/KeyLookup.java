package tutti.wire.sql;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.catalog.Table;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.wire.sql.SqlText.Token;

/**
 * Finds out which rows a statement looks for by their primary keys. Understands SELECT, UPDATE and DELETE over tables that are
 * joined by conditions which all have to hold; of each table it finds out whether the conditions give every column of the
 * primary key a value, written or bound, directly or by way of another table's column. About everything else it says
 * nothing, which means: any row.
 *
 * <p>
 * <b>Why that is right.</b> A row can be read only if all conjuncts hold for it, so one with another key than the given
 * values is never seen, whether it exists or not. Outer joins, alternatives, subqueries and the like may make a conjunct
 * not decisive; a statement that contains any of them is not understood.
 */
final class KeyLookup {
    private static final Set<String> NOT_UNDERSTOOD = Set.of("union", "intersect", "except", "with", "lateral", "left",
            "right", "full", "natural", "using", "tablesample", "case", "between", "or", "rows", "unnest", "xmltable",
            "json_table", "into", "array", "exists", "recursive", "current", "set_masklen");
    private static final Set<String> TAIL = Set.of("group", "having", "window", "order", "limit", "offset", "fetch",
            "for", "returning");
    private static final Set<String> BEFORE_JOIN = Set.of("inner", "cross");
    private static final Set<String> NO_ALIAS = Set.of("join", "inner", "cross", "on", "where", "set", "group",
            "having",
            "window", "order", "limit", "offset", "fetch", "for", "returning", "from");
    private static final Set<String> CASTS = Set.of("int", "int2", "int4", "int8", "integer", "bigint", "smallint",
            "text",
            "varchar");

    /** A table and the values of its primary key, in the order of the key's columns. */
    record Row(Table table, List<RowValue> values) {}

    /** A table in FROM, under the name by which its columns may be qualified. */
    private record Item(Table table, String name) {}

    private record ColumnOf(int item, String column) {}

    private final List<Token> tokens;
    private final TableCatalog catalog;
    private final List<Item> items = new ArrayList<>();
    /** Columns that are equal, as a forest. */
    private final Map<ColumnOf, ColumnOf> parents = new HashMap<>();
    private final Map<ColumnOf, RowValue> values = new HashMap<>();
    private int at;

    private KeyLookup(List<Token> tokens, TableCatalog catalog) {
        this.tokens = tokens;
        this.catalog = catalog;
    }

    /** The rows that are looked for, of those tables for which that is known. */
    static List<Row> of(List<Token> tokens, TableCatalog catalog) {
        KeyLookup lookup = new KeyLookup(tokens, catalog);
        return lookup.understand() ? lookup.rows() : List.of();
    }

    /** The value that the conditions give a column of a table, which is named once; null if they give none. */
    static @Nullable RowValue value(List<Token> tokens, TableCatalog catalog, long table, String column) {
        KeyLookup lookup = new KeyLookup(tokens, catalog);
        if (!lookup.understand()) {
            return null;
        }
        for (int item = 0; item < lookup.items.size(); item++) {
            if (lookup.items.get(item).table().hash() == table) {
                return lookup.values.get(lookup.root(new ColumnOf(item, column)));
            }
        }
        return null;
    }

    private @Nullable Token token() {
        return at < tokens.size() ? tokens.get(at) : null;
    }

    private boolean word(String word) {
        Token token = token();
        return token != null && token.isWord(word);
    }

    private boolean accept(String word) {
        if (word(word)) {
            at++;
            return true;
        }
        return false;
    }

    private boolean at(char punctuation) {
        Token token = token();
        return token != null && token.is(punctuation);
    }

    private boolean accept(char punctuation) {
        if (at(punctuation)) {
            at++;
            return true;
        }
        return false;
    }

    private boolean understand() {
        long selects = tokens.stream().filter(token -> token.isWord("select")).count();
        if (tokens.stream().anyMatch(token -> token.isWordOf(NOT_UNDERSTOOD))) {
            return false;
        }
        if (accept("select")) {
            return selects == 1 && skipTo("from") && from() && conditions();
        }
        if (selects > 0) {
            return false;
        }
        if (accept("update")) {
            return item() && skipTo("set") && afterSet() && conditions();
        }
        return accept("delete") && accept("from") && item() && conditions();
    }

    /** Steps behind a word outside of parentheses. */
    private boolean skipTo(String word) {
        int depth = 0;
        for (; at < tokens.size(); at++) {
            Token token = tokens.get(at);
            depth += token.is('(') ? 1 : token.is(')') ? -1 : 0;
            if (depth == 0 && token.isWord(word)) {
                at++;
                return true;
            }
        }
        return false;
    }

    /** The assignments of an UPDATE, and its FROM if it has one. */
    private boolean afterSet() {
        int depth = 0;
        for (; at < tokens.size(); at++) {
            Token token = tokens.get(at);
            depth += token.is('(') ? 1 : token.is(')') ? -1 : 0;
            if (depth == 0 && token.isWord("where")) {
                return true;
            }
            if (depth == 0 && token.isWord("from")) {
                at++;
                return from();
            }
        }
        return true;
    }

    private boolean from() {
        if (!item()) {
            return false;
        }
        while (true) {
            if (accept(',')) {
                if (!item()) {
                    return false;
                }
                continue;
            }
            Token token = token();
            if (token != null && token.isWordOf(BEFORE_JOIN)) {
                at++;
            }
            if (!accept("join")) {
                return true;
            }
            if (!item() || (accept("on") && !conjunction())) {
                return false;
            }
        }
    }

    private boolean item() {
        accept("only");
        Token first = token();
        if (first == null || !first.isName()) {
            return false;
        }
        at++;
        Table table;
        String name = first.text();
        if (accept('.')) {
            Token second = token();
            if (second == null || !second.isName()) {
                return false;
            }
            at++;
            name = second.text();
            table = catalog.table(first.text(), name);
        } else {
            table = unique(name);
        }
        accept('*');
        if (table == null || at('(')) {
            return false;
        }
        boolean as = accept("as");
        Token alias = token();
        if (alias != null && alias.isName() && (as || !alias.isWordOf(NO_ALIAS))) {
            at++;
            name = alias.text();
        }
        if (at('(')) {
            return false;
        }
        items.add(new Item(table, name));
        return true;
    }

    private @Nullable Table unique(String name) {
        Table found = null;
        for (Table table : catalog.tables()) {
            if (table.name().equals(name)) {
                if (found != null) {
                    return null;
                }
                found = table;
            }
        }
        return found;
    }

    private boolean conditions() {
        Token next = token();
        return next == null || (accept("where") ? conjunction() : next.isWordOf(TAIL));
    }

    /** Conditions joined by AND, up to what may follow them. */
    private boolean conjunction() {
        int start = at;
        int depth = 0;
        for (; at < tokens.size(); at++) {
            Token token = tokens.get(at);
            depth += token.is('(') ? 1 : token.is(')') ? -1 : 0;
            if (depth < 0) {
                return false;
            }
            if (depth > 0) {
                continue;
            }
            if (token.isWord("and")) {
                equation(start, at);
                start = at + 1;
            } else if (token.isWordOf(TAIL) || token.isWord("where") || token.isWord("join") || token.is(',')
                    || token.isWordOf(BEFORE_JOIN)) {
                break;
            }
        }
        equation(start, at);
        return depth == 0;
    }

    /** Learns from a condition if it is an equation of a column and a value or another column. */
    private void equation(int from, int to) {
        int middle = -1;
        for (int i = from; i < to; i++) {
            if (tokens.get(i).is('=')) {
                if (middle >= 0) {
                    return;
                }
                middle = i;
            }
        }
        if (middle <= from || middle >= to - 1 || operator(middle - 1) || operator(middle + 1)) {
            return;
        }
        ColumnOf left = column(from, middle);
        ColumnOf right = column(middle + 1, to);
        if (left != null && right != null) {
            ColumnOf one = root(left);
            ColumnOf other = root(right);
            if (!one.equals(other) && sameType(left, right)) {
                parents.put(one, other);
                RowValue value = values.remove(one);
                if (value != null) {
                    values.putIfAbsent(other, value);
                }
            }
        } else if (left != null || right != null) {
            RowValue value = left == null ? value(from, middle) : value(middle + 1, to);
            if (value != null) {
                values.putIfAbsent(root(left == null ? java.util.Objects.requireNonNull(right) : left), value);
            }
        }
    }

    /** Whether the token would make another operator of an equals sign beside it. */
    private boolean operator(int index) {
        Token token = tokens.get(index);
        return token.kind() > SqlTokens.NUMBER && "+*/<>=~!@#%^&|`?-".indexOf(token.kind()) >= 0
                && !(token.is('-') && index + 1 < tokens.size() && tokens.get(index + 1).kind() == SqlTokens.NUMBER);
    }

    private boolean sameType(ColumnOf one, ColumnOf other) {
        String type = definition(one).type();
        return type.equals(definition(other).type());
    }

    private Table.Column definition(ColumnOf column) {
        return items.get(column.item()).table().columns().stream()
                .filter(candidate -> candidate.name().equals(column.column())).findFirst().orElseThrow();
    }

    private ColumnOf root(ColumnOf column) {
        ColumnOf root = column;
        for (ColumnOf up = parents.get(root); up != null; up = parents.get(root)) {
            root = up;
        }
        return root;
    }

    private @Nullable ColumnOf column(int from, int to) {
        String qualifier = null;
        int name = from;
        if (to - from == 3 && tokens.get(from).isName() && tokens.get(from + 1).is('.')) {
            qualifier = tokens.get(from).text();
            name = from + 2;
        } else if (to - from != 1) {
            return null;
        }
        if (!tokens.get(name).isName()) {
            return null;
        }
        ColumnOf found = null;
        for (int item = 0; item < items.size(); item++) {
            if (qualifier != null && !items.get(item).name().equals(qualifier)) {
                continue;
            }
            for (Table.Column column : items.get(item).table().columns()) {
                if (column.name().equals(tokens.get(name).text())) {
                    if (found != null) {
                        return null;
                    }
                    found = new ColumnOf(item, column.name());
                }
            }
        }
        return found;
    }

    private @Nullable RowValue value(int from, int to) {
        return value(tokens, from, to);
    }

    /** The value that is written, or bound, by these tokens and nothing else; null if they are something else. */
    static @Nullable RowValue value(List<Token> tokens, int from, int to) {
        int start = from;
        int end = to;
        while (end - start > 2 && tokens.get(start).is('(') && tokens.get(end - 1).is(')')) {
            start++;
            end--;
        }
        if (end - start > 3 && tokens.get(end - 1).isWordOf(CASTS) && tokens.get(end - 2).is(':')
                && tokens.get(end - 3).is(':')) {
            end -= 3;
        }
        if (end - start > 2 && tokens.get(start).is('(') && tokens.get(end - 1).is(')')) {
            start++;
            end--;
        }
        boolean negative = end - start == 2 && tokens.get(start).is('-');
        if (negative) {
            start++;
        }
        if (end - start != 1) {
            return null;
        }
        Token token = tokens.get(start);
        if (token.kind() == SqlTokens.STRING && token.plain() && !negative) {
            return new RowValue.Literal(token.text());
        }
        if (token.kind() != SqlTokens.NUMBER) {
            return null;
        }
        if (token.text().startsWith("$")) {
            return negative ? null : new RowValue.Parameter(Integer.parseInt(token.text().substring(1)) - 1);
        }
        return new RowValue.Literal((negative ? "-" : "") + token.text());
    }

    private List<Row> rows() {
        List<Row> rows = new ArrayList<>();
        for (int item = 0; item < items.size(); item++) {
            Table table = items.get(item).table();
            if (!table.hasKey() || table.key().opaque()) {
                continue;
            }
            List<RowValue> key = new ArrayList<>();
            for (int column : table.key().columns()) {
                RowValue value = values.get(root(new ColumnOf(item, table.columns().get(column).name())));
                if (value != null) {
                    key.add(value);
                }
            }
            if (key.size() == table.key().columns().size()) {
                rows.add(new Row(table, key));
            }
        }
        return rows;
    }
}
