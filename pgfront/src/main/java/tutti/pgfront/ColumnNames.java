package tutti.pgfront;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.wire.sql.SqlTokens;

/**
 * What PostgreSQL calls the columns of a query that are neither a table's columns nor given a name: after their function,
 * {@code case}, the type they are cast to, or else {@code ?column?}. The engines have other names for them, and clients that
 * read columns by name ask for {@code count} and {@code max}.
 */
final class ColumnNames {
    private static final String UNKNOWN = "?column?";
    private static final Set<String> END_OF_LIST = Set.of("from", "where", "group", "having", "window", "union",
            "intersect", "except", "order", "limit", "offset", "fetch", "for", "into");
    /** Words after which another one is not a new name. */
    private static final Set<String> OPERATORS = Set.of("and", "or", "not", "is", "like", "ilike", "in", "between",
            "from", "distinct", "similar", "to", "collate", "zone", "over", "interval", "date", "time", "timestamp",
            "escape", "isnull", "notnull", "overlaps", "at", "any", "all", "some", "else", "then", "when", "case");
    private static final Set<String> NOT_NAMES = Set.of("end", "null", "true", "false", "isnull", "notnull", "unknown",
            "precision", "varying", "zone");
    private static final Set<String> VALUES = Set.of("current_date", "current_time", "current_timestamp", "localtime",
            "localtimestamp", "current_user", "session_user", "user", "current_role", "current_schema",
            "current_catalog");
    private static final Set<String> TYPES_OF_LITERALS = Set.of("interval", "date", "time", "timestamp", "timestamptz");
    private static final Set<String> UNITS = Set.of("year", "month", "day", "hour", "minute", "second");
    /** How the server calls types for which SQL has other words. */
    private static final Map<String, String> TYPES = Map.ofEntries(Map.entry("int", "int4"),
            Map.entry("integer", "int4"), Map.entry("smallint", "int2"), Map.entry("bigint", "int8"),
            Map.entry("real", "float4"), Map.entry("float", "float8"), Map.entry("double precision", "float8"),
            Map.entry("decimal", "numeric"), Map.entry("dec", "numeric"), Map.entry("boolean", "bool"),
            Map.entry("character varying", "varchar"), Map.entry("character", "bpchar"), Map.entry("char", "bpchar"));

    private ColumnNames() {}

    /**
     * Names of a query's columns.
     *
     * @param query its words
     * @param columns how many columns it has
     * @return as many; null where the column has a name of its own
     */
    static List<@Nullable String> of(List<Token> query, int columns) {
        List<@Nullable String> names = new ArrayList<>();
        List<List<Token>> items = items(query);
        int star = -1;
        for (int i = 0; i < items.size(); i++) {
            if (items.get(i).getLast().is('*') && (items.get(i).size() == 1 || before(items.get(i)).is('.'))) {
                if (star >= 0) {
                    return none(columns);
                }
                star = i;
            }
        }
        int starred = star < 0 ? 0 : columns - items.size() + 1;
        if (starred < 0 || (star < 0 && items.size() != columns)) {
            return !query.isEmpty() && query.getFirst().is("values") ? numbered(columns) : none(columns);
        }
        for (int i = 0; i < items.size(); i++) {
            if (i == star) {
                names.addAll(none(starred));
            } else {
                names.add(aliased(items.get(i)) ? null : name(items.get(i)));
            }
        }
        return names;
    }

    private static Token before(List<Token> item) {
        return item.get(item.size() - 2);
    }

    private static List<@Nullable String> none(int columns) {
        List<@Nullable String> names = new ArrayList<>();
        for (int i = 0; i < columns; i++) {
            names.add(null);
        }
        return names;
    }

    /** As the rows of VALUES have them. */
    private static List<@Nullable String> numbered(int columns) {
        List<@Nullable String> names = new ArrayList<>();
        for (int i = 1; i <= columns; i++) {
            names.add("column" + i);
        }
        return names;
    }

    /** What the query selects, between commas; empty if it is not a SELECT. */
    private static List<List<Token>> items(List<Token> query) {
        int at = 0;
        while (at < query.size() && query.get(at).is('(')) {
            at++;
        }
        int depth = 0;
        while (at < query.size() && (depth > 0 || !query.get(at).is("select"))) {
            depth += query.get(at).is('(') ? 1 : query.get(at).is(')') ? -1 : 0;
            at++;
        }
        at++;
        if (at < query.size() && (query.get(at).is("all") || query.get(at).is("distinct"))) {
            at++;
            if (at < query.size() && query.get(at).is("on")) {
                at = closing(query, at + 1) + 1;
            }
        }
        List<List<Token>> items = new ArrayList<>();
        List<Token> item = new ArrayList<>();
        for (; at < query.size(); at++) {
            Token token = query.get(at);
            if (depth == 0 && (token.is(')') || (END_OF_LIST.contains(token.lower()) && !distinctFrom(query, at)))) {
                break;
            }
            depth += opens(token) ? 1 : closes(token) ? -1 : 0;
            if (depth == 0 && token.is(',')) {
                items.add(item);
                item = new ArrayList<>();
            } else {
                item.add(token);
            }
        }
        items.add(item);
        return items.stream().anyMatch(List::isEmpty) ? List.of() : items;
    }

    private static boolean opens(Token token) {
        return token.is('(') || token.is('[');
    }

    private static boolean closes(Token token) {
        return token.is(')') || token.is(']');
    }

    private static boolean distinctFrom(List<Token> query, int at) {
        return query.get(at).is("from") && query.get(at - 1).is("distinct");
    }

