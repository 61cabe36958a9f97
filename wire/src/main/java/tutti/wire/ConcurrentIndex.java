package tutti.wire;

import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.engine.postgres.IndexBuilder;
import tutti.engine.postgres.IndexReports;
import tutti.engine.postgres.IndexReports.State;
import tutti.pgwire.ErrorFields;

/**
 * Has all nodes build the index of a CREATE INDEX CONCURRENTLY beside the order (docs/decisions/0220), before the statement itself is ordered. Nothing but time depends on what
 * comes of it: a node that has no such index when the statement comes to its position builds it then. On the session's event loop.
 *
 * <p>
 * Nodes are asked again and again for as long as the client waits, so that those hear of it that come back meanwhile; each answers how far it is. One that says nothing for
 * {@value #SILENCE_NANOS} nanoseconds, though it can be reached, is not waited for any more.
 */
final class ConcurrentIndex {
    /** After so long nodes are asked again. */
    private static final int ASK_MILLIS = 5_000;
    /** So long a node may say nothing. */
    private static final long SILENCE_NANOS = 60_000_000_000L;
    /** Errors of the client's doing, by class: rows or the statement are wrong, or rows are too large. */
    private static final Set<String> CLIENTS = Set.of("22", "23", "42", "54", "0A");
    private static final Completion<ExecuteResult> UNHEARD = new Completion<>() {
        @Override
        public void succeeded(ExecuteResult result) {
            // it is heard of at its position
        }

        @Override
        public void failed(EngineFailure failure) {
            // it is asked again
        }
    };

    private final Session session;
    private @Nullable Awaited wait;

    ConcurrentIndex(Session session) {
        this.session = session;
    }

    /** What the client waits for. */
    private interface Awaited {
        /** It is over, and comes to nothing. */
        void fail(ErrorFields cause);
    }

    /**
     * Finds out what an index is to be called, as {@link IndexBuilder#name} does.
     *
     * @param statement which says no name
     * @param then told the name; empty if the server refuses such an index, null if it cannot be told
     * @param fails told that the client has cancelled it
     */
    void name(PostgresFrontEnd.IndexBuilding building, IndexBuilder.Definition definition, byte[] statement,
            Consumer<@Nullable String> then, Consumer<ErrorFields> fails) {
        Awaited begun = new Awaited() {
            @Override
            public void fail(ErrorFields cause) {
                wait = null;
                fails.accept(cause);
            }
        };
        wait = begun;
        CompletableFuture<String> _ = building.builder().name(statement, definition)
                .whenComplete((name, failed) -> session.onLoop(() -> {
                    if (awaits(begun)) {
                        wait = null;
                        then.accept(failed == null ? name : null);
                    }
                }));
    }

    @SuppressWarnings("ReferenceEquality") // this very one
    private boolean awaits(Awaited begun) {
        return wait == begun;
    }

    /**
     * Has it built.
     *
     * @param statement which will be ordered
     * @param then told what the client is to hear before it is executed, null if nothing
     * @param fails told an error of the client's
     */
    void begin(PostgresFrontEnd.IndexBuilding building, IndexBuilder.Definition definition, byte[] statement,
            Consumer<@Nullable ErrorFields> then,
            Consumer<ErrorFields> fails) {
        Wait begun = new Wait(building, definition, statement, then, fails);
        wait = begun;
        building.builder().reports().listen(begun.build, begun);
        begun.ask();
    }

    /**
     * The client cancels what it waits for.
     *
     * @return whether that was an index that nodes build
     */
    boolean cancelled() {
        Awaited now = wait;
        if (now != null) {
            now.fail(Errors.CANCELLED);
        }
        return now != null;
    }

    /** Of one statement. */
    private final class Wait implements Awaited, IndexReports.Listener {
        private final PostgresFrontEnd.IndexBuilding building;
        private final IndexBuilder.Definition definition;
        private final byte[] statement;
        private final Consumer<@Nullable ErrorFields> then;
        private final Consumer<ErrorFields> fails;
        private final String build;
        private final Map<Integer, State> told = new TreeMap<>();
        private final Map<Integer, Long> heardNanos = new TreeMap<>();
        private final long begunNanos = System.nanoTime();

        Wait(PostgresFrontEnd.IndexBuilding building, IndexBuilder.Definition definition, byte[] statement,
                Consumer<@Nullable ErrorFields> then, Consumer<ErrorFields> fails) {
            this.building = building;
            this.definition = definition;
            this.statement = statement;
            this.then = then;
            this.fails = fails;
            this.build = building.builder().build(statement);
        }

        private boolean over() {
            return !awaits(this);
        }

        /** Asks all nodes, now and later. */
        private void ask() {
            if (over()) {
                return;
            }
            if (left()) {
                end();
                forget();
                return;
            }
            session.node().barrier(building.builder().asking(statement, definition), IndexReports.KEYS,
                    new Completion<>() {
                        @Override
                        public void succeeded(ExecuteResult result) {
                            // nodes tell
                        }

                        @Override
                        public void failed(EngineFailure failure) {
                            session.onLoop(() -> fail(Errors.error(failure.sqlState(), failure.message())));
                        }
                    });
            look();
            session.later(ASK_MILLIS, this::ask);
        }

        @Override
        public void heard(int node, State state) {
            session.onLoop(() -> {
                if (!over()) {
                    told.put(node, state);
                    heardNanos.put(node, System.nanoTime());
                    look();
                }
            });
        }

        /** Whether the session is over: nothing of it is ordered any more. */
        private boolean left() {
            return session.client().gone() || !session.engineActive();
        }

        private void look() {
            if (over() || left()) {
                return;
            }
            ErrorFields why = building.builder().failure(build);
            if (told.get(building.node()) == State.FAILED && why != null
                    && CLIENTS.contains(why.sqlState().substring(0, 2))) {
                fail(why);
                return;
            } else if (told.get(building.node()) == State.REFUSED) {
                end();
                then.accept(null);
                return;
            }
            Set<Integer> without = new TreeSet<>();
            Set<Integer> all = new TreeSet<>(building.members());
            all.add(building.node());
            for (int node : all) {
                State state = told.getOrDefault(node, State.BUILDING);
                boolean silent = System.nanoTime() - heardNanos.getOrDefault(node, begunNanos) > SILENCE_NANOS;
                if (state == State.BUILDING && !silent) {
                    return;
                } else if (state != State.BUILT) {
                    without.add(node);
                }
            }
            end();
            then.accept(without.isEmpty() ? null : notice(without, told.containsKey(building.node()) ? why : null));
        }

        private static ErrorFields notice(Set<Integer> without, @Nullable ErrorFields why) {
            return ErrorFields
                    .of("NOTICE", "00000", "the index is built in line, while other transactions wait, at node "
                            + without.stream().map(Object::toString).collect(Collectors.joining(", ")))
                    .with('D', why == null ? null : why.message());
        }

        private void end() {
            wait = null;
            building.builder().reports().ignore(build, this);
        }

        @Override
        public void fail(ErrorFields cause) {
            if (!over()) {
                end();
                forget();
                fails.accept(cause);
            }
        }

        private void forget() {
            session.node().barrier(building.builder().forgetting(statement), IndexReports.KEYS, UNHEARD);
        }
    }
}
