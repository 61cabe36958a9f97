package tutti.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.Engine.Applier;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.Engine.PlacementPlan;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.WriteSet;

/** What every {@link Engine} must do. Each adapter binds it with a harness. */
public abstract class EngineContract {
    /** What the suite needs of an adapter: a replica, and another one on which write sets are made. */
    public interface Harness extends AutoCloseable {
        /** The engine under test; it has a table of keys and values, empty. */
        Engine engine();

        /** Sets a key at the other replica, and commits there. */
        WriteSet put(int key, String value) throws Exception;

        /** Deletes a key at the other replica, and commits there. */
        WriteSet remove(int key) throws Exception;

        /** What a client of the engine under test sees. */
        Map<Integer, String> contents() throws Exception;

        /** Begins a local transaction at the engine under test that sets a key. */
        Local begin(int key, String value) throws Exception;

        /** A statement that makes another table, or fails if it is there. */
        byte[] createTable();

        /** A client's request that sets a key. */
        default byte[] putRequest(int key, String value) {
            throw new UnsupportedOperationException("this engine executes no requests");
        }

        /** A client's request that inserts a key, and so is refused if it is there. */
        default byte[] insertRequest(int key, String value) {
            throw new UnsupportedOperationException("this engine executes no requests");
        }

        /** A client's request that changes nothing. */
        default byte[] readRequest() {
            throw new UnsupportedOperationException("this engine executes no requests");
        }

        /** How an operator names the table of key 1; null if nodes over the engine, which is node 0's, keep all tables. */
        default @Nullable String placeable() {
            return null;
        }

        @Override
        void close();
    }

    /** A local transaction, and its write set. */
    public record Local(LocalTransaction transaction, WriteSet writes) {}

    private Harness harness;
    private Applier applier;

    /** A new harness. */
    protected abstract Harness open() throws Exception;

    @BeforeEach
    void begin() throws Exception {
        harness = open();
    }

    @AfterEach
    void end() {
        if (applier != null) {
            applier.close();
        }
        harness.close();
    }

    private Applier applier() {
        if (applier == null) {
            applier = harness.engine().openApplier();
        }
        return applier;
    }

    /** A completion that can be waited for. */
    public static final class Result<T> implements Completion<T> {
        private final CompletableFuture<Object> told = new CompletableFuture<>();

        @Override
        public void succeeded(T value) {
            assertTrue(told.complete(value == null ? "done" : value), "told twice");
        }

        @Override
        public void failed(EngineFailure failure) {
            assertTrue(told.complete(failure), "told twice");
        }

        /** Whether it has been told. */
        public boolean isDone() {
            return told.isDone();
        }

        /** Waits for success. */
        @SuppressWarnings("unchecked")
        public T success() throws Exception {
            Object value = told.get(20, TimeUnit.SECONDS);
            assertFalse(value instanceof EngineFailure, String.valueOf(value));
            return (T) value;
        }

        /** Waits; whether it has succeeded. */
        public boolean succeeds() throws Exception {
            return !(told.get(20, TimeUnit.SECONDS) instanceof EngineFailure);
        }

        /** Waits for failure. */
        public EngineFailure failure() throws Exception {
            return (EngineFailure) told.get(20, TimeUnit.SECONDS);
        }
    }

    /** The position that an engine says it has applied. */
    public static long position(Engine engine) throws Exception {
        Result<Long> position = new Result<>();
        engine.appliedPosition(position);
        return position.success();
    }

    private Result<Void> apply(long position, WriteSet... writes) {
        Result<Void> result = new Result<>();
        applier().apply(position, List.of(writes), result);
        return result;
    }

    private Result<Void> applyAndCommit(long first, long last, WriteSet... writes) {
        Result<Void> result = new Result<>();
        applier().applyAndCommit(first, List.of(writes), last, result);
        return result;
    }

    private void commit(long position) throws Exception {
        Result<Void> result = new Result<>();
        applier().commit(position, result);
        result.success();
    }

    @Test
    void knowsNothingAtFirst() throws Exception {
        assertEquals(0, position(harness.engine()));
    }