    /** Index of what closes the parenthesis or bracket there, or of the last word. */
    private static int closing(List<Token> tokens, int opening) {
        int depth = 0;
        for (int at = opening; at < tokens.size(); at++) {
            depth += opens(tokens.get(at)) ? 1 : closes(tokens.get(at)) ? -1 : 0;
            if (depth == 0) {
                return at;
            }
        }
        return tokens.size() - 1;
    }

    private static boolean aliased(List<Token> item) {
        Token last = item.getLast();
        if (item.size() < 2 || !last.name() || NOT_NAMES.contains(last.lower())
                || (item.getFirst().is("interval") && UNITS.contains(last.lower()))) {
            return false;
        }
        Token before = before(item);
        if (before.kind() == SqlTokens.WORD) {
            return !OPERATORS.contains(before.lower());
        }
        return closes(before) || before.kind() == SqlTokens.QUOTED || before.kind() == SqlTokens.STRING
                || before.kind() == SqlTokens.NUMBER || before.kind() == Token.PARAMETER;
    }

    /** Of an expression without an alias; null if it is a table's column. */
    private static @Nullable String name(List<Token> item) {
        Token first = item.getFirst();
        int cast = lastCast(item);
        if (cast > 0 && TypeName.at(item, cast + 2).end() == item.size() && primary(item.subList(0, cast))) {
            return orType(item.subList(0, cast), TypeName.at(item, cast + 2).name());
        }
        if (first.is('(') && closing(item, 0) == item.size() - 1) {
            List<Token> inner = item.subList(1, item.size() - 1);
            if (inner.isEmpty()) {
                return UNKNOWN;
            }
            return inner.getFirst().is("select") ? ofSubquery(inner) : column(inner) ? last(inner) : name(inner);
        }
        if (first.is("case") && item.getLast().is("end")) {
            return ofCase(item);
        }
        if (item.size() == 1) {
            return VALUES.contains(first.lower()) ? first.lower() : column(item) ? null : UNKNOWN;
        }
        if (TYPES_OF_LITERALS.contains(first.lower()) && item.get(1).string()) {
            return first.lower();
        }
        if (column(item)) {
            return null;
        }
        return ofFunction(item);
    }

    private static int lastCast(List<Token> item) {
        int found = -1;
        int depth = 0;
        for (int at = 0; at + 1 < item.size(); at++) {
            depth += opens(item.get(at)) ? 1 : closes(item.get(at)) ? -1 : 0;
            if (depth == 0 && item.get(at).is(':') && item.get(at + 1).is(':')) {
                found = at;
                at++;
            }
        }
        return found;
    }

    /** Whether a cast behind these words is of all of them, rather than of what follows an operator. */
    private static boolean primary(List<Token> words) {
        return Casts.operand(words) == 0 || lastCast(words) > 0;
    }

    private static boolean column(List<Token> words) {
        for (int at = 0; at < words.size(); at++) {
            if (at % 2 == 0
                    ? !words.get(at).name() || NOT_NAMES.contains(words.get(at).lower())
                    : !words.get(at).is('.')) {
                return false;
            }
        }
        return words.size() % 2 == 1;
    }

    private static String last(List<Token> column) {
        Token last = column.getLast();
        return last.kind() == SqlTokens.QUOTED ? last.value() : last.lower();
    }

    private static String ofSubquery(List<Token> query) {
        List<List<Token>> items = items(query);
        if (items.size() != 1) {
            return UNKNOWN;
        }
        List<Token> item = items.getFirst();
        String name = aliased(item) || column(item) ? last(item) : name(item);
        return name == null ? UNKNOWN : name;
    }

    private static String ofCase(List<Token> item) {
        for (int at = item.size() - 2; at > 0 && !item.get(at).is("then"); at--) {
            if (item.get(at).is("else") && column(item.subList(at + 1, item.size() - 1))) {
                return last(item.subList(at + 1, item.size() - 1));
            }
        }
        return "case";
    }

    private static String orType(List<Token> operand, String type) {
        if (operand.isEmpty()) {
            return UNKNOWN;
        }
        String name = column(operand) ? last(operand) : name(operand);
        return name == null || name.equals(UNKNOWN) ? TYPES.getOrDefault(type, type) : name;
    }

    private static String ofFunction(List<Token> item) {
        int opening = 0;
        while (opening < item.size() && !opens(item.get(opening))) {
            opening++;
        }
        if (opening == 0 || opening == item.size() || !column(item.subList(0, opening))
                || OPERATORS.contains(item.get(opening - 1).lower())) {
            return UNKNOWN;
        }
        String function = last(item.subList(0, opening));
        int at = closing(item, opening) + 1;
        while (at < item.size() && (item.get(at).is("filter") || item.get(at).is("within") || item.get(at).is("over")
                || item.get(at).is("ignore") || item.get(at).is("respect"))) {
            at += item.get(at).is("filter") || item.get(at).is("over") ? 1 : 2;
            if (at < item.size() && item.get(at).is('(')) {
                at = closing(item, at) + 1;
            } else if (at < item.size() && item.get(at - 1).is("over")) {
                at++;
            }
        }
        if (at < item.size()) {
            return UNKNOWN;
        }
        if (function.equals("cast")) {
            List<Token> inner = item.subList(opening + 1, item.size() - 1);
            for (int as = inner.size() - 1; as > 0; as--) {
                if (inner.get(as).is("as")) {
                    return orType(inner.subList(0, as), TypeName.at(inner, as + 1).name());
                }
            }
        }
        return function.equals("trim") ? "btrim" : function;
    }
}
