package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import tutti.core.tune.ConcurrencyTuning;

/** What others have executed is applied together, waits for more, and is tried again. */
class ApplyGroupsTest extends PipelineFixture {
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

    /** A local transaction that has lost its locks is applied in its place, by a group that ends before one that is on its way already. */
    @Test
    void whoIsAppliedInItsPlaceIsNotTogetherWithWhatIsBehindOthers() {
        run(() -> pipeline.local(1, id(1), writes(1, 1), engine.new Session(1)));
        run(() -> pipeline.local(2, id(2), writes(2, 2), engine.new Session(2)));
        run(() -> pipeline.applying(new ApplySettings(3, 1, 0)));
        for (int position = 3; position <= 30; position++) {
            int at = position;
            run(() -> pipeline.remote(at, id(at), writes(at, at)));
        }
        List<ManualEngine.Pending> begun = pending();
        assertEquals(1 + 2, begun.size());
        run(() -> pipeline.applying(new ApplySettings(3, 8, 0)));
        assertTrue(on(() -> pipeline.replay(2)));
        begun.forEach(ManualEngine.Pending::succeed);
        succeedAll();
        assertEquals(LongStream.rangeClosed(1, 30).boxed().toList(), engine.effects);
    }
}
