package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;
import tutti.core.protocol.SnapshotIsolation;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.TablePlacement;

/** Node 1 lacks a table that the other two keep. */
class TablesOnSomeNodesTest extends ReplicaTrio {
    private static final String PROTOCOL = SnapshotIsolation.NAME;
    private static final long SECOND = 1_000_000_000L;
    private static final long PARTIAL = 77;
    private static final long WHOLE = 78;

    TablesOnSomeNodesTest() {
        placement = new TablePlacement(Map.of(PARTIAL, Set.of(0, 2)));
    }

    private void openWithout() throws IOException {
        ListEngine without = new ListEngine(machine);
        without.lacks = Set.of(PARTIAL);
        engines.put(1, without);
        openAll(PROTOCOL);
    }

    private long commit(int node, String change, long row, long... tables) {
        KeySet.Builder keys = new KeySet.Builder().add(1000 + row, KeyKind.UPDATE);
        for (long table : tables) {
            keys.add(table, KeyKind.REFERENCE);
        }
        return new Client(node, change, keys.build()).committed();
    }

    private String verdict(int node, long position) {
        List<ReplicaNode.Position> all = told(done -> nodes.get(node).positions(done));
        return all.stream().filter(each -> each.position() == position).findFirst()
                .map(ReplicaNode.Position::verdict).orElse("none");
    }

    private long firstRetained(int node) {
        return nodes.get(node).orderStatus().firstRetained();
    }

    private void runFor(long nanos) {
        ((TestMachine) machine).runFor(nanos);
    }

    @Test
    void whoLacksTheTableDoesNotOutvoteAKeeper() throws IOException {
        openWithout();
        engines.get(2).refused.add("bad");
        long position = commit(0, "bad", 1, PARTIAL);
        await(() -> nodes.get(0).state() == ReplicaNode.State.EXCLUDED);
        long later = commit(1, "good", 2, WHOLE);
        await(() -> nodes.get(2).visiblePosition() >= later);
        assertEquals("SKIPPED", verdict(1, position), "of two keepers the origin stands alone");
        assertEquals(ReplicaNode.State.READY, nodes.get(1).state(), "it has made nothing that was left out");
        assertEquals(List.of("good"), engines.get(1).changes());
        assertEquals(List.of("good"), engines.get(2).changes());
    }

    @Test
    void whoHasMadeAPartVotes() throws IOException {
        openWithout();
        engines.get(2).refused.add("bad");
        long position = commit(0, "bad", 1, PARTIAL, WHOLE);
        assertTrue(end(2).restartable(), () -> end(2).toString());
        assertEquals("HOLDS", verdict(0, position));
        assertEquals(ReplicaNode.State.READY, nodes.get(0).state());
        assertEquals(ReplicaNode.State.READY, nodes.get(1).state());
    }

    @Test
    void aVerdictIsKnownWithItsTablesAfterARestart() throws IOException {
        snapshotPositions = 1;
        openWithout();
        engines.get(2).refused.add("bad");
        long position = commit(0, "bad", 1, PARTIAL);
        await(() -> verdict(1, position).equals("SKIPPED"));
        for (int i = 0; i < 10; i++) {
            commit(1, "good " + i, 2, WHOLE);
        }
        runFor(SECOND);
        nodes.remove(1).close();
        openReady(PROTOCOL, 1);
        assertEquals("SKIPPED", verdict(1, position));
        commit(1, "better", 3, WHOLE);
        assertEquals(ReplicaNode.State.READY, nodes.get(1).state());
    }

