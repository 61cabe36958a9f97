package tutti.macro.distribution;

import java.lang.invoke.MethodHandles;
import java.lang.reflect.Method;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import tutti.macro.call.CallFactory;
import tutti.macro.call.CallKind;
import tutti.macro.call.Invocation;
import tutti.macro.call.OperationTable;

/**
 * A component as a node has it: its interface, what of it reads, an implementation (a {@link tutti.macro.MacroComponent}'s
 * {@code component()}, or any other), and how its state is copied. At a node that is only a client there is no
 * implementation. All nodes must use the same interface with the same classification. Not thread safe.
 *
 * @param <C> the interface
 */
public final class HostedComponent<C> {
    private final Class<C> type;
    private final @Nullable C implementation;
    private final MethodHandles.@Nullable Lookup lookup;
    private final OperationTable.Builder table;
    private boolean transactional;
    private @Nullable TransactionalComponent<C> transactions;
    private @Nullable StateCodec<C> state;

    private HostedComponent(Class<C> type, @Nullable C implementation, MethodHandles.@Nullable Lookup lookup) {
        this.type = type;
        this.implementation = implementation;
        this.lookup = lookup;
        table = OperationTable.of(type);
        state = implementation == null ? null : StateCodec.known(implementation);
    }

    /**
     * A component of a public interface. The implementation belongs to the node from here on.
     *
     * @throws IllegalArgumentException if the type is no interface, or the implementation none of its implementations
     */
    public static <C> HostedComponent<C> of(Class<? super C> type, C implementation) {
        return hosted(type, implementation, null);
    }

    /** A component of an interface that the lookup has access to. */
    public static <C> HostedComponent<C> of(Class<? super C> type, C implementation, MethodHandles.Lookup lookup) {
        return hosted(type, implementation, lookup);
    }

    @SuppressWarnings("unchecked")
    private static <C> HostedComponent<C> hosted(Class<? super C> type, C implementation,
            MethodHandles.@Nullable Lookup lookup) {
        if (!type.isInstance(implementation)) {
            throw new IllegalArgumentException("what is to be a " + type.getName() + " is "
                    + (implementation == null ? "null" : "a " + implementation.getClass().getName())
                    + "; a node without an implementation has the component elsewhere()");
        }
        return new HostedComponent<>((Class<C>) type, implementation, lookup);
    }

    /** A component that other nodes have. */
    public static <C> HostedComponent<C> elsewhere(Class<C> type) {
        return new HostedComponent<>(type, null, null);
    }

    /**
     * A component of a public interface of which only changes travel: each call, each macro-operation, is a transaction at one node. It must be of this
     * kind at all nodes.
     *
     * @throws IllegalArgumentException if the type is no interface
     */
    @SuppressWarnings("unchecked")
    public static <C> HostedComponent<C> transactional(Class<? super C> type, TransactionalComponent<C> transactions) {
        HostedComponent<C> hosted = transactionalElsewhere((Class<C>) type);
        hosted.transactions = transactions;
        hosted.state = transactions.stateCodec();
        return hosted;
    }

    /** The same, that other nodes have: one of them executes what this one calls. */
    public static <C> HostedComponent<C> transactionalElsewhere(Class<C> type) {
        HostedComponent<C> hosted = elsewhere(type);
        hosted.transactional = true;
        return hosted;
    }

    /** See {@link OperationTable.Builder#reads}. */
    public HostedComponent<C> reads(String names) {
        table.reads(names);
        return this;
    }

    /** See {@link OperationTable.Builder#writes}. */
    public HostedComponent<C> writes(String names) {
        table.writes(names);
        return this;
    }

    /** See {@link OperationTable.Builder#classify}. */
    public HostedComponent<C> classify(Function<Method, @Nullable CallKind> rule) {
        table.classify(rule);
        return this;
    }

    /** See {@link OperationTable.Builder#detach}. */
    public HostedComponent<C> detach(String names, UnaryOperator<@Nullable Object> copy) {
        table.detach(names, copy);
        return this;
    }

    /** How the state is copied; known for maps and collections. Without it no node can join by a copy. */
    public HostedComponent<C> state(StateCodec<C> how) {
        state = how;
        return this;
    }

    Component<C> build(String id, String definition) {
        return new Component<>(id, definition, type, implementation,
                CallFactory.of(table.build(), Invocation.GENERATED_CLASSES, lookup), lookup, state, transactional,
                transactions == null ? null : new DeferredUpdates<>(id, transactions));
    }

    /** What {@link HostedComponent} describes, made. */
    record Component<C>(String id, String definition, Class<C> type, @Nullable C implementation, CallFactory calls,
            MethodHandles.@Nullable Lookup lookup, @Nullable StateCodec<C> state, boolean transactional,
            @Nullable DeferredUpdates<C> deferred) {
        /** Whether this node has a copy. */
        boolean hosted() {
            return implementation != null || deferred != null;
        }

        C present() {
            if (implementation == null) {
                throw absent();
            }
            return implementation;
        }

        /** Of a transactional one. */
        DeferredUpdates<C> updates() {
            if (deferred == null) {
                throw transactional
                        ? absent()
                        : new IllegalStateException(
                                "component " + id + " has no transactions: its operations are executed at all nodes");
            }
            return deferred;
        }

        /** The node has stopped. */
        void abandon() {
            if (deferred != null) {
                deferred.abandon();
            }
        }

        private IllegalStateException absent() {
            return new IllegalStateException("this node has no copy of component " + id);
        }

        StateCodec<C> stateCodec() {
            if (state == null) {
                throw new IllegalStateException("component " + id
                        + " was given no state codec, it cannot be copied: say how with HostedComponent.state at every node");
            }
            return state;
        }

        void save(Output to, ObjectCodec values) {
            if (transactional) {
                updates().save(to, values, stateCodec());
            } else {
                stateCodec().save(present(), to, values);
            }
        }

        void load(Input from, ObjectCodec values) {
            if (transactional) {
                updates().load(from, values, stateCodec());
            } else {
                stateCodec().load(present(), from, values);
            }
        }
    }
}