    @Test
    void appliedChangesBecomeVisibleWithTheirPosition() throws Exception {
        apply(1, harness.put(1, "a")).success();
        assertEquals(Map.of(), harness.contents());
        assertEquals(0, position(harness.engine()));
        commit(1);
        assertEquals(Map.of(1, "a"), harness.contents());
        assertEquals(1, position(harness.engine()));
        Result<Long> durable = new Result<>();
        harness.engine().durablePosition(durable);
        assertEquals(1, durable.success());
    }

    @Test
    void severalPositionsCommitAtOnce() throws Exception {
        apply(5, harness.put(1, "a"), harness.put(2, "b"), harness.put(1, "c"), harness.remove(2), harness.put(2, "d"),
                harness.put(3, "e"), harness.remove(3)).success();
        commit(11);
        assertEquals(Map.of(1, "c", 2, "d"), harness.contents());
        assertEquals(11, position(harness.engine()));
        apply(1L << 40, harness.remove(1)).success();
        commit(1L << 40);
        assertEquals(1L << 40, position(harness.engine()));
    }

    @Test
    void whatIsGivenUpLeavesNothing() throws Exception {
        WriteSet put = harness.put(1, "a");
        apply(1, put).success();
        Result<Void> given = new Result<>();
        applier().rollback(() -> given.succeeded(null));
        given.success();
        assertEquals(Map.of(), harness.contents());
        apply(1, put).success();
        commit(1);
        assertEquals(Map.of(1, "a"), harness.contents());
    }

    @Test
    void whatCannotBeAppliedFailsAndLeavesTheApplierUsable() throws Exception {
        WriteSet put = harness.put(1, "a");
        WriteSet update = harness.put(1, "b");
        EngineFailure failure = apply(1, update).failure();
        assertFalse(failure.transientFailure(), failure.message());
        EngineFailure damaged = apply(1, new WriteSet(put.keys(), new byte[]{1, 2, 3})).failure();
        assertFalse(damaged.transientFailure(), damaged.message());
        apply(1, put, update).success();
        commit(2);
        assertEquals(Map.of(1, "b"), harness.contents());
    }

    @Test
    void whatCannotBeAppliedIsNotCommitted() throws Exception {
        WriteSet other = harness.put(2, "other");
        WriteSet put = harness.put(1, "a");
        WriteSet update = harness.put(1, "b");
        EngineFailure failure = applyAndCommit(1, 2, other, update).failure();
        assertFalse(failure.transientFailure(), failure.message());
        assertEquals(Map.of(), harness.contents());
        assertEquals(0, position(harness.engine()));
        applyAndCommit(1, 3, other, put, update).success();
        assertEquals(Map.of(1, "b", 2, "other"), harness.contents());
        assertEquals(3, position(harness.engine()));
    }

    @Test
    void aLocalTransactionCommitsWithItsPosition() throws Exception {
        Local local = harness.begin(1, "mine");
        assertFalse(local.writes().isEmpty());
        assertEquals(Map.of(), harness.contents());
        Result<Void> committed = new Result<>();
        local.transaction().commit(7, committed);
        committed.success();
        assertEquals(Map.of(1, "mine"), harness.contents());
        assertEquals(7, position(harness.engine()));
        apply(8, harness.put(2, "theirs")).success();
        commit(8);
        assertEquals(8, position(harness.engine()));
    }

    @Test
    void namesTheLocalTransactionThatIsInTheWay() throws Exception {
        BlockingQueue<LocalTransaction> blockers = new LinkedBlockingQueue<>();
        harness.engine().onBlocked((position, holder) -> {
            assertEquals(3, position);
            blockers.add(holder);
        });
        Local local = harness.begin(1, "mine");
        Result<Void> applied = apply(3, harness.put(1, "theirs"));
        LocalTransaction blocker = blockers.poll(20, TimeUnit.SECONDS);
        assertNotNull(blocker);
        assertEquals(local.transaction(), blocker);
        assertFalse(applied.isDone());
        Result<Void> gone = new Result<>();
        blocker.rollback(() -> gone.succeeded(null));
        gone.success();
        applied.success();
        commit(3);
        assertEquals(Map.of(1, "theirs"), harness.contents());
    }

