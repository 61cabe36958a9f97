package tutti.macro;

import java.lang.invoke.MethodHandles;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadFactory;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import tutti.macro.call.CallFactory;
import tutti.macro.call.CallKind;
import tutti.macro.call.Dispatcher;
import tutti.macro.call.Invocation;
import tutti.macro.call.Operation;
import tutti.macro.call.OperationTable;

/**
 * Several implementations of one Java interface behind that interface (MacroDDB, chapter 3): each read goes to the
 * implementation that is best at it, each write to all of them; or all answer and the majority is believed. This class is
 * the thesis' manager.
 *
 * <p>
 * Use: {@code MacroComponent.of(Index.class).replica("hash", new HashIndex()).replica("tree", new
 * TreeIndex()).reads("get.*").build()}, then {@link #component()}. Thread safe; the implementations need not be.
 *
 * <h2>What implementations must be</h2>
 *
 * Deterministic: the same calls in the same order give the same results. Equal in state when the component is built.
 * Arguments and results are shared by reference among the implementations and the caller, so that nobody may change them
 * (this is also what keeps memory small); a result that is a live view of the implementation must be copied, see
 * {@link OperationTable.Builder#detach}. An implementation, or a function passed to a call, must not call the component.
 *
 * <h2>Consistency</h2>
 *
 * Each component is linearizable: every call seems to take effect at once, at some moment between its invocation and its
 * response. The argument, for calls without voting:
 * <ol>
 * <li>Writes have positions 1, 2, ... in the work queue, and every replica executes them in that order, each under its
 * own exclusive lock. So a replica's state is at all times that after some position, its {@code applied}, and by
 * determinism replicas with equal {@code applied} are equal and a write has the same result everywhere.</li>
 * <li>{@code completed} is the highest position that any replica has executed. It is raised before the lock under which
 * the write was executed is released and before its answer is given. So whoever has seen an effect or the answer of
 * position p, or hears of somebody who has, finds {@code completed >= p}.</li>
 * <li>A read takes {@code completed} when it is invoked, r, and is executed under the shared lock of a replica with
 * {@code applied >= r}: it sees the state after some position s >= r, with s <= {@code completed} when it
 * responds.</li>
 * <li>Put the write at position p where {@code completed} first reaches p: between its invocation (it had no position
 * before; {@code completed} rises by one at a time) and its response (by 2). Put a read that saw s at the later of its invocation and the point of write s: that
 * is not after its response, as {@code completed} has reached s by then. If write s + 1 had its point at or before the
 * read's point, it would be before the read's invocation (points of writes are in order of position, and a read is put
 * directly behind write s), and the read would have found r >= s + 1. So each read sees exactly the writes whose points
 * are before its own. ∎</li>
 * </ol>
 * With voting, reads have positions too, and all calls are in one order, that of positions, in which each is placed
 * between invocation and response. Calls of the same thread that do not wait for each other (asynchronous ones) are
 * concurrent in the sense of linearizability; beyond it, an asynchronous read sees all writes that were called before.
 *
 * <h2>Bounds</h2>
 *
 * The work queue holds what the slowest replica has not executed, up to {@link Builder#queueCapacity}; then
 * {@link OverflowPolicy} decides. No call waits longer than {@link Builder#callLimit} for a lock, for room or for an
 * answer each; then it ends with {@link CallTimeoutException} or {@link WorkQueueFullException}. An implementation that
 * the caller's own thread is executing ({@link Execution#CALLER}) is not interrupted. Every call made after
 * {@link #close} throws {@link IllegalStateException}.
 *
 * @param <T> the interface
 */
public final class MacroComponent<T> implements AutoCloseable {
    private final Class<T> type;
    private final CallFactory calls;
    private final Scheduler scheduler;
    private final MethodHandles.@Nullable Lookup lookup;
    private final long limitNanos;
    private final T component;

    private MacroComponent(Builder<T> builder) {
        type = builder.type;
        lookup = builder.lookup;
        calls = CallFactory.of(builder.table.build(), builder.invocation, lookup);
        limitNanos = builder.callLimit.toNanos();
        scheduler = new Scheduler(
                new Scheduler.Settings(builder.readStrategy, builder.voting, builder.execution, builder.queueCapacity,
                        builder.overflow, builder.callLimit, builder.threads, builder.faults, builder.clock),
                calls);
        component = type.cast(calls.proxy(scheduler));
        boolean complete = false;
        try {
            builder.replicas.forEach((name, given) -> {
                Replica replica = scheduler.membership().replica(name, given.implementation, given.exclusiveReads);
                scheduler.queue().join(replica, null);
                scheduler.membership().activate(replica, scheduler.reads());
            });
            complete = true;
        } finally {
            if (!complete) {
                close();
            }
        }
    }

