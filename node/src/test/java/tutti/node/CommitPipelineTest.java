package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tutti.core.protocol.TransactionRequest;
import tutti.core.spi.Engine;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.core.tune.ConcurrencyTuning;
import tutti.node.metrics.NodeMetrics;
import tutti.runtime.Loop;

class CommitPipelineTest {
    /** Longer than any test. */
    private static final long LINGER_NANOS = TimeUnit.HOURS.toNanos(1);

    private boolean unwatched;
    private final AtomicReference<@Nullable Throwable> broken = new AtomicReference<>();
    private final TestMachine machine = new TestMachine();
    private final Loop loop = machine.loop("test", broken::set);
    private final ManualEngine engine = new ManualEngine();
    private final List<Long> visible = new ArrayList<>();
    private final AtomicReference<@Nullable Throwable> failed = new AtomicReference<>();
    private final List<TransactionId> preparedHeard = new ArrayList<>();
    private final List<Long> refused = new ArrayList<>();
    private final Set<Long> skipped = new HashSet<>();
    private final List<Long> leftOut = new ArrayList<>();
    private final List<Long> told = new ArrayList<>();
    private final List<TransactionId> takenBack = new ArrayList<>();
    private final List<String> blockedHeard = new ArrayList<>();
    private final List<TransactionId> notPreparedHeard = new ArrayList<>();
    private final CommitPipeline.Events events = new CommitPipeline.Events() {
        @Override
        public void committed(long position, WriteSet writes) {
            told.add(position);
        }

        @Override
        public void visible(long position) {
            visible.add(position);
        }

        @Override
        public void prepared(TransactionId transaction) {
            preparedHeard.add(transaction);
        }

        @Override
        public void blocked(TransactionId transaction, Set<TransactionId> holders) {
            blockedHeard.add(transaction + " by " + holders);
        }

        @Override
        public void notPrepared(TransactionId transaction, EngineFailure cause) {
            notPreparedHeard.add(transaction);
        }

        @Override
        public void executed(long position, ExecuteResult result) {
            // Only the position matters here.
        }

        @Override
        public void refused(Slot slot, EngineFailure why) {
            refused.add(slot.position());
        }

        @Override
        public @Nullable EngineFailure leftOut(long position) {
            return skipped.contains(position) ? new EngineFailure("23514", "left out", false) : null;
        }

        @Override
        public void leavesOut(long position, TransactionId transaction, EngineFailure why) {
            leftOut.add(position);
        }

        @Override
        public void takesBack(TransactionId transaction) {
            takenBack.add(transaction);
        }

        @Override
        public void failed(Throwable cause) {
            failed.set(cause);
        }
    };
    private final CommitPipeline pipeline = pipeline(LINGER_NANOS);

    private CommitPipeline pipeline(long lingerNanos) {
        return pipeline(lingerNanos, 0, 0);
    }

    private CommitPipeline pipeline(long lingerNanos, long held, long before) {
        CommitPipeline made = new CommitPipeline(engine, machine, loop, events, NodeMetrics.NONE,
                new ApplySettings(3, 8, lingerNanos), new LostKeys(), () -> unwatched);
        made.open(held, before);
        return made;
    }

    @AfterEach
    void stop() {
        loop.close();
        assertEquals(null, broken.get());
    }

    private static TransactionId id(long position) {
        return new TransactionId(1, position);
    }

    private static WriteSet writes(long position, int... keys) {
        KeySet.Builder builder = new KeySet.Builder();
        for (int key : keys) {
            builder.add(key, KeyKind.UPDATE);
        }
        return new WriteSet(builder.build(), ByteBuffer.allocate(8).putLong(position).array());
    }

    /** Runs on the loop, with what it sets off there now. */
    private <T> T on(Supplier<T> task) {
        AtomicReference<T> result = new AtomicReference<>();
        loop.execute(() -> result.set(task.get()));
        machine.runDue();
        assertEquals(null, broken.get());
        return result.get();
    }

    private void run(Runnable task) {
        on(() -> {
            task.run();
            return true;
        });
    }

