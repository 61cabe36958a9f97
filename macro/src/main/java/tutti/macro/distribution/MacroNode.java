package tutti.macro.distribution;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Order;
import tutti.macro.CallTimeoutException;
import tutti.macro.WorkQueueFullException;
import tutti.macro.call.Dispatcher;
import tutti.macro.call.Operation;

/**
 * A network node of a distributed Macro-component (MacroDDB, chapter 4): replication component and client in one. Its
 * components are called like local objects; updates are executed by all nodes in the order that the {@link Order} gives
 * them.
 *
 * <p>
 * The way of a request: message sender, total order, message listener, request queue, work distributor, lock service,
 * message translator, component; and its reply back to whoever waits. Requests of the total order have a queue and one
 * distributing thread of their own, so that they are executed in their order; requests to this node alone have another, of
 * either kind, and a pool of threads. A node of which no component has an implementation is a client: it sends, and what
 * it sends is answered by all nodes that have the component, of which the first counts.
 *
 * <h2>Consistency</h2>
 *
 * Operations are deterministic and are executed at all nodes in the same order from the same state, so the state after a
 * position is the same everywhere (state machine replication). An update's call returns after it was executed at the
 * caller's node (at one node, for a client), at its position. With {@link ReadLevel#LINEARIZABLE} reads have positions,
 * too: all calls take effect at their positions, each between its invocation, before which it had none, and its response.
 * An update is executed exactly once at each node that lives: the order delivers it once, and nothing is sent twice.
 *
 * <h2>Failures</h2>
 *
 * A node that dies takes nothing with it that was ordered. The components are in memory: a node that starts again gets
 * its state from the log, from position 1, or from a {@link StateCopy} of a live node and the log behind it. While the
 * order has no majority, calls wait, up to the call limit. A node that cannot follow (an update that it cannot decode, an
 * error of the JVM, a broken order) stops, fails its calls with {@link NodeFailedException} and says why in
 * {@link #failure}: nothing that it would answer could be trusted.
 *
 * <p>
 * Thread safe. Arguments are encoded when a call is made; results are those of this node's component and must not be
 * changed, by nobody, unless they were detached (see {@link HostedComponent#detach}).
 */
public final class MacroNode implements AutoCloseable {
    /** Not a node: the source of requests that this node puts into its own queue to have a copy made. */
    private static final int COPY = -1;

    private final Order order;
    private final OrderedCommunication communication;
    private final PendingReplies pending;
    private final ObjectCodec values;
    private final OperationCodec codec;
    private final MessageTranslator translator;
    private final MessageSender sender;
    private final MessageListener listener;
    private final RequestQueue orderedRequests;
    private final RequestQueue directRequests;
    private final WorkDistributor orderedWork;
    private final WorkDistributor directWork;
    private final LockService locks;
    private final ReadLevel readLevel;
    private final boolean host;
    private final long limitNanos;
    private final Map<RequestId, CompletableFuture<StateCopy>> copies = new java.util.concurrent.ConcurrentHashMap<>();
    private final AtomicReference<@Nullable RuntimeException> failure = new AtomicReference<>();
    private final AtomicLong repliesDropped = new AtomicLong();
    /** Last request of the order that was executed, or begun if it reads. */
    private volatile long executed;

    private MacroNode(Builder builder) {
        order = builder.order;
        values = builder.values;
        readLevel = builder.readLevel;
        locks = builder.locks;
        limitNanos = builder.callLimit.toNanos();
        orderedRequests = RequestQueue.fifo(builder.queueCapacity);
        directRequests = builder.priorities
                ? RequestQueue.priority(builder.queueCapacity)
                : RequestQueue.fifo(builder.queueCapacity);
        String name = "macro-node-" + builder.self;
        orderedWork = new WorkDistributor(name + "-ordered", orderedRequests, builder.threads, this::executeOrdered,
                this::fail);
        directWork = new WorkDistributor(name + "-direct", directRequests, builder.threads, this::executeDirect,
                this::fail);
        translator = new MessageTranslator(builder.definitions, locks, updates(), readLevel);
        builder.components.forEach((id, hosted) -> translator.put(hosted.build(id, "")));
        host = translator.components().values().stream().anyMatch(HostedComponent.Component::hosted);
        codec = new OperationCodec(values, translator::find);
        communication = new OrderedCommunication(order, builder.self);
        pending = new PendingReplies(builder.self, builder.pendingMax);
        sender = new MessageSender(communication, pending, codec, host, limitNanos, orderedWork::isCurrentThread,
                translator::makeCallLocal);
        listener = new MessageListener(communication, pending, codec, host, orderedRequests, directRequests,
                this::fail);
    }

