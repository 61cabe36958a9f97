package tutti.engine.jdbc.reads;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import net.sf.jsqlparser.JSQLParserException;
import net.sf.jsqlparser.expression.Expression;
import net.sf.jsqlparser.expression.JdbcParameter;
import net.sf.jsqlparser.expression.LongValue;
import net.sf.jsqlparser.expression.StringValue;
import net.sf.jsqlparser.expression.operators.conditional.AndExpression;
import net.sf.jsqlparser.expression.operators.relational.EqualsTo;
import net.sf.jsqlparser.expression.operators.relational.ParenthesedExpressionList;
import net.sf.jsqlparser.expression.operators.relational.SupportsOldOracleJoinSyntax;
import net.sf.jsqlparser.parser.CCJSqlParserUtil;
import net.sf.jsqlparser.schema.Column;
import net.sf.jsqlparser.statement.Statement;
import net.sf.jsqlparser.statement.delete.Delete;
import net.sf.jsqlparser.statement.insert.Insert;
import net.sf.jsqlparser.statement.select.FromItem;
import net.sf.jsqlparser.statement.select.Join;
import net.sf.jsqlparser.statement.select.PlainSelect;
import net.sf.jsqlparser.statement.update.Update;
import org.jspecify.annotations.Nullable;
import tutti.engine.jdbc.rows.Table;

/**
 * Finds those tables that a statement names and reads by primary key only, or not at all.
 *
 * <p>
 * <b>Why that is right.</b> Understood are SELECT, UPDATE and DELETE without subqueries and outer joins, where conditions
 * joined by AND give each column of a table's primary key a value. A row can be used only if all of these conditions hold
 * for it, so one with another key is never seen, whether it exists or not. An INSERT reads nothing of its table but its
 * unique keys, which its write set touches exclusively if it succeeds; so it must do without ON CONFLICT and its like.
 * About everything else this says nothing, which means: any row. A table that occurs a second time in the text is read by
 * that, too, and nothing is said of it.
 */
final class RowLookups {
    private static final Pattern DIGITS = Pattern.compile("\\d{1,18}");
    private static final Pattern PLAIN = Pattern.compile("[^'\\\\]*");
    /** An INSERT with one of these depends on rows that are there. */
    private static final List<String> LOOKS_FIRST = List.of("CONFLICT", "DUPLICATE", "IGNORE", "MERGE", "REPLACE");

    private final SchemaNames names;
    private final String sql;
    private final Map<String, Table> items = new LinkedHashMap<>();
    private final Map<Place, RowLookup.Source> values = new HashMap<>();
    private final List<RowLookup> lookups = new ArrayList<>();
    private @Nullable Table unread;

    private record Place(Table table, int column) {}

    private RowLookups(SchemaNames names, String sql) {
        this.names = names;
        this.sql = sql;
    }

    /** What is found in a statement. */
    static RowLookups of(SchemaNames names, String sql) {
        RowLookups found = new RowLookups(names, sql);
        try {
            found.understand(CCJSqlParserUtil.parse(sql));
        } catch (JSQLParserException notUnderstood) {
            found.items.clear();
        }
        return found;
    }

    /** The tables of which one row is read. */
    List<RowLookup> lookups() {
        return lookups;
    }

    /** The table of which nothing is read, or null. */
    @Nullable
    Table unread() {
        return unread;
    }

    private void understand(Statement statement) {
        boolean understood = switch (statement) {
            case PlainSelect select when none(select.getWithItemsList()) && select.getFromItem() != null ->
                from(select.getFromItem(), select.getJoins()) && conditions(select.getWhere());
            case Update update when none(update.getWithItemsList()) && none(update.getStartJoins())
                    && none(update.getJoins()) && update.getFromItem() == null ->
                item(update.getTable()) && conditions(update.getWhere());
            case Delete delete when none(delete.getWithItemsList()) && none(delete.getUsingList())
                    && none(delete.getJoins()) && none(delete.getTables()) ->
                item(delete.getTable()) && conditions(delete.getWhere());
            case Insert insert -> {
                insert(insert);
                yield false;
            }
            default -> false;
        };
        if (understood) {
            items.values().forEach(this::lookup);
        }
    }

    private static boolean none(@Nullable List<?> list) {
        return list == null || list.isEmpty();
    }

    private void insert(Insert insert) {
        boolean looksFirst = LOOKS_FIRST.stream().anyMatch(word -> SchemaNames.occurrences(word, sql) > 0);
        Table table = once(insert.getTable());
        if (!looksFirst && table != null) {
            unread = table;
        }
    }

