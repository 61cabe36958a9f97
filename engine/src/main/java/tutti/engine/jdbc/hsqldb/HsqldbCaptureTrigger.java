package tutti.engine.jdbc.hsqldb;

import java.sql.SQLException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.hsqldb.Trigger;
import org.hsqldb.error.Error;
import org.jspecify.annotations.Nullable;
import tutti.engine.jdbc.TriggerCapture;
import tutti.engine.jdbc.rows.Table;

/** Tells {@link TriggerCapture} of each row; made by HSQLDB, which tells it no more than its own name. */
public final class HsqldbCaptureTrigger implements Trigger {
    private static final Map<String, Place> PLACES = new ConcurrentHashMap<>();

    private record Place(String schema, String table) {}

    /** The name of the trigger of a table for an operation; the same in all databases. */
    static String name(Table table, String operation) {
        String name = "TUTTI_" + operation + "_" + Long.toHexString(table.hash()).toUpperCase(java.util.Locale.ROOT);
        PLACES.put(name, new Place(table.schema(), table.name()));
        return name;
    }

    @Override
    public void fire(int type, String triggerName, String tableName, String[] columns,
            @Nullable Object @Nullable [] before, @Nullable Object @Nullable [] after) {
        Place place = PLACES.get(triggerName);
        try {
            if (place == null) {
                throw new SQLException("trigger " + triggerName + " is of no table that is replicated", "XX000");
            }
            HsqldbSession session = (HsqldbSession) TriggerCapture.session();
            TriggerCapture.fired(place.schema(), place.table(),
                    session == null ? null : session.travelling(place.schema(), place.table(), before),
                    session == null ? null : session.travelling(place.schema(), place.table(), after));
        } catch (SQLException refused) {
            throw Error.error(refused.getMessage(), refused.getSQLState());
        }
    }
}
