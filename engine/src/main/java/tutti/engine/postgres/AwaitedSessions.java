package tutti.engine.postgres;

import io.netty.channel.EventLoopGroup;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import tutti.engine.postgres.capture.CaptureInstaller;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.QueryResult;

/** Which sessions hold what the node's appliers wait for, or its reading of the catalog, in words for an operator. Any thread. */
public final class AwaitedSessions {
    private static final long ANSWER_SECONDS_MAX = 5;

    private AwaitedSessions() {}

    /**
     * Asks on a connection of its own.
     *
     * @param settings of a superuser
     * @return in words; nothing if neither waits for anybody; fails if there is no answer within five seconds
     */
    public static CompletableFuture<String> ask(EventLoopGroup loops, BackendSettings settings,
            CaptureInstaller.Functions functions) {
        return BackendConnection.connect(loops.next(), OwnSessions.superuser(settings, "tutti watch"))
                .thenCompose(
                        connection -> connection.query(sql(functions)).orTimeout(ANSWER_SECONDS_MAX, TimeUnit.SECONDS)
                                .whenComplete((_, failed) -> {
                                    if (failed == null) {
                                        connection.close();
                                    } else {
                                        connection.abort();
                                    }
                                }))
                .thenApply(AwaitedSessions::words);
    }

    /**
     * From the processes of appliers, executors and the engine's questions along the chain of those that wait for each other to those that wait for nobody; process 0 stands for prepared
     * transactions, which have none. Statements are not shown, as they may have secrets in them. Names may have anything in them.
     */
    private static String sql(CaptureInstaller.Functions functions) {
        return """
                WITH RECURSIVE chain(waiter, pid) AS (
                    SELECT a.pid, b.pid FROM pg_catalog.pg_stat_activity a, pg_catalog.unnest(pg_catalog.pg_blocking_pids(a.pid)) AS b(pid)
                    WHERE a.usename = %s OR a.application_name = 'tutti executor' OR (a.application_name = 'tutti engine' AND a.usename = CURRENT_USER)
                    UNION SELECT c.waiter, b.pid FROM chain c, pg_catalog.unnest(pg_catalog.pg_blocking_pids(c.pid)) AS b(pid)
                )
                SELECT pg_catalog.concat(CASE c.pid WHEN 0 THEN 'a prepared transaction (pg_prepared_xacts; ROLLBACK PREPARED ends it)'
                        ELSE pg_catalog.concat('session ', c.pid, ' of role ', pg_catalog.regexp_replace(coalesce(s.usename, '?'), '[[:cntrl:]]', '?', 'g'),
                            ' (', coalesce(s.client_addr::text, 'local'), ', ', coalesce(s.state, s.backend_type), ', its statement began ', s.query_start,
                            ', SELECT pg_terminate_backend(', c.pid, ') ends it)') END,
                    ' holds up ', coalesce((SELECT pg_catalog.string_agg(DISTINCT pg_catalog.regexp_replace(coalesce('table ' || l.relation::pg_catalog.regclass::text,
                            'a ' || CASE l.locktype WHEN 'transactionid' THEN 'row' ELSE l.locktype END), '[[:cntrl:]]', '?', 'g'), ', ')
                        FROM pg_catalog.pg_locks l WHERE NOT l.granted AND l.pid = ANY (pg_catalog.array_agg(c.waiter))), 'an applier'))
                FROM chain c LEFT JOIN pg_catalog.pg_stat_activity s ON s.pid = c.pid
                WHERE c.pid = 0 OR pg_catalog.cardinality(pg_catalog.pg_blocking_pids(c.pid)) = 0
                GROUP BY c.pid, s.usename, s.client_addr, s.state, s.backend_type, s.query_start ORDER BY c.pid LIMIT 5\
                """
                .formatted("'" + functions.name(CaptureInstaller.Role.APPLIER).replace("'", "''") + "'");
    }

    private static String words(QueryResult result) {
        return result.rows().stream().map(row -> String.valueOf(row.getFirst())).collect(Collectors.joining("; "));
    }
}
