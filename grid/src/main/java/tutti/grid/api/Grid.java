package tutti.grid.api;

import java.io.IOException;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import tutti.grid.GridConfig;
import tutti.grid.GridException;
import tutti.grid.IsolationLevel;
import tutti.grid.multicast.LamportClock;
import tutti.grid.node.GridNode;
import tutti.grid.node.GridStatus;
import tutti.grid.node.GridTransaction;
import tutti.grid.store.Key;
import tutti.grid.store.Owners;
import tutti.grid.view.View;
import tutti.runtime.Machine;
import tutti.runtime.real.RealMachine;

/**
 * A node of a grid inside of an application: transactions over caches whose keys are spread over all nodes. Any thread.
 *
 * <pre>
 * try (Grid grid = Grid.open(config, IsolationLevel.SERIALIZABLE)) {
 *     Cache&lt;String, Integer&gt; stock = grid.cache("stock", Serializers.TEXT, Serializers.compact(Integer.class));
 *     grid.run(in -&gt; stock.put(in, "apples", stock.get(in, "apples").orElse(0) + 1));
 * }
 * </pre>
 */
public final class Grid implements AutoCloseable {
    private static final int RUNS_MAX = 100;
    private static final long PAUSE_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(20);
    /** How often who waits looks whether the node still runs. */
    private static final long LOOK_MILLIS = 200;

    private final GridNode node;
    private final Changes changes;
    private final IsolationLevel level;

    private Grid(GridNode node, Changes changes, IsolationLevel level) {
        this.node = node;
        this.changes = changes;
        this.level = level;
    }

    /**
     * Opens this process's node, over sockets.
     *
     * @param level of transactions that do not ask for another one
     * @throws IOException if it cannot listen at its address
     */
    public static Grid open(GridConfig config, IsolationLevel level) throws IOException {
        return open(config, level, RealMachine.INSTANCE);
    }

    /** The same, on a machine whose connections prove who is there; see {@code tutti.runtime}. */
    public static Grid open(GridConfig config, IsolationLevel level, Machine machine) throws IOException {
        Objects.requireNonNull(level, "level");
        Changes changes = new Changes();
        GridNode node = new GridNode(config, machine, changes);
        changes.of(node);
        return new Grid(node, changes, level);
    }

    /**
     * A cache of the configuration.
     *
     * @param keys must be the same on all nodes, as must {@code values}
     * @throws IllegalArgumentException if there is none of this name
     */
    public <K, V> Cache<K, V> cache(String name, Serializer<K> keys, Serializer<V> values) {
        for (int i = 0; i < node.config().caches().size(); i++) {
            if (node.config().caches().get(i).name().equals(name)) {
                return new Cache<>(this, i, keys, values);
            }
        }
        throw new IllegalArgumentException("there is no cache '" + name + "'; there are "
                + cacheNames());
    }

    /** Names of the caches of the configuration. */
    public List<String> cacheNames() {
        return node.config().caches().stream().map(GridConfig.CacheConfig::name).toList();
    }

    /** Begins a transaction. */
    public Transaction begin() {
        return begin(level, false);
    }

    /**
     * Begins a transaction.
     *
     * @param readOnly it will write nothing, reads a consistent snapshot whatever the level, and never fails for what others do
     */
    public Transaction begin(IsolationLevel of, boolean readOnly) {
        Objects.requireNonNull(of, "of");
        return new Transaction(this, ask(answer -> whenMember(answer, () -> node.begin(of, readOnly))));
    }

    /**
     * Runs a transaction, and runs it again, after a short pause, while it fails and {@link GridException#isRetryable} says that
     * nothing was changed; up to a hundred times.
     *
     * @param work may run several times; what it throws rolls back and is thrown
     * @return what the last run returned
     * @throws GridException as it failed the last time
     */
    public <T> T transact(Function<Transaction, T> work) {
        return transact(level, work);
    }

