package tutti.engine.jdbc.hsqldb;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.hsqldb.HsqlException;
import org.hsqldb.Row;
import org.hsqldb.RowAction;
import org.hsqldb.Session;
import org.hsqldb.TransactionManager;
import org.hsqldb.error.ErrorCode;
import org.hsqldb.index.Index;
import org.hsqldb.jdbc.JDBCConnection;
import org.hsqldb.jdbc.JDBCUtil;
import org.hsqldb.lib.HsqlArrayList;
import org.hsqldb.navigator.RowIterator;
import org.hsqldb.persist.PersistentStore;
import org.hsqldb.result.Result;
import org.hsqldb.types.Type;
import org.jspecify.annotations.Nullable;
import tutti.engine.jdbc.EmbeddedDatabase;
import tutti.engine.jdbc.rows.Change;
import tutti.engine.jdbc.rows.RowChange;
import tutti.engine.jdbc.rows.Table;
import tutti.engine.jdbc.rows.Tables;

/**
 * A session of HSQLDB, down to its transaction.
 *
 * <p>
 * <b>What has changed.</b> HSQLDB never changes a row in place: an update deletes the row and inserts another. It notes each
 * insertion and each deletion in a list of the session, which is cut back when the session rolls back to a savepoint,
 * or when a statement fails. So a row with one note is new if the session sees it, and deleted if it does not; one with
 * two came and went. The list is exact without a trigger.
 */
final class HsqldbSession implements EmbeddedDatabase.Session {
    private static final String OWN_SCHEMA = "TUTTI";
    private static final int CONFLICT = -ErrorCode.X_40501;

    private final JDBCConnection connection;
    private final Session session;
    private final Map<Table, org.hsqldb.Table> written = new HashMap<>();

    HsqldbSession(JDBCConnection connection) {
        this.connection = connection;
        this.session = (Session) connection.getSession();
    }

    @Override
    public Connection connection() {
        return connection;
    }

    @Override
    public List<RowChange> changes(Tables tables) throws SQLException {
        synchronized (session) {
            try {
                return readChanges(tables);
            } catch (HsqlException failed) {
                throw JDBCUtil.sqlException(failed);
            } catch (UnsupportedOperationException unsupported) {
                throw new SQLException(unsupported.getMessage(), "0A000", unsupported);
            }
        }
    }

    private List<RowChange> readChanges(Tables tables) throws SQLException {
        HsqlArrayList<RowAction> list = session.getRowActionList();
        IdentityHashMap<RowAction, Integer> notes = new IdentityHashMap<>();
        List<RowAction> actions = new ArrayList<>();
        for (int i = 0; i < list.size(); i++) {
            RowAction action = list.get(i);
            if (notes.merge(action, 1, Integer::sum) == 1) {
                actions.add(action);
            }
        }
        List<RowChange> changes = new ArrayList<>(actions.size());
        for (RowAction action : actions) {
            Row row = action.getRow();
            if (row == null) {
                throw notInMemory();
            }
            org.hsqldb.Table table = (org.hsqldb.Table) row.getTable();
            if (notes.get(action) > 1 || table.isTemp() || table.getSchemaName().name.equals(OWN_SCHEMA)) {
                continue;
            }
            boolean there = action.canRead(session, TransactionManager.ACTION_READ, null);
            @Nullable
            Object[] values = travelling(table, row.getData());
            changes.add(new RowChange(known(tables, table), there ? null : values, there ? values : null));
        }
        return changes;
    }

    @Override
    public boolean waits() {
        return false;
    }

    @Override
    public boolean waitsFor(EmbeddedDatabase.Session other) {
        return false;
    }

    @Override
    public EmbeddedDatabase.Mark mark() throws SQLException {
        Savepoint savepoint = connection.setSavepoint("TUTTI_STATEMENT");
        return new HsqldbMark(this, savepoint, session.getRowActionList().size());
    }

    /** A place in the list of notes. */
    private record HsqldbMark(HsqldbSession of, Savepoint savepoint, int place) implements EmbeddedDatabase.Mark {
        @Override
        public @Nullable SQLException refusal(Tables tables) throws SQLException {
            synchronized (of.session) {
                HsqlArrayList<RowAction> list = of.session.getRowActionList();
                SQLException refusal = null;
                for (int i = place; i < list.size() && refusal == null; i++) {
                    Row row = list.get(i).getRow();
                    if (row == null) {
                        return notInMemory();
                    }
                    org.hsqldb.Table table = (org.hsqldb.Table) row.getTable();
                    if (!table.isTemp() && !table.getSchemaName().name.equals(OWN_SCHEMA)) {
                        refusal = known(tables, table).refusal();
                    }
                }
                return refusal;
            }
        }

        @Override
        public void undo() throws SQLException {
            of.connection.rollback(savepoint);
        }
    }

    private static SQLException notInMemory() {
        return new SQLException("a CACHED table was written; with HSQLDB only MEMORY tables are replicated: "
                + "SET TABLE ... TYPE MEMORY first", "0A000");
    }

    private static Table known(Tables tables, org.hsqldb.Table table) throws SQLException {
        Table known = tables.find(table.getSchemaName().name, table.getName().name);
        if (known == null || known.columns().size() != table.getColumnCount()) {
            throw new SQLException("table " + table.getSchemaName().name + "." + table.getName().name
                    + " has been changed behind the engine's back", "XX000");
        }
        return known;
    }

