package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import tutti.core.txn.TablePlacement;
import tutti.core.txn.TransactionId;
import tutti.node.Ballots.Ballot;
import tutti.node.Ballots.Verdict;

class BallotsTest {
    /** The node that has executed what the tests are about. */
    private static final int ORIGIN = 0;

    private static Ballots of(int nodes) {
        return new Ballots(IntStream.range(0, nodes).boxed().collect(Collectors.toSet()),
                new Placements(TablePlacement.EVERYWHERE));
    }

    private static Control.Inapplicable refused(long position) {
        return new Control.Inapplicable(position, List.of(new TransactionId(ORIGIN, 7)), false, "23514", "check",
                Control.Vote.REFUSED);
    }

    private static Control.Inapplicable statementRefused(long position) {
        return new Control.Inapplicable(position, List.of(new TransactionId(ORIGIN, 7)), true, "42P07", "exists",
                Control.Vote.REFUSED);
    }

    /** Of the one that is closed, if one is. */
    private static @Nullable Verdict verdict(List<Ballot> closed) {
        assertTrue(closed.size() <= 1, closed::toString);
        return closed.isEmpty() ? null : closed.getFirst().verdict();
    }

    private static void nothing(List<Ballot> closed) {
        assertEquals(List.of(), closed);
    }

    /** In the place of an excluded node nobody waits for a vote. */
    @Test
    void whoIsExcludedHasNoVote() {
        Ballots ballots = of(3);
        ballots.exclude(2);
        nothing(ballots.inapplicable(1, refused(9)));
        nothing(ballots.applied(2, 9));
        assertEquals(Verdict.SKIPPED, verdict(ballots.applied(ORIGIN, 9)));
        Ballots later = of(3);
        later.inapplicable(1, statementRefused(9));
        nothing(later.applied(ORIGIN, 9));
        assertEquals(Verdict.HOLDS, verdict(later.exclude(2)), "those who are left have all spoken");
    }

    @Test
    void whatTwoOfThreeHaveMadeHolds() {
        Ballots ballots = of(3);
        nothing(ballots.inapplicable(2, refused(9)));
        nothing(ballots.applied(ORIGIN, 9));
        assertEquals(Verdict.HOLDS, verdict(ballots.applied(1, 9)));
        assertFalse(ballots.skipped(9));
        assertEquals(Set.of(), ballots.excluded(), "who is behind is excluded from nothing");
    }

    @Test
    void anOriginThatStandsAloneGivesWay() {
        Ballots ballots = of(3);
        nothing(ballots.applied(ORIGIN, 9));
        nothing(ballots.inapplicable(2, refused(9)));
        nothing(ballots.applied(ORIGIN, 9));
        assertEquals(Verdict.SKIPPED, verdict(ballots.inapplicable(1, refused(9))));
        assertTrue(ballots.skipped(9));
        assertEquals(Set.of(ORIGIN), ballots.excluded());
        assertTrue(ballots.born(ORIGIN));
        assertEquals(Set.of(), ballots.excluded());
    }

    @Test
    void nothingIsDecidedWhileAMajorityMayStillSayOtherwise() {
        Ballots ballots = of(5);
        ballots.inapplicable(1, refused(9));
        ballots.inapplicable(2, refused(9));
        ballots.applied(ORIGIN, 9);
        nothing(ballots.applied(3, 9));
        assertEquals(1, ballots.open().size());
        assertEquals(Verdict.SKIPPED, verdict(ballots.inapplicable(4, refused(9))));
        assertEquals(Set.of(ORIGIN, 3), ballots.excluded());
    }

