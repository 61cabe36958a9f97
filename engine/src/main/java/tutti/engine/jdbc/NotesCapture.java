package tutti.engine.jdbc;

import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.engine.jdbc.rows.RowChange;

/** {@link CaptureMode#NOTES}. */
final class NotesCapture implements Capture {
    private final JdbcEngine engine;
    private final EmbeddedDatabase.Session session;

    NotesCapture(JdbcEngine engine, EmbeddedDatabase.Session session) {
        this.engine = engine;
        this.session = session;
    }

    @Override
    public <T extends @Nullable Object> T execute(@Nullable String sql,
            List<? extends @Nullable Object> parameters, Execution<T> execution) throws SQLException {
        return execution.run();
    }

    @Override
    public List<RowChange> changes() throws SQLException {
        return session.changes(engine.tables());
    }

    @Override
    public void reset() {
        // The engine forgets its notes by itself.
    }
}