    /**
     * Begins a node.
     *
     * @param self its number in the order
     * @param order this node's part, not started yet; the node starts and closes it
     */
    public static Builder builder(int self, Order order) {
        return new Builder(self, order);
    }

    /** The sender, which is made after the translator. */
    private MessageTranslator.Updates updates() {
        return new MessageTranslator.Updates() {
            @Override
            public CompletableFuture<Response> broadcast(String component, MacroOperation<?> operation) {
                return sender.send(component, operation, null, 0);
            }

            @Override
            public DeferredUpdates.Commits commits(String component) {
                return sender.commits(component);
            }
        };
    }

    private void start(@Nullable StateCopy copy) throws DurableLog.TruncatedException {
        if (copy != null) {
            load(copy);
            executed = copy.position();
        }
        orderedWork.start();
        directWork.start();
        communication.start(executed, listener);
    }

    /**
     * A component as an object, to be called like a local one. Calls that the interface does not throw exceptions for may
     * end with those of {@link MessageSender#runOperation}.
     *
     * @throws IllegalArgumentException if this node knows no such component, or one of another interface
     */
    public <C> C component(String id, Class<C> type) {
        HostedComponent.Component<?> component = find(id, type);
        return type.cast(component.calls().proxy(new Calls(component, "at all nodes", call -> {
            if (call.reads() && (component.transactional() ? component.hosted() : host)) {
                failed();
                if (readLevel == ReadLevel.LINEARIZABLE && !component.transactional()) {
                    sender.catchUp();
                }
                return call.operation().present(sender.await(translator.makeCallLocal(component, call)).get());
            }
            return call.operation().present(sender.runOperation(id, call));
        })));
    }

    /**
     * A component whose calls one other node makes for this one, as {@link MessageSender#runOperationReliably} has it: for a
     * client that keeps to one node. Reads show that node's state, and nobody else is troubled with them.
     *
     * @param destination number of a node that has the component
     * @throws IllegalArgumentException if this node knows no such component, or one of another interface
     */
    public <C> C componentAt(String id, Class<C> type, int destination) {
        HostedComponent.Component<?> component = find(id, type);
        return type.cast(component.calls().proxy(new Calls(component, "at node " + destination,
                call -> call.operation().present(sender.runOperationReliably(id, call, destination, 0)))));
    }

    /**
     * A component for asynchronous calls, as {@link MessageSender#runOperationAsync} has it, through an interface of the
     * caller's own whose methods have the names and parameter types of the component's and return
     * {@link CompletableFuture}. With {@link ReadLevel#LOCAL}, reads of a node that has the component are executed at once.
     *
     * @throws IllegalArgumentException if this node knows no such component, or if a method has no counterpart or another
     *             result
     */
    public <A> A asynchronous(String id, Class<A> futures) {
        HostedComponent.Component<?> component = find(id, Object.class);
        return futures.cast(component.calls().standIn(futures, CompletableFuture.class, component.lookup())
                .proxy(new Calls(component, "at all nodes, asynchronously", call -> {
                    failed();
                    CompletableFuture<@Nullable Object> result = call.reads() && host && readLevel == ReadLevel.LOCAL
                            && !component.transactional()
                                    ? translator.makeCallLocal(component, call).thenCompose(MessageSender::result)
                                    : sender.runOperationAsync(id, call);
                    return call.operation().presents() ? result.thenApply(call.operation()::present) : result;
                })));
    }

