package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import tutti.core.protocol.SnapshotIsolation;
import tutti.runtime.real.PathDirectory;

/** A replica that has lost what it had begins anew with what another one gives it, and a copy of that one's database. */
class StateCopyTest extends ReplicaTrio {
    private static final long NUMBER = 77;

    private void write(int node, String what, int count) {
        for (int i = 0; i < count; i++) {
            new Client(node, what + " " + i, i % 10).outcome();
        }
    }

    private void stopAndLose(int node) throws IOException {
        nodes.remove(node).close();
        engines.remove(node).close();
        try (Stream<Path> all = Files.list(files(node))) {
            for (Path file : all.toList()) {
                Files.delete(file);
            }
        }
    }

    private StateCopy copy(int donor, int receiver) {
        return told(done -> nodes.get(donor).copy(receiver, NUMBER, done));
    }

    private void begin(int receiver, StateCopy state, ListEngine rows) throws IOException {
        state.write(PathDirectory.of(files(receiver)));
        engines.put(receiver, rows);
        openReady(SnapshotIsolation.NAME, receiver);
    }

    private void assertSame() {
        long last = nodes.values().stream().mapToLong(ReplicaNode::deliveredPosition).max().orElseThrow();
        awaitVisible(last);
        noneHasEnded();
        assertEquals(engines.get(0).changes(), engines.get(2).changes());
        assertEquals(engines.get(0).changes(), engines.get(1).changes());
    }

    private long firstRetained() {
        return nodes.get(0).orderStatus().firstRetained();
    }

    @Test
    void itGoesOnWhereTheCopyEnds() throws IOException {
        openAll(SnapshotIsolation.NAME);
        write(0, "before", 10);
        stopAndLose(2);
        write(0, "without", 10);
        StateCopy state = copy(0, 2);
        // The database is copied a while later.
        write(1, "meanwhile", 7);
        ListEngine rows = engines.get(0).copy(machine);
        nodes.get(0).copied(state, true);
        write(0, "after", 10);
        begin(2, state, rows);
        write(2, "itself", 3);
        assertSame();
        assertEquals(40, engines.get(0).changes().size());
    }

    /** Nothing was made at the positions of the messages that came last. */
    @Test
    void anIdleClusterGivesASnapshotThatItsDatabaseHasReached() throws IOException {
        openAll(SnapshotIsolation.NAME);
        for (int round = 0; firstRetained() < 2 * SNAPSHOT_POSITIONS; round++) {
            new Client(round % 3, "change " + round, round % 10).outcome();
        }
        stopAndLose(2);
        StateCopy state = copy(0, 2);
        ListEngine rows = engines.get(0).copy(machine);
        nodes.get(0).copied(state, true);
        assertTrue(state.position() > 0 && state.position() <= told(rows::appliedPosition),
                state.position() + " of " + told(rows::appliedPosition));
        begin(2, state, rows);
        write(2, "itself", 3);
        assertSame();
    }

    @Test
    void theLogIsKeptUntilTheReceiverHasSaidWhatItNeeds() throws IOException {
        retention = new ReplicaNode.Retention(Long.MAX_VALUE, 1_000_000);
        openAll(SnapshotIsolation.NAME);
        write(0, "before", 3 * (int) SNAPSHOT_POSITIONS);
        stopAndLose(2);
        StateCopy state = copy(0, 2);
        ListEngine rows = engines.get(0).copy(machine);
        nodes.get(0).copied(state, true);
        write(0, "without", 10 * (int) SNAPSHOT_POSITIONS);
        ((TestMachine) machine).runFor(1_000_000_000L);
        assertTrue(firstRetained() <= Math.max(1, state.position()), firstRetained() + " for " + state.position());
        begin(2, state, rows);
        long before = firstRetained();
        write(1, "all", 3 * (int) SNAPSHOT_POSITIONS);
        await(() -> firstRetained() > before + SNAPSHOT_POSITIONS);
        assertSame();
    }

