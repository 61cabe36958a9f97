package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.protocol.SnapshotIsolation;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.AbortReason;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;

/** Positions that some node cannot apply: the cluster goes on, and nobody serves what others do not have. */
class SettlementTest extends ReplicaTrio {
    private static final String PROTOCOL = SnapshotIsolation.NAME;

    private long commit(int node, String change, long key) {
        return new Client(node, change, key).committed();
    }

    private ExecuteResult statement(int node, String text) {
        return told(done -> nodes.get(node).barrier(text.getBytes(StandardCharsets.UTF_8), KeySet.EMPTY, done));
    }

    private String verdict(int node, long position) {
        List<ReplicaNode.Position> all = told(done -> nodes.get(node).positions(done));
        return all.stream().filter(each -> each.position() == position).findFirst()
                .map(ReplicaNode.Position::verdict).orElse("none");
    }

    @Test
    void whoCannotMakeWhatTheOthersCanIsBehindUntilItCan() throws IOException {
        openAll(PROTOCOL);
        engines.get(2).refused.add("bad");
        long position = commit(0, "bad", 1);
        End end = end(2);
        assertTrue(end.restartable(), end::toString);
        assertInstanceOf(ReplicaNode.BehindException.class, end.cause());
        nodes.get(2).close();
        open(PROTOCOL, 2);
        long later = commit(1, "good", 2);
        assertEquals("HOLDS", verdict(0, position));
        await(() -> String.valueOf(nodes.get(2).refusal()).contains("23514"));
        assertEquals(ReplicaNode.State.CATCHING_UP, nodes.get(2).state());
        engines.get(2).refused.clear();
        get(nodes.get(2).ready());
        awaitVisible(later);
        assertEquals(engines.get(0).changes(), engines.get(2).changes());
    }

    @Test
    void anOriginWhoseRowsNobodyElseCanMakeIsExcludedAndTheOthersGoOn() throws IOException {
        openAll(PROTOCOL);
        engines.get(1).refused.add("bad");
        engines.get(2).refused.add("bad");
        long position = commit(0, "bad", 1);
        await(() -> nodes.get(0).state() == ReplicaNode.State.EXCLUDED);
        assertTrue(String.valueOf(nodes.get(0).refusal()).contains("copy of another node's database"));
        long later = commit(1, "good", 2);
        await(() -> nodes.get(2).visiblePosition() >= later);
        assertEquals("SKIPPED", verdict(1, position));
        assertEquals(List.of("good"), engines.get(1).changes());
        assertEquals(List.of("good"), engines.get(2).changes());
        assertEquals(List.of("bad"), engines.get(0).changes(), "it makes nothing any more");
        assertTrue(nodes.get(0).view().majority(), "it takes part in the order");

        nodes.remove(0).close();
        open(PROTOCOL, 0);
        await(() -> nodes.get(0).state() == ReplicaNode.State.EXCLUDED);
        assertFalse(engines.get(0).changes().contains("good"), "nor in its next life");
    }

    /** With the database of a node that has left the effects out, and none of its own files, it is as good as any. */
    @Test
    void whoWasExcludedServesAgainWithACopyOfAnotherDatabase() throws IOException {
        openAll(PROTOCOL);
        engines.get(1).refused.add("bad");
        engines.get(2).refused.add("bad");
        commit(0, "bad", 1);
        await(() -> nodes.get(0).state() == ReplicaNode.State.EXCLUDED);
        long later = commit(1, "good", 2);
        await(() -> nodes.get(2).visiblePosition() >= later);
        nodes.remove(0).close();
        engines.put(0, engines.get(2).copy(machine));
        openReady(PROTOCOL, 0);
        commit(0, "better", 3);
        assertEquals(List.of("good", "better"), engines.get(0).changes());
    }