    private @Nullable Object[] travelling(org.hsqldb.Table table, @Nullable Object[] data) {
        Type[] types = table.getColumnTypes();
        @Nullable
        Object[] values = new @Nullable Object[types.length];
        for (int i = 0; i < values.length; i++) {
            values[i] = HsqldbValues.travelling(session, types[i], data[i]);
        }
        return values;
    }

    @Override
    public void scan(Table table, EmbeddedDatabase.RowConsumer rows) throws SQLException {
        synchronized (session) {
            try {
                org.hsqldb.Table scanned = session.getDatabase().schemaManager.getUserTable(table.name(),
                        table.schema());
                RowIterator iterator = scanned.rowIterator(session);
                while (iterator.next()) {
                    rows.row(travelling(scanned, iterator.getCurrent()));
                }
                iterator.release();
            } catch (HsqlException failed) {
                throw JDBCUtil.sqlException(failed);
            }
        }
    }

    @Override
    public List<@Nullable Object[]> rows(String query, List<? extends @Nullable Object> parameters)
            throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(query)) {
            for (int i = 0; i < parameters.size(); i++) {
                statement.setObject(i + 1, parameters.get(i));
            }
            List<@Nullable Object[]> rows = new ArrayList<>();
            try (ResultSet results = statement.executeQuery()) {
                int columns = results.getMetaData().getColumnCount();
                while (results.next()) {
                    @Nullable
                    Object[] row = new @Nullable Object[columns];
                    for (int i = 0; i < columns; i++) {
                        row[i] = HsqldbValues.travelling(results, i + 1);
                    }
                    rows.add(row);
                }
            }
            return rows;
        }
    }

    /** A row of a trigger as it travels. */
    @Nullable
    Object @Nullable [] travelling(String schema, String table, @Nullable Object @Nullable [] data) {
        return data == null
                ? null
                : travelling(session.getDatabase().schemaManager.getUserTable(table, schema), data);
    }

    @Override
    public void refresh() throws SQLException {
        if (session.isInMidTransaction()) {
            connection.rollback();
        }
    }

    @Override
    public void begin() throws SQLException {
        written.clear();
        try {
            session.startTransaction();
        } catch (HsqlException failed) {
            throw JDBCUtil.sqlException(failed);
        }
    }

    @Override
    public void write(Change change) throws SQLException {
        synchronized (session) {
            try {
                org.hsqldb.Table table = table(change.table());
                @Nullable
                Object[] values = values(table, change);
                switch (change.operation()) {
                    case INSERT -> insert(table, change, values);
                    case DELETE -> delete(table, change, values);
                    case UPDATE -> {
                        Row old = delete(table, change, values);
                        for (int i = 0; i < values.length; i++) {
                            values[i] = Change.KEPT.equals(change.row()[i]) ? old.getData()[i] : values[i];
                        }
                        insert(table, change, values);
                    }
                    case REPLACE -> throw new IllegalArgumentException("a row is replaced by two changes");
                }
            } catch (HsqlException failed) {
                throw JDBCUtil.sqlException(failed);
            }
        }
    }

    /** Unlike with {@code Table.insertNoCheckFromLog}, another node's identity value does not move this node's counter. */
    private void insert(org.hsqldb.Table table, Change change, @Nullable Object[] values) throws SQLException {
        try {
            PersistentStore store = table.getRowStore(session);
            Row row = (Row) store.getNewCachedObject(session, values, true);
            session.getDatabase().txManager.addInsertAction(session, table, store, row, null);
        } catch (HsqlException failed) {
            if (failed.getErrorCode() == CONFLICT) {
                throw failed;
            }
            throw EmbeddedDatabase.differs(change.table(), change, failed);
        }
    }

    /** Finds it by its primary key. */
    private Row delete(org.hsqldb.Table table, Change change, @Nullable Object[] values) throws SQLException {
        PersistentStore store = table.getRowStore(session);
        Index primary = table.getPrimaryIndex();
        RowIterator found = primary.findFirstRow(session, store, values, primary.getColumns());
        found.next();
        Row row = found.getCurrentRow();
        found.release();
        if (row == null) {
            throw EmbeddedDatabase.differs(change.table(), change, null);
        }
        session.addDeleteAction(table, store, row, null);
        return row;
    }

    private org.hsqldb.Table table(Table of) {
        return written.computeIfAbsent(of,
                _ -> session.getDatabase().schemaManager.getUserTable(of.name(), of.schema()));
    }

    private @Nullable Object[] values(org.hsqldb.Table table, Change change) {
        Type[] types = table.getColumnTypes();
        @Nullable
        Object[] values = new @Nullable Object[types.length];
        for (int i = 0; i < values.length; i++) {
            Object value = change.row()[i];
            values[i] = Change.KEPT.equals(value) ? null : HsqldbValues.value(session, types[i], value);
        }
        return values;
    }

    @Override
    public boolean inTheWay(SQLException failure) {
        return String.valueOf(failure.getSQLState()).startsWith("40");
    }

    @Override
    public boolean ended(SQLException failure) {
        return inTheWay(failure);
    }

    @Override
    public void commit() throws SQLException {
        connection.commit();
    }

    @Override
    public void rollback() throws SQLException {
        connection.rollback();
    }

    @Override
    public void cancel() {
        session.cancel(Result.newCancelRequest(session.getRandomId(), 0, ""));
    }

    @Override
    public void statementEnded() {
        // Only ever cancelled in order to roll back, and that forgets it.
    }

    @Override
    public void close() {
        session.close();
    }
}