    private List<ManualEngine.Pending> pending() {
        machine.runDue();
        return engine.takePending();
    }

    private void succeedAll() {
        for (List<ManualEngine.Pending> pending = pending(); !pending.isEmpty(); pending = pending()) {
            pending.forEach(ManualEngine.Pending::succeed);
        }
    }

    /** Applied alone, so that what follows it lingers. */
    private void firstOfMany() {
        unwatched = true;
        run(() -> pipeline.remote(1, id(1), writes(1, 1)));
        succeedAll();
        assertEquals(List.of(1L), visible);
        run(() -> pipeline.remote(2, id(2), writes(2, 2)));
        run(() -> pipeline.remote(3, id(3), writes(3, 3)));
        assertEquals(List.of(), pending());
        assertTrue(pipeline.lingers());
    }

    @Test
    void remoteTransactionsThatNobodyWaitsForAreAppliedTogether() {
        firstOfMany();
        run(() -> pipeline.hurry(2));
        List<ManualEngine.Pending> together = pending();
        assertEquals(1, together.size());
        together.forEach(ManualEngine.Pending::succeed);
        succeedAll();
        assertEquals(List.of(1L, 3L), visible);
        assertEquals(List.of(1L, 2L, 3L), engine.effects);
        assertFalse(pipeline.lingers());
    }

    @Test
    void whoLooksSeesAllUpToThereAndNothingBehindIt() {
        List<Long> seen = new ArrayList<>();
        AtomicReference<Runnable> goOn = new AtomicReference<>();
        run(() -> pipeline.remote(1, id(1), writes(1, 1)));
        run(() -> pipeline.look(2, over -> {
            seen.addAll(engine.effects);
            goOn.set(over);
        }));
        run(() -> pipeline.remote(3, id(3), writes(3, 3)));
        run(() -> pipeline.local(4, id(4), writes(4, 4), engine.new Session(4)));
        succeedAll();
        assertEquals(List.of(1L), visible);
        assertEquals(List.of(1L), seen);
        assertEquals(List.of(1L), engine.effects);
        run(goOn.get());
        succeedAll();
        assertEquals(List.of(1L, 2L, 3L, 4L), visible);
        assertEquals(List.of(1L, 3L, 4L), engine.effects);
    }

    @Test
    void nobodyLooksAtAPositionThatTheDatabaseHeldBefore() {
        CommitPipeline later = pipeline(0, 7, 5);
        run(() -> later.look(6, _ -> refused.add(6L)));
        run(() -> later.skip(7));
        run(() -> later.look(8, Runnable::run));
        assertEquals(List.of(), refused);
        assertEquals(List.of(8L), visible);
    }

    @Test
    void aLocalCommitBehindThemEndsTheirWait() {
        firstOfMany();
        run(() -> pipeline.local(4, id(4), writes(4, 4), engine.new Session(4)));
        succeedAll();
        assertEquals(List.of(1L, 3L, 4L), visible);
        run(() -> pipeline.remote(5, id(5), writes(5, 5)));
        assertEquals(List.of(), pending());
    }

    @Test
    void whatIsSkippedBehindThemDoesNotEndTheirWait() {
        firstOfMany();
        run(() -> pipeline.skip(4));
        assertEquals(List.of(), pending());
    }

    @Test
    void enoughOfThemDoNotWaitForMore() {
        firstOfMany();
        for (int position = 4; position < 33; position++) {
            int at = position;
            run(() -> pipeline.remote(at, id(at), writes(at, at)));
        }
        assertEquals(List.of(), pending());
        run(() -> pipeline.remote(33, id(33), writes(33, 33)));
        succeedAll();
        assertEquals(33L, visible.getLast());
    }

    @Test
    void nobodyWaitsForMoreWhereSomebodyWatches() {
        firstOfMany();
        unwatched = false;
        run(() -> pipeline.remote(4, id(4), writes(4, 4)));
        succeedAll();
        assertEquals(List.of(1L, 4L), visible);
    }

