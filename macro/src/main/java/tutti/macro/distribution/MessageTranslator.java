package tutti.macro.distribution;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tutti.macro.call.Operation;

/**
 * Keeps a node's components and executes macro-operations on them (MacroDDB, section 4.2.3.5, table 4.5).
 */
public final class MessageTranslator {
    /** Most attempts at a macro-operation that loses to others: each time somebody else has won. */
    private static final int ATTEMPTS_MAX = 100;

    /** So many attempts follow each other at once; then what has been ordered comes first. */
    private static final int ATTEMPTS_IN_A_ROW = 10;

    /** Has all nodes do what a client of this node issued. */
    interface Updates {
        /** Executes an update. */
        CompletableFuture<Response> broadcast(String component, MacroOperation<?> operation);

        /** Commits transactions. */
        DeferredUpdates.Commits commits(String component);
    }

    private final Map<String, HostedComponent.Component<?>> components = new ConcurrentSkipListMap<>();
    private final Map<String, Supplier<HostedComponent<?>>> definitions;
    private final LockService locks;
    private final Updates updates;
    private final ReadLevel readLevel;

    MessageTranslator(Map<String, Supplier<HostedComponent<?>>> definitions, LockService locks, Updates updates,
            ReadLevel readLevel) {
        this.definitions = new TreeMap<>(definitions);
        this.locks = locks;
        this.updates = updates;
        this.readLevel = readLevel;
    }

    void put(HostedComponent.Component<?> component) {
        components.put(component.id(), component);
    }

    HostedComponent.@Nullable Component<?> find(String id) {
        return components.get(id);
    }

    Map<String, HostedComponent.Component<?>> components() {
        return components;
    }

    /**
     * Creates a component, to be called by a macro-operation that writes: so every node creates it at the same place of
     * the order.
     *
     * @param id of the new component, which must follow from the operation and the state alone
     * @param definition by the name that it was given with {@link MacroNode.Builder#definition} at every node
     * @throws IllegalArgumentException if there is such a component, or no such definition
     */
    public void create(String id, String definition) {
        Supplier<HostedComponent<?>> supplier = definitions.get(definition);
        if (supplier == null) {
            throw new IllegalArgumentException("there is no definition " + definition);
        }
        if (components.containsKey(id)) {
            throw new IllegalArgumentException("there is a component " + id + " already");
        }
        put(supplier.get().build(id, definition));
    }

    /** {@code MAKECALL(MO)}: executes a macro-operation that came in the total order. The caller has passed the barrier. */
    Response makeCall(OperationCodec.Addressed addressed, Request request) {
        if (addressed.operation() instanceof CommitOperation commit && addressed.component().deferred() != null) {
            return addressed.component().updates().decide(commit, request.id(), request.position());
        }
        return execute(addressed.component(), addressed.operation());
    }

    /**
     * {@code MAKECALLLOCAL(MO)}: executes a macro-operation that a client issued at this node: here and now if it only
     * reads, at all nodes if it does not. Of a transactional component here, in a transaction, and returns when all nodes have its changes in
     * their order.
     */
    CompletableFuture<Response> makeCallLocal(HostedComponent.Component<?> component, MacroOperation<?> operation) {
        if (component.transactional()) {
            return CompletableFuture.completedFuture(transact(component, operation));
        }
        if (!operation.reads()) {
            return updates.broadcast(component.id(), operation);
        }
        locks.barrier(false);
        try {
            return CompletableFuture.completedFuture(execute(component, operation));
        } finally {
            locks.finishRead();
        }
    }

    /**
     * How an attempt at a transaction ended.
     *
     * @param sent whether its changes were; then all nodes know how it ended
     * @param lost whether another attempt is worth it
     */
    private record Attempt(Response response, boolean sent, boolean lost) {}

    /**
     * Executes a macro-operation as a transaction, again as long as it loses. Some engines refuse at once what others wait for: all attempts
     * might be over while a change of another node that has come first is still being made here.
     */
    private <C> Response transact(HostedComponent.Component<C> component, MacroOperation<?> operation) {
        DeferredUpdates.Commits commits = updates.commits(component.id());
        boolean recent = readLevel == ReadLevel.LOCAL;
        int attempts = 0;
        try {
            if (!recent && operation.reads()) {
                commits.catchUp();
                recent = true;
            }
            while (true) {
                Attempt attempt = attempt(component, operation, commits);
                if (attempt.lost() && ++attempts < ATTEMPTS_MAX) {
                    if (attempts % ATTEMPTS_IN_A_ROW == 0) {
                        commits.catchUp();
                    }
                    continue;
                }
                if (recent || attempt.sent() || attempt.lost()) {
                    return attempt.response();
                }
                // It found nothing to change, or was refused: perhaps what others were told of was not executed here yet.
                commits.catchUp();
                recent = true;
            }
        } catch (VirtualMachineError e) {
            throw e;
        } catch (Throwable e) {
            return new Response.ExceptionResponse(e);
        }
    }

    @SuppressWarnings("unchecked")
    private <C> Attempt attempt(HostedComponent.Component<C> component, MacroOperation<?> operation,
            DeferredUpdates.Commits commits) throws Exception {
        DeferredUpdates<C> deferred = component.updates();
        DeferredUpdates<C>.Open open;
        try {
            open = deferred.begin(operation.reads());
        } catch (Exception e) {
            return new Attempt(new Response.ExceptionResponse(e), false, deferred.isConflict(e));
        }
        try (open) {
            Object value = ((MacroOperation<C>) operation).execute(open.component(), this);
            boolean changed = !operation.reads() && open.commit(commits);
            return new Attempt(response(operation, value), changed, false);
        } catch (VirtualMachineError e) {
            throw e;
        } catch (Throwable e) {
            return new Attempt(new Response.ExceptionResponse(e), open.sent(), deferred.isConflict(e));
        }
    }

    private static Response response(MacroOperation<?> operation, @Nullable Object value) {
        boolean empty = operation instanceof MethodCall(Operation of, _, _)
                && of.method().getReturnType() == void.class;
        return empty ? new Response.Empty() : new Response.Value(value);
    }

    @SuppressWarnings("unchecked")
    private <C> Response execute(HostedComponent.Component<C> component, MacroOperation<?> operation) {
        try {
            Object value = ((MacroOperation<C>) operation).execute(component.present(), this);
            return response(operation, value);
        } catch (VirtualMachineError e) {
            // No result that the other nodes have, too: this node has lost track.
            throw e;
        } catch (Throwable e) {
            return new Response.ExceptionResponse(e);
        }
    }
}
