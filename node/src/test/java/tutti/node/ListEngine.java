package tutti.node;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.protocol.Response;
import tutti.core.txn.AbortReason;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;
import tutti.core.txn.WriteSet;
import tutti.runtime.Loop;
import tutti.runtime.Machine;

/** An engine that is a list of committed changes; it outlives the replicas that use it. Does what it is asked by itself, in turn. */
final class ListEngine implements Engine {
    private static final EngineFailure REFUSED = new EngineFailure("23514", "refused by the test", false);

    private final Loop loop;
    private static final EngineFailure FULL = new EngineFailure("53100", "the disk is full",
            EngineFailure.Kind.TROUBLE);
    /** Whether it cannot make anything for a reason of its own. */
    volatile boolean full;
    /** Changes and statements that it cannot make. */
    final Set<String> refused = ConcurrentHashMap.newKeySet();
    /** Tables that it lacks; a write set changes those whose keys it refers to. */
    volatile Set<Long> lacks = Set.of();
    /** Number of its node. */
    final int node;
    /** Positions at which nothing was made. */
    final Set<Long> skipped = ConcurrentHashMap.newKeySet();
    private final List<String> committed = new ArrayList<>();
    private final List<Runnable> held = new ArrayList<>();
    private boolean holds;
    private long applied;
    /** How far it is behind the truth in what it says is durable; negative to claim too much. */
    volatile long durabilityLag;
    /** Whether asking what is durable has a price. */
    volatile boolean writesForDurability;
    /** How often that was asked. */
    final AtomicInteger askedDurable = new AtomicInteger();
    private volatile @Nullable BlockedListener blocked;
    volatile @Nullable Runnable lost;

    ListEngine(Machine machine) {
        this(machine, -1);
    }

    ListEngine(Machine machine, int node) {
        this.node = node;
        loop = machine.loop("list-engine", broken -> {
            throw new AssertionError(broken);
        });
    }

    /** Another one with the same in it. */
    synchronized ListEngine copy(Machine machine) {
        return copy(machine, -1);
    }

    /** Likewise, of another node. */
    synchronized ListEngine copy(Machine machine, int of) {
        ListEngine copy = new ListEngine(machine, of);
        copy.commit(applied, committed);
        copy.skipped.addAll(skipped);
        return copy;
    }

    /** What was committed, in order. */
    synchronized List<String> changes() {
        return List.copyOf(committed);
    }

    /** How many changes were committed. */
    synchronized int count() {
        return committed.size();
    }

    private synchronized void commit(long position, List<String> changes) {
        if (position <= applied) {
            throw new IllegalStateException("position " + position + " after " + applied);
        }
        applied = position;
        committed.addAll(changes);
    }

    /** From now on local transactions are not committed, until {@link #goOn}. */
    synchronized void hold() {
        holds = true;
    }

    /** Commits what has been held. */
    synchronized void goOn() {
        holds = false;
        held.forEach(loop::execute);
        held.clear();
    }

    private synchronized void unlessHeld(Runnable commit) {
        if (holds) {
            held.add(commit);
        } else {
            loop.execute(commit);
        }
    }

    private synchronized long applied() {
        return applied;
    }

    /** Keys that are promised to a prepared transaction. */
    volatile KeySet promised = KeySet.EMPTY;

    @Override
    public AbortReason.@Nullable Promised promised(KeySet keys) {
        for (int i = 0; i < keys.size(); i++) {
            for (int j = 0; j < promised.size(); j++) {
                if (keys.hash(i) == promised.hash(j)) {
                    return new AbortReason.Promised(i, "prepared");
                }
            }
        }
        return null;
    }

    @Override
    public void appliedPosition(Completion<Long> done) {
        loop.execute(() -> done.succeeded(applied()));
    }

    @Override
    public boolean writesForDurability() {
        return writesForDurability;
    }

    @Override
    public void durablePosition(Completion<Long> done) {
        askedDurable.incrementAndGet();
        loop.execute(() -> done.succeeded(Math.max(0, applied() - durabilityLag)));
    }

    @Override
    public void skippedPositions(Completion<Set<Long>> done) {
        loop.execute(() -> done.succeeded(Set.copyOf(skipped)));
    }

    /** What a request changes is its text; executions are held as commits are. */
    @Override
    public Executor openExecutor() {
        return new Executor() {
            private String open = "";

            @Override
            public void execute(LocalTransaction transaction, List<Request> requests, Completion<Executed> done) {
                byte[] request = requests.getFirst().statement();
                unlessHeld(() -> {
                    if (full) {
                        done.failed(FULL);
                        return;
                    }
                    open = new String(request, StandardCharsets.UTF_8);
                    done.succeeded(new Executed(new WriteSet(KeySet.EMPTY, request), Response.done(request)));
                });
            }

            @Override
            public void commit(long position, Completion<Void> done) {
                loop.execute(() -> {
                    ListEngine.this.commit(position, List.of(open));
                    done.succeeded(null);
                });
            }

            @Override
            public void rollback(Runnable done) {
                loop.execute(done);
            }

            @Override
            public void close() {
                // Nothing is open.
            }
        };
    }

