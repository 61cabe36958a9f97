package tutti.pgfront;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.wire.sql.SqlTokens;

/**
 * What the words around a parameter say of its type. The engines infer less than PostgreSQL does: H2 knows the types of
 * parameters that are compared with a column or stored in one, and of no others, and HSQLDB refuses statements with such.
 * Clients that encode values by the types that they are told, as pgx does, need more.
 */
final class ParameterHints {
    private static final Set<String> COUNTS = Set.of("limit", "offset", "first", "next");
    private static final Set<String> ANY = Set.of("any", "all", "some");
    private static final Set<String> TEXTS = Set.of("like", "ilike");
    private static final Set<String> SAME_TYPE = Set.of("coalesce", "greatest", "least", "nullif");
    private static final String ARITHMETIC = "+-*/%";
    private static final String COMPARISON = "=<>!";

    private final List<Token> tokens;
    private final Set<String> words = new HashSet<>();
    /** Where each parameter stands. */
    private final Map<Integer, List<Integer>> places = new HashMap<>();
    /** By name; what has been looked for already. */
    private final Map<String, Optional<PgType.Column>> columns = new HashMap<>();

    /** Of a statement as the client wrote it. */
    ParameterHints(List<Token> tokens) {
        this.tokens = tokens;
        for (int i = 0; i < tokens.size(); i++) {
            Token token = tokens.get(i);
            if (token.kind() == Token.PARAMETER) {
                places.computeIfAbsent(Integer.valueOf(token.text().substring(1)), _ -> new ArrayList<>(1)).add(i);
            } else if (token.name()) {
                words.add(Dialect.fold(token.kind() == SqlTokens.WORD ? token.lower() : token.value()));
            }
        }
    }

    /**
     * The type that a parameter is cast to.
     *
     * @param parameter from 1
     * @return null if it is not
     */
    PgType.@Nullable Column cast(int parameter) {
        for (int i : places.getOrDefault(parameter, List.of())) {
            if (token(i + 1).is(':') && token(i + 2).is(':')) {
                return named(TypeName.at(tokens, i + 3));
            }
            if (token(i - 1).is('(') && token(i - 2).is("cast") && token(i + 1).is("as")) {
                return named(TypeName.at(tokens, i + 2));
            }
        }
        return null;
    }

    /**
     * The type of a parameter that is not cast.
     *
     * @param parameter from 1
     * @param connection to the database, whose columns are looked at
     * @return null if nothing is said of it
     */
    PgType.@Nullable Column type(int parameter, Connection connection) throws SQLException {
        for (int i : places.getOrDefault(parameter, List.of())) {
            PgType.Column type = at(i, connection);
            if (type != null) {
                return type;
            }
        }
        return null;
    }

    private Token token(int at) {
        return at >= 0 && at < tokens.size() ? tokens.get(at) : new Token(SqlTokens.END, "", false);
    }

    private boolean oneOf(int at, Set<String> wanted) {
        return token(at).kind() == SqlTokens.WORD && wanted.contains(token(at).lower());
    }

    private boolean oneOf(int at, String characters) {
        return token(at).text().length() >= 1 && token(at).text().chars().allMatch(c -> characters.indexOf(c) >= 0);
    }

    private PgType.@Nullable Column at(int i, Connection connection) throws SQLException {
        if (oneOf(i - 1, COUNTS)) {
            return PgType.Column.of(PgType.INT8);
        }
        if (oneOf(i - 1, TEXTS) || oneOf(i - 1, "|") || oneOf(i + 1, "|") || oneOf(i + 1, TEXTS)) {
            return PgType.Column.of(PgType.TEXT);
        }
        if (token(i - 1).is('(') && oneOf(i - 2, ANY) && oneOf(i - 3, COMPARISON)) {
            PgType.Column element = before(i - 3, connection);
            return element == null || element.array() ? null : new PgType.Column(element.type(), true, -1);
        }
        if (oneOf(i - 1, COMPARISON) || oneOf(i - 1, ARITHMETIC)) {
            PgType.Column other = before(i - 1, connection);
            return oneOf(i - 1, ARITHMETIC) ? number(other) : other;
        }
        if (oneOf(i + 1, COMPARISON) || oneOf(i + 1, ARITHMETIC)) {
            int operand = i + 1;
            while (oneOf(operand, COMPARISON) || oneOf(operand, ARITHMETIC)) {
                operand++;
            }
            PgType.Column other = behind(operand, connection);
            return oneOf(i + 1, ARITHMETIC) ? number(other) : other;
        }
        return inList(i, connection);
    }

    /** In BETWEEN, IN (...) and functions whose arguments have one type. */
    private PgType.@Nullable Column inList(int i, Connection connection) throws SQLException {
        if (token(i - 1).is("between")) {
            return beforeWord(i - 1, connection);
        }
        if (token(i - 1).is("and") && token(i - 3).is("between")) {
            return beforeWord(i - 3, connection);
        }
        int open = i - 1;
        while (open >= 0 && !token(open).is('(')) {
            Token between = token(open);
            if (!between.is(',') && !between.is('.') && !between.name() && !between.string()
                    && between.kind() != Token.PARAMETER && between.kind() != SqlTokens.NUMBER) {
                return null;
            }
            open--;
        }
        if (token(open - 1).is("in")) {
            return beforeWord(open - 1, connection);
        }
        if (oneOf(open - 1, SAME_TYPE)) {
            for (int at = open + 1; at < tokens.size() && !token(at).is(')'); at++) {
                if (token(at - 1).is('(') || token(at - 1).is(',')) {
                    PgType.Column same = behind(at, connection);
                    if (same != null) {
                        return same;
                    }
                }
            }
        }
        return null;
    }