    /**
     * Node 2 takes snapshots more often than the others, and has told so; it loses all, and begins with an earlier one of theirs. It takes none in the life
     * that begins so.
     *
     * @return the copy's position
     */
    private long beginBeforeWhatTheFormerLifeHasTold() throws IOException {
        open(SnapshotIsolation.NAME, 0);
        open(SnapshotIsolation.NAME, 1);
        snapshotPositions = 3;
        openReady(SnapshotIsolation.NAME, 2);
        write(0, "before", 2 * (int) SNAPSHOT_POSITIONS + 15);
        ((TestMachine) machine).runFor(1_000_000_000L);
        long told = newestSnapshot(2);
        stopAndLose(2);
        StateCopy state = copy(0, 2);
        assertTrue(0 < state.position() && state.position() < told, state.position() + ", told " + told);
        ListEngine rows = engines.get(0).copy(machine);
        nodes.get(0).copied(state, true);
        snapshotPositions = 1000;
        begin(2, state, rows);
        return state.position();
    }

    private long newestSnapshot(int node) throws IOException {
        try (Stream<Path> all = Files.list(files(node))) {
            return all.map(file -> file.getFileName().toString()).filter(name -> name.endsWith(".snapshot"))
                    .mapToLong(name -> Long.parseLong(name.replaceAll("\\D", ""))).max().orElseThrow();
        }
    }

    private void crashAndBeginAgain(int node) throws IOException {
        nodes.remove(node).close();
        openReady(SnapshotIsolation.NAME, node);
        write(node, "in its next life", 3);
        assertSame();
    }

    @Test
    void whatAFormerLifeHasToldCostsNobodyTheSnapshotOfItsCopy() throws IOException {
        long begun = beginBeforeWhatTheFormerLifeHasTold();
        ((TestMachine) machine).runFor(1_000_000_000L);
        assertEquals(begun, newestSnapshot(2));
        crashAndBeginAgain(2);
    }

    @Test
    void whatAFormerLifeHasToldCostsNobodyTheLogBehindItsCopy() throws IOException {
        long begun = beginBeforeWhatTheFormerLifeHasTold();
        write(1, "more", 5 * (int) SNAPSHOT_POSITIONS);
        ((TestMachine) machine).runFor(1_000_000_000L);
        assertTrue(firstRetained() <= begun, firstRetained() + " for " + begun);
        crashAndBeginAgain(2);
    }

    /** In a cluster with little to do a receiver says nothing for long. */
    @Test
    void whoHasGivenACopyIsBackedUpAndKeepsTheLogForItsReceiver() throws IOException {
        retention = new ReplicaNode.Retention(Long.MAX_VALUE, 1_000_000);
        openAll(SnapshotIsolation.NAME);
        write(0, "before", 3 * (int) SNAPSHOT_POSITIONS);
        stopAndLose(2);
        StateCopy state = copy(0, 2);
        Throwable refused = assertThrows(CompletionException.class, () -> backUp(0)).getCause();
        assertTrue(String.valueOf(refused.getMessage()).contains("gives a copy already"), refused.getMessage());
        ListEngine rows = engines.get(0).copy(machine);
        nodes.get(0).copied(state, true);
        StateCopy backup = backUp(0);
        assertTrue(backup.position() >= state.position());
        nodes.get(0).copied(backup, false);
        write(0, "without", 10 * (int) SNAPSHOT_POSITIONS);
        ((TestMachine) machine).runFor(1_000_000_000L);
        assertTrue(firstRetained() <= Math.max(1, state.position()), firstRetained() + " for " + state.position());
        begin(2, state, rows);
        assertSame();
    }

    private StateCopy backUp(int node) {
        return told(done -> nodes.get(node).backUp(done));
    }

    @Test
    void aCopyThatIsGivenUpKeepsNothing() throws IOException {
        retention = new ReplicaNode.Retention(Long.MAX_VALUE, 1_000_000);
        openAll(SnapshotIsolation.NAME);
        stopAndLose(2);
        StateCopy state = copy(0, 2);
        nodes.get(0).copied(state, false);
        write(0, "without", 4 * (int) SNAPSHOT_POSITIONS);
        await(() -> firstRetained() > state.position() + SNAPSHOT_POSITIONS);
        noneHasEnded();
    }

    /** Whoever writes down a copy may hear late that its receiver has begun anew. */
    @Test
    void theEndOfAnEarlierCopyForTheSameNodeIsNotThatOfTheLaterOne() throws IOException {
        retention = new ReplicaNode.Retention(Long.MAX_VALUE, 1_000_000);
        openAll(SnapshotIsolation.NAME);
        stopAndLose(2);
        StateCopy first = copy(0, 2);
        StateCopy second = told(done -> nodes.get(0).copy(2, NUMBER + 1, done));
        nodes.get(0).copied(first, false);
        write(0, "without", 10 * (int) SNAPSHOT_POSITIONS);
        ((TestMachine) machine).runFor(1_000_000_000L);
        assertTrue(firstRetained() <= Math.max(1, second.position()), firstRetained() + " for " + second.position());
        nodes.get(0).copied(second, false);
        await(() -> firstRetained() > second.position() + SNAPSHOT_POSITIONS);
    }

