package tutti.engine.postgres;

import io.netty.channel.EventLoop;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledFuture;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.Engine.Applier;
import tutti.core.spi.Engine.BlockedListener;
import tutti.core.spi.LocalTransaction;
import tutti.engine.postgres.apply.ExecutorServices.Registration;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.QueryResult;

/**
 * Who waits for whose locks in the server: asks the server about an applier or transaction that is busy, again and again, and names the local transactions and
 * appliers that block it, for as long as they do. Any thread.
 */
final class LockWaits {
    private static final Logger LOG = LoggerFactory.getLogger(LockWaits.class);
    /** Questions under way, above which no other is asked. */
    private static final int QUESTIONS_MAX = 8;
    private static final BlockedListener NO_LISTENER = (_, _) -> {};

    private final AdminConnection admin;
    private final Map<Integer, Supplier<? extends @Nullable LocalTransaction>> sessions;
    private final Map<Integer, Applier> appliers = new ConcurrentHashMap<>();
    private volatile BlockedListener listener = NO_LISTENER;

    /** @param sessions what is open in clients' sessions, by server processes; a concurrent map, perhaps of several databases' engines */
    LockWaits(AdminConnection admin, Map<Integer, Supplier<? extends @Nullable LocalTransaction>> sessions) {
        this.admin = admin;
        this.sessions = sessions;
    }

    Map<Integer, Supplier<? extends @Nullable LocalTransaction>> sessions() {
        return sessions;
    }

    void onBlocked(BlockedListener heard) {
        listener = heard;
    }

    Registration registerSession(int backendPid, Supplier<? extends @Nullable LocalTransaction> current) {
        sessions.put(backendPid, current);
        return () -> sessions.remove(backendPid, current);
    }

    void registerApplier(BackendConnection connection, Applier applier) {
        int pid = connection.processId();
        appliers.put(pid, applier);
        CompletableFuture<Void> _ = connection.closed().whenComplete((_, _) -> appliers.remove(pid, applier));
    }

    ScheduledFuture<?> watch(EventLoop loop, long position, int backendPid) {
        return new WaitWatch(watch -> ask(position, backendPid, watch, admin.connection())).on(loop);
    }

    /** The same, asked on another connection than usual. */
    ScheduledFuture<?> watch(EventLoop loop, long position, int backendPid, BackendConnection by) {
        return new WaitWatch(watch -> ask(position, backendPid, watch, CompletableFuture.completedFuture(by))).on(loop);
    }

    ScheduledFuture<?> watch(EventLoop loop, LocalTransaction waiter, int backendPid, BooleanSupplier waits) {
        return new WaitWatch(watch -> {
            if (waits.getAsBoolean()) {
                ask("a local transaction", backendPid, watch, admin.connection(),
                        holders -> listener.blocked(waiter, holders));
            } else {
                watch.soon();
            }
        }).on(loop);
    }

    ScheduledFuture<?> watch(EventLoop loop, Applier waiter, int backendPid) {
        return new WaitWatch(
                watch -> blockers("an applier that prepares", allBlockers(backendPid), admin.connection(), pids -> {
                    Set<LocalTransaction> locals = new LinkedHashSet<>();
                    Set<Applier> others = new LinkedHashSet<>();
                    for (int pid : pids) {
                        Supplier<? extends @Nullable LocalTransaction> session = sessions.get(pid);
                        LocalTransaction holder = session == null ? null : session.get();
                        if (holder != null) {
                            locals.add(holder);
                        }
                        Applier other = appliers.get(pid);
                        if (other != null) {
                            others.add(other);
                        }
                    }
                    if (!pids.isEmpty()) {
                        watch.soon();
                    }
                    listener.waits(waiter, locals, others);
                })).on(loop);
    }

    private void ask(long position, int backendPid, WaitWatch watch, CompletableFuture<BackendConnection> by) {
        ask("the applier of position " + position, backendPid, watch, by,
                holders -> holders.forEach(holder -> listener.blocked(position, holder)));
    }

    private void ask(String waiter, int backendPid, WaitWatch watch, CompletableFuture<BackendConnection> by,
            Consumer<Set<LocalTransaction>> heard) {
        if (!sessions.isEmpty()) {
            blockers(waiter, "SELECT pg_catalog.unnest(pg_catalog.pg_blocking_pids(" + backendPid + "))", by, pids -> {
                Set<LocalTransaction> holders = new LinkedHashSet<>();
                for (int pid : pids) {
                    Supplier<? extends @Nullable LocalTransaction> session = sessions.get(pid);
                    LocalTransaction holder = session == null ? null : session.get();
                    if (holder == null) {
                        LOG.debug("{} waits for process {}, which has no open local transaction", waiter, pid);
                    } else {
                        holders.add(holder);
                    }
                }
                if (!pids.isEmpty()) {
                    watch.soon();
                }
                if (!holders.isEmpty()) {
                    heard.accept(holders);
                }
            });
        }
    }

    /** Asks for whom a process waits, directly or through others. */
    private static String allBlockers(int backendPid) {
        return "WITH RECURSIVE blockers(pid) AS (SELECT pg_catalog.unnest(pg_catalog.pg_blocking_pids(" + backendPid
                + ")) UNION SELECT next.pid FROM blockers,"
                + " pg_catalog.unnest(pg_catalog.pg_blocking_pids(blockers.pid)) AS next(pid)) SELECT pid FROM blockers";
    }

    private void blockers(String waiter, String sql, CompletableFuture<BackendConnection> by,
            Consumer<List<Integer>> heard) {
        if (admin.isClosed()) {
            return;
        }
        CompletableFuture<Void> _ = by.thenAccept(connection -> {
            if (connection.inFlight() <= QUESTIONS_MAX) {
                CompletableFuture<Void> _ = connection.query(sql).thenAccept(result -> heard.accept(pids(result)))
                        .exceptionally(failed -> unknown(waiter, failed));
            }
        }).exceptionally(failed -> unknown(waiter, failed));
    }

    private static @Nullable Void unknown(String waiter, Throwable failed) {
        LOG.warn("cannot find out what {} waits for", waiter, failed);
        return null;
    }

    private static List<Integer> pids(QueryResult result) {
        return result.rows().stream().map(List::getFirst).filter(Objects::nonNull).map(Integer::valueOf).toList();
    }
}
