package tutti.core.spi;

import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Response;
import tutti.core.txn.AbortReason;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeySet;
import tutti.core.txn.WriteSet;

/**
 * One replica's database, as the applier sees it. Executing clients' statements is a matter of each engine's own
 * sessions; what they all have in common is {@link LocalTransaction}.
 *
 * <p>
 * Invariant: the engine's committed state always equals the effects of positions 1 to {@code p} for some {@code p},
 * which it knows ({@link #appliedPosition}), also after a crash. The caller commits in order of position, one commit
 * at a time.
 */
public interface Engine extends AutoCloseable {
    /** So many positions before the applied one the engine may forget that one was skipped. */
    long SKIPPED_KEPT = 1_000_000;

    /**
     * Asks for the position up to which effects are in the engine, from the engine's own commit records; 0 if none. What
     * appliers and clients' sessions of an earlier opened engine on the same database were committing has ended by then: it is told of here, or is
     * never made.
     */
    void appliedPosition(Completion<Long> done);

    /** Like {@link #appliedPosition}, but only what would survive a crash of the engine now. */
    void durablePosition(Completion<Long> done);

    /**
     * Whether {@link #durablePosition} has the engine write much that it would write later, once for many changes: then it is asked
     * when there is something to gain, and now and then.
     */
    default boolean writesForDurability() {
        return false;
    }

    /**
     * Asks for the positions at which nothing was made because the nodes so decided ({@link Applier#skip}), at least for
     * those of the last {@link #SKIPPED_KEPT}.
     */
    void skippedPositions(Completion<Set<Long>> done);

    /** Opens something that applies write sets. The caller keeps a few of them, and uses each from one thread. */
    Applier openApplier();

    /**
     * Opens something that executes whole requests of clients, of any node's. The caller keeps a few of them.
     *
     * @throws UnsupportedOperationException if this engine has no requests
     */
    default Executor openExecutor() {
        throw new UnsupportedOperationException(this + " executes no whole requests of other nodes");
    }

    /** Tells the listener about transactions that stand in the way of appliers. Set before the first applier is opened. */
    void onBlocked(BlockedListener listener);

    /**
     * Sets what is told, at most once and from any thread, when the engine's server went away or restarted: what was
     * committed last may be gone, and the caller must recover from the order's log before it lets anything commit. Set
     * before the first applier is opened.
     */
    void onLost(Runnable listener);

    /**
     * Whether a local transaction locks the rows that its foreign keys name, so that an applier which removes one of them
     * waits for it. If not, certification must look for such removals from the transaction's snapshot on.
     */
    default boolean locksReferencedRows() {
        return true;
    }

    /**
     * Which transaction that its client has prepared would be met: one that has been made visible here, and neither committed nor rolled
     * back, and whose keys conflict with these. Its rows are not locked, so who has touched them must not ask to commit. From any thread.
     *
     * @param keys of a transaction that asks to commit
     * @return null if there is none
     */
    default AbortReason.@Nullable Promised promised(KeySet keys) {
        return null;
    }

    /** Whether one applier can make the changes of both in one engine transaction. From any thread. */
    default boolean together(WriteSet one, WriteSet other) {
        return true;
    }

    /**
     * Which tables a write set of this engine changes rows of, by {@linkplain tutti.core.txn.TablePlacement the keys that write sets name them by}. Asked where some
     * tables are on some nodes only.
     *
     * @throws UnsupportedOperationException if nodes over this engine keep all tables
     */
    default Set<Long> changedTables(WriteSet writes) {
        throw new UnsupportedOperationException(this + " keeps all tables");
    }

