package tutti.engine.jdbc.h2;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;
import org.h2.api.ErrorCode;
import org.h2.engine.SessionLocal;
import org.h2.index.Cursor;
import org.h2.index.Index;
import org.h2.jdbc.JdbcConnection;
import org.h2.jdbc.JdbcResultSet;
import org.h2.message.DbException;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.db.MVPrimaryIndex;
import org.h2.mvstore.db.MVTable;
import org.h2.mvstore.db.Store;
import org.h2.mvstore.tx.Transaction;
import org.h2.result.Row;
import org.h2.result.SearchRow;
import org.h2.table.Column;
import org.h2.value.DataType;
import org.h2.value.Value;
import org.h2.value.VersionedValue;
import org.jspecify.annotations.Nullable;
import tutti.engine.jdbc.EmbeddedDatabase;
import tutti.engine.jdbc.rows.Change;
import tutti.engine.jdbc.rows.RowChange;
import tutti.engine.jdbc.rows.Table;
import tutti.engine.jdbc.rows.Tables;

/**
 * A session of H2, down to its transaction.
 *
 * <p>
 * <b>What has changed.</b> For each entry of a table that a transaction overwrites, H2 makes a note in an undo log, which it
 * keeps until the transaction ends; rolling back to a savepoint, or a statement that fails, cuts the log back and puts the
 * versions before in their places. So no row without a note has been changed: the log is exact without a trigger. A version
 * bears the name of the note that was made with it, and beside it lies what was committed last. So each changed row has exactly one
 * note whose name its present version bears, and there are the row before the transaction and the one after it.
 */
final class H2Session implements EmbeddedDatabase.Session {
    /** Of Tutti's own tables. */
    private static final String OWN_SCHEMA = "TUTTI";
    private static final int KNOWN_MAX = 10_000;

    private final JdbcConnection connection;
    private final SessionLocal session;
    private final Map<Table, MVTable> written = new HashMap<>();
    /** What each map of the store is, as far as it has been asked for. Maps that were removed leave their numbers unused. */
    private final Map<Integer, Optional<Rows>> known = new HashMap<>();
    private Tables knownOf = Tables.EMPTY;

    H2Session(JdbcConnection connection) {
        this.connection = connection;
        this.session = (SessionLocal) connection.getSession();
    }

    @Override
    public Connection connection() {
        return connection;
    }

    @Override
    public List<RowChange> changes(Tables tables) throws SQLException {
        session.lock();
        try {
            return session.hasPendingTransaction() ? readChanges(tables) : List.of();
        } catch (DbException failed) {
            throw failed.getSQLException();
        } finally {
            session.unlock();
        }
    }

    @Override
    public boolean waits() {
        return true;
    }

    @Override
    public boolean waitsFor(EmbeddedDatabase.Session other) {
        try {
            return other instanceof H2Session another && session.getBlockingSessionId() == another.session.getId();
        } catch (NullPointerException ended) {
            // It is not for this thread to lock the session, whose transaction may end while H2 looks at it.
            return false;
        }
    }

    @Override
    public EmbeddedDatabase.Mark mark() {
        session.lock();
        try {
            return new H2Mark(this, session.setSavepoint(), session.getTransaction().setSavepoint());
        } finally {
            session.unlock();
        }
    }

    /** A place in the undo log. */
    private record H2Mark(H2Session of, SessionLocal.Savepoint savepoint, long place) implements EmbeddedDatabase.Mark {
        @Override
        public @Nullable SQLException refusal(Tables tables) throws SQLException {
            of.session.lock();
            try {
                SQLException refusal = null;
                UndoLog log = new UndoLog(of.session.getTransaction(), place);
                while (refusal == null && log.next()) {
                    Rows rows = of.rows(tables, log.map());
                    if (rows != null) {
                        refusal = rows.table().refusal();
                    }
                }
                return refusal;
            } finally {
                of.session.unlock();
            }
        }

        @Override
        public void undo() throws SQLException {
            of.session.lock();
            try {
                if (of.session.getTransaction().setSavepoint() != place) {
                    of.session.rollbackTo(savepoint);
                }
            } catch (DbException failed) {
                throw failed.getSQLException();
            } finally {
                of.session.unlock();
            }
        }
    }

    /**
     * The rows of a table that is replicated.
     *
     * @param inUniqueKeys for each column, whether some unique key has it
     * @param inKeys likewise, or a foreign key
     */
    private record Rows(Table table, MVMap<Long, VersionedValue<SearchRow>> map, boolean[] inUniqueKeys,
            boolean[] inKeys) {
        Rows(Table table, MVMap<Long, VersionedValue<SearchRow>> map) {
            this(table, map, table.inUniqueKeys(), table.inKeys());
        }
    }

    /** The rows that a map of H2's store has, or null if it has others, or something else. */
    private @Nullable Rows rows(Tables tables, int map) throws SQLException {
        if (!tables.equals(knownOf) || known.size() > KNOWN_MAX) {
            known.clear();
            knownOf = tables;
        }
        Optional<Rows> found = known.get(map);
        if (found == null) {
            found = Optional.ofNullable(find(tables, map));
            known.put(map, found);
        }
        return found.orElse(null);
    }