    /**
     * Begins a transaction of several calls at this node.
     *
     * @param readOnly whether it will change nothing
     * @throws IllegalArgumentException if this node knows no such component, or one of another interface
     * @throws IllegalStateException if the component is not {@linkplain HostedComponent#transactional transactional}, or elsewhere
     * @throws Exception what the component says if none can begin
     */
    public <C> MacroTransaction<C> begin(String id, Class<C> type, boolean readOnly) throws Exception {
        failed();
        return MacroTransaction.begin(find(id, type), type, readOnly, sender.commits(id), readLevel);
    }

    private HostedComponent.Component<?> find(String id, Class<?> type) {
        HostedComponent.Component<?> component = translator.find(id);
        if (component == null) {
            throw new IllegalArgumentException("node " + communication.localAddress() + " knows no component " + id
                    + ", only " + translator.components().keySet());
        }
        if (!type.isAssignableFrom(component.type())) {
            throw new IllegalArgumentException("component " + id + " of node " + communication.localAddress() + " is a "
                    + component.type().getName() + ", not a " + type.getName());
        }
        return component;
    }

    /** Makes macro-operations of calls. */
    private record Calls(HostedComponent.Component<?> component, String where, Run run) implements Dispatcher {
        interface Run {
            @Nullable
            Object run(MethodCall call) throws Throwable;
        }

        @Override
        public @Nullable Object call(Operation operation, @Nullable Object[] arguments) throws Throwable {
            return run.run(new MethodCall(operation, component.calls().invoker(), arguments));
        }

        @Override
        public String toString() {
            return "component " + component.id() + " (" + component.type().getName() + ") " + where;
        }
    }

    /** Sends macro-operations of your own. */
    public MessageSender sender() {
        return sender;
    }

    private void failed() {
        RuntimeException cause = failure.get();
        if (cause != null) {
            throw cause;
        }
    }

    // What the work distributors do

    /** In the order of the total order, in one thread; what only reads is then executed beside what follows. */
    private void executeOrdered(Request request) {
        if (request.source() == COPY) {
            copy(request.id());
            return;
        }
        if (request.content().length == 0) {
            pending.complete(request.id(), new Response.Empty());
            return;
        }
        OperationCodec.Addressed addressed;
        try {
            addressed = codec.decode(request.content());
            if (addressed.operation().reads() != request.reads()) {
                throw new EncodingException("a request of node " + request.source() + " is not what it says it is");
            }
        } catch (EncodingException e) {
            if (request.wantsReply()) {
                executed = request.position();
                reply(request, new Response.ExceptionResponse(e));
                return;
            }
            // The sender executes it. This node, which cannot, would differ from then on.
            throw e;
        }
        boolean update = !request.reads();
        locks.barrier(update);
        executed = request.position();
        if (!update) {
            orderedWork.inParallel(() -> {
                Response response;
                try {
                    response = translator.makeCall(addressed, request);
                } finally {
                    locks.finishRead();
                }
                reply(request, response);
            });
            return;
        }
        Response response;
        try {
            response = translator.makeCall(addressed, request);
        } finally {
            locks.finishWrite();
        }
        reply(request, response);
    }

    /** Requests to this node alone: in any order, in parallel. */
    private void executeDirect(Request request) {
        directWork.inParallel(() -> {
            CompletableFuture<Response> response;
            try {
                OperationCodec.Addressed addressed = codec.decode(request.content());
                response = translator.makeCallLocal(addressed.component(), addressed.operation());
            } catch (EncodingException | WorkQueueFullException e) {
                response = CompletableFuture.completedFuture(new Response.ExceptionResponse(e));
            }
            response.whenComplete((done, thrown) -> reply(request,
                    thrown == null ? done : new Response.ExceptionResponse(thrown)));
        });
    }

