package tutti.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tutti.core.protocol.Response;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.Engine.Applier;
import tutti.core.spi.Engine.Executed;
import tutti.core.spi.Engine.Executor;
import tutti.core.spi.Engine.Request;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.Outcome;
import tutti.core.txn.WriteSet;
import tutti.engine.EngineContract.Harness;
import tutti.engine.EngineContract.Local;
import tutti.engine.EngineContract.Result;

/** What every {@link Executor} of clients' requests must do. */
public abstract class ExecutorContract {
    private Harness harness;
    private Executor executor;

    /** A new harness. */
    protected abstract Harness open() throws Exception;

    @BeforeEach
    void begin() throws Exception {
        harness = open();
        executor = harness.engine().openExecutor();
    }

    @AfterEach
    void end() {
        executor.close();
        harness.close();
    }

    /** What the node has of a request that it undertakes. */
    public static final class Undertaken implements LocalTransaction {
        private final Executor by;

        /** Of this executor. */
        public Undertaken(Executor by) {
            this.by = by;
        }

        @Override
        public void commit(long position, Completion<Void> done) {
            by.commit(position, done);
        }

        @Override
        public void rollback(Runnable done) {
            by.rollback(done);
        }

        @Override
        public void answer(Outcome outcome) {
            throw new UnsupportedOperationException("not asked for here");
        }
    }

    private Result<Executed> execute(LocalTransaction transaction, byte[] request) {
        Result<Executed> executed = new Result<>();
        executor.execute(transaction, List.of(new Request(request, ConflictClasses.ALL)), executed);
        return executed;
    }

    /** The one of this test. */
    protected final Harness replica() {
        return harness;
    }

    /** Executes requests in one transaction. */
    protected final Executed together(byte[]... requests) throws Exception {
        Result<Executed> executed = new Result<>();
        executor.execute(new Undertaken(executor),
                Arrays.stream(requests).map(each -> new Request(each, ConflictClasses.ALL)).toList(), executed);
        return executed.success();
    }

    private static Response response(Executed executed) {
        assertEquals(1, executed.responses().size());
        return executed.responses().getFirst();
    }

    private Executed execute(byte[] request) throws Exception {
        return execute(new Undertaken(executor), request).success();
    }

    /** Commits what has been executed. */
    protected final void commit(long position) throws Exception {
        Result<Void> committed = new Result<>();
        executor.commit(position, committed);
        committed.success();
    }

    private void rollback() throws Exception {
        Result<Void> gone = new Result<>();
        executor.rollback(() -> gone.succeeded(null));
        gone.success();
    }

    private void apply(long position, WriteSet writes) throws Exception {
        try (Applier applier = harness.engine().openApplier()) {
            Result<Void> applied = new Result<>();
            applier.applyAndCommit(position, List.of(writes), position, applied);
            applied.success();
        }
    }

    @Test
    void aRequestIsVisibleWithItsPosition() throws Exception {
        Executed executed = execute(harness.putRequest(1, "a"));
        assertTrue(response(executed).tookEffect(), response(executed).toString());
        assertTrue(response(executed).content().length > 0);
        assertFalse(executed.writes().isEmpty());
        assertEquals(Map.of(), harness.contents());
        commit(5);
        assertEquals(Map.of(1, "a"), harness.contents());
        assertEquals(5, EngineContract.position(harness.engine()));
        execute(harness.putRequest(1, "b"));
        commit(6);
        assertEquals(Map.of(1, "b"), harness.contents());
    }

    @Test
    void severalAreVisibleAtOnce() throws Exception {
        Executed executed = together(harness.putRequest(1, "a"), harness.putRequest(2, "b"),
                harness.putRequest(1, "c"));
        assertEquals(3, executed.responses().size());
        assertTrue(executed.responses().stream().allMatch(each -> each.content().length > 0));
        assertEquals(Map.of(), harness.contents());
        commit(5);
        assertEquals(Map.of(1, "c", 2, "b"), harness.contents());
        assertEquals(5, EngineContract.position(harness.engine()));
    }

    @Test
    void othersApplyWhatSeveralHaveChanged() throws Exception {
        WriteSet writes = together(harness.putRequest(1, "a"), harness.putRequest(2, "b"),
                harness.putRequest(1, "c")).writes();
        rollback();
        assertEquals(Map.of(), harness.contents());
        apply(1, writes);
        assertEquals(Map.of(1, "c", 2, "b"), harness.contents());
    }