    /** What it makes of write sets. */
    private List<String> here(List<WriteSet> writes) {
        return writes.stream().filter(each -> lacks.isEmpty() || !lacks.containsAll(changedTables(each)))
                .map(each -> new String(each.changes(), StandardCharsets.UTF_8)).toList();
    }

    @Override
    public Set<Long> changedTables(WriteSet writes) {
        Set<Long> tables = new TreeSet<>();
        for (int i = 0; i < writes.keys().size(); i++) {
            if (writes.keys().kind(i) == KeyKind.REFERENCE) {
                tables.add(writes.keys().hash(i));
            }
        }
        return tables;
    }

    private static final String PLACE = "place";

    private static long numberOf(String table) {
        return Long.parseLong(table.replace("table ", ""));
    }

    /** Tables are named by their keys. */
    @Override
    public void preparePlacement(List<String> tables, Set<Integer> keepers, Completion<PlacementPlan> done) {
        SortedMap<String, Long> keys = new TreeMap<>();
        tables.forEach(table -> keys.put("table " + numberOf(table), numberOf(table)));
        String statement = PLACE + tables.stream().map(each -> " " + numberOf(each)).collect(Collectors.joining())
                + " on " + new TreeSet<>(keepers);
        loop.execute(() -> done.succeeded(
                new PlacementPlan(keys, statement.getBytes(StandardCharsets.UTF_8), KeySet.EMPTY)));
    }

    /** False if the node is to keep what it lacks. */
    private boolean place(String statement) {
        String[] words = statement.split("[ \\[\\],]+");
        List<String> all = List.of(words);
        int on = all.indexOf("on");
        Set<Long> now = new TreeSet<>(lacks);
        List<String> keepers = all.subList(on + 1, all.size());
        boolean here = keepers.isEmpty() || keepers.contains(String.valueOf(node));
        all.subList(1, on).stream().map(Long::parseLong).forEach(here ? now::remove : now::add);
        boolean possible = keepers.isEmpty() || now.containsAll(lacks);
        lacks = possible ? now : lacks;
        return possible;
    }

    @Override
    public Applier openApplier() {
        return new Applier() {
            private List<WriteSet> open = List.of();

            @Override
            public void apply(long position, List<WriteSet> writes, Completion<Void> done) {
                List<String> texts = here(writes);
                if (full) {
                    loop.execute(() -> done.failed(FULL));
                    return;
                }
                if (texts.stream().anyMatch(refused::contains)) {
                    loop.execute(() -> done.failed(REFUSED));
                    return;
                }
                open = writes;
                loop.execute(() -> done.succeeded(null));
            }

            @Override
            public void commit(long position, Completion<Void> done) {
                List<String> changes = here(open);
                unlessHeld(() -> {
                    ListEngine.this.commit(position, changes);
                    done.succeeded(null);
                });
            }

            @Override
            public void rollback(Runnable done) {
                loop.execute(done);
            }

            @Override
            public void execute(long position, byte[] statement, Completion<ExecuteResult> done) {
                String text = new String(statement, StandardCharsets.UTF_8);
                loop.execute(() -> {
                    if (full) {
                        done.failed(FULL);
                        return;
                    }
                    if (refused.contains(text)) {
                        done.succeeded(new ExecuteResult(REFUSED, statement));
                        return;
                    }
                    if (text.startsWith(PLACE) && !place(text)) {
                        done.succeeded(new ExecuteResult(
                                new EngineFailure("TT001", "no rows", EngineFailure.Kind.NEEDS_COPY), statement));
                        return;
                    }
                    ListEngine.this.commit(position, List.of(text));
                    done.succeeded(ExecuteResult.done(statement));
                });
            }

            @Override
            public void skip(long position, EngineFailure why, Completion<ExecuteResult> done) {
                loop.execute(() -> {
                    ListEngine.this.commit(position, List.of());
                    skipped.add(position);
                    done.succeeded(new ExecuteResult(why, new byte[0]));
                });
            }

            @Override
            public void close() {
                // Nothing is open.
            }
        };
    }

    @Override
    public void onBlocked(BlockedListener listener) {
        blocked = listener;
    }

    /** Says that a session's transaction is in the way of an applier, as an engine with locks would. */
    void blocked(long position, Session holder) {
        Objects.requireNonNull(blocked).blocked(position, holder);
    }

    @Override
    public void onLost(Runnable listener) {
        lost = listener;
    }

    @Override
    public void close() {
        loop.close();
    }

    /** A client's transaction that has made one change and waits. */
    final class Session implements LocalTransaction {
        private final String change;
        final CompletableFuture<Outcome> outcome = new CompletableFuture<>();
        final CompletableFuture<Void> rolledBack = new CompletableFuture<>();

        Session(String change) {
            this.change = change;
        }

        @Override
        public void commit(long position, Completion<Void> done) {
            unlessHeld(() -> {
                ListEngine.this.commit(position, List.of(change));
                done.succeeded(null);
            });
        }

        @Override
        public void rollback(Runnable done) {
            rolledBack.complete(null);
            loop.execute(done);
        }

        @Override
        public void answer(Outcome answer) {
            if (!outcome.complete(answer)) {
                throw new IllegalStateException(change + " was answered twice");
            }
        }
    }
}
