package tutti.engine.postgres.apply;

import java.util.Set;
import tutti.pgwire.ErrorFields;

/**
 * What an error of the server's says: of the statement, so that every replica's server says it, or of this server at this
 * moment. The SQLSTATE alone does not tell: a client's function can raise any, and that of a missing library is in the same
 * class as that of a broken disk. An error is this server's own trouble only if its code and the server's own source file
 * that raised it both say so; what procedural languages and extensions raise has files of theirs, which a client cannot choose.
 */
public enum ServerTrouble {
    /** None: the error is the statement's result. */
    NONE,
    /** The same statement may succeed later: a deadlock with a client of this node's, a cancellation, temporary files or memory that ran out. */
    PASSING,
    /** The server has no room or cannot read or write what is its own, whatever it is asked for: a full disk, a broken one, a full queue of notifications. */
    OWN,
    /** The server cannot be trusted any longer: its data are damaged. */
    DAMAGED;

    private static final Set<String> WAITS = Set.of("deadlock.c", "postgres.c", "proc.c", "lock.c", "lmgr.c");
    private static final Set<String> SERIALIZATION = Set.of("predicate.c", "heapam.c", "heapam_handler.c", "execMain.c",
            "nodeModifyTable.c", "nodeLockRows.c", "execReplication.c", "trigger.c", "ri_triggers.c");
    /** Of tables, the log and what belongs to them. */
    private static final Set<String> STORAGE = Set.of("md.c", "smgr.c", "bufmgr.c", "slru.c", "xlog.c", "xloginsert.c",
            "storage.c", "copydir.c", "aio.c", "aio_callback.c", "file_utils.c");
    /** Of temporary files, which code in a statement may fill a disk with. */
    private static final Set<String> TEMPORARY = Set.of("fd.c", "localbuf.c", "buffile.c", "logtape.c",
            "sharedtuplestore.c", "sharedfileset.c", "fileset.c");
    /** Of notifications, which wait in one queue of the server's for whoever listens. */
    private static final String NOTIFICATIONS = "async.c";
    private static final Set<String> MEMORY = Set.of("mcxt.c", "aset.c", "generation.c", "slab.c", "bump.c",
            "alignedalloc.c", "dsa.c", "dsm.c", "dsm_impl.c", "dynahash.c", "shmem.c", "lock.c", "pg_sema.c",
            "sysv_sema.c", "posix_sema.c", "parallel.c");
    private static final Set<String> DAMAGE = Set.of("bufmgr.c", "bufpage.c", "md.c", "nbtpage.c", "nbtsearch.c",
            "nbtutils.c", "nbtinsert.c", "heapam.c", "heaptoast.c", "toast_internals.c", "detoast.c", "slru.c",
            "clog.c",
            "multixact.c", "transam.c", "aio_callback.c", "ginpage.c", "gistutil.c", "hashutil.c", "spgutils.c",
            "brin_pageops.c", "relmapper.c");

    /** Judges an error. */
    public static ServerTrouble of(ErrorFields fields) {
        if (!fields.severity().equals("ERROR")) {
            return PASSING;
        }
        String file = fields.get('F');
        if (file == null) {
            return NONE;
        }
        return switch (fields.sqlState()) {
            case "40P01", "55P03", "57014" -> WAITS.contains(file) ? PASSING : NONE;
            case "40001" -> SERIALIZATION.contains(file) ? PASSING : NONE;
            case "53100", "58030", "53000" ->
                STORAGE.contains(file) ? OWN : TEMPORARY.contains(file) ? PASSING : NONE;
            case "54000" -> NOTIFICATIONS.equals(file) ? OWN : NONE;
            case "53200" -> MEMORY.contains(file) ? PASSING : NONE;
            case "XX001", "XX002" -> DAMAGE.contains(file) ? DAMAGED : NONE;
            default -> NONE;
        };
    }
}