    @Test
    void theWaitEndsByItself() {
        unwatched = true;
        CommitPipeline brief = pipeline(TimeUnit.MILLISECONDS.toNanos(50));
        for (int position = 1; position <= 3; position++) {
            int at = position;
            run(() -> brief.remote(at, id(at), writes(at, at)));
        }
        succeedAll();
        assertEquals(List.of(1L), visible);
        machine.runFor(TimeUnit.MILLISECONDS.toNanos(50));
        succeedAll();
        assertEquals(List.of(1L, 2L, 3L), engine.effects);
    }

    @Test
    void aShorterWaitCountsForWhatWaitsAlready() {
        firstOfMany();
        long brief = TimeUnit.MILLISECONDS.toNanos(50);
        run(() -> pipeline.applying(new ApplySettings(3, 8, brief)));
        assertEquals(List.of(), pending());
        machine.runFor(brief);
        succeedAll();
        assertEquals(List.of(1L, 2L, 3L), engine.effects);
    }

    @Test
    void whatWaitsBeginsWhenNothingIsToWaitAnyMore() {
        firstOfMany();
        run(() -> pipeline.applying(new ApplySettings(3, 1, 0)));
        assertFalse(pipeline.lingers());
        assertEquals(1, pending().size());
    }

    /** A run of groups of one position each, behind a local transaction that is committing. */
    private List<ManualEngine.Pending> begunBehind(int positions) {
        run(() -> pipeline.local(1, id(1), writes(1, 1), engine.new Session(1)));
        for (int position = 2; position <= positions; position++) {
            int at = position;
            run(() -> pipeline.remote(at, id(at), writes(at, at)));
        }
        return pending();
    }

    @Test
    void moreAppliersBeginAtOnce() {
        run(() -> pipeline.applying(new ApplySettings(3, 1, 0)));
        assertEquals(1 + 2, begunBehind(30).size());
        run(() -> pipeline.applying(new ApplySettings(6, 1, 0)));
        assertEquals(3, pending().size());
    }

    @Test
    void automaticallyMoreAppliersBeginWhenTheReplicaIsBehind() {
        run(() -> pipeline.applying(new ApplySettings(ApplySettings.AUTO, 1, 0)));
        assertEquals(1 + 2, begunBehind(60).size());
        machine.runFor(ConcurrencyTuning.INTERVAL_NANOS);
        assertEquals(3, pending().size(),
                "nothing has become visible, so six may work, of which one is left for the head");
        run(() -> pipeline.applying(new ApplySettings(3, 1, 0)));
        machine.runFor(10 * ConcurrencyTuning.INTERVAL_NANOS);
        assertEquals(0, pending().size(), "a number counts again");
    }

    @Test
    void whatIsChosenAutomaticallyChangesNothingOfWhatIsApplied() {
        run(() -> pipeline.applying(new ApplySettings(3, ApplySettings.AUTO, 0)));
        List<ManualEngine.Pending> begun = begunBehind(200);
        for (int i = 0; i < 3; i++) {
            machine.runFor(ConcurrencyTuning.INTERVAL_NANOS);
        }
        begun.forEach(ManualEngine.Pending::succeed);
        succeedAll();
        assertEquals(LongStream.rangeClosed(1, 200).boxed().toList(), engine.effects);
    }

    @Test
    void fewerAppliersLeaveOneForTheHead() {
        run(() -> pipeline.applying(new ApplySettings(6, 1, 0)));
        List<ManualEngine.Pending> begun = begunBehind(30);
        assertEquals(1 + 5, begun.size());
        run(() -> pipeline.applying(new ApplySettings(1, 1, 0)));
        // The local commit's result is lost, so that the head needs an applier, while five work for those that wait for it.
        begun.getFirst().fail(true);
        List<ManualEngine.Pending> head = pending();
        assertEquals(1, head.size());
        head.getFirst().succeed();
        begun.subList(1, begun.size()).forEach(ManualEngine.Pending::succeed);
        while (on(pipeline::visible) < 30) {
            List<ManualEngine.Pending> now = pending();
            assertEquals(1, now.size(), "one works");
            now.getFirst().succeed();
        }
    }

