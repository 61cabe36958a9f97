package tutti.macro.distribution;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.macro.CallTimeoutException;
import tutti.macro.WorkQueueFullException;

/**
 * Sends macro-operations and waits for their replies (MacroDDB, section 4.2.2, table 4.2). From any thread, except from
 * within a macro-operation: it would wait for itself, and is refused.
 */
public final class MessageSender {
    private final GroupCommunication communication;
    private final PendingReplies pending;
    private final OperationCodec codec;
    private final boolean host;
    private final long limitNanos;
    private final BooleanSupplier distributing;
    private final Transactions transactions;
    /** For transactions that run in threads of their own: as many at once as may wait for replies. */
    private final Semaphore running;
    /** The node that makes the transactions of a client; -1 if none is known. */
    private volatile int serving = -1;

    /** Executes macro-operations of transactional components at this node, in the calling thread. */
    interface Transactions {
        CompletableFuture<Response> execute(HostedComponent.Component<?> component, MacroOperation<?> operation);
    }

    MessageSender(GroupCommunication communication, PendingReplies pending, OperationCodec codec, boolean host,
            long limitNanos, BooleanSupplier distributing, Transactions transactions) {
        this.communication = communication;
        this.pending = pending;
        this.codec = codec;
        this.host = host;
        this.limitNanos = limitNanos;
        this.distributing = distributing;
        this.transactions = transactions;
        this.running = new Semaphore(pending.max());
    }

    /**
     * {@code RUNOP(MO)}: has the macro-operation executed at its place of the total order, at all nodes or, if it only
     * reads, at this one, and waits for its result. Of a {@link TransactionalComponent} it is executed in a transaction at this node, or at one that
     * has the component, and its changes have the place.
     *
     * @throws CallTimeoutException if there was no reply in time; it may yet be executed
     * @throws WorkQueueFullException if too much waits to be sent; it is not executed
     * @throws NodeFailedException if this node cannot follow the group any more
     * @throws EncodingException if it cannot be sent; it is not executed
     * @throws TransactionConflictException if its transaction has lost again and again; it is not executed
     * @throws Throwable what the operation threw
     */
    public @Nullable Object runOperation(String component, MacroOperation<?> operation) throws Throwable {
        return await(send(component, operation, null, 0)).get();
    }

    /**
     * {@code RUNOPRELIABLY(MO, DA)}: has one node execute the macro-operation as if a client there had called it, and waits
     * for its result. If it only reads, that node alone does anything, at its {@link ReadLevel#LOCAL} state; else it puts
     * the operation into the total order.
     *
     * @param priority the higher the sooner, if that node's queue looks at it
     */
    public @Nullable Object runOperationReliably(String component, MacroOperation<?> operation, int destination,
            int priority) throws Throwable {
        return await(send(component, operation, destination, priority)).get();
    }

    /**
     * {@code RUNOPASYNC(MO)}: like {@link #runOperation} without waiting. The future is completed by a thread of the node,
     * which what depends on it must not block. There is no limit of time.
     */
    public CompletableFuture<@Nullable Object> runOperationAsync(String component, MacroOperation<?> operation) {
        return send(component, operation, null, 0).thenCompose(MessageSender::result);
    }

    static CompletableFuture<@Nullable Object> result(Response response) {
        return switch (response) {
            case Response.Empty() -> CompletableFuture.completedFuture(null);
            case Response.Value(Object value) -> CompletableFuture.completedFuture(value);
            case Response.ExceptionResponse(Throwable thrown) -> CompletableFuture.failedFuture(thrown);
        };
    }

    /** Looks for a node that has the components: the number of the first that answers, after up to the call limit. */
    public int discover() throws Throwable {
        RequestId id = pending.nextId();
        CompletableFuture<Response> reply = pending.await(id);
        broadcast(Messages.probe(Messages.PROBE, id), reply);
        return (Integer) java.util.Objects.requireNonNull(await(reply).get());
    }