    @Test
    void theLogIsKeptUntilAMajorityOfTheKeepersHasWhatWasWritten() throws IOException {
        retention = new ReplicaNode.Retention(Long.MAX_VALUE, SECOND);
        openWithout();
        for (int i = 0; i < 60; i++) {
            commit(0, "before " + i, i, PARTIAL);
        }
        await(() -> firstRetained(1) > 20);
        nodes.remove(2).close();
        long needed = firstRetained(1);
        for (int i = 0; i < 60; i++) {
            commit(0, "without " + i, i, PARTIAL);
        }
        runFor(3 * SECOND);
        assertEquals(Set.of(2), nodes.get(1).givenUp());
        ALL.stream().filter(nodes::containsKey).forEach(node -> assertTrue(firstRetained(node) < needed + 60,
                () -> "node " + node + " has forgotten up to " + firstRetained(node)));
        openReady(PROTOCOL, 2);
        assertEquals(engines.get(0).changes(), engines.get(2).changes());
        commit(2, "again", 5, PARTIAL);
        for (int i = 0; i < 60; i++) {
            commit(2, "after " + i, i, WHOLE);
        }
        await(() -> firstRetained(1) > 120);
    }

    /** It is not told any more what is written. */
    @Test
    void whoIsExcludedKeepsTheLogAsWell() throws IOException {
        placement = new TablePlacement(Map.of(PARTIAL, Set.of(1, 2)));
        retention = new ReplicaNode.Retention(Long.MAX_VALUE, SECOND);
        engines.put(0, new ListEngine(machine));
        engines.get(0).lacks = Set.of(PARTIAL);
        openAll(PROTOCOL);
        engines.get(1).refused.add("bad");
        engines.get(2).refused.add("bad");
        commit(0, "bad", 1, WHOLE);
        await(() -> nodes.get(0).state() == ReplicaNode.State.EXCLUDED);
        commit(2, "last", 99, PARTIAL);
        nodes.remove(2).close();
        for (int i = 0; i < 100; i++) {
            commit(1, "without " + i, 100 + i, PARTIAL);
        }
        runFor(3 * SECOND);
        assertTrue(firstRetained(1) < 50 && firstRetained(0) < 50, firstRetained(1) + " and " + firstRetained(0));
    }

    @Test
    void aTableThatNobodyWritesHoldsNoLog() throws IOException {
        retention = new ReplicaNode.Retention(Long.MAX_VALUE, SECOND);
        openWithout();
        commit(0, "once", 1, PARTIAL);
        for (int i = 0; i < 60; i++) {
            commit(0, "before " + i, i, WHOLE);
        }
        await(() -> firstRetained(1) > 20);
        nodes.remove(2).close();
        for (int i = 0; i < 60; i++) {
            commit(0, "without " + i, i, WHOLE);
        }
        runFor(3 * SECOND);
        assertTrue(firstRetained(1) > 80, () -> nodes.get(1).orderStatus().toString());
    }

    private StateCopy copy(int donor) {
        return told(done -> nodes.get(donor).copy(2, 5, done));
    }

    @Test
    void whoLacksATableGivesNoCopyToOneThatKeepsIt() throws IOException {
        openWithout();
        nodes.remove(2).close();
        Throwable refused = assertThrows(CompletionException.class, () -> copy(1)).getCause();
        assertTrue(String.valueOf(refused.getMessage()).contains("only nodes [0] can give it a copy"),
                refused.getMessage());
        copy(0);
    }

    private static ReplicaNode.Settings settings(String protocol, Set<Integer> keepers) {
        ReplicaNode.Settings whole = ReplicaNode.Settings.defaults(0, ALL, chosen(protocol));
        return new ReplicaNode.Settings(0, ALL, new TablePlacement(Map.of(PARTIAL, keepers)), whole.protocol(),
                whole.applying(), 1, 1, 1, 1, 1, whole.retention(), whole.names(), 0);
    }

    @Test
    void aPlacementThatLeavesSomebodyWithoutADonorIsRefused() {
        settings(PROTOCOL, Set.of(0, 2));
        String alone = assertThrows(IllegalArgumentException.class, () -> settings(PROTOCOL, Set.of(2))).getMessage();
        assertTrue(String.valueOf(alone).contains("nodes [2]"), alone);
        String active = assertThrows(IllegalArgumentException.class, () -> settings("active", Set.of(0, 2)))
                .getMessage();
        assertTrue(String.valueOf(active).contains("protocol active"), active);
    }
}