    /** What is refused takes nobody with it; the rest is as if it had not been there. */
    @Test
    void oneThatIsRefusedTakesNobodyWithIt() throws Exception {
        apply(1, harness.put(1, "theirs"));
        List<byte[]> waiting = List.of(harness.putRequest(2, "a"), harness.putRequest(3, "b"),
                harness.insertRequest(1, "mine"), harness.insertRequest(3, "twice"), harness.putRequest(4, "c"),
                harness.insertRequest(4, "twice"));
        List<String> states = new ArrayList<>();
        for (long position = 2; states.size() < waiting.size(); position++) {
            Executed executed = together(waiting.subList(states.size(), waiting.size()).toArray(byte[][]::new));
            executed.responses().forEach(each -> {
                states.add(each.sqlState());
                assertTrue(each.content().length > 0 || !each.tookEffect());
            });
            if (!executed.writes().isEmpty()) {
                commit(position);
            }
        }
        assertEquals(List.of("00000", "00000", "23505", "23505", "00000", "23505"), states);
        assertEquals(Map.of(1, "theirs", 2, "a", 3, "b", 4, "c"), harness.contents());
        Executed first = together(harness.insertRequest(1, "mine"), harness.putRequest(5, "d"));
        assertEquals("23505", response(first).sqlState());
    }

    @Test
    void whatItCapturesIsWhatOthersApply() throws Exception {
        WriteSet writes = execute(harness.putRequest(1, "a")).writes();
        rollback();
        assertEquals(Map.of(), harness.contents());
        apply(1, writes);
        assertEquals(Map.of(1, "a"), harness.contents());
    }

    @Test
    void whatTheEngineRefusesIsTheResult() throws Exception {
        apply(1, harness.put(1, "theirs"));
        Executed executed = execute(harness.insertRequest(1, "mine"));
        assertTrue(executed.writes().isEmpty());
        assertEquals("23505", response(executed).sqlState());
        assertFalse(response(executed).message().isEmpty());
        execute(harness.insertRequest(2, "mine"));
        commit(2);
        assertEquals(Map.of(1, "theirs", 2, "mine"), harness.contents());
    }

    @Test
    void whatChangesNothingHasEnded() throws Exception {
        apply(1, harness.put(1, "a"));
        Executed executed = execute(harness.readRequest());
        assertTrue(executed.writes().isEmpty());
        assertTrue(response(executed).tookEffect());
        rollback();
        execute(harness.putRequest(1, "b"));
        commit(2);
        assertEquals(Map.of(1, "b"), harness.contents());
    }

    @Test
    void givesWayToAnApplier() throws Exception {
        BlockingQueue<LocalTransaction> blockers = new LinkedBlockingQueue<>();
        harness.engine().onBlocked((position, holder) -> {
            if (position == 3) {
                blockers.add(holder);
            }
        });
        Undertaken undertaken = new Undertaken(executor);
        execute(undertaken, harness.putRequest(1, "mine")).success();
        try (Applier applier = harness.engine().openApplier()) {
            Result<Void> applied = new Result<>();
            applier.applyAndCommit(3, List.of(harness.put(1, "theirs")), 3, applied);
            LocalTransaction blocker = blockers.poll(20, TimeUnit.SECONDS);
            assertNotNull(blocker);
            assertEquals(undertaken, blocker);
            rollback();
            applied.success();
        }
        assertEquals(Map.of(1, "theirs"), harness.contents());
    }

    /** A request has its place in the order: whoever is in its way is told. */
    @Test
    void namesWhoIsInItsWay() throws Exception {
        record Met(LocalTransaction waiter, LocalTransaction holder) {}
        BlockingQueue<Met> met = new LinkedBlockingQueue<>();
        harness.engine().onBlocked(new Engine.BlockedListener() {
            @Override
            public void blocked(long position, LocalTransaction holder) {
                // No applier is there.
            }

            @Override
            public void blocked(LocalTransaction waiter, Set<LocalTransaction> holders) {
                holders.forEach(holder -> met.add(new Met(waiter, holder)));
            }
        });
        Local local = harness.begin(1, "other");
        Undertaken undertaken = new Undertaken(executor);
        Result<Executed> executed = execute(undertaken, harness.putRequest(1, "mine"));
        Met first = met.poll(20, TimeUnit.SECONDS);
        assertNotNull(first);
        assertEquals(new Met(undertaken, local.transaction()), first);
        Result<Void> gone = new Result<>();
        local.transaction().rollback(() -> gone.succeeded(null));
        gone.success();
        if (!executed.succeeds()) {
            assertTrue(executed.failure().transientFailure(), "an engine that does not wait has it run again");
            executed = execute(undertaken, harness.putRequest(1, "mine"));
        }
        assertFalse(executed.success().writes().isEmpty());
        commit(1);
        assertEquals(Map.of(1, "mine"), harness.contents());
    }

    @Test
    void aRollbackEndsWhatRuns() throws Exception {
        Local local = harness.begin(1, "other");
        Result<Executed> given = execute(new Undertaken(executor), harness.putRequest(1, "mine"));
        rollback();
        Result<Void> gone = new Result<>();
        local.transaction().rollback(() -> gone.succeeded(null));
        gone.success();
        execute(harness.putRequest(1, "again"));
        commit(1);
        assertEquals(Map.of(1, "again"), harness.contents());
        if (given.isDone()) {
            assertTrue(given.failure().transientFailure(), "an engine that does not wait");
        }
    }
}
