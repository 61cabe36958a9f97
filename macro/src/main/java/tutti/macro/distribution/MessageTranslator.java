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
    /** Executes an update that a client of this node issued, at all nodes. */
    interface Updates {
        CompletableFuture<Response> broadcast(String component, MacroOperation<?> operation);
    }

    private final Map<String, HostedComponent.Component<?>> components = new ConcurrentSkipListMap<>();
    private final Map<String, Supplier<HostedComponent<?>>> definitions;
    private final LockService locks;
    private final Updates updates;

    MessageTranslator(Map<String, Supplier<HostedComponent<?>>> definitions, LockService locks, Updates updates) {
        this.definitions = new TreeMap<>(definitions);
        this.locks = locks;
        this.updates = updates;
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
    Response makeCall(OperationCodec.Addressed addressed) {
        return execute(addressed.component(), addressed.operation());
    }

    /**
     * {@code MAKECALLLOCAL(MO)}: executes a macro-operation that a client issued at this node: here and now if it only
     * reads, at all nodes if it does not.
     */
    CompletableFuture<Response> makeCallLocal(HostedComponent.Component<?> component, MacroOperation<?> operation) {
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

    @SuppressWarnings("unchecked")
    private <C> Response execute(HostedComponent.Component<C> component, MacroOperation<?> operation) {
        try {
            Object value = ((MacroOperation<C>) operation).execute(component.present(), this);
            boolean empty = operation instanceof MethodCall(Operation of, _, _)
                    && of.method().getReturnType() == void.class;
            return empty ? new Response.Empty() : new Response.Value(value);
        } catch (VirtualMachineError e) {
            // No result that the other nodes have, too: this node has lost track.
            throw e;
        } catch (Throwable e) {
            return new Response.ExceptionResponse(e);
        }
    }
}
