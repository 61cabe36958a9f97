package tutti.engine.jdbc;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Engine;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.WriteSet;

/**
 * A database's sessions and appliers that are open, and who of them is in the way of whom. Tells a listener, which decides who
 * gives way. Safe for use from any thread.
 */
final class OpenedSessions {
    private static final Engine.BlockedListener NO_LISTENER = (_, _) -> {};

    private final Set<JdbcSession> sessions = ConcurrentHashMap.newKeySet();
    private final Set<JdbcApplier> appliers = ConcurrentHashMap.newKeySet();
    private volatile Engine.BlockedListener listener = NO_LISTENER;

    void add(JdbcSession session) {
        sessions.add(session);
    }

    void add(JdbcApplier applier) {
        appliers.add(applier);
    }

    void remove(JdbcSession session) {
        sessions.remove(session);
    }

    void remove(JdbcApplier applier) {
        appliers.remove(applier);
    }

    /** All sessions; may change while it is looked at. */
    Set<JdbcSession> sessions() {
        return sessions;
    }

    /** The transactions that others than this one have open. */
    Map<JdbcSession, LocalTransaction> others(JdbcSession than) {
        Map<JdbcSession, LocalTransaction> others = new HashMap<>();
        for (JdbcSession session : sessions) {
            LocalTransaction holder = session.open() && !session.equals(than) ? session.transaction() : null;
            if (holder != null) {
                others.put(session, holder);
            }
        }
        return others;
    }

    /** All appliers; may change while it is looked at. */
    Set<JdbcApplier> appliers() {
        return appliers;
    }

    /** Sets who is told. */
    void onBlocked(Engine.BlockedListener heard) {
        listener = heard;
    }

    /**
     * Names the local transactions that are in the way of write sets.
     *
     * @param writes null for everything: whoever has a transaction open
     */
    void tellBlocked(long position, @Nullable List<WriteSet> writes) {
        for (JdbcSession session : sessions) {
            if (!session.open()) {
                continue;
            }
            LocalTransaction holder = session.transaction();
            if (holder != null
                    && (writes == null || writes.stream().anyMatch(write -> session.meets(write.keys())))) {
                listener.blocked(position, holder);
            }
        }
    }

    /** Names everybody else who has something open, to a transaction that has met a row of one of them. */
    void tellBlocked(JdbcSession waiter) {
        LocalTransaction waiting = waiter.transaction();
        if (waiting == null) {
            return;
        }
        Set<LocalTransaction> holders = new LinkedHashSet<>();
        for (JdbcSession session : sessions) {
            LocalTransaction holder = session.open() ? session.transaction() : null;
            if (holder != null && !holder.equals(waiting)) {
                holders.add(holder);
            }
        }
        if (!holders.isEmpty()) {
            listener.blocked(waiting, holders);
        }
    }

    /**
     * Names whoever is in the way of an applier of no position, and those for whom their statements wait. What a session holds
     * is not known while its statement runs; if nobody else is in the way, each is named whose statement waits itself. One too
     * many of these may cost a transaction that would have gone on; one too few, a deadlock that nobody sees.
     */
    void tellWaits(JdbcApplier waiter, List<WriteSet> writes) {
        Set<JdbcSession> holders = new LinkedHashSet<>();
        for (JdbcSession session : sessions) {
            if (session.open() && writes.stream().anyMatch(write -> session.meets(write.keys()))) {
                holders.add(session);
            }
        }
        Set<Engine.Applier> others = new LinkedHashSet<>();
        for (JdbcApplier applier : appliers) {
            if (!applier.equals(waiter) && applier.inTheWayOf(writes)) {
                others.add(applier);
            }
        }
        if (holders.isEmpty() && others.isEmpty()) {
            sessions.stream().filter(session -> session.open() && waits(session)).forEach(holders::add);
        }
        Deque<JdbcSession> next = new ArrayDeque<>(holders);
        for (JdbcSession holder = next.poll(); holder != null; holder = next.poll()) {
            for (JdbcSession session : sessions) {
                if (session.isWaitedForBy(holder) && holders.add(session)) {
                    next.add(session);
                }
            }
            for (JdbcApplier applier : appliers) {
                if (!applier.equals(waiter) && applier.isWaitedForBy(holder)) {
                    others.add(applier);
                }
            }
        }
        listener.waits(waiter, holders.stream().map(JdbcSession::transaction).filter(Objects::nonNull)
                .collect(Collectors.toSet()), others);
    }

    private boolean waits(JdbcSession session) {
        return sessions.stream().anyMatch(other -> other.isWaitedForBy(session))
                || appliers.stream().anyMatch(applier -> applier.isWaitedForBy(session));
    }
}