    @Test
    void inATieTheEffectsHoldUnlessTheirOriginStandsAlone() {
        Ballots two = of(2);
        two.inapplicable(1, refused(9));
        assertEquals(Verdict.SKIPPED, verdict(two.applied(ORIGIN, 9)));
        two.born(ORIGIN);
        two.inapplicable(1, statementRefused(10));
        assertEquals(Verdict.HOLDS, verdict(two.applied(ORIGIN, 10)), "each node has executed it by itself");
        two.inapplicable(ORIGIN, refused(11));
        assertEquals(Verdict.HOLDS, verdict(two.applied(1, 11)));
        Ballots four = of(4);
        four.inapplicable(1, refused(9));
        four.inapplicable(2, refused(9));
        four.applied(ORIGIN, 9);
        assertEquals(Verdict.HOLDS, verdict(four.applied(3, 9)));
    }

    private static Control.Inapplicable troubled(long position, boolean everywhere, Control.Vote vote) {
        return new Control.Inapplicable(position, List.of(new TransactionId(ORIGIN, 7)), everywhere, "53100", "full",
                vote);
    }

    @Test
    void fullDisksOfAMajorityUndoNothing() {
        Ballots ballots = of(3);
        nothing(ballots.applied(ORIGIN, 9));
        nothing(ballots.inapplicable(1, troubled(9, false, Control.Vote.NEVER_MADE)));
        nothing(ballots.inapplicable(2, troubled(9, false, Control.Vote.TROUBLED)));
        nothing(ballots.applied(ORIGIN, 9));
        assertEquals(1, ballots.open().size());
        nothing(ballots.inapplicable(2, refused(9)));
        assertEquals(Verdict.HOLDS, verdict(ballots.applied(1, 9)), "its disk has room again");
        Ballots two = of(2);
        nothing(two.inapplicable(1, troubled(9, false, Control.Vote.NEVER_MADE)));
        nothing(two.applied(ORIGIN, 9));
        assertEquals(1, two.open().size(), "the origin does not give way to a full disk");
        Ballots lost = of(2);
        nothing(lost.inapplicable(1, troubled(9, false, Control.Vote.NEVER_MADE)));
        nothing(lost.inapplicable(ORIGIN, troubled(9, false, Control.Vote.NEVER_MADE)));
        assertEquals(1, lost.open().size(), "the origin has told its client of success, whatever became of its commit");
    }

    /** The statement fills the disk of each node that executes it: nobody has been told that it worked. */
    @Test
    void aStatementThatPutsAllNodesInTroubleIsLeftOut() {
        Ballots ballots = of(3);
        nothing(ballots.inapplicable(1, troubled(9, true, Control.Vote.NEVER_MADE)));
        nothing(ballots.inapplicable(2, troubled(9, true, Control.Vote.NEVER_MADE)));
        assertEquals(Verdict.SKIPPED,
                verdict(ballots.inapplicable(ORIGIN, troubled(9, true, Control.Vote.NEVER_MADE))));
        Ballots mixed = of(3);
        nothing(mixed.inapplicable(1, troubled(9, true, Control.Vote.NEVER_MADE)));
        nothing(mixed.inapplicable(2, troubled(9, true, Control.Vote.NEVER_MADE)));
        assertEquals(Verdict.SKIPPED, verdict(mixed.inapplicable(ORIGIN, statementRefused(9))));
        Ballots before = of(3);
        nothing(before.inapplicable(1, troubled(9, true, Control.Vote.NEVER_MADE)));
        nothing(before.inapplicable(2, troubled(9, true, Control.Vote.NEVER_MADE)));
        nothing(before.inapplicable(ORIGIN, troubled(9, true, Control.Vote.TROUBLED)));
        assertEquals(1, before.open().size(), "an earlier life may have told a client of success");
    }

    /** Before anybody has heard of its next life that may have made what the last one had not. */
    @Test
    void theNextLifeOfANodeTakesBackThatItHasNeverMadeAStatement() {
        Ballots ballots = of(3);
        nothing(ballots.inapplicable(1, troubled(9, true, Control.Vote.NEVER_MADE)));
        nothing(ballots.inapplicable(2, troubled(9, true, Control.Vote.NEVER_MADE)));
        ballots.born(1);
        nothing(ballots.inapplicable(ORIGIN, troubled(9, true, Control.Vote.NEVER_MADE)));
        assertEquals(Verdict.SKIPPED, verdict(ballots.inapplicable(1, statementRefused(9))));
    }

