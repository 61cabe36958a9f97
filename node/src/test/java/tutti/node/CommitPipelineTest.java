package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tutti.core.protocol.TransactionRequest;
import tutti.core.spi.Engine;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeySet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.core.tune.ConcurrencyTuning;

class CommitPipelineTest extends PipelineFixture {
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

    private void createsTable(long position) {
        run(() -> pipeline.barrier(position, id(position),
                new TransactionRequest.Whole(new byte[0], ConflictClasses.ALL, KeySet.EMPTY,
                        TransactionRequest.Placement.ALL)));
    }

    /** Its session goes on in the server after the connection is lost, and is done when the statement is tried again. */
    @Test
    void aStatementThatHasWorkedUnheardIsNotRefusedBecauseItHas() {
        createsTable(1);
        pending().forEach(first -> first.fail(true));
        machine.runFor(TimeUnit.SECONDS.toNanos(1));
        List<ManualEngine.Pending> again = pending();
        engine.commit(List.of(1L));
        again.forEach(ManualEngine.Pending::refuse);
        run(() -> pipeline.remote(2, id(2), writes(2, 2)));
        succeedAll();
        assertEquals(List.of(), refused);
        assertEquals(List.of(1L, 2L), visible);
    }

    @Test
    void aStatementThatHasNotWorkedIsRefusedWhenItIsTriedAgain() {
        createsTable(1);
        pending().forEach(first -> first.fail(true));
        machine.runFor(TimeUnit.SECONDS.toNanos(1));
        pending().forEach(ManualEngine.Pending::refuse);
        machine.runFor(TimeUnit.SECONDS.toNanos(1));
        assertEquals(List.of(1L), refused);
        assertEquals(List.of(), visible);
    }

    private void isLeftOutAfterAnAttemptThatWasLost() {
        run(() -> pipeline.remote(1, id(1), writes(1, 1)));
        pending().forEach(first -> first.fail(true));
        run(() -> {
            skipped.add(1L);
            pipeline.leaveOut(1);
        });
        machine.runFor(TimeUnit.SECONDS.toNanos(1));
    }

    /** Or the node would take its database for right, which has what the others have left out. */
    @Test
    void whatHasWorkedUnheardIsNotTakenForLeftOut() {
        isLeftOutAfterAnAttemptThatWasLost();
        List<ManualEngine.Pending> skip = pending();
        engine.commit(List.of(1L));
        skip.forEach(twice -> twice.fail(false));
        machine.runFor(TimeUnit.SECONDS.toNanos(1));
        succeedAll();
        assertEquals(List.of(1L), visible);
        assertEquals(List.of(), leftOut);
    }

    @Test
    void whatIsRecordedAsLeftOutUnheardIsLeftOut() {
        isLeftOutAfterAnAttemptThatWasLost();
        pending().forEach(ManualEngine.Pending::succeedUnheard);
        machine.runFor(TimeUnit.SECONDS.toNanos(1));
        assertEquals(List.of(1L), visible);
        assertEquals(List.of(1L), leftOut);
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
