package tutti.engine.postgres;

import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes room in the server's table of locks. Any role can fill it, by advisory locks; then nothing can be applied, and nobody new can connect. So the client's
 * session that has most of them is ended, one each time that the node meets a full table; what it does is tried again. Only the question that tells who
 * that is needs no room there (relations of the database itself are locked in a place of each process). Any thread.
 */
final class LockTable {
    private static final Logger LOG = LoggerFactory.getLogger(LockTable.class);
    private static final String OUT_OF_MEMORY = "53200";
    /** Who has no more locks than this is not ended. */
    private static final int SPARED = 32;

    private final AdminConnection admin;
    private final Set<Integer> sessions;
    private final AtomicBoolean asking = new AtomicBoolean();

    /** @param sessions server processes of clients, as they are when it is asked; of a concurrent map */
    LockTable(AdminConnection admin, Set<Integer> sessions) {
        this.admin = admin;
        this.sessions = sessions;
    }

    /** Something of the node's own has failed with this SQLSTATE. */
    void failed(String sqlState) {
        if (!sqlState.equals(OUT_OF_MEMORY) || sessions.isEmpty() || !asking.compareAndSet(false, true)) {
            return;
        }
        String clients = sessions.stream().map(String::valueOf).collect(Collectors.joining(","));
        CompletableFuture<Void> _ = admin.ask(connection -> connection.query("SELECT pid,"
                + " pg_catalog.pg_terminate_backend(pid) FROM (SELECT pid FROM pg_catalog.pg_locks WHERE pid = ANY ('{"
                + clients + "}') GROUP BY pid HAVING pg_catalog.count(*) > " + SPARED
                + " ORDER BY pg_catalog.count(*) DESC LIMIT 1) most")).handle((ended, failed) -> {
                    asking.set(false);
                    if (failed != null) {
                        LOG.warn("the server is out of shared memory, and does not tell who has most locks", failed);
                    } else if (!ended.rows().isEmpty()) {
                        LOG.warn("the server is out of shared memory: the session with most locks is ended, process {}",
                                ended.value());
                    }
                    return null;
                });
    }
}