    /** The same at a level of its own. */
    public <T> T transact(IsolationLevel of, Function<Transaction, T> work) {
        for (int run = 1;; run++) {
            try (Transaction transaction = begin(of, false)) {
                T result = work.apply(transaction);
                transaction.commit();
                return result;
            } catch (GridException why) {
                if (!why.isRetryable() || run == RUNS_MAX) {
                    throw why;
                }
                LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(
                        Math.min(PAUSE_NANOS_MAX, TimeUnit.MICROSECONDS.toNanos(100L << Math.min(run, 10)))));
            }
        }
    }

    /** The same, of work without a result. */
    public void run(Consumer<Transaction> work) {
        var _ = transact(in -> {
            work.accept(in);
            return true;
        });
    }

    /** Runs a transaction that only reads: a consistent snapshot of all caches. */
    public <T> T readOnly(Function<Transaction, T> work) {
        try (Transaction transaction = begin(level, true)) {
            T result = work.apply(transaction);
            transaction.commit();
            return result;
        }
    }

    /** What the node says of itself. */
    public GridStatus status() {
        return ask(answer -> whenMember(answer, node::status));
    }

    /** Who is there, where, and which part of each cache's keys lies on whom. */
    public Topology topology() {
        record Known(GridStatus status, View view, Owners owners) {}
        Known now = ask(answer -> whenMember(answer, () -> new Known(node.status(), node.view(), node.owners())));
        return Topology.of(cacheNames(), now.status, now.view, now.owners);
    }

    /** Which nodes own a key. */
    int[] owners(Key key) {
        return ask(answer -> whenMember(answer, () -> node.owners().of(key)));
    }

    /** Answers when the node is a member. */
    private <T> void whenMember(GridTransaction.Answer<T> answer, Supplier<T> then) {
        node.whenMember(new GridTransaction.Answer<>() {
            @Override
            public void is(GridNode value) {
                try {
                    answer.is(then.get());
                } catch (GridException why) {
                    answer.failed(why);
                }
            }

            @Override
            public void failed(GridException why) {
                answer.failed(why);
            }
        });
    }

    /**
     * Leaves the grid, and closes this node: what lies on it is moved to the others first, while all goes on.
     *
     * @throws GridException if too few nodes would be left, or it takes very long; then the node goes on
     */
    public void leave() {
        waitFor(node::leave);
        close();
    }

    /** Has the node do something that it refuses, or answers later. */
    private void waitFor(Consumer<GridTransaction.Answer<GridNode>> asked) {
        GridNode _ = this.<GridNode>ask(answer -> {
            try {
                asked.accept(answer);
            } catch (GridException why) {
                answer.failed(why);
            }
        });
    }

    /**
     * Has the others go on for good without a node that has crashed and will not come back, and returns when they do; at once if it is no member. Needed with {@code GROUPS} only, where its group goes on with
     * a member less; with the other protocols this happens by itself. If the node is started anew nevertheless, it joins again.
     *
     * @param number of the node
     * @throws IllegalArgumentException if it is this one, or no node could have it
     * @throws GridException if too few members of its group would be left ({@code NOT_ENOUGH_OWNERS}); or it is still heard, or too few others of its group are, for the operation timeout ({@code TIMEOUT})
     */
    public void remove(int number) {
        if (number == node.config().self() || number < 0 || number >= LamportClock.NODES_MAX) {
            throw new IllegalArgumentException("node " + number + (number == node.config().self()
                    ? " is this one, which lives: it can leave()"
                    : ", where nodes are numbered 0 to " + (LamportClock.NODES_MAX - 1)));
        }
        waitFor(answer -> node.remove(number, answer));
    }

    /**
     * Takes keys all of whose owners have crashed for removed. Until somebody says so, at one node, they cannot be read or written
     * ({@code OWNER_UNAVAILABLE}), and no keys are moved; see {@link GridStatus#lost}.
     */
    public void acceptLoss() {
        boolean _ = this.<Boolean>ask(answer -> whenMember(answer, () -> {
            node.acceptLoss();
            return true;
        }));
    }

    /** What the node says of itself, in the text format of Prometheus: answer it wherever your application is asked for metrics. */
    public String metrics() {
        return GridMetrics.of(node.config(), status());
    }

    /** Ends this node at once. What it had is on the other owners, if there are any. */
    @Override
    public void close() {
        node.close();
        changes.close();
    }

    Changes changes() {
        return changes;
    }

    GridNode node() {
        return node;
    }

    /** Asks the node something that it answers later. */
    <T> T ask(Consumer<GridTransaction.Answer<T>> question) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        onLoop(() -> question.accept(new GridTransaction.Answer<>() {
            @Override
            public void is(T value) {
                answer.complete(value);
            }

            @Override
            public void failed(GridException why) {
                answer.completeExceptionally(why);
            }
        }));
        return await(answer);
    }

    /**
     * Has the node do something; a closed one drops it.
     *
     * @param task must throw nothing: that ends the node, which cannot know how far it has come. So what a caller has given is looked at before
     */
    void onLoop(Runnable task) {
        if (node.loop().isCurrent()) {
            throw new IllegalStateException("this would wait for itself: it is called on the node's own thread");
        }
        node.loop().execute(task);
    }

    <T> T await(CompletableFuture<T> answer) {
        boolean ended = false;
        while (true) {
            try {
                return answer.get(LOOK_MILLIS, TimeUnit.MILLISECONDS);
            } catch (ExecutionException failure) {
                if (failure.getCause() instanceof GridException why) {
                    throw new GridException(why);
                }
                throw new IllegalStateException(failure.getCause());
            } catch (TimeoutException notYet) {
                // A node that has ended answers what it knows of. What it does not know of, it never will.
                GridException why = node.ended();
                if (ended && why != null) {
                    throw new GridException(why);
                }
                ended = why != null;
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                throw new GridException(GridException.Reason.TIMEOUT, "the thread was interrupted while it waited");
            }
        }
    }
}