    private void reply(Request request, Response response) {
        if (!request.wantsReply()) {
            pending.complete(request.id(), response);
            return;
        }
        byte[] message;
        try {
            message = Messages.response(request.id(), response, codec);
        } catch (EncodingException e) {
            message = Messages.response(request.id(), new Response.ExceptionResponse(
                    new EncodingException("the operation was executed, its result cannot be sent: " + e.getMessage())),
                    codec);
        }
        try {
            communication.reliableUnicast(message, request.source());
        } catch (WorkQueueFullException | EncodingException | IllegalStateException _) {
            // The client finds out by its time limit; the operation has been executed all the same.
            repliesDropped.incrementAndGet();
        }
    }

    // Joining and leaving

    /**
     * A copy of this node's state, for a node that joins, at the position that it has reached. Updates wait here while it is
     * made; the other nodes go on.
     *
     * @throws CallTimeoutException if it was not made in time
     * @throws IllegalStateException if a component has no {@link StateCodec}, or this node no components
     */
    public StateCopy stateCopy() {
        if (!host) {
            throw new IllegalStateException("this node is only a client and has nothing to copy");
        }
        failed();
        RequestId id = pending.nextId();
        CompletableFuture<StateCopy> copy = new CompletableFuture<>();
        copies.put(id, copy);
        try {
            if (!orderedRequests.insertRequest(new Request(id, COPY, 0, false, 0, true, false, new byte[0]))) {
                throw new NodeFailedException("this node has left", failure.get());
            }
            return copy.get(limitNanos, TimeUnit.NANOSECONDS);
        } catch (TimeoutException _) {
            throw new CallTimeoutException("the state was not copied in time");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CompletionException(e);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof RuntimeException cause ? cause : new CompletionException(e.getCause());
        } finally {
            copies.remove(id);
        }
    }

    private void copy(RequestId id) {
        CompletableFuture<StateCopy> wanted = copies.get(id);
        if (wanted == null) {
            return;
        }
        // Updates are executed by this very thread, so that the state stands still even without a lock service.
        locks.barrier(false);
        try {
            Output to = new Output();
            to.writeUnsigned(translator.components().size());
            translator.components().values().forEach(component -> {
                to.writeString(component.id());
                to.writeString(component.definition());
                Output state = new Output();
                component.save(state, values);
                to.writeBytes(state.toBytes());
            });
            wanted.complete(new StateCopy(executed, to.toBytes()));
        } catch (RuntimeException e) {
            wanted.completeExceptionally(e);
        } finally {
            locks.finishRead();
        }
    }

    private void load(StateCopy copy) {
        Input from = new Input(copy.bytes());
        for (int left = from.readCount(); left > 0; left--) {
            String id = from.readString();
            String definition = from.readString();
            if (translator.find(id) == null && !definition.isEmpty()) {
                translator.create(id, definition);
            }
            HostedComponent.Component<?> component = translator.find(id);
            if (component == null) {
                throw new IllegalStateException("the copy has a component " + id + " that this node does not know");
            }
            component.load(new Input(from.readBytes()), values);
        }
    }

    /**
     * Waits until this node has executed everything that was ordered before this call: after it, a node that has just
     * joined is as recent as the others were when it was called.
     *
     * @throws CallTimeoutException if that takes longer than a call may
     */
    public void awaitCurrent() {
        try {
            sender.catchUp();
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new CompletionException(e);
        }
    }

    /** Why this node stopped; null if it has not. */
    public @Nullable Throwable failure() {
        return failure.get();
    }

    private void fail(@Nullable Throwable cause) {
        stop(new NodeFailedException("node " + communication.localAddress() + " cannot follow the group any more"
                + (cause == null ? "" : ": " + cause), cause));
    }

    private void stop(RuntimeException cause) {
        if (failure.compareAndSet(null, cause)) {
            orderedRequests.close();
            directRequests.close();
            pending.failAll(cause);
            copies.values().forEach(copy -> copy.completeExceptionally(cause));
            translator.components().values().forEach(HostedComponent.Component::abandon);
        }
    }

    /** Leaves the group: calls under way fail, the order is closed. Waits, as long as a call may take, for what is being executed. */
    @Override
    public void close() {
        stop(new NodeFailedException("node " + communication.localAddress() + " has left", null));
        order.close();
        long deadline = System.nanoTime() + limitNanos;
        boolean _ = orderedWork.join(deadline - System.nanoTime());
        boolean _ = directWork.join(deadline - System.nanoTime());
    }