    /** Waits until this node has executed everything that was ordered before this call. */
    void catchUp() throws Throwable {
        RequestId id = pending.nextId();
        CompletableFuture<Response> reply = pending.await(id);
        broadcast(Messages.request(id, 0, true, false, new byte[0]), reply);
        Object _ = await(reply).get();
    }

    CompletableFuture<Response> send(String component, MacroOperation<?> operation, @Nullable Integer destination,
            int priority) {
        if (destination == null && codec.require(component).transactional()) {
            return transact(codec.require(component), operation, priority);
        }
        byte[] content = codec.encode(component, operation);
        RequestId id = pending.nextId();
        CompletableFuture<Response> reply = pending.await(id);
        if (destination == null) {
            broadcast(Messages.request(id, priority, operation.reads(), !host, content), reply);
        } else {
            try {
                communication.reliableUnicast(Messages.request(id, priority, operation.reads(), true, content),
                        destination);
            } catch (RuntimeException e) {
                reply.completeExceptionally(e);
                throw e;
            }
        }
        return reply;
    }

    private CompletableFuture<Response> transact(HostedComponent.Component<?> component, MacroOperation<?> operation,
            int priority) {
        if (!component.hosted()) {
            int node = serving();
            CompletableFuture<Response> reply = send(component.id(), operation, node, priority);
            // Another one is looked for if this one does not answer.
            return reply.whenComplete((_, thrown) -> serving = thrown == null ? node : -1);
        }
        pending.check();
        if (!running.tryAcquire()) {
            throw new WorkQueueFullException(pending.max() + " transactions of this node are being executed");
        }
        CompletableFuture<Response> reply = new CompletableFuture<>();
        Thread.ofVirtual().name("macro-transaction").start(() -> {
            try {
                reply.complete(transactions.execute(component, operation).join());
            } catch (RuntimeException | Error e) {
                reply.completeExceptionally(e);
            } finally {
                running.release();
            }
        });
        return reply;
    }

    private int serving() {
        int known = serving;
        if (known >= 0) {
            return known;
        }
        try {
            return discover();
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new CompletionException(e);
        }
    }

    /** How a component's transactions commit: a message that all nodes get, in their order. */
    DeferredUpdates.Commits commits(String component) {
        return new DeferredUpdates.Commits() {
            @Override
            public void commit(CommitOperation commit, Consumer<RequestId> before) throws Throwable {
                byte[] content = codec.encode(component, commit);
                RequestId id = pending.nextId();
                CompletableFuture<Response> reply = pending.await(id);
                before.accept(id);
                broadcast(Messages.request(id, 0, false, false, content), reply);
                Object _ = await(reply).get();
            }

            @Override
            public void catchUp() throws Throwable {
                MessageSender.this.catchUp();
            }
        };
    }

    private void broadcast(byte[] message, CompletableFuture<Response> reply) {
        try {
            communication.totalOrderBroadcast(message);
        } catch (RuntimeException e) {
            reply.completeExceptionally(e);
            throw e;
        }
    }

    Response await(CompletableFuture<Response> reply) {
        if (distributing.getAsBoolean() && !reply.isDone()) {
            throw new IllegalStateException(
                    "a macro-operation, or what depends on its future, must not wait for another");
        }
        long deadline = System.nanoTime() + limitNanos;
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return reply.get(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
                } catch (InterruptedException _) {
                    interrupted = true;
                } catch (TimeoutException _) {
                    CallTimeoutException late = new CallTimeoutException("no reply within "
                            + TimeUnit.NANOSECONDS.toMillis(limitNanos) + " ms; an update may yet be executed");
                    reply.completeExceptionally(late);
                    throw late;
                } catch (ExecutionException e) {
                    throw e.getCause() instanceof RuntimeException cause
                            ? cause
                            : new CompletionException(e.getCause());
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