    @Test
    void aCommitThatWorkedUnheardIsVisibleAlthoughItsChangesCannotBeMadeAgain() {
        run(() -> pipeline.local(1, id(1), writes(1, 1), engine.new Session(1)));
        pending().forEach(ManualEngine.Pending::succeedUnheard);
        pending().forEach(again -> again.fail(false));
        run(() -> pipeline.remote(2, id(2), writes(2, 2)));
        succeedAll();
        assertEquals(List.of(1L, 2L), visible);
        assertEquals(List.of(1L, 2L), engine.effects);
        assertEquals(null, failed.get());
    }

    @Test
    void theProtocolHearsForWhomSomethingWaitsThatIsBeingPrepared() {
        TransactionId made = new TransactionId(2, 1);
        TransactionId waiting = new TransactionId(2, 2);
        TransactionId local = new TransactionId(1, 7);
        run(() -> pipeline.prepare(made, writes(0, 1)));
        succeedAll();
        Engine.Applier holder = engine.lastApplier();
        run(() -> pipeline.prepare(waiting, writes(0, 2)));
        Engine.Applier waiter = engine.lastApplier();
        Engine.Applier stranger = engine.openApplier();
        run(() -> pipeline.waits(waiter, Set.of(local), Set.of(holder, stranger)));
        run(() -> pipeline.waits(waiter, Set.of(local), Set.of(holder, stranger)));
        run(() -> pipeline.waits(waiter, Set.of(), Set.of()));
        // For a local transaction that still runs and waits for it.
        run(() -> pipeline.waits(waiter, Set.of(), Set.of(waiter)));
        // Who is prepared waits for nobody; old news.
        run(() -> pipeline.waits(holder, Set.of(local), Set.of()));
        assertEquals(List.of(waiting + " by " + List.of(local, made), waiting + " by []",
                waiting + " by " + List.of(waiting)), blockedHeard);
        succeedAll();
        assertEquals(List.of(made, waiting), preparedHeard);
    }

    @Test
    void remoteWriteSetsThatFollowEachOtherShareAnEngineTransaction() {
        run(() -> pipeline.remote(1, id(1), writes(1, 1)));
        run(() -> {
            pipeline.remote(2, id(2), writes(2, 1));
            pipeline.skip(3);
            pipeline.remote(4, id(4), writes(4, 1));
        });
        succeedAll();
        assertEquals(List.of(1L, 2L, 4L), engine.effects);
        assertTrue(engine.groupsSeen);
        assertEquals(4L, visible.getLast());
    }

    @Test
    void aLocalTransactionCommitsInItsTurnOnly() {
        ManualEngine.Session local = engine.new Session(2);
        run(() -> {
            pipeline.remote(1, id(1), writes(1, 1));
            pipeline.local(2, id(2), writes(2, 2), local);
            pipeline.remote(3, id(3), writes(3, 2));
        });
        List<ManualEngine.Pending> first = pending();
        assertEquals(1, first.size(), "only position 1 can be worked on: 3 meets the local transaction at 2");
        first.forEach(ManualEngine.Pending::succeed);
        succeedAll();
        assertEquals(List.of(1L, 2L, 3L), engine.effects);
    }

    @Test
    void aLocalTransactionThatLostItsLocksIsAppliedInItsPlace() {
        ManualEngine.Session local = engine.new Session(2);
        run(() -> {
            pipeline.remote(1, id(1), writes(1, 1));
            pipeline.local(2, id(2), writes(2, 2), local);
        });
        assertTrue(on(() -> pipeline.replay(2)));
        succeedAll();
        assertEquals(List.of(1L, 2L), engine.effects);
        assertFalse(on(() -> pipeline.replay(2)), "it is visible");
    }

