package tutti.engine.jdbc;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.engine.jdbc.rows.RowChange;
import tutti.engine.jdbc.rows.Table;

/**
 * {@link CaptureMode#TRIGGERS}: rows are noted by Java triggers, which the engines call on the thread that executes the
 * statement. Appliers write below SQL, where no trigger fires.
 */
public final class TriggerCapture implements Capture {
    private static final ThreadLocal<@Nullable TriggerCapture> CURRENT = new ThreadLocal<>();

    private final JdbcEngine engine;
    private final EmbeddedDatabase.Session session;
    private final TouchedRows touched;
    /** Of the running statement. */
    private final List<RowChange> fired = new ArrayList<>();

    TriggerCapture(JdbcEngine engine, EmbeddedDatabase.Session session) {
        this.engine = engine;
        this.session = session;
        this.touched = new TouchedRows(session);
    }

    /**
     * A trigger has fired.
     *
     * @param before the row before, as {@link tutti.engine.jdbc.rows.RowChange} has it, or null
     * @param after the row after, or null
     * @throws SQLException if nobody captures on this thread, so that the change would be lost
     */
    public static void fired(String schema, String table, @Nullable Object @Nullable [] before,
            @Nullable Object @Nullable [] after) throws SQLException {
        TriggerCapture capture = CURRENT.get();
        if (capture == null) {
            throw new SQLException("table " + schema + "." + table + " is replicated; change it through its node only",
                    "55000");
        }
        Table known = capture.engine.tables().find(schema, table);
        if (known == null) {
            throw new SQLException("table " + schema + "." + table + " has been changed behind the engine's back",
                    "XX000");
        }
        capture.fired.add(new RowChange(known, before, after));
    }

    /** The session that executes a statement on this thread, or null. */
    public static EmbeddedDatabase.@Nullable Session session() {
        TriggerCapture capture = CURRENT.get();
        return capture == null ? null : capture.session;
    }

    @Override
    public <T extends @Nullable Object> T execute(@Nullable String sql,
            List<? extends @Nullable Object> parameters, Execution<T> execution) throws SQLException {
        CURRENT.set(this);
        try {
            T result = execution.run();
            for (RowChange change : fired) {
                if (change.before() != null) {
                    touched.existed(change.table(), change.before());
                }
            }
            for (RowChange change : fired) {
                if (change.after() != null) {
                    touched.came(change.table(), change.after());
                }
            }
            return result;
        } finally {
            CURRENT.remove();
            fired.clear();
        }
    }

    @Override
    public List<RowChange> changes() throws SQLException {
        return touched.changes();
    }

    @Override
    public void reset() {
        touched.reset();
    }
}