    /** Nothing that was acknowledged is undone because most disks are full. */
    @Test
    void aMajorityWithFullDisksWaitsForRoom() throws IOException {
        openAll(PROTOCOL);
        engines.get(1).full = true;
        engines.get(2).full = true;
        long position = commit(0, "good", 1);
        await(() -> String.valueOf(nodes.get(1).refusal()).contains("in trouble")
                && String.valueOf(nodes.get(2).refusal()).contains("in trouble"));
        assertEquals("OPEN", verdict(0, position));
        assertEquals(ReplicaNode.State.READY, nodes.get(0).state());
        engines.get(1).full = false;
        await(() -> nodes.get(1).visiblePosition() >= position);
        await(() -> verdict(0, position).equals("HOLDS"));
        engines.get(2).full = false;
        await(() -> nodes.get(2).visiblePosition() >= position);
        long later = commit(1, "better", 2);
        awaitVisible(later);
        ALL.forEach(node -> assertEquals(List.of("good", "better"), engines.get(node).changes()));
        noneHasEnded();
    }

    /** No statement stops the nodes for good, even if it fills each of their disks. */
    @Test
    void aStatementThatPutsAllDatabasesInTroubleIsLeftOut() throws IOException {
        openAll(PROTOCOL);
        ALL.forEach(node -> engines.get(node).full = true);
        ExecuteResult result = statement(0, "CREATE TABLE t AS SELECT everything");
        assertFalse(result.tookEffect());
        assertEquals("53100", Objects.requireNonNull(result.refusal()).sqlState());
        ALL.forEach(node -> engines.get(node).full = false);
        commit(2, "good", 2);
        noneHasEnded();
    }

    @Test
    void aStatementThatMostRefuseTakesEffectNowhereAndItsClientHearsWhy() throws IOException {
        openAll(PROTOCOL);
        ALL.forEach(node -> engines.get(node).refused.add("CREATE TABLE t"));
        ExecuteResult result = statement(0, "CREATE TABLE t");
        assertFalse(result.tookEffect());
        assertEquals("23514", Objects.requireNonNull(result.refusal()).sqlState());
        commit(2, "good", 2);
        noneHasEnded();
    }

    @Test
    void aStatementThatOneNodeRefusesTakesEffectAtTheOthersAndThatNodeIsBehind() throws IOException {
        openAll(PROTOCOL);
        engines.get(2).refused.add("DROP COLUMN c");
        assertTrue(statement(0, "DROP COLUMN c").tookEffect());
        End end = end(2);
        assertInstanceOf(ReplicaNode.BehindException.class, end.cause());
        engines.get(2).refused.clear();
        nodes.remove(2).close();
        openReady(PROTOCOL, 2);
        assertEquals(engines.get(0).changes(), engines.get(2).changes());
    }

    @Test
    void aClientOfTheOnlyNodeThatRefusesIsToldNothingWrong() throws IOException {
        openAll(PROTOCOL);
        engines.get(0).refused.add("DROP COLUMN c");
        nodes.get(0).barrier("DROP COLUMN c".getBytes(StandardCharsets.UTF_8), KeySet.EMPTY,
                never("it has taken effect at the others"));
        assertInstanceOf(ReplicaNode.BehindException.class, end(0).cause());
    }

    /** Who has been away is delivered more verdicts than are remembered before it comes to the first position. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whoHasBeenAwayForMoreVerdictsThanAreRememberedDoesAsTheFirstOneSaid(boolean refusesToo) throws IOException {
        openAll(PROTOCOL);
        List.of(0, 1).forEach(node -> engines.get(node).refused.addAll(List.of("bad", "no")));
        engines.get(2).refused.addAll(refusesToo ? List.of("bad", "no") : List.of("no"));
        nodes.remove(2).close();
        commit(0, "first", 1);
        assertFalse(statement(0, "bad").tookEffect());
        for (int next = 0; next < Ballots.CLOSED_MAX; next++) {
            assertFalse(statement(0, "no").tookEffect());
        }
        commit(0, "last", 1);
        engines.get(2).hold();
        ReplicaNode late = open(PROTOCOL, 2);
        await(() -> late.deliveredPosition() == nodes.get(0).deliveredPosition());
        engines.get(2).goOn();
        get(late.ready());
        assertEquals(List.of("first", "last"), engines.get(2).changes());
        noneHasEnded();
    }

    /** Who was about to make the first of them when it was delivered so many is excluded as ever. */
    @Test
    void whoMakesAPositionWhoseVerdictWasForgottenMeanwhileIsExcluded() throws IOException {
        openAll(PROTOCOL);
        List.of(0, 1).forEach(node -> engines.get(node).refused.addAll(List.of("bad", "no")));
        engines.get(2).refused.add("no");
        engines.get(2).hold();
        assertFalse(statement(0, "bad").tookEffect());
        for (int next = 0; next < Ballots.CLOSED_MAX; next++) {
            assertFalse(statement(0, "no").tookEffect());
        }
        engines.get(2).goOn();
        await(() -> nodes.get(2).state() == ReplicaNode.State.EXCLUDED);
    }

