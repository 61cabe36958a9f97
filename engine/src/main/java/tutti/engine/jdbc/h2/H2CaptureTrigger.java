package tutti.engine.jdbc.h2;

import java.sql.Connection;
import java.sql.SQLException;
import org.h2.api.Trigger;
import org.h2.engine.SessionLocal;
import org.h2.jdbc.JdbcConnection;
import org.h2.value.Value;
import org.h2.value.ValueToObjectConverter;
import org.jspecify.annotations.Nullable;
import tutti.engine.jdbc.TriggerCapture;

/** Tells {@link TriggerCapture} of each row; made by H2. */
public final class H2CaptureTrigger implements Trigger {
    private String schema = "";
    private String table = "";

    @Override
    public void init(Connection connection, String schemaName, String triggerName, String tableName, boolean before,
            int type) {
        this.schema = schemaName;
        this.table = tableName;
    }

    @Override
    public void fire(Connection connection, @Nullable Object @Nullable [] before,
            @Nullable Object @Nullable [] after) throws SQLException {
        SessionLocal session = (SessionLocal) ((JdbcConnection) connection).getSession();
        TriggerCapture.fired(schema, table, row(session, before), row(session, after));
    }

    private static @Nullable Object @Nullable [] row(SessionLocal session, @Nullable Object @Nullable [] values) {
        if (values == null) {
            return null;
        }
        @Nullable
        Object[] row = new @Nullable Object[values.length];
        for (int i = 0; i < row.length; i++) {
            row[i] = H2Values
                    .travelling(ValueToObjectConverter.objectToValue(session, values[i], Value.UNKNOWN));
        }
        return row;
    }
}
