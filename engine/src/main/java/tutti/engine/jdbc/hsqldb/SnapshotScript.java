package tutti.engine.jdbc.hsqldb;

import java.io.FilterOutputStream;
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
    /**
     * So many are synced at a time. Whoever syncs another file of the same file system, such as the order's log, may wait for all that has been
     * written to this one (ext4).
     */
    private static final int SYNCED_BYTES = 4 << 20;

    private final Session system;
    private final Session snapshot;
    private final Watched file;
    private final BooleanSupplier givenUp;
    private boolean gaveUp;

    /**
     * The file. HSQLDB says in its own log of events only that a sync, or writing the last bytes before it, has failed; closing the file
     * then writes these again, behind what there is of them already.
     */
    private static final class Watched extends FilterOutputStream implements FileAccess.FileSync {
        private final FileAccess.FileSync device;
        private @Nullable IOException failure;
        private int unsynced;

        Watched(OutputStream file, FileAccess.FileSync device) {
            super(file);
            this.device = device;
        }

        @Override
        public void write(byte[] bytes, int from, int length) throws IOException {
            try {
                out.write(bytes, from, length);
            } catch (IOException failed) {
                failure = failed;
                throw failed;
            }
            unsynced += length;
            if (unsynced >= SYNCED_BYTES) {
                sync();
            }
        }

        @Override
        public void sync() throws IOException {
            unsynced = 0;
            try {
                device.sync();
            } catch (IOException failed) {
                failure = failed;
                throw failed;
            }
        }
    }

    private SnapshotScript(Database database, Watched file, Session snapshot, BooleanSupplier givenUp) {
        super(database, file, file, false);
        this.system = database.sessionManager.getSysSession();
        this.snapshot = snapshot;
        this.file = file;
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
            SnapshotScript script = new SnapshotScript(database, new Watched(out, files.getFileSync(out)), snapshot,
                    givenUp);
            try {
                script.writeAll();
            } finally {
                script.close();
            }
            if (script.file.failure != null) {
                throw script.file.failure;
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
