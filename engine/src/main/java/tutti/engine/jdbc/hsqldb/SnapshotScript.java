package tutti.engine.jdbc.hsqldb;

import java.io.IOException;
import java.io.OutputStream;
import java.sql.SQLException;
import java.util.function.BooleanSupplier;
import org.hsqldb.Database;
import org.hsqldb.HsqlException;
import org.hsqldb.Session;
import org.hsqldb.Table;
import org.hsqldb.jdbc.JDBCUtil;
import org.hsqldb.lib.FileAccess;
import org.hsqldb.navigator.RowIterator;
import org.hsqldb.scriptio.ScriptWriterText;
import org.jspecify.annotations.Nullable;

/**
 * Writes the script of a database as one open transaction sees it, while others go on. HSQLDB's own script has every row that lies in a
 * table's index, whoever sees it, so it needs a database at which nobody is at work. No schema change may run meanwhile.
 */
final class SnapshotScript extends ScriptWriterText {
    private final Session system;
    private final Session snapshot;
    private final Device device;
    private final BooleanSupplier givenUp;
    private boolean gaveUp;

    /** HSQLDB says in its own log of events only that a sync has failed. */
    private static final class Device implements FileAccess.FileSync {
        private final FileAccess.FileSync real;
        private @Nullable IOException failure;

        Device(FileAccess.FileSync real) {
            this.real = real;
        }

        @Override
        public void sync() throws IOException {
            try {
                real.sync();
            } catch (IOException failed) {
                failure = failed;
                throw failed;
            }
        }
    }

    private SnapshotScript(Database database, OutputStream out, Device device, Session snapshot,
            BooleanSupplier givenUp) {
        super(database, out, device, false);
        this.system = database.sessionManager.getSysSession();
        this.snapshot = snapshot;
        this.device = device;
        this.givenUp = givenUp;
    }

    /**
     * Writes one to a new file, and syncs it. Blocks for as long as reading the database takes.
     *
     * @param snapshot has its transaction open, and does nothing else
     * @param givenUp whether it is not wanted any more; asked for each row
     * @return whether it is whole; if not, it has been given up
     * @throws SQLException if it cannot be written
     */
    static boolean write(Session snapshot, String file, BooleanSupplier givenUp) throws SQLException {
        Database database = snapshot.getDatabase();
        FileAccess files = database.logger.getFileAccess();
        try {
            OutputStream out = files.openOutputStreamElement(file);
            SnapshotScript script = new SnapshotScript(database, out, new Device(files.getFileSync(out)), snapshot,
                    givenUp);
            try {
                script.writeAll();
            } finally {
                script.close();
            }
            if (script.device.failure != null) {
                throw script.device.failure;
            }
            return !script.gaveUp;
        } catch (HsqlException failed) {
            throw JDBCUtil.sqlException(failed);
        } catch (IOException failed) {
            throw new SQLException(file + " cannot be written: " + failed.getMessage(), "58030", failed);
        }
    }

    @Override
    public void writeTableData(Table table) {
        RowIterator rows = table.rowIterator(snapshot);
        while (!gaveUp && rows.next()) {
            writeRow(system, rows.getCurrentRow(), table);
            gaveUp = givenUp.getAsBoolean();
        }
        rows.release();
    }
}