    @Test
    void theLastWordOfANodeCountsUntilTheBallotIsClosed() {
        Ballots ballots = of(3);
        ballots.inapplicable(1, refused(9));
        ballots.applied(ORIGIN, 9);
        assertEquals(Verdict.HOLDS, verdict(ballots.applied(1, 9)), "it could after all");
        nothing(ballots.inapplicable(1, refused(9)));
        nothing(ballots.inapplicable(2, refused(9)));
        nothing(ballots.decided(9, false));
        assertEquals(Verdict.HOLDS, Objects.requireNonNull(ballots.of(9)).verdict());
    }

    @Test
    void anOpenOneIsDecidedByHand() {
        Ballots ballots = of(3);
        nothing(ballots.decided(9, true));
        ballots.inapplicable(2, refused(9));
        ballots.applied(ORIGIN, 9);
        assertEquals(Verdict.SKIPPED, verdict(ballots.decided(9, false)));
        assertEquals(Set.of(ORIGIN), ballots.excluded());
    }

    // ------------------------------------------------------------------------------------------ tables on some nodes

    private static final long STOCK = 70;
    private static final long EVENTS = 71;
    private static final long ALL_HAVE = 72;

    /** Of five nodes 3 and 4 keep the events, 0 to 2 the stock. */
    private static Ballots divided() {
        return new Ballots(Set.of(0, 1, 2, 3, 4),
                new Placements(new TablePlacement(Map.of(EVENTS, Set.of(3, 4), STOCK, Set.of(0, 1, 2)))));
    }

    private static Control.Inapplicable refusedOf(int origin, long position) {
        return new Control.Inapplicable(position, List.of(new TransactionId(origin, 7)), false, "23514", "check",
                Control.Vote.REFUSED);
    }

    @Test
    void keepersAloneVote() {
        Ballots ballots = divided();
        nothing(ballots.inapplicable(4, refusedOf(3, 9), Set.of(EVENTS)));
        nothing(ballots.applied(0, 9));
        nothing(ballots.applied(1, 9));
        nothing(ballots.applied(2, 9));
        assertEquals(Verdict.SKIPPED, verdict(ballots.applied(3, 9)), "of two keepers the origin stands alone");
        Ballot closed = Objects.requireNonNull(ballots.of(9));
        assertTrue(ballots.concerns(closed, 3));
        assertFalse(ballots.concerns(closed, 0), "it has made nothing");
    }

    @Test
    void whatChangesATableOfAllIsForAllToDecide() {
        Ballots ballots = divided();
        nothing(ballots.inapplicable(4, refusedOf(3, 9), Set.of(EVENTS, ALL_HAVE)));
        nothing(ballots.applied(0, 9));
        nothing(ballots.applied(3, 9));
        assertEquals(Verdict.HOLDS, verdict(ballots.applied(1, 9)));
    }

    @Test
    void effectsThatNoKeeperHasMadeDoNotHold() {
        Ballots ballots = divided();
        nothing(ballots.inapplicable(4, refusedOf(3, 9), Set.of(EVENTS, ALL_HAVE)));
        nothing(ballots.inapplicable(3, refusedOf(3, 9), Set.of(EVENTS, ALL_HAVE)));
        nothing(ballots.applied(0, 9));
        nothing(ballots.applied(1, 9));
        nothing(ballots.applied(2, 9));
        assertEquals(1, ballots.open().size(), "nobody else has the stock of those who have made it");
        assertEquals(Verdict.HOLDS, verdict(ballots.applied(3, 9)), "it could after all");
    }

    @Test
    void effectsThatNoKeeperHasMadeAreLeftOutIfTheOthersCanBeMended() {
        Ballots ballots = new Ballots(Set.of(0, 1, 2),
                new Placements(new TablePlacement(Map.of(EVENTS, Set.of(1, 2)))));
        nothing(ballots.inapplicable(2, refusedOf(1, 9), Set.of(EVENTS, ALL_HAVE)));
        nothing(ballots.applied(0, 9));
        assertEquals(Verdict.SKIPPED, verdict(ballots.inapplicable(1, refusedOf(1, 9), Set.of(EVENTS, ALL_HAVE))));
        assertEquals(Set.of(0), ballots.excluded());
    }

