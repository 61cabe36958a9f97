package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletionException;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import tutti.core.protocol.SnapshotIsolation;
import tutti.core.spi.CopyNeededException;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.TablePlacement;

/** Tables that are placed on some nodes only while these serve. */
class PlacementsTest extends ReplicaTrio {
    private static final String PROTOCOL = SnapshotIsolation.NAME;
    private static final long EVENTS = 77;

    private List<ReplicaNode.PlacedTable> place(int asked, Set<Integer> nodes) {
        return told(done -> this.nodes.get(asked).place(List.of(String.valueOf(EVENTS)), nodes, done));
    }

    private String refusal(int asked, Integer... nodes) {
        Throwable cause = assertThrows(CompletionException.class, () -> place(asked, new TreeSet<>(List.of(nodes))))
                .getCause();
        return String.valueOf(cause.getMessage());
    }

    private long commit(int node, String change) {
        return new Client(node, change, new KeySet.Builder().add(change.hashCode(), KeyKind.UPDATE)
                .add(EVENTS, KeyKind.REFERENCE).build()).committed();
    }

    private StateCopy copy(int donor) {
        return told(done -> nodes.get(donor).copy(2, 5, done));
    }

    private static String nodesOf(List<ReplicaNode.PlacedTable> tables) {
        return tables.stream()
                .map(each -> each.name() + " on " + new TreeSet<>(each.nodes()) + (each.made() ? "" : " to be made"))
                .toList().toString();
    }

    @Test
    void whoIsNoKeeperPassesOverWhatIsWrittenLater() throws IOException {
        openAll(PROTOCOL);
        commit(0, "before");
        assertEquals("[table 77 on [0, 2]]", nodesOf(place(1, Set.of(0, 2))));
        awaitVisible(commit(2, "after"));
        assertEquals(List.of("before", "place 77 on [0, 2]", "after"), engines.get(0).changes());
        assertEquals(engines.get(0).changes(), engines.get(2).changes());
        assertEquals(List.of("before", "place 77 on [0, 2]"), engines.get(1).changes());
        nodes.values().forEach(node -> assertEquals("[table 77 on [0, 2]]", nodesOf(node.placements())));
    }

    @Test
    void itIsKnownAfterARestart() throws IOException {
        snapshotPositions = 1;
        openAll(PROTOCOL);
        place(1, Set.of(0, 2));
        long last = 0;
        for (int i = 0; i < 10; i++) {
            last = commit(0, "change " + i);
        }
        awaitVisible(last);
        ((TestMachine) machine).runFor(1_000_000_000L);
        nodes.remove(1).close();
        openReady(PROTOCOL, 1);
        assertEquals("[table 77 on [0, 2]]", nodesOf(nodes.get(1).placements()));
        nodes.remove(2).close();
        Throwable copy = assertThrows(CompletionException.class, () -> copy(1)).getCause();
        assertTrue(String.valueOf(copy.getMessage()).contains("only nodes [0] can give it a copy"), copy.getMessage());
    }

    @Test
    void whatCannotBeIsRefused() throws IOException {
        openAll(PROTOCOL);
        assertTrue(refusal(0, 0, 7).contains("there are no nodes [7]"));
        assertTrue(refusal(0, 2).contains("nobody could give a copy to nodes [2]"));
        assertTrue(refusal(0).contains("table 77 is kept on all nodes"));
        place(0, Set.of(0, 2));
        assertTrue(refusal(0, 1, 2).contains("name these and one more node"));
        assertEquals("[table 77 on [0, 2]]", nodesOf(place(1, Set.of(0, 2))), "what is so already is no error");
        assertEquals("[]", nodesOf(place(1, Set.of())), "the database has agreed");
        awaitVisible(commit(0, "everywhere"));
        assertEquals("everywhere", engines.get(1).changes().getLast());
    }

    /** Its database has not got the rows; so it ends, gets a copy of one that has, and then says itself that it keeps the table. */
    @Test
    void aNodeThatIsToKeepMoreBeginsAnewWithACopy() throws IOException {
        openAll(PROTOCOL);
        commit(0, "before");
        place(0, Set.of(0, 2));
        nodes.remove(1).close();
        assertTrue(refusal(0, 0, 1, 2).contains("nodes [1] are to get rows, and are not there"));
        openReady(PROTOCOL, 1);
        assertEquals("[table 77 on [0, 2] to be made]", nodesOf(place(0, ALL)));
        assertInstanceOf(CopyNeededException.class, end(1).cause());
        nodes.remove(1).close();
        commit(2, "after");
        assertEquals("[table 77 on [0, 2] to be made]", nodesOf(nodes.get(2).placements()));
        assertTrue(refusal(2, 2).contains("is being placed on nodes [0, 1, 2]"));
        assertTrue(nodes.get(2).lacks().isEmpty());

        // It comes with its old database, and has to go again: only with a copy it stays.
        open(PROTOCOL, 1);
        assertInstanceOf(CopyNeededException.class, end(1).cause());
        nodes.remove(1).close();
        await(() -> engines.get(2).changes().equals(engines.get(0).changes()));
        engines.remove(1).close();
        engines.put(1, engines.get(2).copy(machine, 1));
        openReady(PROTOCOL, 1);
        nodes.values().forEach(node -> await(() -> nodesOf(node.placements()).equals("[table 77 on [0, 1, 2]]")));
        awaitVisible(commit(1, "at the new keeper"));
        assertEquals(engines.get(0).changes(), engines.get(1).changes());
    }