    /** Begins a component whose interface is public. */
    public static <T> Builder<T> of(Class<T> type) {
        return new Builder<>(type, null);
    }

    /**
     * Begins a component.
     *
     * @param lookup of a class that may use the interface; the class that is made lies beside it
     */
    public static <T> Builder<T> of(Class<T> type, MethodHandles.Lookup lookup) {
        return new Builder<>(type, lookup);
    }

    /** The component, to be called like any implementation; exceptions come through unchanged. */
    public T component() {
        return component;
    }

    /**
     * The component for asynchronous calls, through an interface of the caller's own whose methods have the names and
     * parameter types of the component's and return {@link CompletableFuture}. A future is completed by the thread that
     * executed the call: what depends on it must not block there. Refusals are thrown at once.
     *
     * @throws IllegalArgumentException if a method has no counterpart or another result
     */
    public <A> A asynchronous(Class<A> futures) {
        Dispatcher dispatcher = scheduler::callAsync;
        return futures.cast(calls.standIn(futures, CompletableFuture.class, lookup).proxy(dispatcher));
    }

    /**
     * One asynchronous call, without an interface for it: {@code submit(map -> map.get("a"))}. The function must make
     * exactly one call and return its result as it is; what it gets back there is null or zero.
     *
     * @throws IllegalArgumentException if it does anything else
     */
    @SuppressWarnings("unchecked")
    public <R> CompletableFuture<R> submit(Call<T, R> call) {
        Captured captured = new Captured();
        Object returned;
        try {
            returned = call.on(type.cast(calls.proxy(captured)));
        } catch (Exception e) {
            throw new IllegalArgumentException("the function must make one call and nothing else", e);
        }
        if (captured.operation == null || captured.arguments == null) {
            throw new IllegalArgumentException("the function must make one call");
        }
        if (returned != null && !returned.equals(captured.stand)) {
            throw new IllegalArgumentException("the function must return the result of " + captured.operation
                    + " as it is: what it makes of it belongs into thenApply of the future");
        }
        return (CompletableFuture<R>) scheduler.callAsync(captured.operation, captured.arguments);
    }

    /**
     * One call of the component.
     *
     * @param <T> the interface
     * @param <R> the result
     */
    @FunctionalInterface
    public interface Call<T, R> {
        /** Makes it. */
        @Nullable
        R on(T component) throws Exception;
    }

    private static final class Captured implements Dispatcher {
        private @Nullable Operation operation;
        private @Nullable Object @Nullable [] arguments;
        /** What the call returned, in place of its result. */
        private @Nullable Object stand;

        @Override
        public @Nullable Object call(Operation called, @Nullable Object[] with) {
            if (operation != null) {
                throw new IllegalArgumentException("a second call, of " + called);
            }
            operation = called;
            arguments = with;
            Class<?> result = called.method().getReturnType();
            stand = result.isPrimitive() && result != void.class
                    ? java.lang.reflect.Array.get(java.lang.reflect.Array.newInstance(result, 1), 0)
                    : null;
            return stand;
        }
    }

    /**
     * Adds a replica while calls go on. The replica that it is copied from executes no writes during the copying; the
     * others do, as far as the work queue takes what that one must catch up with.
     *
     * @param empty an implementation that nobody else uses
     * @throws IllegalArgumentException if there is a replica of this name, or of this implementation
     * @throws CallTimeoutException if the replica to copy from was not free in time
     * @throws IllegalStateException if the component is closed, or the replica removed while it was copied
     * @throws Exception what the copier threw; the component is then as it was
     */
    public void add(String name, T empty, StateCopier<T> copier) throws Exception {
        add(name, empty, false, copier);
    }

    /** Likewise, an implementation whose reads change it inside: one thread at a time. */
    public void addExclusive(String name, T empty, StateCopier<T> copier) throws Exception {
        add(name, empty, true, copier);
    }

    @SuppressWarnings("ReferenceEquality")
    private void add(String name, T empty, boolean exclusiveReads, StateCopier<T> copier) throws Exception {
        checkReplica(type, name, empty);
        if (empty == component) {
            throw new IllegalArgumentException("replica " + name + " would be the component itself");
        }
        Replica replica = scheduler.membership().replica(name, empty, exclusiveReads);
        Replica donor = scheduler.membership().donor();
        UnlockActions after = new UnlockActions(scheduler.membership());
        long stamp = donor.acquireRead(0, limitNanos, scheduler.queue(), scheduler.invoker(), after);
        if (stamp == 0) {
            throw new CallTimeoutException("replica " + donor.name() + " was not free to be copied");
        }
        try {
            scheduler.queue().join(replica, donor);
            boolean copied = false;
            try {
                copier.copy(type.cast(donor.implementation()), empty);
                copied = true;
            } finally {
                if (!copied) {
                    scheduler.queue().leave(replica);
                }
            }
        } finally {
            donor.lock().unlock(stamp);
            after.run();
        }
        scheduler.membership().activate(replica, scheduler.reads());
    }

