package tutti.engine.postgres;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.EngineFailure;
import tutti.pgwire.ErrorFields;

/**
 * Makes room in the server's queue of notifications (docs/decisions/0177). A session that listens and stays in a transaction keeps there all that is told meanwhile, whoever
 * it is for; when the queue is full, no transaction that tells something commits, and the node can apply none. The server says who is in the way, in a
 * warning, once in five seconds at most; if that is a client's session, it is ended when something of the node's own has failed for want of room. Any thread.
 */
final class NotifyQueue {
    private static final Logger LOG = LoggerFactory.getLogger(NotifyQueue.class);
    private static final String FULL = "54000";
    private static final String SOURCE = "async.c";
    /** For so long a warning is believed: what fails is tried again sooner, and met by the next one. */
    private static final Duration BELIEVED = Duration.ofSeconds(6);
    private static final int NOBODY = 0;
    private static final Pattern PROCESS = Pattern.compile("\\d{1,9}");

    /** Who was in the way, and when. */
    private record Holder(int process, long nanos) {}

    private final AdminConnection admin;
    private final Set<Integer> sessions;
    private final AtomicBoolean asking = new AtomicBoolean();
    private volatile @Nullable Holder holder;

    /** @param sessions server processes of clients, as they are when it is asked; of a concurrent map */
    NotifyQueue(AdminConnection admin, Set<Integer> sessions) {
        this.admin = admin;
        this.sessions = sessions;
    }

    /** The server has said something beside its answers to the node. */
    void noticed(ErrorFields said) {
        String detail = said.get('D');
        Matcher process = PROCESS.matcher(SOURCE.equals(said.get('F')) && detail != null ? detail : "");
        if (process.find()) {
            holder = new Holder(Integer.parseInt(process.group()), System.nanoTime());
        }
    }

    /** Something of the node's own has failed. */
    void failed(EngineFailure failure) {
        if (!failure.sqlState().equals(FULL) || !failure.isTrouble() || !asking.compareAndSet(false, true)) {
            return;
        }
        Holder named = holder;
        holder = null;
        int process = named == null || System.nanoTime() - named.nanos > BELIEVED.toNanos() ? NOBODY : named.process;
        if (process != NOBODY && !sessions.contains(process)) {
            LOG.warn(
                    "the server's queue of notifications is full, since process {}, which is no client's of this node, listens and stays in a"
                            + " transaction: end it",
                    process);
            process = NOBODY;
        }
        // What nobody needs any more is removed when somebody asks how full it is, or tells something: which nobody can.
        String ask = "SELECT pid, pg_catalog.pg_terminate_backend(pid)"
                + " FROM pg_catalog.pg_stat_activity WHERE pid = " + process
                + " AND xact_start IS NOT NULL; SELECT pg_catalog.pg_notification_queue_usage()";
        CompletableFuture<Void> _ = admin.ask(connection -> connection.query(ask)).handle((ended, failed) -> {
            asking.set(false);
            if (failed != null) {
                LOG.warn("the server's queue of notifications is full, and no room can be made", failed);
            } else if (!ended.statements().getFirst().rows().isEmpty()) {
                LOG.warn(
                        "the server's queue of notifications is full: the session that listens and stays in a transaction is ended,"
                                + " process {}",
                        ended.statements().getFirst().rows().getFirst().getFirst());
            }
            return null;
        });
    }
}