    /** Who is on the way to keep a table is not counted on, and gets a copy only of one that has all. */
    @Test
    void whoeverIsToKeepATableDoesNotCountBeforeItSaysSo() {
        Placements placements = new Placements(new TablePlacement(Map.of(EVENTS, Set.of(0, 2), 78L, Set.of(0, 1))));
        Map<Long, String> events = Map.of(EVENTS, "events");
        Set<Integer> members = Set.of(0, 1, 2, 3);
        assertNull(placements.refusal(new Control.Place(events, Set.of(0, 1, 2)), members));
        assertTrue(String.valueOf(placements.refusal(new Control.Place(events, ALL), ALL.stream().limit(2)
                .collect(Collectors.toSet()))).contains("there are no nodes [2]"));
        placements.placing(10, new Control.Place(events, ALL));
        assertEquals(Set.of(0, 2), placements.now().keepers().get(EVENTS));
        assertEquals(Set.of(EVENTS), placements.coming(1).keySet());
        assertEquals(Set.of(0), placements.donors(1, members));
        assertTrue(String.valueOf(placements.refusal(new Control.Place(Map.of(78L, "78"), Set.of(0, 1, 3)), members))
                .contains("nodes [1] get the rows of other tables"));
        placements.placed(12, new Control.Placed(events, ALL, false));
        assertEquals(Set.of(0, 2), placements.tables().get(EVENTS).nodes());
        placements.placing(14, new Control.Place(events, ALL));
        placements.placed(15, new Control.Placed(events, ALL, true));
        assertEquals(ALL, placements.now().keepers().get(EVENTS));
        assertTrue(placements.coming(1).isEmpty());
    }

    @Test
    void protocolsThatExecuteForOthersRefuse() throws IOException {
        openAll("active");
        assertTrue(refusal(0, 0, 2).contains("so all keep all tables"));
    }

    /** The barrier is refused at all nodes. */
    @Test
    void whatTheDatabasesRefuseIsTakenBack() throws IOException {
        openAll(PROTOCOL);
        engines.values().forEach(engine -> engine.refused.add("place 77 on [0, 2]"));
        assertTrue(refusal(1, 0, 2).contains("refused by the test"));
        awaitVisible(commit(1, "later"));
        engines.values().forEach(engine -> assertEquals(List.of("later"), engine.changes()));
        nodes.values().forEach(node -> assertEquals("[]", nodesOf(node.placements())));
    }

    @Test
    void theSameRequestCompletesWhatSomebodyHasBegunWhoIsGone() throws IOException {
        openAll(PROTOCOL);
        engines.get(0).full = true;
        nodes.get(0).place(List.of("77"), Set.of(1, 2), new LoopCompletion<>(machine.loop("test", _ -> {}), _ -> {},
                EngineFailure::message));
        await(() -> engines.get(1).changes().size() == 1);
        nodes.remove(0).close();
        assertEquals("[table 77 on [1, 2] to be made]", nodesOf(nodes.get(1).placements()));
        assertTrue(refusal(1, 0, 1).contains("is being placed on nodes [1, 2]"));
        assertEquals("[table 77 on [1, 2]]", nodesOf(place(2, Set.of(1, 2))));
        commit(2, "after");
        engines.get(0).full = false;
        openReady(PROTOCOL, 0);
        assertEquals(Set.of(EVENTS), engines.get(0).lacks);
    }

    /** Somebody else's request for the same was refused before the table was there. */
    @Test
    void whatTheDatabasesHaveMadeCountsThoughTheSameWasRefusedBefore() {
        Placements placements = new Placements(TablePlacement.EVERYWHERE);
        Map<Long, String> events = Map.of(EVENTS, "public.events");
        placements.placing(10, new Control.Place(events, Set.of(0, 2)));
        placements.placed(12, new Control.Placed(events, Set.of(0, 2), false));
        assertTrue(placements.now().isEverywhere());
        placements.placed(15, new Control.Placed(events, Set.of(0, 2), true));
        assertEquals(Set.of(0, 2), placements.made().keepers().get(EVENTS));
        placements.placed(16, new Control.Placed(events, Set.of(), false));
        assertEquals(Set.of(0, 2), placements.now().keepers().get(EVENTS), "it was not forgotten");
        placements.placed(17, new Control.Placed(events, Set.of(), true));
        assertTrue(placements.made().isEverywhere());
    }

    @Test
    void theOnlyKeeperDoesNotGo() {
        Placements placements = new Placements(new TablePlacement(Map.of(EVENTS, Set.of(0, 2))));
        assertNull(placements.refusesToLose(2, Set.of(0, 1, 2)));
        assertNull(placements.refusesToLose(1, Set.of(0, 1)));
        assertTrue(String.valueOf(placements.refusesToLose(0, Set.of(0, 1))).contains("no other node keeps tables 77"));
    }
}