    /**
     * Prepares to keep tables on some nodes only ({@link tutti.core.txn.TablePlacement}): looks whether it could be done here now, and says by which keys write sets
     * name the tables and which statement does it. That statement is then ordered as a barrier, and every node's engine {@linkplain Applier#execute executes} it at its
     * position, whether it keeps the tables or not:
     * <ul>
     * <li>A node that is not among the keepers has no rows of them behind that position, passes over later changes of them, and every statement of a client that names
     * one fails there with {@code 0A000}. The keepers keep their rows. What every node executes by itself and reads or writes one fails at all nodes alike. All of that
     * is as durable as the position, and travels with a copy of the database: whoever receives it drops what it does not keep.
     * <li>Rows are never brought to a node by it: one that is among the keepers and has not been before refuses it as one that {@linkplain EngineFailure.Kind#NEEDS_COPY needs a copy}, after everything for which
     * all nodes refuse it.
     * <li>No keepers are named to forget a placement: it takes effect if the tables are not placed, or do not exist any more.
     * <li>It may come again, and then takes effect without doing anything.
     * <li>Refused at all nodes alike, for what they all have in common: a table that does not exist or is none of an application's own, a foreign key that joins
     * one of the tables to a table that is kept on other nodes.
     * </ul>
     *
     * @param tables at least one, as a person names them
     * @param keepers numbers of the nodes that keep them from then on; none to forget that they are placed
     * @param done fails with {@code 0A000} if nodes over this engine keep all tables, or with the reason why it would be refused
     */
    default void preparePlacement(List<String> tables, Set<Integer> keepers, Completion<PlacementPlan> done) {
        done.failed(new EngineFailure("0A000",
                "nodes over this database keep all tables; tables on some nodes only need a PostgreSQL database",
                false));
    }

    /**
     * How tables are placed.
     *
     * @param tables by full name, schema included and quoted where SQL needs it, the key that write sets name the table by; also of those that do not exist any more
     * @param statement that each node's engine executes at the placement's position
     * @param keys what that is taken to touch, as of any schema change
     */
    record PlacementPlan(SortedMap<String, Long> tables, byte[] statement, KeySet keys) {
        /** Keeps a copy. */
        public PlacementPlan {
            tables = Collections.unmodifiableSortedMap(new TreeMap<>(tables));
        }
    }

    /** Closes all connections. */
    @Override
    void close();

    /**
     * Applies write sets of several consecutive positions in one engine transaction. States: idle, after {@code apply}
     * applied, after {@code commit} or {@code rollback} idle again.
     */
    interface Applier extends AutoCloseable {
        /**
         * Begins an engine transaction and makes these changes in it, in order, as {@code session_replication_role =
         * replica} does: no user triggers, no foreign key checks. Takes the row locks. On failure everything is rolled
         * back and the applier is idle.
         *
         * @param position of the first; the others are later. 0 if they have none yet: whoever makes it wait then
         *            need not leave ({@link BlockedListener#waits})
         * @param writes at least one; each can be applied {@linkplain Engine#together together} with the first
         */
        void apply(long position, List<WriteSet> writes, Completion<Void> done);

        /**
         * Asks the engine to give up an {@link #apply} that is under way, which then fails unless it was about to be done.
         * Nothing happens if none is.
         */
        default void cancel() {}

        /** Commits, recording {@code position}, the last of the applied ones. On failure it is not known whether. */
        void commit(long position, Completion<Void> done);

        /**
         * {@link #apply}, and {@link #commit} as soon as that is done: for changes that nothing has to become visible before.
         * On failure it is not known whether they are committed; if not, everything is rolled back.
         *
         * @param first position of the first write set
         * @param last position to record
         */
        default void applyAndCommit(long first, List<WriteSet> writes, long last, Completion<Void> done) {
            apply(first, writes, new Completion<>() {
                @Override
                public void succeeded(Void nothing) {
                    commit(last, done);
                }

                @Override
                public void failed(EngineFailure cause) {
                    done.failed(cause);
                }
            });
        }

        /** Gives the applied changes up. */
        void rollback(Runnable done);

        /**
         * Executes a barrier statement in an engine transaction of its own and commits it with the position recorded. A
         * statement that the engine refuses for a reason of the statement's own (a table that exists already) leaves no
         * effects and records nothing, and is reported as a success that did not take effect: the position is then skipped, or the
         * statement tried again, as the nodes decide. On failure it is not known whether: what has lost its connection may yet be made, and then a
         * further attempt fails or is refused, and {@link Engine#appliedPosition} tells. Local
         * transactions that are in its way may begin again as soon as they have left: an engine in which it must be alone
         * lets no statement of theirs begin before it is done.
         */
        void execute(long position, byte[] statement, Completion<ExecuteResult> done);

        /**
         * Commits a position at which nothing is made, and that it is one ({@link Engine#skippedPositions}). On failure it is not
         * known whether.
         *
         * @param why what its client is told, in the result, which did not take effect
         */
        void skip(long position, EngineFailure why, Completion<ExecuteResult> done);

        @Override
        void close();
    }