    private static void checkReplica(Class<?> type, String name, Object implementation) {
        if (name == null) {
            throw new IllegalArgumentException("a replica needs a name");
        }
        if (!type.isInstance(implementation)) {
            throw new IllegalArgumentException("replica " + name + " is "
                    + (implementation == null ? "null" : "a " + implementation.getClass().getName()) + ", not a "
                    + type.getName());
        }
    }

    /**
     * Removes a replica while calls go on; it gets no new ones.
     *
     * @return whether it is at rest: false if an operation in it did not end in time
     * @throws IllegalArgumentException if there is no such replica
     * @throws IllegalStateException if it is the last one
     */
    public boolean remove(String name) {
        Replica replica = Arrays.stream(scheduler.queue().members()).filter(m -> m.name().equals(name)).findFirst()
                .orElseThrow(() -> new IllegalArgumentException("there is no replica named " + name));
        UnlockActions after = new UnlockActions(scheduler.membership());
        boolean removed = scheduler.membership().exclude(replica, after);
        after.run();
        if (!removed && replica.active()) {
            throw new IllegalStateException(
                    "replica " + name + " is the last one: add another before, or close the component");
        }
        long stamp = replica.acquireExclusively(limitNanos);
        if (stamp != 0) {
            replica.lock().unlockWrite(stamp);
        }
        return stamp != 0;
    }

    /** Waits, as long as a call may take, until all replicas have executed what has been called so far. */
    public boolean awaitAll() {
        long target = scheduler.queue().sequenced();
        long deadline = System.nanoTime() + limitNanos;
        for (Replica replica : scheduler.queue().members()) {
            UnlockActions after = new UnlockActions(scheduler.membership());
            while (replica.state() != ReplicaStatus.State.REMOVED && replica.applied() < target) {
                long left = deadline - System.nanoTime();
                long stamp = left <= 0
                        ? 0
                        : replica.acquireRead(target, left, scheduler.queue(), scheduler.invoker(), after);
                if (stamp == 0 && left <= 0) {
                    return false;
                }
                if (stamp != 0) {
                    replica.lock().unlock(stamp);
                }
            }
            scheduler.queue().gotOn();
            after.run();
        }
        return true;
    }

    /** A look at all replicas. */
    public List<ReplicaStatus> replicas() {
        long sequenced = scheduler.queue().sequenced();
        return Arrays.stream(scheduler.queue().members())
                .map(r -> new ReplicaStatus(r.name(), r.state(), r.applied(), Math.max(0, sequenced - r.applied()),
                        r.reads().size(), r.costs().observations(), r.faults()))
                .toList();
    }

    /**
     * Refuses new calls, and waits, as long as a call may take, until the executors have done what was called. What has no
     * answer then ends with {@link IllegalStateException}, for those who wait and for futures.
     */
    @Override
    public void close() {
        scheduler.queue().close();
        long deadline = System.nanoTime() + limitNanos;
        Replica[] members = scheduler.queue().members();
        for (Replica replica : members) {
            ReplicaExecutor executor = replica.executor();
            if (executor != null) {
                executor.wake(true);
                if (!executor.isCurrentThread()) {
                    boolean _ = executor.join(deadline - System.nanoTime());
                }
            }
        }
        scheduler.membership().dismissAll();
        for (Replica replica : members) {
            scheduler.reads().rescueReads(replica);
        }
    }

    /**
     * Collects what a component is made of. Not thread safe.
     *
     * @param <T> the interface
     */
    public static final class Builder<T> {
        private record Given(Object implementation, boolean exclusiveReads) {}

        private final Class<T> type;
        private final MethodHandles.@Nullable Lookup lookup;
        private final OperationTable.Builder table;
        private final Map<String, Given> replicas = new LinkedHashMap<>();
        private ReadStrategy readStrategy = ReadStrategy.one();
        private @Nullable Voting voting;
        private Execution execution = Execution.CALLER;
        private Invocation invocation = Invocation.GENERATED_CLASSES;
        private int queueCapacity = 4096;
        private OverflowPolicy overflow = OverflowPolicy.WAIT;
        private Duration callLimit = Duration.ofSeconds(30);
        private ThreadFactory threads = Thread.ofPlatform().daemon().factory();
        private ReplicaFault.Listener faults = fault -> {};
        private LongSupplier clock = System::nanoTime;