    private @Nullable Rows find(Tables tables, int map) throws SQLException {
        Store store = session.getDatabase().getStore();
        String name = store.getMvStore().getMapName(map);
        MVTable table = name == null ? null : store.getTable(name);
        return table != null && replicated(table)
                ? new Rows(known(tables, table), ((MVPrimaryIndex) table.getScanIndex(session)).getMVMap())
                : null;
    }

    private static boolean replicated(MVTable table) {
        return !table.isTemporary() && !table.getSchema().getName().equals(OWN_SCHEMA);
    }

    private List<RowChange> readChanges(Tables tables) throws SQLException {
        List<RowChange> changes = new ArrayList<>();
        UndoLog log = new UndoLog(session.getTransaction(), 0);
        while (log.next()) {
            Rows rows = rows(tables, log.map());
            VersionedValue<SearchRow> version = rows == null ? null : rows.map().get((Long) log.key());
            if (rows != null && version != null && version.getOperationId() == log.operation()) {
                Row before = (Row) version.getCommittedValue();
                Row after = (Row) version.getCurrentValue();
                if (before != null || after != null) {
                    changes.add(change(rows, before, after));
                }
            }
        }
        return changes;
    }

    private static Table known(Tables tables, MVTable table) throws SQLException {
        Table known = tables.find(table.getSchema().getName(), table.getName());
        if (known == null || known.columns().size() != table.getColumns().length) {
            throw new SQLException("table " + table.getSchema().getName() + "." + table.getName()
                    + " has been changed behind the engine's back", "XX000");
        }
        return known;
    }

    /** A column that an update left alone has the same object in both rows. Those that no key has need not travel. */
    @SuppressWarnings("ReferenceEquality") // It is the same object, not only an equal one, that an update leaves.
    private static RowChange change(Rows rows, @Nullable Row before, @Nullable Row after) {
        if (before == null || after == null) {
            return new RowChange(rows.table(), row(before), row(after));
        }
        int columns = after.getColumnCount();
        boolean sameKeys = true;
        for (int i = 0; i < columns && sameKeys; i++) {
            sameKeys = !rows.inUniqueKeys()[i] || before.getValue(i) == after.getValue(i);
        }
        @Nullable
        Object[] older = new @Nullable Object[columns];
        @Nullable
        Object[] newer = new @Nullable Object[columns];
        for (int i = 0; i < columns; i++) {
            Value value = after.getValue(i);
            boolean same = value == before.getValue(i);
            newer[i] = same && sameKeys && !rows.inKeys()[i] ? Change.KEPT : H2Values.travelling(value);
            older[i] = same ? newer[i] : H2Values.travelling(before.getValue(i));
        }
        return new RowChange(rows.table(), older, newer);
    }

    private static @Nullable Object @Nullable [] row(@Nullable Row row) {
        if (row == null) {
            return null;
        }
        @Nullable
        Object[] values = new @Nullable Object[row.getColumnCount()];
        for (int i = 0; i < values.length; i++) {
            values[i] = H2Values.travelling(row.getValue(i));
        }
        return values;
    }

    /**
     * Hands over H2's own values, and not in the form in which they travel, so that a copy in the same virtual machine shares
     * them: they never change, and neither do the arrays of stored rows. Large objects lie outside of their rows, in their
     * own database, and travel.
     */
    @Override
    public void scan(Table table, EmbeddedDatabase.RowConsumer rows) throws SQLException {
        // A query of the whole database's snapshot has gone before.
        session.lock();
        try {
            MVTable scanned = (MVTable) session.getDatabase().getSchema(table.schema()).getTableOrView(session,
                    table.name());
            boolean large = Stream.of(scanned.getColumns())
                    .anyMatch(column -> DataType.isLargeObject(column.getType().getValueType()));
            Cursor cursor = scanned.getScanIndex(session).find(session, null, null, false);
            while (cursor.next()) {
                @Nullable
                Object[] values = large ? row(cursor.get()) : cursor.get().getValueList();
                rows.row(Objects.requireNonNull(values));
            }
        } catch (DbException failed) {
            throw failed.getSQLException();
        } finally {
            session.unlock();
        }
    }

    @Override
    public List<@Nullable Object> travelling(@Nullable Object[] scanned) {
        List<@Nullable Object> row = new ArrayList<>(scanned.length);
        for (Object value : scanned) {
            row.add(value instanceof Value own ? H2Values.travelling(own) : value);
        }
        return row;
    }

    @Override
    public List<@Nullable Object[]> rows(String query, List<? extends @Nullable Object> parameters)
            throws SQLException {
        List<@Nullable Object[]> rows = new ArrayList<>();
        query(query, parameters, rows::add);
        return rows;
    }