    /** Its vote is of an earlier life, and its database is right all the same: what it says has to count again. */
    @Test
    void whoHasLostWhatItHadMadeAnswersItsClientsBehindTheVerdict() throws IOException {
        openAll(PROTOCOL);
        nodes.remove(2).close();
        engines.get(1).refused.add("bad");
        commit(0, "first", 3);
        ListEngine before = engines.get(0).copy(machine);
        // More than it commits at once: it has not begun with the last one when it hears the verdict.
        for (int count = 0; count < 20; count++) {
            commit(0, "more", 4);
        }
        long position = commit(0, "bad", 1);
        await(() -> verdict(1, position).equals("OPEN")
                && this.<List<ReplicaNode.Position>>told(nodes.get(1)::positions).getFirst().votes()
                        .containsKey(0));
        nodes.remove(0).close();
        engines.put(0, before);
        before.hold();
        open(PROTOCOL, 0);
        engines.get(2).refused.add("bad");
        open(PROTOCOL, 2);
        await(() -> verdict(1, position).equals("SKIPPED"));
        before.goOn();
        End end = end(0);
        assertTrue(end.restartable(), end::toString);
        nodes.remove(0).close();
        openReady(PROTOCOL, 0);
        long later = commit(0, "good", 2);
        awaitVisible(later);
        ALL.forEach(node -> assertEquals(engines.get(1).changes(), engines.get(node).changes()));
        assertFalse(engines.get(1).changes().contains("bad"));
    }

    /** One node is away, the others differ: nobody knows what most can do, until somebody says. */
    @Test
    void whatIsNotDecidedWaitsAndIsDecidedByHand() throws IOException {
        openAll(PROTOCOL);
        nodes.remove(1).close();
        engines.get(2).refused.add("bad");
        long position = commit(0, "bad", 1);
        long next = commit(0, "good", 2);
        await(() -> verdict(0, position).equals("OPEN"));
        assertEquals(ReplicaNode.State.READY, nodes.get(2).state());
        await(() -> nodes.get(2).refusal() != null);
        assertTrue(nodes.get(2).visiblePosition() < position);
        this.<Void>told(done -> nodes.get(2).decide(position, true, done));
        assertInstanceOf(ReplicaNode.BehindException.class, end(2).cause());
        engines.get(2).refused.clear();
        nodes.remove(2).close();
        openReady(PROTOCOL, 2);
        await(() -> nodes.get(2).visiblePosition() >= next);
        assertEquals(engines.get(0).changes(), engines.get(2).changes());
    }

    /** The others decide before the origin has come to commit: then it has lost nothing, and its client hears the truth. */
    @Test
    void anOriginThatHasNotCommittedYetTakesItsTransactionBack() throws IOException {
        openAll(PROTOCOL);
        engines.get(1).refused.add("bad");
        engines.get(2).refused.add("bad");
        engines.get(0).hold();
        Client first = new Client(0, "first", 1);
        Client bad = new Client(0, "bad", 2);
        await(() -> nodes.get(1).visiblePosition() > 0
                && this.<List<ReplicaNode.Position>>told(nodes.get(1)::positions).stream()
                        .anyMatch(each -> each.verdict().equals("SKIPPED")));
        engines.get(0).goOn();
        first.committed();
        Outcome.Aborted aborted = assertInstanceOf(Outcome.Aborted.class, bad.outcome());
        assertEquals("23514", assertInstanceOf(AbortReason.Inapplicable.class, aborted.reason()).sqlState());
        assertTrue(bad.isRolledBack());
        long next = commit(0, "good", 2);
        awaitVisible(next);
        ALL.forEach(node -> assertEquals(List.of("first", "good"), engines.get(node).changes()));
        noneHasEnded();
    }