    @Test
    void whenAllKeepersAreExcludedNobodyDecides() {
        Ballots ballots = divided();
        ballots.exclude(3);
        ballots.exclude(4);
        nothing(ballots.inapplicable(0, refusedOf(3, 9), Set.of(EVENTS)));
        assertEquals(1, ballots.open().size());
        assertEquals(Verdict.SKIPPED, verdict(ballots.decided(9, false)));
    }

    @Test
    void aNodeThatIsAloneLeavesOutWhatItCannotMake() {
        assertEquals(Verdict.SKIPPED, verdict(of(1).inapplicable(ORIGIN, statementRefused(9))));
    }

    @Test
    void closedOnesAreForgottenLowestFirst() {
        Ballots ballots = of(1);
        for (long position = 1; position <= Ballots.CLOSED_MAX + 5; position++) {
            assertEquals(1, ballots.inapplicable(ORIGIN, refused(position)).size());
        }
        assertEquals(Ballots.CLOSED_MAX, ballots.all().size());
        assertFalse(ballots.skipped(5));
        assertTrue(ballots.skipped(6));
    }

    /** Whatever they say, in whatever order: all replicas decide alike, also one that begins in the middle from a snapshot. */
    @Test
    void replicasDecideAlike() {
        for (int seed = 0; seed < 300; seed++) {
            Random random = new Random(seed);
            int nodes = 1 + random.nextInt(6);
            Ballots one = of(nodes);
            Ballots other = of(nodes);
            Map<Long, Map<Integer, Control.Vote>> last = new HashMap<>();
            for (int i = 0; i < 40; i++) {
                long position = 1L + random.nextInt(4);
                int node = random.nextInt(nodes);
                int kind = random.nextInt(14);
                boolean allVote = one.excluded().isEmpty();
                List<Ballot> decided = told(one, kind, node, position);
                assertEquals(decided, told(other, kind, node, position));
                if (random.nextInt(10) == 0) {
                    Ballots restored = of(nodes);
                    restored.restore(other.image(), other.tables());
                    restored.recovered(IntStream.range(0, nodes).boxed().collect(Collectors.toSet()));
                    other = restored;
                }
                assertEquals(one.image(), other.image());
                for (Ballot closed : decided) {
                    assertNull(last.put(closed.position(), closed.votes()), "it is closed once");
                }
                if (!decided.isEmpty() && kind < 11 && allVote) {
                    justified(decided.getFirst(), nodes);
                }
            }
        }
    }

    private static List<Ballot> told(Ballots ballots, int kind, int node, long position) {
        return switch (kind) {
            case 0, 1, 2, 3 -> ballots.inapplicable(node, refused(position));
            case 4 -> ballots.inapplicable(node, troubled(position, false, Control.Vote.NEVER_MADE));
            case 11 -> ballots.decided(position, node % 2 == 0);
            case 12 -> ballots.exclude(node);
            case 13 -> {
                ballots.born(node);
                yield List.of();
            }
            default -> ballots.applied(node, position);
        };
    }

    /** Straight from the rules. */
    private static void justified(Ballot closed, int nodes) {
        Set<Integer> holders = new TreeSet<>(closed.holders());
        int not = (int) closed.votes().values().stream().filter(vote -> vote == Control.Vote.REFUSED).count();
        boolean all = holders.size() + not == nodes;
        boolean onlyOrigin = holders.equals(Set.of(ORIGIN));
        boolean right = closed.verdict() == Verdict.HOLDS
                ? holders.size() > nodes / 2 || (all && holders.size() == not && !onlyOrigin)
                : not > nodes / 2 || (all && holders.size() == not && onlyOrigin);
        assertTrue(right, closed::toString);
    }
}
