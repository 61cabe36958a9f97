package tutti.sim.world.database;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * A node's connections to its {@link Database}: of its appliers, its clients' sessions, and one for questions. When they are
 * closed, or the node dies, what has not begun to commit is rolled back.
 */
public final class SimEngine implements Engine {
    static final EngineFailure GONE = new EngineFailure("08006", "the connection to the database is lost", true);
    static final EngineFailure UNREACHABLE = new EngineFailure("08001", "the database cannot be reached",
            EngineFailure.Kind.TROUBLE);
    static final EngineFailure FULL = new EngineFailure("53100", "the disk is full", EngineFailure.Kind.TROUBLE);
    static final EngineFailure ABORTED = new EngineFailure("40P01", "aborted by a fault", true);
    private static final BlockedListener NO_LISTENER = (_, _) -> {};

    private final Database database;
    private final Set<SimTransaction> open = new LinkedHashSet<>();
    private final List<SimApplier> appliers = new ArrayList<>();
    private BlockedListener listener = NO_LISTENER;
    private Runnable whenLost = () -> {};
    private boolean lost;
    private boolean closed;

    SimEngine(Database database) {
        this.database = database;
    }

    @Override
    public Set<Long> changedTables(WriteSet writes) {
        return Changes.of(writes).stream().flatMap(each -> each.rows().keySet().stream())
                .map(row -> Catalog.tableKey(Catalog.table(row))).collect(Collectors.toSet());
    }

    /** Tables are named by their numbers. */
    @Override
    public void preparePlacement(List<String> tables, Set<Integer> keepers, Completion<PlacementPlan> done) {
        SortedMap<String, Long> keys = new TreeMap<>();
        tables.forEach(table -> keys.put(table, Catalog.tableKey(Integer.parseInt(table))));
        PlacementStatement placing = new PlacementStatement(new TreeSet<>(keys.values()), keepers);
        ask(done, () -> new PlacementPlan(keys, placing.statement(), placing.keys()));
    }

    Database database() {
        return database;
    }

    /**
     * Begins a client's transaction. Its snapshot is taken by its first statement.
     *
     * @param local the transaction as the node knows it
     * @param salt of a program whose results differ from run to run, something that does; otherwise 0
     */
    public SimTransaction begin(LocalTransaction local, TransactionId transaction, Program program, long salt) {
        SimTransaction begun = new SimTransaction(this, local, database.run(transaction, program, salt),
                database.abortedStatement(program.steps().size()));
        if (isUsable()) {
            open.add(begun);
        } else {
            begun.disconnected();
        }
        return begun;
    }

    boolean isUsable() {
        return !lost && !closed;
    }

    /** The server has died. */
    void lost() {
        lost = true;
        List.copyOf(open).forEach(SimTransaction::lost);
        open.clear();
        appliers.forEach(SimApplier::lost);
        database.tellLater(() -> whenLost.run());
    }

    void ended(SimTransaction transaction) {
        if (open.remove(transaction)) {
            database.ended();
        }
    }

    void closed(SimApplier applier) {
        appliers.remove(applier);
    }

    // ------------------------------------------------------------------------------------------ who waits for whom

    /** Names those of the clients' transactions among these that are in the way of an applier. */
    void tellBlocked(long position, Iterable<? extends Locks.Owner> holders) {
        for (Locks.Owner holder : holders) {
            if (holder instanceof SimTransaction transaction) {
                listener.blocked(position, transaction.local());
            }
        }
    }

    /** Names all open transactions. */
    void tellAllBlocked(long position) {
        tellBlocked(position, begun().toList());
    }

    /** Names all others that are open to one that has met a row of one of them. */
    void tellAllBlocked(SimTransaction waiter) {
        tellBlocked(waiter, begun().filter(each -> !each.equals(waiter)).toList());
    }

    boolean hasOpen() {
        return begun().findAny().isPresent();
    }

    private Stream<SimTransaction> begun() {
        return open.stream().filter(SimTransaction::hasBegun);
    }

    /** Names those of the clients' transactions among these that are in the way of another. */
    void tellBlocked(SimTransaction waiter, Iterable<? extends Locks.Owner> holders) {
        Set<LocalTransaction> locals = new LinkedHashSet<>();
        for (Locks.Owner holder : holders) {
            if (holder instanceof SimTransaction transaction) {
                locals.add(transaction.local());
            }
        }
        if (!locals.isEmpty()) {
            listener.blocked(waiter.local(), locals);
        }
    }

    /** Says for whom an applier of no position waits. */
    void tellWaits(SimApplier waiter, Set<Locks.Owner> holders) {
        Set<LocalTransaction> locals = new LinkedHashSet<>();
        Set<Applier> others = new LinkedHashSet<>();
        for (Locks.Owner holder : holders) {
            if (holder instanceof SimTransaction transaction) {
                locals.add(transaction.local());
            } else if (holder instanceof SimApplier applier) {
                others.add(applier);
            }
        }
        listener.waits(waiter, locals, others);
    }

    // ------------------------------------------------------------------------------------------ Engine

    @Override
    public void appliedPosition(Completion<Long> done) {
        ask(done, () -> {
            database.endLeft();
            return database.visible();
        });
    }

    @Override
    public void durablePosition(Completion<Long> done) {
        ask(done, database::durable);
    }

    @Override
    public void skippedPositions(Completion<Set<Long>> done) {
        ask(done, database::skipped);
    }

    private <T> void ask(Completion<T> done, Supplier<T> question) {
        if (!isUsable()) {
            database.tellLater(() -> done.failed(GONE));
            return;
        }
        database.answerLater(() -> {
            if (isUsable()) {
                done.succeeded(question.get());
            }
        });
    }

    @Override
    public Applier openApplier() {
        SimApplier applier = new SimApplier(this);
        appliers.add(applier);
        return applier;
    }

    @Override
    public Executor openExecutor() {
        return new SimExecutor(this);
    }

    @Override
    public void onBlocked(BlockedListener to) {
        listener = to;
    }

    @Override
    public void onLost(Runnable to) {
        boolean already = lost;
        whenLost = to;
        if (already) {
            database.tellLater(to);
        }
    }

    @Override
    public boolean locksReferencedRows() {
        return database.kind().locksReferencedRows();
    }

    @Override
    public void close() {
        if (isUsable()) {
            closed = true;
            List.copyOf(open).forEach(SimTransaction::disconnected);
            List.copyOf(appliers).forEach(SimApplier::close);
            database.closed(this);
        }
    }

    @Override
    public String toString() {
        return database + ", open " + open.stream().map(SimTransaction::toString).collect(Collectors.joining(", "));
    }
}