    /** A client that asks elsewhere what became of it hears that it has not committed. */
    @Test
    void whatIsLeftOutHasNotCommitted() throws IOException {
        openAll(PROTOCOL);
        engines.get(1).refused.add("bad");
        engines.get(2).refused.add("bad");
        Client bad = new Client(0, "bad", 1);
        await(() -> nodes.get(0).state() == ReplicaNode.State.EXCLUDED);
        TransactionOutcome outcome = told(done -> nodes.get(1).outcome(bad.ticket.id(), done));
        assertEquals(TransactionOutcome.ABORTED, outcome);
    }

    /** A row that only its origin can make is left out, and so is what its origin has committed meanwhile that refers to it. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whatRefersToWhatIsLeftOutIsLeftOutToo(boolean behindASnapshot) throws IOException {
        snapshotPositions = behindASnapshot ? 1 : 1000;
        openAll(PROTOCOL);
        nodes.remove(1).close();
        engines.get(1).refused.add("parent");
        engines.get(2).refused.add("parent");
        long parent = new Client(0, "parent", keys(7, KeyKind.CREATED)).committed();
        await(() -> verdict(2, parent).equals("OPEN"));
        long child = new Client(0, "child", keys(7, KeyKind.REFERENCE)).committed();
        long other = new Client(0, "other", keys(8, KeyKind.CREATED)).committed();
        long its = new Client(0, "its child", keys(8, KeyKind.REFERENCE)).committed();
        this.<Void>told(done -> nodes.get(2).decide(parent, false, done));
        await(() -> verdict(2, child).equals("OPEN"));
        await(() -> nodes.get(0).state() == ReplicaNode.State.EXCLUDED);
        // Who was told of the first one by another life says the same of the second one.
        nodes.remove(2).close();
        open(PROTOCOL, 2);
        openReady(PROTOCOL, 1);
        await(() -> nodes.get(1).visiblePosition() >= its && nodes.get(2).visiblePosition() >= its);
        assertEquals("SKIPPED", verdict(1, child));
        List.of(1, 2).forEach(node -> assertEquals(List.of("other", "its child"), engines.get(node).changes()));
        // Once there is such a row again, whoever may refer to it.
        long again = new Client(1, "parent again", keys(7, KeyKind.CREATED)).committed();
        await(() -> nodes.get(2).visiblePosition() >= again);
        long late = new Client(2, "late child", keys(7, KeyKind.REFERENCE)).committed();
        await(() -> nodes.get(1).visiblePosition() >= late);
        List.of(1, 2).forEach(node -> assertEquals(List.of("other", "its child", "parent again", "late child"),
                engines.get(node).changes()));
        assertTrue(other > child);
    }

    /** Only its origin can make a row name another parent: for all others it still names the old one, which nobody may take away. */
    @ParameterizedTest
    @CsvSource({"si, false", "si, true", "postgres-r, false", "postgres-r, true"})
    void whatTakesAParentAwayIsLeftOutWithWhatHadReleasedIt(String protocol, boolean behindASnapshot)
            throws IOException {
        snapshotPositions = behindASnapshot ? 1 : 1000;
        openAll(protocol);
        nodes.remove(1).close();
        engines.get(1).refused.add("child moved");
        engines.get(2).refused.add("child moved");
        long moved = new Client(0, "child moved", new KeySet.Builder().add(5, KeyKind.UPDATE)
                .add(8, KeyKind.REFERENCE).add(7, KeyKind.RELEASED).add(5, KeyKind.RELEASED).build()).committed();
        await(() -> verdict(2, moved).equals("OPEN"));
        long gone = new Client(0, "parent gone", keys(7, KeyKind.GONE)).committed();
        long other = new Client(0, "other gone", keys(9, KeyKind.GONE)).committed();
        this.<Void>told(done -> nodes.get(2).decide(moved, false, done));
        await(() -> verdict(2, gone).equals("OPEN"));
        await(() -> nodes.get(0).state() == ReplicaNode.State.EXCLUDED);
        nodes.remove(2).close();
        open(protocol, 2);
        openReady(protocol, 1);
        await(() -> nodes.get(1).visiblePosition() >= other && nodes.get(2).visiblePosition() >= other);
        assertEquals("SKIPPED", verdict(1, gone));
        List.of(1, 2).forEach(node -> assertEquals(List.of("other gone"), engines.get(node).changes()));
        // Once the row has changed, who takes the parent away has looked.
        long again = new Client(1, "child moved again", keys(5, KeyKind.UPDATE)).committed();
        await(() -> nodes.get(2).visiblePosition() >= again);
        long late = new Client(2, "gone now", keys(7, KeyKind.GONE)).committed();
        await(() -> nodes.get(1).visiblePosition() >= late);
        List.of(1, 2).forEach(node -> assertEquals(List.of("other gone", "child moved again", "gone now"),
                engines.get(node).changes()));
    }

