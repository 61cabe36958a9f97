package tutti.pgfront;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ParameterMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import tutti.pgfront.PgStatement.Kind;
import tutti.wire.KeptBytes;
import tutti.wire.sql.SqlTokens;

/**
 * A statement that the engine has prepared: its parameters and columns, and how it is executed. Prepared once for each
 * connection that it runs on. One thread.
 */
final class Prepared implements AutoCloseable {
    /** What HSQLDB says of a prepared statement after a schema change, before it has done anything. */
    private static final String INVALIDATED = "07502";

    private final PgStatement statement;
    private final int[] declared;
    private final IdentityHashMap<Connection, PreparedStatement> prepared = new IdentityHashMap<>();
    private int[] parameterTypes;
    private @Nullable PgType[] inferred = new PgType[0];
    private @Nullable List<PgType.Column> columns;
    private List<String> names = List.of();
    private String[] returned = new String[0];
    /** What is kept of it counts there; null if it does not count. */
    private @Nullable KeptBytes room;
    private long taken;

    /**
     * A statement of a client.
     *
     * @param declared object ids of its parameters' types, as far as the client has declared them; 0 for unknown
     */
    Prepared(PgStatement statement, int[] declared) {
        this.statement = statement;
        this.declared = declared;
        this.parameterTypes = declared;
    }

    PgStatement statement() {
        return statement;
    }

    /** Object ids of the parameters' types. */
    int[] parameterTypes() {
        return parameterTypes;
    }

    /** What it answers; null if it answers no rows. */
    @Nullable
    List<PgType.Column> columns() {
        return columns;
    }

    /** The columns' names. */
    List<String> names() {
        return names;
    }

    /** Finds out about parameters and columns. */
    void describe(Connection connection) throws SQLException {
        PgStatement.Returning returning = statement.returning();
        if (returning != null) {
            try (PreparedStatement shape = connection.prepareStatement(returning.shape())) {
                columns(shape.getMetaData());
                returned = new String[names.size()];
                for (int i = 0; i < returned.length; i++) {
                    returned[i] = shape.getMetaData().getColumnName(i + 1);
                }
            }
        }
        PreparedStatement there = on(connection);
        if (returning == null && statement.kind() != Kind.CHANGE) {
            ResultSetMetaData metaData = there.getMetaData();
            if (metaData != null && metaData.getColumnCount() > 0) {
                columns(metaData);
            }
        }
        parameterTypes = new int[Math.max(statement.parameterCount(), declared.length)];
        System.arraycopy(declared, 0, parameterTypes, 0, declared.length);
        if (statement.parameterCount() > 0) {
            infer(there.getParameterMetaData(), connection);
        }
    }

    /** It is not prepared, and answers one column; of its type is the parameter that it may have, unless the client has said another one. */
    void answers(Commands.Answered column) {
        if (statement.parameterCount() > 0) {
            parameterTypes = Arrays.copyOf(declared, Math.max(declared.length, statement.parameterCount()));
            parameterTypes[0] = parameterTypes[0] == 0 ? column.type().oid() : parameterTypes[0];
        }
        columns = List.of(PgType.Column.of(column.type()));
        names = List.of(column.name());
    }

    /**
     * A parameter's value. One that is told in words although its column is not of words becomes what the column is of.
     *
     * @param index from 0
     */
    Object value(int index, ByteBuf bytes, boolean binary, ZoneId zone) throws SQLException {
        Object value = PgValues.parameter(bytes, parameterTypes[index], binary, zone);
        PgType wanted = inferred.length > index ? inferred[index] : null;
        if (!(value instanceof String text) || wanted == null) {
            return value;
        }
        if (wanted == PgType.JSON || wanted == PgType.JSONB) {
            // H2 takes a string for a JSON string, and bytes for JSON.
            return text.getBytes(StandardCharsets.UTF_8);
        }
        return wanted.character() ? value : PgValues.fromText(text, wanted, zone);
    }

    private void columns(ResultSetMetaData metaData) throws SQLException {
        List<String> labels = new ArrayList<>();
        List<@Nullable String> given = statement.kind() == Kind.QUERY && statement.tag().equals("SELECT")
                ? ColumnNames.of(statement.tokens(), metaData.getColumnCount())
                : List.of();
        for (int i = 1; i <= metaData.getColumnCount(); i++) {
            String name = given.isEmpty() ? null : given.get(i - 1);
            labels.add(name == null ? label(metaData, i) : name);
        }
        columns = Rows.columns(metaData);
        names = labels;
    }

