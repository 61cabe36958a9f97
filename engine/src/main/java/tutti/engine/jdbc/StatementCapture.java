package tutti.engine.jdbc;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import net.sf.jsqlparser.JSQLParserException;
import net.sf.jsqlparser.expression.Expression;
import net.sf.jsqlparser.expression.JdbcParameter;
import net.sf.jsqlparser.expression.operators.relational.ExpressionList;
import net.sf.jsqlparser.parser.CCJSqlParserUtil;
import net.sf.jsqlparser.schema.Column;
import net.sf.jsqlparser.statement.RollbackStatement;
import net.sf.jsqlparser.statement.SavepointStatement;
import net.sf.jsqlparser.statement.delete.Delete;
import net.sf.jsqlparser.statement.insert.Insert;
import net.sf.jsqlparser.statement.select.Select;
import net.sf.jsqlparser.statement.select.Values;
import net.sf.jsqlparser.statement.update.Update;
import net.sf.jsqlparser.statement.update.UpdateSet;
import net.sf.jsqlparser.util.deparser.ExpressionDeParser;
import net.sf.jsqlparser.util.deparser.SelectDeParser;
import org.jspecify.annotations.Nullable;
import tutti.engine.jdbc.rows.RowChange;
import tutti.engine.jdbc.rows.Table;
import tutti.engine.jdbc.rows.Table.UniqueKey;
import tutti.engine.jdbc.rows.Tables;

/**
 * {@link CaptureMode#STATEMENTS}: from the text of an UPDATE or DELETE a query is made that reads the rows which it will
 * change, before it changes them; the primary keys of an INSERT are computed from its VALUES. The rows after it are read
 * when the transaction commits (MacroDDB section 4.3.3, where the same is done with a parser of that name).
 *
 * <p>
 * What the text does not show is refused with {@code 0A000}: other statements that write, INSERT ... SELECT, keys that the
 * engine generates, tables with cascading references or triggers.
 */
final class StatementCapture implements Capture {
    private static final int STATEMENTS_MAX = 1000;
    private static final String REFUSED = "0A000";