    @Test
    void aCommitWhoseResultWasLostIsNotDoneTwice() {
        ManualEngine.Session local = engine.new Session(1);
        run(() -> pipeline.local(1, id(1), writes(1, 1), local));
        pending().forEach(ManualEngine.Pending::succeedUnheard);
        succeedAll();
        assertEquals(List.of(1L), engine.effects);
        assertEquals(1L, visible.getLast());
    }

    /** Fails whatever is asked for, for so long. */
    private void failAll(boolean transientFailure, long seconds) {
        for (int i = 0; i < 10 * seconds; i++) {
            pending().forEach(operation -> operation.fail(transientFailure));
            machine.runFor(TimeUnit.MILLISECONDS.toNanos(100));
        }
    }

    @Test
    void whatTheEngineRefusesForGoodIsAQuestionForTheNodes() {
        run(() -> {
            pipeline.remote(1, id(1), writes(1, 1));
            pipeline.remote(2, id(2), writes(2, 2));
        });
        failAll(false, 1);
        assertEquals(List.of(1L), refused);
        assertEquals(List.of(), pending(), "nothing is made behind it");
        run(() -> pipeline.tryAgain(1));
        machine.runFor(TimeUnit.SECONDS.toNanos(1));
        succeedAll();
        assertEquals(List.of(1L, 2L), engine.effects);
        assertEquals(null, failed.get());
    }

    @Test
    void whatIsLeftOutIsRecordedAndWhatFollowsIsMade() {
        run(() -> pipeline.remote(1, id(1), writes(1, 1)));
        failAll(false, 1);
        run(() -> {
            skipped.add(1L);
            skipped.add(3L);
            pipeline.leaveOut(1);
            pipeline.remote(2, id(2), writes(2, 1));
            pipeline.local(3, id(3), writes(3, 3), engine.new Session(3));
            pipeline.remote(4, id(4), writes(4, 3));
        });
        succeedAll();
        assertEquals(List.of(1L, 3L), leftOut);
        assertEquals(List.of(id(3)), takenBack, "it holds locks, and is not committed");
        assertEquals(4L, visible.getLast());
        assertEquals(List.of(2L, 4L), told);
    }

    /** As at a full disk: nine seconds, then the others are asked. */
    @Test
    void whatFailsForAPassingReasonIsTriedSoOftenAndNotForEver() {
        run(() -> pipeline.remote(1, id(1), writes(1, 1)));
        failAll(true, 2);
        assertEquals(List.of(), refused);
        failAll(true, 20);
        assertEquals(List.of(1L), refused);
        run(() -> pipeline.tryAgain(1));
        failAll(true, 2);
        assertEquals(List.of(1L, 1L), refused);
    }

    private void stopsTheNode(String expected, Runnable task) {
        loop.execute(task);
        machine.runDue();
        Throwable thrown = broken.getAndSet(null);
        assertTrue(thrown instanceof IllegalStateException && thrown.getMessage().contains(expected),
                () -> String.valueOf(thrown));
    }

    @Test
    void aPositionThatIsDecidedTwiceStopsTheNode() {
        run(() -> pipeline.remote(1, id(1), writes(1, 1)));
        stopsTheNode("position 1 was decided, expected 2", () -> pipeline.remote(1, id(1), writes(1, 1)));
    }

    @Test
    void aPositionThatIsLeftOutStopsTheNode() {
        stopsTheNode("position 2 was decided, expected 1", () -> pipeline.skip(2));
    }

    @Test
    void whatTheEngineHeldIsDecidedAgainAndNotDoneAgain() {
        CommitPipeline again = pipeline(LINGER_NANOS, 3, 1);
        run(() -> {
            again.remote(2, id(2), writes(2, 2));
            again.barrier(3, id(3),
                    new TransactionRequest.Whole(new byte[0], ConflictClasses.ALL, KeySet.EMPTY,
                            TransactionRequest.Placement.ALL));
        });
        assertEquals(List.of(), pending());
        engine.applied.set(3);
        run(() -> again.remote(4, id(4), writes(4, 4)));
        succeedAll();
        assertEquals(List.of(4L), engine.effects);
    }

