package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import tutti.core.txn.TablePlacement;
import tutti.core.txn.TransactionId;
import tutti.node.Control.Changed;
import tutti.node.Control.Changed.Step;

class MembersTest {
    private static final TransactionId TRANSACTION = new TransactionId(0, 1L << 32 | 1);

    private final Members members = new Members(Set.of(0, 1, 2));

    private static Changed change(long before, Step step, int node, Integer... members) {
        Map<Integer, String> addresses = new TreeMap<>();
        List.of(members).forEach(each -> addresses.put(each, "host:" + (7000 + each)));
        return new Changed(before, step, node, addresses);
    }

    private void refused(String why, Changed change) {
        long before = members.now().number();
        String refusal = members.changed(before + 1, change);
        assertNotNull(refusal);
        assertTrue(refusal.contains(why), refusal);
        assertEquals(before, members.now().number());
    }

    @Test
    void aNewNodeIsAMemberAtOnceAndDecidesWhenItHasCaughtUp() {
        assertNull(members.changed(10, change(0, Step.ADDED, 3, 0, 1, 2, 3)));
        assertEquals(Set.of(0, 1, 2, 3), members.all());
        assertEquals(Set.of(0, 1, 2), members.voters());
        assertFalse(members.caughtUp(11, 3, 0), "of a list before it was one");
        assertFalse(members.caughtUp(11, 2, 10), "it is another node");
        assertTrue(members.caughtUp(12, 3, 10));
        assertEquals(Set.of(0, 1, 2, 3), members.voters());
        assertEquals(12, members.now().number());
        assertFalse(members.caughtUp(13, 3, 12), "it has already");
    }

    @Test
    void ofTwoChangesThatAreAskedForAtOnceOneCounts() {
        assertNull(members.changed(10, change(0, Step.REMOVED, 2, 0, 1, 2)));
        refused("changed meanwhile", change(0, Step.ADDED, 3, 0, 1, 2, 3));
        assertEquals(Set.of(0, 1), members.all());
    }

    /** The second would take the first one back: it names the addresses that its sender knew. */
    @Test
    void ofTwoThatMoveAtOnceOneMoves() {
        assertNull(members.changed(10, new Changed(0, Step.MOVED, 2, Map.of(0, "a:1", 1, "b:2", 2, "elsewhere:3"))));
        refused("changed meanwhile", new Changed(0, Step.MOVED, 1, Map.of(0, "a:1", 1, "elsewhere:2", 2, "c:3")));
        assertEquals("elsewhere:3", members.now().addresses().get(2));
    }

    @Test
    void noOtherChangeBeginsBeforeANewNodeHasCaughtUp() {
        members.changed(10, change(0, Step.ADDED, 3, 0, 1, 2, 3));
        refused("has not caught up", change(10, Step.ADDED, 4, 0, 1, 2, 3, 4));
        refused("has not caught up", change(10, Step.REMOVED, 0, 0, 1, 2, 3));
        refused("has not caught up", change(10, Step.MOVED, 0, 0, 1, 2, 3));
        assertNull(members.changed(11, change(10, Step.REMOVED, 3, 0, 1, 2, 3)), "it may go again");
        assertNull(members.changed(12, change(11, Step.ADDED, 4, 0, 1, 2, 4)));
    }

    @Test
    void numbersAreNeverGivenAgain() {
        members.changed(10, change(0, Step.REMOVED, 2, 0, 1, 2));
        assertEquals(Map.of(2, "host:7002"), members.now().removed());
        refused("never given again", change(10, Step.ADDED, 2, 0, 1, 2));
        refused("already", change(10, Step.ADDED, 1, 0, 1));
        refused("only 2 must be left".substring(5), change(10, Step.REMOVED, 1, 0, 1));
        refused("no node 7", change(10, Step.REMOVED, 7, 0, 1));
        refused("no node 2", change(10, Step.MOVED, 2, 0, 1));
    }

    @Test
    void aChangeNamesAllMembersThatItsSenderKnew() {
        refused("changed meanwhile", change(0, Step.ADDED, 3, 0, 1, 3));
        refused("changed meanwhile", change(0, Step.REMOVED, 2, 0, 1, 2, 5));
    }

    @Test
    void aNodeMoves() {
        Map<Integer, String> addresses = new TreeMap<>(Map.of(0, "a:1", 1, "b:2", 2, "elsewhere:3"));
        assertNull(members.changed(10, new Changed(0, Step.MOVED, 2, addresses)));
        assertEquals("elsewhere:3", members.now().addresses().get(2));
        assertEquals(Set.of(0, 1, 2), members.voters());
    }

    @Test
    void whatASnapshotHasIsTheList() {
        members.changed(10, change(0, Step.REMOVED, 2, 0, 1, 2));
        Members other = new Members(Set.of(0, 1, 2));
        other.restore(members.now());
        assertFalse(other.has(2));
        assertEquals(members.voters(), other.voters());
    }

    /** One of three has made it, one cannot, the third is silent: when that goes, the origin's word decides with the other's. */
    @Test
    void whoWasRemovedIsNotWaitedForInBallots() {
        Ballots ballots = new Ballots(members.voters(), new Placements(TablePlacement.EVERYWHERE));
        ballots.inapplicable(1,
                new Control.Inapplicable(5, List.of(TRANSACTION), false, "23514", "check", Control.Vote.REFUSED));
        assertEquals(List.of(), ballots.applied(0, 5));
        members.changed(10, change(0, Step.REMOVED, 2, 0, 1, 2));
        assertEquals(Ballots.Verdict.SKIPPED, ballots.voters(members.voters()).getFirst().verdict());
    }

    @Test
    void whoHasNotCaughtUpIsNotWaitedForInBallots() {
        members.changed(10, change(0, Step.ADDED, 3, 0, 1, 2, 3));
        Ballots ballots = new Ballots(Set.of(0, 1, 2), new Placements(TablePlacement.EVERYWHERE));
        ballots.voters(members.voters());
        ballots.inapplicable(1,
                new Control.Inapplicable(15, List.of(TRANSACTION), false, "23514", "check", Control.Vote.REFUSED));
        ballots.applied(0, 15);
        assertEquals(Ballots.Verdict.HOLDS, ballots.applied(2, 15).getFirst().verdict(), "two of the three who vote");
    }
}