    /** What is applied side by side need not wait for one another: one that waits keeps only local transactions out. */
    @Test
    void whoWaitsForALocalTransactionKeepsNoOtherApplierOut() throws Exception {
        BlockingQueue<LocalTransaction> blockers = new LinkedBlockingQueue<>();
        harness.engine().onBlocked((_, holder) -> blockers.add(holder));
        Local local = harness.begin(1, "mine");
        Result<Void> waiting = apply(3, harness.put(1, "theirs"));
        assertNotNull(blockers.poll(20, TimeUnit.SECONDS));
        try (Applier earlier = harness.engine().openApplier()) {
            Result<Void> applied = new Result<>();
            earlier.apply(2, List.of(harness.put(2, "earlier")), applied);
            applied.success();
            Result<Void> committed = new Result<>();
            earlier.commit(2, committed);
            committed.success();
        }
        assertFalse(waiting.isDone());
        assertEquals(2, position(harness.engine()));
        local.transaction().rollback(() -> {});
        waiting.success();
        commit(3);
        assertEquals(Map.of(1, "theirs", 2, "earlier"), harness.contents());
    }

    @Test
    void barrierStatementsTakeEffectOrAreRefusedAtTheirPosition() throws Exception {
        assertTrue(executed(1, harness.createTable()).tookEffect());
        assertEquals(1, position(harness.engine()));
        ExecuteResult second = executed(2, harness.createTable());
        assertFalse(second.tookEffect());
        assertTrue(second.response().length > 0);
        assertEquals(1, position(harness.engine()), "what becomes of it others decide");
        Result<ExecuteResult> skipped = new Result<>();
        applier().skip(2, Objects.requireNonNull(second.refusal()), skipped);
        assertFalse(skipped.success().tookEffect());
        assertTrue(skipped.success().response().length > 0);
        assertEquals(2, position(harness.engine()));
        Result<Set<Long>> positions = new Result<>();
        harness.engine().skippedPositions(positions);
        assertEquals(Set.of(2L), positions.success());
        apply(3, harness.put(1, "a")).success();
        commit(3);
        assertEquals(Map.of(1, "a"), harness.contents());
    }

    /** Or is on all nodes, and the engine says so. */
    @Test
    protected void aTableIsKeptByOthersOnlyFromItsPositionOn() throws Exception {
        String table = harness.placeable();
        WriteSet before = harness.put(1, "a");
        if (table == null) {
            assertEquals("0A000", prepare("KV", Set.of(1, 2)).failure().sqlState());
            assertThrows(UnsupportedOperationException.class, () -> harness.engine().changedTables(before));
            return;
        }
        applyAndCommit(1, 1, before).success();
        PlacementPlan plan = prepare(table, Set.of(1, 2)).success();
        assertEquals(Set.copyOf(plan.tables().values()), harness.engine().changedTables(before));
        assertTrue(executed(2, plan.statement()).tookEffect());
        assertTrue(executed(3, plan.statement()).tookEffect(), "a second time");
        applyAndCommit(4, 5, harness.put(1, "b"), harness.remove(1)).success();
        assertEquals(5, position(harness.engine()));
        assertThrows(Exception.class, () -> harness.begin(1, "mine"));
        Result<PlacementPlan> here = prepare(table, Set.of(0, 1));
        assertTrue(!here.succeeds() || !executed(6, here.success().statement()).tookEffect(), "rows were brought");
    }

    protected final Result<PlacementPlan> prepare(String table, Set<Integer> keepers) {
        Result<PlacementPlan> prepared = new Result<>();
        harness.engine().preparePlacement(List.of(table), keepers, prepared);
        return prepared;
    }

    private ExecuteResult executed(long position, byte[] statement) throws Exception {
        Result<ExecuteResult> executed = new Result<>();
        applier().execute(position, statement, executed);
        return executed.success();
    }
}