    private final JdbcEngine engine;
    private final EmbeddedDatabase.Session session;
    private final TouchedRows touched;
    private final Map<String, Plan> plans = new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Plan> eldest) {
            return size() > STATEMENTS_MAX;
        }
    };
    private Tables plannedFor = Tables.EMPTY;

    StatementCapture(JdbcEngine engine, EmbeddedDatabase.Session session) {
        this.engine = engine;
        this.session = session;
        this.touched = new TouchedRows(session);
    }

    /**
     * What to ask before a statement.
     *
     * @param table that it changes; null if it changes nothing
     * @param queries that are asked
     * @param existing whether they answer rows that are there; else primary keys of rows that will come
     */
    private record Plan(@Nullable Table table, List<Query> queries, boolean existing) {
        static final Plan READS = new Plan(null, List.of(), false);
    }

    /**
     * A query made from parts of a statement.
     *
     * @param parameters which of the statement's parameters it takes, counted from 0
     * @param keyPlaces where behind the table's columns the new values of the primary key's columns are; -1 if a column
     *            keeps its value
     */
    private record Query(String sql, List<Integer> parameters, List<Integer> keyPlaces) {}

    @Override
    public <T extends @Nullable Object> T execute(@Nullable String sql,
            List<? extends @Nullable Object> parameters, Execution<T> execution) throws SQLException {
        if (sql == null) {
            throw new SQLException("this engine captures changes from statements' text, and here there is none",
                    REFUSED);
        }
        Plan plan = plan(sql);
        Table table = plan.table();
        if (table == null) {
            return execution.run();
        }
        List<@Nullable Object[]> existing = new ArrayList<>();
        List<@Nullable Object[]> coming = new ArrayList<>();
        for (Query query : plan.queries()) {
            List<@Nullable Object> values = new ArrayList<>();
            for (int parameter : query.parameters()) {
                values.add(parameters.get(parameter));
            }
            for (@Nullable
            Object[] row : session.rows(query.sql(), values)) {
                if (plan.existing()) {
                    existing.add(java.util.Arrays.copyOf(row, table.columns().size()));
                }
                coming.add(moved(table, query, row, plan.existing()));
            }
        }
        T result = execution.run();
        existing.forEach(row -> touched.existed(table, row));
        coming.forEach(row -> touched.came(table, row));
        return result;
    }

    /** A row whose primary key is the one after the statement; its other values do not matter. */
    private static @Nullable Object[] moved(Table table, Query query, @Nullable Object[] row, boolean existing) {
        @Nullable
        Object[] moved = new @Nullable Object[table.columns().size()];
        UniqueKey primary = table.primaryKey();
        for (int i = 0; primary != null && i < primary.columns().size(); i++) {
            int column = primary.columns().get(i);
            int place = query.keyPlaces().get(i);
            moved[column] = place < 0 ? row[column] : row[existing ? table.columns().size() + place : place];
        }
        return moved;
    }

    @Override
    public List<RowChange> changes() throws SQLException {
        return touched.changes();
    }

    @Override
    public void reset() {
        touched.reset();
    }

    private Plan plan(String sql) throws SQLException {
        if (plannedFor != engine.tables()) {
            plans.clear();
            plannedFor = engine.tables();
        }
        Plan known = plans.get(sql);
        if (known == null) {
            known = analyse(sql);
            plans.put(sql, known);
        }
        return known;
    }

    private Plan analyse(String sql) throws SQLException {
        try {
            return switch (CCJSqlParserUtil.parse(sql)) {
                case Select _,SavepointStatement _,RollbackStatement _ -> Plan.READS;
                case Update update when update.getFromItem() == null && none(update.getJoins())
                        && update.getLimit() == null && none(update.getStartJoins()) ->
                    update(update);
                case Delete delete when none(delete.getUsingList()) && none(delete.getJoins())
                        && delete.getLimit() == null ->
                    delete(delete);
                case Insert insert when insert.getSelect() instanceof Values && none(insert.getDuplicateUpdateSets())
                        && insert.getConflictAction() == null ->
                    insert(insert, (Values) insert.getSelect());
                case Object other -> throw refused(other.getClass().getSimpleName() + " of this form");
            };
        } catch (JSQLParserException unknown) {
            throw new SQLException("the statement cannot be analysed, so its changes cannot be captured: "
                    + unknown.getMessage(), REFUSED, unknown);
        }
    }

    private static boolean none(@Nullable List<?> list) {
        return list == null || list.isEmpty();
    }

    private static SQLException refused(String what) {
        return new SQLException("capture by analysis of statements cannot tell what is changed by " + what
                + "; use another capture mode", REFUSED);
    }

    private Plan update(Update update) throws SQLException {
        Table table = table(update.getTable());
        Text text = new Text().raw("SELECT " + TouchedRows.columns(table));
        UniqueKey primary = key(table);
        Integer[] places = new Integer[primary.columns().size()];
        java.util.Arrays.fill(places, -1);
        int added = 0;
        for (UpdateSet set : update.getUpdateSets()) {
            for (int i = 0; i < set.getColumns().size(); i++) {
                int key = primary.columns().indexOf(column(table, set.getColumn(i)));
                if (key >= 0) {
                    if (set.getValues().size() != set.getColumns().size()) {
                        throw refused("an UPDATE that sets several columns to one expression");
                    }
                    text.raw(", ").expression(set.getValue(i));
                    places[key] = added++;
                }
            }
        }
        return new Plan(table, List.of(rows(text, update.getTable(), update.getWhere(), List.of(places))), true);
    }

    private Plan delete(Delete delete) throws SQLException {
        Table table = table(delete.getTable());
        Text text = new Text().raw("SELECT " + TouchedRows.columns(table));
        List<Integer> places = java.util.Collections.nCopies(key(table).columns().size(), -1);
        return new Plan(table, List.of(rows(text, delete.getTable(), delete.getWhere(), places)), true);
    }

    private static Query rows(Text text, net.sf.jsqlparser.schema.Table from, @Nullable Expression where,
            List<Integer> places) {
        text.raw(" FROM " + from);
        if (where != null) {
            text.raw(" WHERE ").expression(where);
        }
        return text.query(places);
    }

    private Plan insert(Insert insert, Values values) throws SQLException {
        Table table = table(insert.getTable());
        UniqueKey primary = key(table);
        List<Integer> columns = new ArrayList<>();
        if (insert.getColumns() == null) {
            for (int i = 0; i < table.columns().size(); i++) {
                columns.add(i);
            }
        } else {
            for (Column column : insert.getColumns()) {
                columns.add(column(table, column));
            }
        }
        List<Query> queries = new ArrayList<>();
        for (ExpressionList<?> row : tuples(values.getExpressions())) {
            Text text = new Text().raw("SELECT ");
            List<Integer> places = new ArrayList<>();
            for (int column : primary.columns()) {
                int place = columns.indexOf(column);
                if (place < 0 || place >= row.size() || row.get(place).toString().equalsIgnoreCase("DEFAULT")) {
                    throw refused("an INSERT whose primary key the engine generates");
                }
                text.raw(places.isEmpty() ? "CAST(" : ", CAST(").expression(row.get(place))
                        .raw(" AS " + type(table, column) + ")");
                places.add(places.size());
            }
            queries.add(text.raw(engine.database().fromNothing()).query(places));
        }
        return new Plan(table, queries, false);
    }

    /** One row or several, as the parser has them. */
    private static List<ExpressionList<?>> tuples(ExpressionList<?> list) {
        List<ExpressionList<?>> tuples = new ArrayList<>();
        for (Expression each : list) {
            if (each instanceof ExpressionList<?> tuple) {
                tuples.add(tuple);
            } else {
                return List.of(list);
            }
        }
        return tuples;
    }

    private String type(Table table, int column) throws SQLException {
        DatabaseMetaData meta = session.connection().getMetaData();
        try (ResultSet rows = meta.getColumns(null, table.schema(), table.name(), table.columns().get(column))) {
            if (!rows.next()) {
                throw refused("table " + table.displayName());
            }
            String name = rows.getString("TYPE_NAME");
            int size = rows.getInt("COLUMN_SIZE");
            int digits = rows.getInt("DECIMAL_DIGITS");
            return switch (rows.getInt("DATA_TYPE")) {
                case java.sql.Types.NUMERIC, java.sql.Types.DECIMAL -> name + "(" + size + ", " + digits + ")";
                case java.sql.Types.CHAR, java.sql.Types.VARCHAR, java.sql.Types.BINARY, java.sql.Types.VARBINARY ->
                    name + "(" + size + ")";
                default -> name;
            };
        }
    }

    private Table table(net.sf.jsqlparser.schema.Table named) throws SQLException {
        Connection connection = session.connection();
        String schema = named.getSchemaName() == null ? connection.getSchema() : spelled(named.getSchemaName());
        Table table = engine.tables().find(schema, spelled(named.getName()));
        if (table == null) {
            throw refused("a statement on " + named + ", which is no table that is replicated");
        }
        if (hasCascades(connection, table) || hasTriggers(connection, table)) {
            throw refused("a statement on " + table.displayName() + ", which has cascading references or triggers");
        }
        return table;
    }

    private static boolean hasCascades(Connection connection, Table table) throws SQLException {
        try (ResultSet keys = connection.getMetaData().getExportedKeys(null, table.schema(), table.name())) {
            while (keys.next()) {
                for (String rule : List.of("DELETE_RULE", "UPDATE_RULE")) {
                    int does = keys.getInt(rule);
                    if (does != DatabaseMetaData.importedKeyNoAction
                            && does != DatabaseMetaData.importedKeyRestrict) {
                        return true;
                    }
                }
            }
            return false;
        }
    }

    private static boolean hasTriggers(Connection connection, Table table) throws SQLException {
        try (PreparedStatement query = connection.prepareStatement("SELECT 1 FROM INFORMATION_SCHEMA.TRIGGERS "
                + "WHERE EVENT_OBJECT_SCHEMA = ? AND EVENT_OBJECT_TABLE = ?")) {
            query.setString(1, table.schema());
            query.setString(2, table.name());
            try (ResultSet rows = query.executeQuery()) {
                return rows.next();
            }
        }
    }

    private static UniqueKey key(Table table) throws SQLException {
        UniqueKey primary = table.primaryKey();
        if (primary == null) {
            throw new SQLException("table " + table.displayName()
                    + " has no primary key, so its changes cannot be replicated: ALTER TABLE ... ADD PRIMARY KEY first",
                    "55000");
        }
        return primary;
    }

    private static int column(Table table, Column column) throws SQLException {
        int place = table.columns().indexOf(spelled(column.getColumnName()));
        if (place < 0) {
            throw new SQLException("table " + table.displayName() + " has no column " + column, "42703");
        }
        return place;
    }

    /** A name as the engine keeps it. */
    private static String spelled(String name) {
        return name.startsWith("\"") && name.endsWith("\"") && name.length() > 1
                ? name.substring(1, name.length() - 1).replace("\"\"", "\"")
                : name.toUpperCase(Locale.ROOT);
    }

    /** Text of a query, put together of parts of a statement, and which parameters those have. */
    private static final class Text extends ExpressionDeParser {
        private final List<Integer> parameters = new ArrayList<>();

        Text() {
            SelectDeParser selects = new SelectDeParser(this, getBuilder());
            setSelectVisitor(selects);
        }

        Text raw(String text) {
            getBuilder().append(text);
            return this;
        }

        Text expression(Expression expression) {
            expression.accept(this, null);
            return this;
        }

        @Override
        public <S> StringBuilder visit(JdbcParameter parameter, S context) {
            parameters.add(parameter.getIndex() - 1);
            return getBuilder().append('?');
        }

        Query query(List<Integer> places) {
            return new Query(getBuilder().toString(), List.copyOf(parameters), places);
        }
    }
}