    private static KeySet keys(long key, KeyKind kind) {
        return new KeySet.Builder().add(key, kind).build();
    }

    /** Whoever asks a node for which it is still open whether the effects hold hears nothing before that is decided. */
    @Test
    void whatIsLeftOutLaterHasNotCommittedEither() throws IOException {
        openAll(PROTOCOL);
        nodes.remove(1).close();
        engines.get(2).refused.add("bad");
        Client bad = new Client(0, "bad", 1);
        long position = bad.committed();
        await(() -> verdict(2, position).equals("OPEN"));
        CompletableFuture<TransactionOutcome> outcome = new CompletableFuture<>();
        nodes.get(2).outcome(bad.ticket.id(), telling(outcome));
        this.<Void>told(done -> nodes.get(2).decide(position, false, done));
        assertEquals(TransactionOutcome.ABORTED, get(outcome));
    }

    /** A node that can keep no more before a verdict does not know what it is delivered. */
    @Test
    void whoOnlyListensDoesNotAnswer() throws IOException {
        openAll(PROTOCOL);
        nodes.remove(1).close();
        engines.get(2).refused.add("bad");
        commit(0, "bad", 1);
        for (int key = 2; key < 8; key++) {
            commit(0, "much ".repeat(100_000), key);
        }
        Client good = new Client(0, "good", 9);
        good.committed();
        CompletableFuture<TransactionOutcome> outcome = new CompletableFuture<>();
        nodes.get(2).outcome(good.ticket.id(), telling(outcome));
        assertEquals(TransactionOutcome.IN_PROGRESS, get(outcome));
    }

    /** What a node executes, or only passes, takes memory as well until it comes to it. */
    @Test
    void whoCannotGoOnIsDeliveredNoMoreThanItMayKeepOfRequestsEither() throws IOException {
        openAll(PROTOCOL);
        engines.get(2).hold();
        commit(0, "first", 1);
        for (int count = 0; count < 20; count++) {
            assertTrue(statement(0, "much ".repeat(20_000)).tookEffect());
        }
        long last = commit(0, "last", 1);
        assertTrue(nodes.get(2).deliveredPosition() < nodes.get(0).deliveredPosition() - 5,
                () -> "delivered up to " + nodes.get(2).deliveredPosition() + " of " + last);
        engines.get(2).goOn();
        awaitVisible(last);
        assertEquals(engines.get(0).changes(), engines.get(2).changes());
    }

    private static <T> Completion<T> never(String why) {
        return new Completion<>() {
            @Override
            public void succeeded(T value) {
                throw new AssertionError(why + ": " + value);
            }

            @Override
            public void failed(EngineFailure failure) {
                throw new AssertionError(why + ": " + failure);
            }
        };
    }
}