    /**
     * Executes whole requests of clients as their own sessions would, and keeps what they have changed until it is committed or rolled
     * back. Any thread.
     */
    interface Executor extends AutoCloseable {
        /** What several requests have changed and are answered is not larger than this: it travels in one message. */
        int BYTES_MAX = 4 << 20;

        /**
         * Begins an engine transaction, executes requests in it, one after the other, and captures what they have changed. The engine chooses how
         * many: the first, and as many behind it as come to the same as if each were executed in a transaction of its own, and are not too large together. What it refuses for a
         * request's own sake is that request's result if it is the first, and executed alone; otherwise the requests before it are all that is executed, or it undoes that one alone,
         * whose result this is, and goes on.
         * If the first is refused, or nothing was changed, the transaction has ended in the engine.
         *
         * @param transaction that the listener is told if this one is {@linkplain BlockedListener in the way}; it has its place in the
         *            order, so those that make it wait are told, too
         * @param requests at least one
         * @param done not told after {@link #rollback} was asked for. A failure is a passing one, or the {@linkplain EngineFailure.Kind#TROUBLE trouble} of the
         *            database, and has rolled all back; a passing one may be of any of them, and does not come again for ever if the first is executed alone
         */
        void execute(LocalTransaction transaction, List<Request> requests, Completion<Executed> done);

        /** As {@link LocalTransaction#commit}. */
        void commit(long position, Completion<Void> done);

        /** As {@link LocalTransaction#rollback}; afterwards it can execute again. */
        void rollback(Runnable done);

        @Override
        void close();
    }

    /**
     * A whole request of a client.
     *
     * @param statement as the engine encodes it
     * @param classes all that it may touch: one that leaves them is refused, if the engine can tell
     */
    record Request(byte[] statement, ConflictClasses classes) {
        /** All that some may touch together, at least one. */
        public static ConflictClasses classes(List<Request> requests) {
            return requests.stream().map(Request::classes).reduce(ConflictClasses::union).orElseThrow();
        }
    }

    /**
     * What {@link Executor#execute} did.
     *
     * @param writes what was changed by all together; empty if nothing was, or the only one did not take effect
     * @param responses what the clients of the first requests are told, at least of one: the others have not been executed. The first has taken
     *            effect, unless it is the only one
     */
    record Executed(WriteSet writes, List<Response> responses) {
        /** Several, or one. */
        public Executed {
            responses = List.copyOf(responses);
            if (responses.isEmpty() || (responses.size() > 1 && !responses.getFirst().tookEffect())) {
                throw new IllegalArgumentException("executed together: " + responses);
            }
        }

        /** Bytes of what was changed and answered. */
        public long bytes() {
            return writes.changes().length + responses.stream().mapToLong(each -> each.content().length).sum();
        }

        /** Of one that was executed alone. */
        public Executed(WriteSet writes, Response response) {
            this(writes, List.of(response));
        }
    }

    /**
     * What {@link Applier#execute} did.
     *
     * @param refusal why the engine refused it; null if it took effect
     * @param response what the engine answered, in the form that the front end passes on to the client (for PostgreSQL:
     *            the NoticeResponse, CommandComplete or ErrorResponse messages)
     */
    record ExecuteResult(@Nullable EngineFailure refusal, byte[] response) {
        /** Of a statement that took effect. */
        public static ExecuteResult done(byte[] response) {
            return new ExecuteResult(null, response);
        }

        /** Whether it took effect. */
        public boolean tookEffect() {
            return refusal == null;
        }
    }

    /** Hears which local transactions make an applier wait. */
    interface BlockedListener {
        /**
         * A local transaction holds a lock that the applier of {@code position} waits for. May be told repeatedly while
         * it lasts. From any thread.
         */
        void blocked(long position, LocalTransaction holder);

        /**
         * Local transactions hold locks that another one waits for, which runs with priority, or of which the front end has asked
         * to hear. Told repeatedly while it lasts, and perhaps of more holders than there are; never of
         * none. From any thread.
         */
        default void blocked(LocalTransaction waiter, Set<LocalTransaction> holders) {}

        /**
         * An applier that {@linkplain Applier#apply makes changes} of no position waits, directly or through others, for
         * all these. It is among them itself where it waits for a local transaction that waits for it, and the engine
         * refuses neither. Told repeatedly while it makes them, also that it waits for nobody. From any thread.
         */
        default void waits(Applier waiter, Set<LocalTransaction> locals, Set<Applier> appliers) {}
    }
}