        private Builder(Class<T> type, MethodHandles.@Nullable Lookup lookup) {
            this.type = type;
            this.lookup = lookup;
            table = OperationTable.of(type);
        }

        /** Adds an implementation that may be read by several threads at a time while nobody writes. */
        public Builder<T> replica(String name, T implementation) {
            return given(name, new Given(implementation, false));
        }

        /** Adds an implementation whose reads change it inside: one thread at a time. */
        public Builder<T> exclusiveReplica(String name, T implementation) {
            return given(name, new Given(implementation, true));
        }

        @SuppressWarnings("ReferenceEquality")
        private Builder<T> given(String name, Given replica) {
            checkReplica(type, name, replica.implementation);
            replicas.forEach((other, given) -> {
                if (given.implementation == replica.implementation) {
                    throw new IllegalArgumentException("replica " + name + " is the same object as replica " + other
                            + ", which would execute each write twice: give each a copy of its own");
                }
            });
            if (replicas.putIfAbsent(name, replica) != null) {
                throw new IllegalArgumentException("there is a replica named " + name + " already");
            }
            return this;
        }

        /** See {@link OperationTable.Builder#reads}. */
        public Builder<T> reads(String names) {
            table.reads(names);
            return this;
        }

        /** See {@link OperationTable.Builder#writes}. */
        public Builder<T> writes(String names) {
            table.writes(names);
            return this;
        }

        /** See {@link OperationTable.Builder#classify}. */
        public Builder<T> classify(Function<Method, @Nullable CallKind> rule) {
            table.classify(rule);
            return this;
        }

        /** See {@link OperationTable.Builder#allClassified}. */
        public Builder<T> allClassified() {
            table.allClassified();
            return this;
        }

        /** See {@link OperationTable.Builder#detach}. */
        public Builder<T> detach(String names, UnaryOperator<@Nullable Object> copy) {
            table.detach(names, copy);
            return this;
        }

        /** How many replicas execute a read; one by default. Without effect if there is voting. */
        public Builder<T> readStrategy(ReadStrategy strategy) {
            readStrategy = strategy;
            return this;
        }

        /** Lets all replicas vote on every call; by default the first answer counts. */
        public Builder<T> voting(Voting how) {
            voting = how;
            return this;
        }

        /** Who executes synchronous calls; {@link Execution#CALLER} by default. Without effect if there is voting. */
        public Builder<T> execution(Execution where) {
            execution = where;
            return this;
        }

        /** How calls are forwarded; {@link Invocation#GENERATED_CLASSES} by default. */
        public Builder<T> invocation(Invocation how) {
            invocation = how;
            return this;
        }

        /** How many calls a replica may be behind, and how many reads may wait for it: a power of two, 2 to 2^24; 4096 by default. */
        public Builder<T> queueCapacity(int calls) {
            if (calls < 2 || calls > 1 << 24 || Integer.bitCount(calls) != 1) {
                throw new IllegalArgumentException(
                        "queueCapacity is " + calls + ", it must be a power of two from 2 to 2^24");
            }
            queueCapacity = calls;
            return this;
        }

        /** What becomes of calls when the queue is full; {@link OverflowPolicy#WAIT} by default. */
        public Builder<T> overflow(OverflowPolicy policy) {
            overflow = policy;
            return this;
        }

        /** How long a call may wait for each thing that it needs, 1 ms or more; 30 s by default. */
        public Builder<T> callLimit(Duration limit) {
            if (limit.toMillis() < 1) {
                throw new IllegalArgumentException("callLimit is " + limit + ", it must be 1 ms or more");
            }
            callLimit = limit;
            return this;
        }

        /** Makes the executors' threads, platform or virtual ones; platform daemons by default. */
        public Builder<T> threads(ThreadFactory factory) {
            threads = factory;
            return this;
        }

        /** By which costs are measured, in nanoseconds; {@link System#nanoTime} by default. Of a test that says what calls take. */
        Builder<T> clock(LongSupplier nanos) {
            clock = nanos;
            return this;
        }

        /** Hears of faults; nobody does by default. */
        public Builder<T> onFault(ReplicaFault.Listener listener) {
            faults = listener;
            return this;
        }

        /**
         * The component, with its executors running.
         *
         * @throws IllegalStateException if there is no replica
         * @throws IllegalArgumentException if the interface is not accessible or not classified unambiguously, or if a
         *             pattern is the name of no method
         */
        public MacroComponent<T> build() {
            if (replicas.isEmpty()) {
                throw new IllegalStateException("a component of " + type.getName()
                        + " needs at least one replica: call replica(name, implementation) before build()");
            }
            return new MacroComponent<>(this);
        }
    }
}