    /**
     * The name of a column as the client knows it. What the engines call an expression has the case that it should have,
     * unless it is all upper case, or the client's own quoted name.
     */
    private String label(ResultSetMetaData metaData, int column) throws SQLException {
        String label = metaData.getColumnLabel(column);
        if (statement.kind() == Kind.CATALOG) {
            String plain = label.replaceFirst("^public\\.(\\w+)\\(.*", "$1");
            return plain.equals(plain.toUpperCase(Locale.ROOT)) ? plain.toLowerCase(Locale.ROOT) : plain;
        }
        String table = metaData.getTableName(column);
        String folded = Dialect.fold(label);
        boolean named = (table != null && !table.isEmpty()) || label.equals(label.toUpperCase(Locale.ROOT))
                || statement.tokens().stream()
                        .anyMatch(token -> token.kind() == SqlTokens.QUOTED && token.value().equals(folded));
        return named && !label.contains("?") ? folded : label;
    }

    /**
     * A parameter is of the type that it is cast to, or else that the engine infers for the first of its places where it does,
     * or else that the words around it say. Of others it is not told; their values come in words.
     */
    private void infer(ParameterMetaData metaData, Connection connection) throws SQLException {
        List<Integer> places = statement.parameters();
        ParameterHints hints = new ParameterHints(statement.tokens());
        PgType.@Nullable Column[] known = new PgType.@Nullable Column[parameterTypes.length];
        for (int i = 0; i < places.size(); i++) {
            int parameter = places.get(i) - 1;
            // H2 has parameters of unknown type be characters without a length.
            int jdbc = metaData.getParameterType(i + 1);
            if (known[parameter] == null && (jdbc != Types.VARCHAR || metaData.getPrecision(i + 1) > 0)) {
                known[parameter] = PgType.of(jdbc, metaData.getParameterTypeName(i + 1), 0, 0);
            }
        }
        inferred = new @Nullable PgType[parameterTypes.length];
        for (int i = 0; i < parameterTypes.length; i++) {
            PgType.Column cast = hints.cast(i + 1);
            PgType.Column type = known[i];
            if (type == null) {
                type = cast == null ? hints.type(i + 1, connection) : cast;
            }
            inferred[i] = type == null || type.array() ? null : type.type();
            PgType.Column told = cast == null ? type : cast;
            if (parameterTypes[i] == 0 && told != null) {
                parameterTypes[i] = told.oid();
            }
        }
    }

    private PreparedStatement on(Connection connection) throws SQLException {
        PreparedStatement there = prepared.get(connection);
        if (there == null) {
            there = statement.returning() == null
                    ? connection.prepareStatement(statement.sql())
                    : connection.prepareStatement(statement.sql(), returned);
            prepared.put(connection, there);
        }
        return there;
    }

    /**
     * Executes it.
     *
     * @param values of the parameters
     * @param formats of the columns, as {@link Rows#of} takes them
     * @param results room for its rows
     */
    Rows execute(Connection connection, @Nullable Object[] values, short[] formats, ZoneId zone,
            Cancellation cancellation, KeptBytes results) throws SQLException {
        boolean before = prepared.containsKey(connection);
        try {
            return execute(on(connection), values, formats, zone, cancellation, results);
        } catch (SQLException failed) {
            if (!before || !INVALIDATED.equals(failed.getSQLState())) {
                throw failed;
            }
        }
        close(prepared.remove(connection));
        return execute(on(connection), values, formats, zone, cancellation, results);
    }

    private Rows execute(PreparedStatement there, @Nullable Object[] values, short[] formats, ZoneId zone,
            Cancellation cancellation, KeptBytes room) throws SQLException {
        List<Integer> places = statement.parameters();
        for (int i = 0; i < places.size(); i++) {
            there.setObject(i + 1, values[places.get(i) - 1]);
        }
        cancellation.running(there);
        try {
            if (there.execute()) {
                try (ResultSet results = there.getResultSet()) {
                    List<PgType.Column> told = columns;
                    return Rows.of(results, told == null ? Rows.columns(results.getMetaData()) : told, formats, zone,
                            room);
                }
            }
            long changed = Math.max(0, there.getLargeUpdateCount());
            if (statement.returning() == null) {
                return Rows.changed(changed);
            }
            try (ResultSet results = there.getGeneratedKeys()) {
                return Rows.of(results, java.util.Objects.requireNonNull(columns), formats, zone, room);
            }
        } finally {
            cancellation.stopped();
        }
    }

    /** It has taken so many bytes, which it gives back when it is closed. */
    void has(KeptBytes room, long bytes) {
        this.room = room;
        this.taken = bytes;
    }

    @Override
    public void close() {
        if (room != null) {
            room.insist(-taken);
            taken = 0;
        }
        prepared.values().forEach(Prepared::close);
        prepared.clear();
    }

    private static void close(@Nullable Statement there) {
        try {
            if (there != null) {
                there.close();
            }
        } catch (SQLException broken) {
            // Its connection is gone, and it with it.
        }
    }
}