    private PgType.@Nullable Column beforeWord(int word, Connection connection) throws SQLException {
        return before(token(word - 1).is("not") ? word - 1 : word, connection);
    }

    /** The type of the operand that ends before an operator. */
    private PgType.@Nullable Column before(int operator, Connection connection) throws SQLException {
        int at = operator - 1;
        while (oneOf(at, COMPARISON)) {
            at--;
        }
        if (token(at).is(']') || token(at).is(')')) {
            return null;
        }
        if (token(at - 1).is(':') && token(at - 2).is(':')) {
            return named(TypeName.at(tokens, at));
        }
        return operand(at, connection);
    }

    /** The type of the operand that begins somewhere. */
    private PgType.@Nullable Column behind(int start, Connection connection) throws SQLException {
        int at = start;
        while (token(at).name() && token(at + 1).is('.') && token(at + 2).name()) {
            at += 2;
        }
        return token(at + 1).is('(') ? null : operand(at, connection);
    }

    private PgType.@Nullable Column operand(int at, Connection connection) throws SQLException {
        Token token = token(at);
        if (token.kind() == SqlTokens.NUMBER) {
            return PgType.Column.of(token.text().matches("\\d{1,9}") ? PgType.INT4 : PgType.NUMERIC);
        }
        return token.name() ? column(token, connection) : null;
    }

    /** Of arithmetic with times, it is not told which type the other operand has. */
    private static PgType.@Nullable Column number(PgType.@Nullable Column type) {
        return type != null && !type.array() && type.type().category() == 'N' ? type : null;
    }

    /** The type that all columns of this name have in the tables that the statement names. */
    private PgType.@Nullable Column column(Token token, Connection connection) throws SQLException {
        String name = Dialect.fold(token.kind() == SqlTokens.WORD ? token.lower() : token.value());
        Optional<PgType.Column> known = columns.get(name);
        if (known == null) {
            known = Optional.ofNullable(columnNamed(name, connection));
            columns.put(name, known);
        }
        return known.orElse(null);
    }

    private PgType.@Nullable Column columnNamed(String name, Connection connection) throws SQLException {
        PgType.Column type = null;
        DatabaseMetaData metaData = connection.getMetaData();
        String escape = metaData.getSearchStringEscape();
        String pattern = name.replace(escape, escape + escape).replace("_", escape + "_").replace("%", escape + "%");
        try (ResultSet rows = metaData.getColumns(null, connection.getSchema(), null, pattern)) {
            while (rows.next()) {
                if (words.contains(rows.getString("TABLE_NAME"))) {
                    PgType.Column there = PgType.of(rows.getInt("DATA_TYPE"), rows.getString("TYPE_NAME"), 0, 0);
                    if (type != null && !type.equals(there)) {
                        return null;
                    }
                    type = there;
                }
            }
        }
        return type;
    }

    private static PgType.@Nullable Column named(TypeName type) {
        PgType known = PgType.ofName(type.name() + type.suffix().replaceFirst("\\(.*?\\)", "").replace(" ARRAY", ""));
        return known == null ? null : new PgType.Column(known, type.suffix().endsWith("ARRAY"), -1);
    }

    // ------------------------------------------------------------------------------------------ casts

    /**
     * The statement with casts of those parameters that stand for themselves: results, and branches of CASE. Without them
     * the engines do not know what these are.
     *
     * @param declared object ids of the parameters' types, as far as the client has declared them
     * @param all whether others are cast, too: they become text, as in PostgreSQL
     */
    static List<Token> withCasts(List<Token> tokens, int[] declared, boolean all) {
        List<Token> out = new ArrayList<>(tokens.size());
        // Of each open parenthesis, and of the whole: whether this is the list of what is selected.
        Deque<Boolean> selected = new ArrayDeque<>(List.of(false));
        for (int i = 0; i < tokens.size(); i++) {
            Token token = tokens.get(i);
            out.add(token);
            follow(token, selected);
            if (token.kind() == Token.PARAMETER && i > 0 && standsForItself(tokens, i, selected.getFirst())) {
                int index = Integer.parseInt(token.text().substring(1)) - 1;
                int oid = index < declared.length ? declared[index] : 0;
                PgType element = PgType.ofArrayOid(oid);
                PgType type = element == null ? PgType.ofOid(oid) : element;
                if (all || (type != null && !type.character())) {
                    String name = type == null || type == PgType.UNKNOWN ? "text" : type.internalName();
                    out.addAll(Token.statements("::" + name + (element == null ? "" : "[]")).getFirst());
                }
            }
        }
        return out;
    }

    private static void follow(Token token, Deque<Boolean> selected) {
        if (token.is('(')) {
            selected.push(false);
        } else if (token.is(')') && selected.size() > 1) {
            selected.pop();
        } else if (token.kind() == SqlTokens.WORD) {
            switch (token.lower()) {
                case "select" -> {
                    selected.pop();
                    selected.push(true);
                }
                case "from", "where", "values", "by", "set" -> {
                    selected.pop();
                    selected.push(false);
                }
                default -> {
                    // It begins and ends no such list.
                }
            }
        }
    }

    private static boolean standsForItself(List<Token> tokens, int at, boolean selected) {
        Token before = tokens.get(at - 1);
        if (at + 1 < tokens.size() && tokens.get(at + 1).is(':')) {
            return false;
        }
        return before.is("select") || before.is("then") || before.is("else") || before.is("distinct")
                || (before.is(',') && selected);
    }

    /** Whether an engine has refused a statement because it does not know a parameter's type. */
    static boolean unknownType(SQLException failed) {
        return switch (failed.getErrorCode()) {
            case 50004 -> true; // H2: UNKNOWN_DATA_TYPE_1
            case -5567 -> true; // HSQLDB: X_42567
            default -> false;
        };
    }
}