    private void query(String sql, List<? extends @Nullable Object> parameters, EmbeddedDatabase.RowConsumer rows)
            throws SQLException {
        try (PreparedStatement query = connection.prepareStatement(sql)) {
            for (int i = 0; i < parameters.size(); i++) {
                query.setObject(i + 1, parameters.get(i));
            }
            try (JdbcResultSet results = (JdbcResultSet) query.executeQuery()) {
                int columns = results.getMetaData().getColumnCount();
                while (results.next()) {
                    @Nullable
                    Object[] row = new @Nullable Object[columns];
                    for (int i = 0; i < columns; i++) {
                        row[i] = H2Values.travelling(results.getInternal(i + 1));
                    }
                    rows.row(row);
                }
            }
        }
    }

    @Override
    public void refresh() {
        session.lock();
        try {
            session.rollback();
        } finally {
            session.unlock();
        }
    }

    @Override
    public void begin() {
        written.clear();
    }

    @Override
    public void write(Change change) throws SQLException {
        session.lock();
        try {
            session.startStatementWithinTransaction(null);
            try {
                MVTable table = table(change.table());
                switch (change.operation()) {
                    case INSERT -> table.addRow(session, newRow(table, change));
                    case DELETE -> table.removeRow(session, find(table, change));
                    case UPDATE -> {
                        Row old = find(table, change);
                        table.updateRow(session, old, updated(table, change, old));
                    }
                    case REPLACE -> throw new IllegalArgumentException("a row is replaced by two changes");
                }
            } finally {
                session.endStatement();
            }
        } catch (DbException failed) {
            SQLException reason = failed.getSQLException();
            throw reason.getErrorCode() == ErrorCode.DUPLICATE_KEY_1
                    ? EmbeddedDatabase.differs(change.table(), change, reason)
                    : reason;
        } finally {
            session.unlock();
        }
    }

    /** The table, locked against changes of the schema. */
    private MVTable table(Table of) throws SQLException {
        MVTable known = written.get(of);
        if (known == null) {
            known = (MVTable) session.getDatabase().getSchema(of.schema()).getTableOrView(session, of.name());
            known.lock(session, org.h2.table.Table.WRITE_LOCK);
            written.put(of, known);
        }
        return known;
    }

    private Row newRow(MVTable table, Change change) {
        if (change.row() instanceof Value[] shared) {
            return table.createRow(shared, Row.MEMORY_CALCULATE);
        }
        Value[] values = new Value[table.getColumns().length];
        for (int i = 0; i < values.length; i++) {
            values[i] = H2Values.value(session, table.getColumn(i), change.row()[i]);
        }
        return table.createRow(values, Row.MEMORY_CALCULATE);
    }

    private Row updated(MVTable table, Change change, Row old) {
        Value[] values = new Value[table.getColumns().length];
        for (int i = 0; i < values.length; i++) {
            Object value = change.row()[i];
            values[i] = Change.KEPT.equals(value)
                    ? old.getValue(i)
                    : H2Values.value(session, table.getColumn(i), value);
        }
        return table.createRow(values, Row.MEMORY_CALCULATE);
    }

    /** The newest version of the row, locked without waiting. */
    private Row find(MVTable table, Change change) throws SQLException {
        Index primary = table.getPrimaryKey();
        SearchRow wanted = table.getTemplateRow();
        for (Column column : primary.getColumns()) {
            int place = column.getColumnId();
            wanted.setValue(place, H2Values.value(session, column, change.row()[place]));
        }
        Cursor cursor = primary.find(session, wanted, wanted, false);
        if (cursor.next()) {
            Row locked = table.lockRow(session, cursor.get(), 0);
            if (locked != null) {
                return locked;
            }
        }
        throw EmbeddedDatabase.differs(change.table(), change, null);
    }

    @Override
    public boolean inTheWay(SQLException failure) {
        int code = failure.getErrorCode();
        return code == ErrorCode.LOCK_TIMEOUT_1 || code == ErrorCode.CONCURRENT_UPDATE_1;
    }

    /**
     * H2 rolls the transaction back that it chooses to end a deadlock. If that had stopped waiting at the same moment, it is
     * only marked, and can do nothing but be rolled back.
     */
    @Override
    public boolean ended(SQLException failure) {
        if (failure.getErrorCode() == ErrorCode.DEADLOCK_1) {
            return true;
        }
        session.lock();
        try {
            return session.hasPendingTransaction() && session.getTransaction().getStatus() != Transaction.STATUS_OPEN;
        } finally {
            session.unlock();
        }
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
        session.cancel();
    }

    @Override
    public void statementEnded() {
        try {
            session.checkCanceled();
        } catch (DbException cancelled) {
            // It has been noticed here, and so is forgotten.
        }
        session.lock();
        try {
            if (session.hasPendingTransaction()) {
                UndoneStatements.forget(session.getTransaction());
            }
        } finally {
            session.unlock();
        }
    }

    /** By the connection, whose watcher would keep the session, and its database with it, in memory otherwise. */
    @Override
    public void close() {
        try {
            connection.close();
        } catch (SQLException broken) {
            session.close();
        }
    }
}