    @Test
    void aCopyThatFailsBeforeItIsTakenKeepsNothing() throws IOException {
        retention = new ReplicaNode.Retention(Long.MAX_VALUE, 1_000_000);
        openAll(SnapshotIsolation.NAME);
        stopAndLose(2);
        List<CompletableFuture<StateCopy>> asked = List.of(new CompletableFuture<>(), new CompletableFuture<>());
        for (int donor : List.of(0, 1)) {
            nodes.get(donor).copy(2, NUMBER + donor, telling(asked.get(donor)));
        }
        for (int donor : List.of(0, 1)) {
            await(asked.get(donor)::isDone);
            if (!asked.get(donor).isCompletedExceptionally()) {
                nodes.get(donor).copied(asked.get(donor).join(), false);
            }
        }
        long before = firstRetained();
        write(0, "without", 4 * (int) SNAPSHOT_POSITIONS);
        await(() -> firstRetained() > before + 2 * SNAPSHOT_POSITIONS);
        noneHasEnded();
    }

    /** It is asked in vain, and is told so at once. */
    @Test
    void whoIsExcludedGivesUpTheCopyThatItPrepares() throws IOException {
        openAll(SnapshotIsolation.NAME);
        stopAndLose(2);
        engines.get(1).refused.add("bad");
        long position = new Client(0, "bad", 1).committed();
        await(() -> !this.<List<ReplicaNode.Position>>told(nodes.get(1)::positions).isEmpty());
        engines.get(0).hold();
        new Client(0, "held", 2);
        CompletableFuture<StateCopy> asked = new CompletableFuture<>();
        nodes.get(0).copy(2, NUMBER, telling(asked));
        this.<Void>told(done -> nodes.get(1).decide(position, false, done));
        await(asked::isDone);
        assertTrue(asked.exceptionNow().getMessage().contains("serves nobody any more"), asked::toString);
        assertEquals(ReplicaNode.State.EXCLUDED, nodes.get(0).state());
    }

    /** Whose message comes second: all others would turn the node away with its copy. */
    @Test
    void oneOfTwoThatAreAskedAtOnceGivesNoneAndDoesWhenItIsAskedAgain() throws IOException {
        openAll(SnapshotIsolation.NAME);
        write(0, "before", 10);
        stopAndLose(2);
        List<CompletableFuture<StateCopy>> asked = List.of(new CompletableFuture<>(), new CompletableFuture<>());
        for (int donor : List.of(0, 1)) {
            nodes.get(donor).copy(2, NUMBER + donor, telling(asked.get(donor)));
        }
        List<Integer> refused = new ArrayList<>();
        for (int donor : List.of(0, 1)) {
            await(asked.get(donor)::isDone);
            if (asked.get(donor).isCompletedExceptionally()) {
                refused.add(donor);
                assertTrue(asked.get(donor).exceptionNow().getMessage().contains("another node gives it a copy"));
            }
        }
        assertEquals(1, refused.size(), refused + " refused");
        int second = refused.getFirst();
        StateCopy state = told(done -> nodes.get(second).copy(2, NUMBER + 2, done));
        begin(2, state, engines.get(second).copy(machine));
        write(2, "itself", 3);
        assertSame();
    }

    @Test
    void whoTakesPartGetsNone() throws IOException {
        openAll(SnapshotIsolation.NAME);
        Throwable refused = assertThrows(CompletionException.class, () -> copy(0, 2)).getCause();
        assertTrue(String.valueOf(refused.getMessage()).contains("node 2 takes part in the order"),
                refused.getMessage());
    }

    @Test
    void whoReachesNoMajorityGivesNone() throws IOException {
        openAll(SnapshotIsolation.NAME);
        nodes.remove(1).close();
        stopAndLose(2);
        Throwable refused = assertThrows(CompletionException.class, () -> copy(0, 2)).getCause();
        assertTrue(String.valueOf(refused.getMessage()).contains("cannot reach a majority"), refused.getMessage());
    }
}