    /** Collects what a node is made of. Not thread safe. */
    public static final class Builder {
        private final int self;
        private final Order order;
        private final Map<String, HostedComponent<?>> components = new LinkedHashMap<>();
        private final Map<String, Supplier<HostedComponent<?>>> definitions = new TreeMap<>();
        private ObjectCodec values = ObjectCodec.standard();
        private ReadLevel readLevel = ReadLevel.LINEARIZABLE;
        private LockService locks = LockService.readersOrWriter();
        private boolean priorities;
        private int threads = Runtime.getRuntime().availableProcessors();
        private int queueCapacity = 4096;
        private int pendingMax = 1 << 16;
        private Duration callLimit = Duration.ofSeconds(30);

        private Builder(int self, Order order) {
            this.self = self;
            this.order = order;
        }

        /** A component, the same at all nodes; {@link HostedComponent#elsewhere} at clients. */
        public Builder component(String id, HostedComponent<?> component) {
            if (components.putIfAbsent(id, component) != null) {
                throw new IllegalArgumentException("there is a component " + id + " already");
            }
            return this;
        }

        /** What macro-operations may create by this name, see {@link MessageTranslator#create}; the same at all nodes. */
        public Builder definition(String name, Supplier<HostedComponent<?>> definition) {
            if (name.isEmpty() || definitions.putIfAbsent(name, definition) != null) {
                throw new IllegalArgumentException("a definition needs a name of its own, not '" + name + "'");
            }
            return this;
        }

        /** How arguments, results and macro-operations travel; {@link ObjectCodec#standard()} by default. */
        public Builder values(ObjectCodec codec) {
            values = codec;
            return this;
        }

        /** What reads see; {@link ReadLevel#LINEARIZABLE} by default. */
        public Builder readLevel(ReadLevel level) {
            readLevel = level;
            return this;
        }

        /** What lets requests start; {@link LockService#readersOrWriter()} by default. */
        public Builder lockService(LockService service) {
            locks = service;
            return this;
        }

        /** Executes requests to this node alone by priority; first in, first out by default. */
        public Builder byPriority() {
            priorities = true;
            return this;
        }

        /** How many threads execute what may run in parallel, 1 or more; as many as processors by default. */
        public Builder threads(int number) {
            threads = positive("threads", number);
            return this;
        }

        /** How many requests each request queue takes, 1 or more; 4096 by default. */
        public Builder queueCapacity(int requests) {
            queueCapacity = positive("queueCapacity", requests);
            return this;
        }

        /** How many requests of this node may wait for replies, 1 or more; 65536 by default. */
        public Builder pendingMax(int requests) {
            pendingMax = positive("pendingMax", requests);
            return this;
        }

        /** How long a call may wait for its reply, 1 ms or more; 30 s by default. */
        public Builder callLimit(Duration limit) {
            if (limit.toMillis() < 1) {
                throw new IllegalArgumentException("callLimit is " + limit + ", it must be 1 ms or more");
            }
            callLimit = limit;
            return this;
        }

        private static int positive(String key, int value) {
            if (value < 1) {
                throw new IllegalArgumentException(key + " is " + value + ", it must be 1 or more");
            }
            return value;
        }

        /**
         * Joins the group with the state of the implementations as they are, which is what they were at all nodes before
         * position 1, and executes the whole order from there.
         *
         * @throws DurableLog.TruncatedException if the log does not reach back so far: join with a copy
         */
        public MacroNode start() throws DurableLog.TruncatedException {
            return start(null);
        }

        /**
         * Joins the group with another node's state.
         *
         * @throws DurableLog.TruncatedException if the log does not reach back to the copy: get a newer one
         */
        public MacroNode start(@Nullable StateCopy copy) throws DurableLog.TruncatedException {
            MacroNode node = new MacroNode(this);
            boolean started = false;
            try {
                node.start(copy);
                started = true;
            } finally {
                if (!started) {
                    node.close();
                }
            }
            return node;
        }
    }
}