    @Test
    void aLocalTransactionCannotCommitWhatTheEngineHeldBeforeItBegan() {
        CommitPipeline again = pipeline(LINGER_NANOS, 3, 1);
        stopsTheNode("which the database held before",
                () -> again.local(2, id(2), writes(2, 2), engine.new Session(2)));
    }

    @Test
    void anEngineThatHasLostWhatItHadCommittedStopsTheNode() {
        run(() -> pipeline.remote(1, id(1), writes(1, 1)));
        succeedAll();
        run(() -> pipeline.local(2, id(2), writes(2, 2), engine.new Session(2)));
        engine.applied.set(0);
        pending().forEach(commit -> commit.fail(true));
        stopsTheNode("the database holds position 0, expected 1 to 2",
                () -> pending().forEach(ManualEngine.Pending::succeed));
    }

    @Test
    void anEngineThatHoldsWhatItWasNotAskedForStopsTheNode() {
        run(() -> pipeline.local(1, id(1), writes(1, 1), engine.new Session(1)));
        engine.applied.set(7);
        pending().forEach(commit -> commit.fail(true));
        stopsTheNode("the database holds position 7, expected 0 to 1",
                () -> pending().forEach(ManualEngine.Pending::succeed));
    }

    static LongStream seeds() {
        return LongStream.range(0, 100);
    }

    /**
     * Operations end in any order, fail for passing reasons, or lose their results, while settings change: every position is made
     * visible once.
     */
    @ParameterizedTest
    @MethodSource("seeds")
    void everyPositionBecomesVisibleOnceAndInOrder(long seed) {
        Random random = new Random(seed);
        List<Long> expected = new ArrayList<>();
        List<ManualEngine.Pending> open = new ArrayList<>();
        int last = 60;
        for (long position = 1; position <= last; position++) {
            long at = position;
            WriteSet writes = writes(at, random.nextInt(12), random.nextInt(12));
            switch (random.nextInt(8)) {
                case 0 -> run(() -> pipeline.skip(at));
                case 1, 2 -> {
                    expected.add(at);
                    ManualEngine.Session local = engine.new Session(at);
                    run(() -> pipeline.local(at, id(at), writes, local));
                    if (random.nextInt(3) == 0 && on(() -> pipeline.replay(at))) {
                        local.rolledBack = true;
                    }
                }
                case 3 -> {
                    expected.add(at);
                    run(() -> pipeline.barrier(at, id(at),
                            new TransactionRequest.Whole(new byte[0], ConflictClasses.ALL, KeySet.EMPTY,
                                    TransactionRequest.Placement.ALL)));
                }
                default -> {
                    expected.add(at);
                    run(() -> pipeline.remote(at, id(at), writes));
                }
            }
            if (random.nextInt(6) == 0) {
                ApplySettings settings = new ApplySettings(random.nextInt(7), random.nextInt(9),
                        random.nextInt(3) * TimeUnit.MILLISECONDS.toNanos(1));
                run(() -> pipeline.applying(settings));
            }
            if (random.nextInt(8) == 0) {
                machine.runFor(ConcurrencyTuning.INTERVAL_NANOS);
            }
            open.addAll(pending());
            while (!open.isEmpty() && random.nextInt(3) > 0) {
                end(open.remove(random.nextInt(open.size())), random);
            }
        }
        while (on(pipeline::visible) < last) {
            open.addAll(pending());
            if (open.isEmpty()) {
                machine.runFor(TimeUnit.MILLISECONDS.toNanos(1));
            } else {
                end(open.remove(random.nextInt(open.size())), random);
            }
            assertEquals(null, failed.get());
            assertEquals(null, broken.get());
        }
        assertEquals(expected, engine.effects);
        assertEquals(visible.stream().sorted().distinct().toList(), visible);
    }

    private static void end(ManualEngine.Pending operation, Random random) {
        switch (random.nextInt(12)) {
            case 0 -> operation.fail(true);
            case 1 -> operation.succeedUnheard();
            default -> operation.succeed();
        }
    }
}