    /** The table, if it is one, and nothing else in the text has its name. */
    private @Nullable Table once(net.sf.jsqlparser.schema.Table named) {
        String name = unquoted(named.getName());
        return SchemaNames.occurrences(name, sql) == 1 ? names.table(name) : null;
    }

    private static String unquoted(String name) {
        return name.startsWith("\"") && name.endsWith("\"") && name.length() > 1
                ? name.substring(1, name.length() - 1)
                : name;
    }

    private boolean from(FromItem first, @Nullable List<Join> joins) {
        if (!item(first)) {
            return false;
        }
        for (Join join : joins == null ? List.<Join>of() : joins) {
            boolean plain = !(join.isLeft() || join.isRight() || join.isFull() || join.isOuter() || join.isNatural()
                    || join.isSemi() || join.isApply() || join.isStraight() || join.isGlobal() || join.isWindowJoin());
            if (!plain || !none(join.getUsingColumns()) || !item(join.getFromItem())) {
                return false;
            }
        }
        for (Join join : joins == null ? List.<Join>of() : joins) {
            join.getOnExpressions().forEach(this::conjunction);
        }
        return true;
    }

    /** One table; anything else, whose columns are not known, makes the whole statement unknown. */
    private boolean item(FromItem item) {
        if (!(item instanceof net.sf.jsqlparser.schema.Table named) || named.getSampleClause() != null
                || named.getPivot() != null || named.getUnPivot() != null) {
            return false;
        }
        Table table = names.table(unquoted(named.getName()));
        if (table == null) {
            return false;
        }
        String name = named.getAlias() == null ? named.getName() : named.getAlias().getName();
        return items.put(SchemaNames.fold(unquoted(name)), table) == null;
    }

    private boolean conditions(@Nullable Expression where) {
        if (where != null) {
            conjunction(where);
        }
        return true;
    }

    /** Learns from conditions all of which hold. */
    private void conjunction(Expression condition) {
        switch (condition) {
            case AndExpression and -> {
                conjunction(and.getLeftExpression());
                conjunction(and.getRightExpression());
            }
            case ParenthesedExpressionList<?> list when list.size() == 1 -> conjunction(list.getFirst());
            case EqualsTo equals when equals.getOldOracleJoinSyntax() == SupportsOldOracleJoinSyntax.NO_ORACLE_JOIN -> {
                equation(equals.getLeftExpression(), equals.getRightExpression());
                equation(equals.getRightExpression(), equals.getLeftExpression());
            }
            default -> {
                // holds as well, whatever it says
            }
        }
    }

    private void equation(Expression one, Expression other) {
        Place place = one instanceof Column column ? place(column) : null;
        RowLookup.Source source = source(other);
        if (place != null && source != null) {
            values.putIfAbsent(place, source);
        }
    }

    private static RowLookup.@Nullable Source source(Expression expression) {
        return switch (expression) {
            case JdbcParameter parameter when !parameter.isUseFixedIndex() ->
                new RowLookup.Source.Parameter(parameter.getIndex() - 1);
            case LongValue number when DIGITS.matcher(number.getStringValue()).matches() ->
                new RowLookup.Source.Constant(Long.valueOf(number.getStringValue()));
            case StringValue text when text.getPrefix() == null && PLAIN.matcher(text.getValue()).matches()
                    && text.toString().equals("'" + text.getValue() + "'") ->
                new RowLookup.Source.Constant(text.getValue());
            default -> null;
        };
    }

    /** Which column of which table it is; null if that is not certain. */
    private @Nullable Place place(Column column) {
        String qualifier = column.getTable() == null ? null : column.getTable().getName();
        if (column.getTable() != null && column.getTable().getSchemaName() != null) {
            return null;
        }
        String name = SchemaNames.fold(unquoted(column.getColumnName()));
        Place found = null;
        for (Map.Entry<String, Table> item : items.entrySet()) {
            if (qualifier != null && !SchemaNames.fold(unquoted(qualifier)).equals(item.getKey())) {
                continue;
            }
            List<String> columns = item.getValue().columns();
            for (int i = 0; i < columns.size(); i++) {
                if (SchemaNames.fold(columns.get(i)).equals(name)) {
                    if (found != null) {
                        return null;
                    }
                    found = new Place(item.getValue(), i);
                }
            }
        }
        return found;
    }

    private void lookup(Table table) {
        Table.UniqueKey primary = table.primaryKey();
        if (primary == null || primary.opaque() || SchemaNames.occurrences(table.name(), sql) != 1) {
            return;
        }
        List<RowLookup.Source> key = new ArrayList<>();
        for (int column : primary.columns()) {
            RowLookup.Source source = values.get(new Place(table, column));
            if (source == null) {
                return;
            }
            key.add(source);
        }
        lookups.add(new RowLookup(table, key));
    }
}
