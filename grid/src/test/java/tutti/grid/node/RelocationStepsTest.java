package tutti.grid.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tutti.core.schema.Encoded;
import tutti.core.txn.TransactionId;
import tutti.grid.commit.CommitRequest;
import tutti.grid.commit.Commits;
import tutti.grid.commit.Result;
import tutti.grid.node.GridMessage.Moving;
import tutti.grid.node.GridMessage.Step;
import tutti.grid.store.Layouts;
import tutti.grid.store.Store;
import tutti.grid.view.Layout;
import tutti.grid.view.View;

/**
 * One node's side of moving keys, from node 0 to 0 and 1, as it stands between two messages: the instants that random runs rarely meet. Each wrong way is found by one of them.
 */
class RelocationStepsTest {
    private static final int NODE = 0;
    private static final int OTHER = 1;
    private static final Layout COPYING = Layout.first(Set.of(NODE)).copyTo(Set.of(NODE, OTHER));

    /** What is under way at this node. */
    private static final class UnderWay implements Commits {
        private boolean drained = true;
        private boolean clean = true;

        @Override
        public boolean isDrained() {
            return drained;
        }

        @Override
        public boolean isClean() {
            return clean;
        }

        @Override
        public void commit(TransactionId id, CommitRequest request, Consumer<Result> done) {}

        @Override
        public void received(int from, Encoded message) {}

        @Override
        public void view(long number, Set<Integer> members) {}

        @Override
        public void tick(long nanos) {}

        @Override
        public long settled() {
            return 0;
        }

        @Override
        public long forget(long horizon) {
            return horizon;
        }

        @Override
        public long present() {
            return 0;
        }

        @Override
        public int size() {
            return 0;
        }
    }

    /** Node 0 in a view. */
    private static final class Node {
        private final UnderWay underWay = new UnderWay();
        private final List<GridMessage> sent = new ArrayList<>();
        private final View view;
        private final Relocation relocation;

        Node(Relocation.Factory factory, Layout layout) {
            View first = new View(4, Set.of(NODE, OTHER));
            view = new View(5, first.processes(), layout);
            relocation = factory.of(NODE, 1, underWay, new Store(),
                    new Layouts(layout.number(), Relocation.owners(layout, new int[]{1})),
                    (_, message) -> sent.add(message), view);
            relocation.installed(view);
        }

        /** The other node says how far it is, and this one does. */
        Moving heard(Step drained, Step clean, long copied) {
            relocation.heard(OTHER, new Moving(drained, clean, copied, false, false));
            return relocation.say();
        }

        long copies() {
            return sent.stream().filter(GridMessage.Copies.class::isInstance).count();
        }
    }

    /** Looks at four instants; returns what is wrong. */
    private static List<String> look(Relocation.Factory factory) {
        List<String> wrong = new ArrayList<>();
        Node serving = new Node(factory, COPYING);
        serving.underWay.drained = false;
        serving.heard(Step.DONE, Step.OPEN, 0);
        serving.relocation.fetch(OTHER, new GridMessage.Fetch(serving.view.number(), true));
        if (serving.copies() > 0) {
            wrong.add("copies while something is under way that was sent in the layout before");
        }
        serving.underWay.drained = true;
        serving.heard(Step.DONE, Step.OPEN, 0);
        if (serving.copies() != 1) {
            wrong.add("does not copy when nothing is under way any more");
        }

        Node copying = new Node(factory, COPYING);
        copying.heard(Step.DONE_BY_ALL, Step.OPEN, COPYING.number() - 1);
        if (copying.relocation.wish(copying.view) != null) {
            wrong.add("goes on before the other node has copied");
        }
        copying.heard(Step.DONE_BY_ALL, Step.OPEN, COPYING.number());
        View next = copying.relocation.wish(copying.view);
        if (next == null || !next.layout().equals(COPYING.next())) {
            wrong.add("goes on from copying to " + next);
        }

        Node joined = new Node(factory, Layout.first(Set.of(NODE, OTHER)));
        View.Member process = new View.Member(9, "localhost:7809");
        joined.relocation.applied(2, process);
        joined.underWay.clean = false;
        joined.heard(Step.DONE_BY_ALL, Step.DONE_BY_ALL, 0);
        if (joined.relocation.wish(joined.view) != null) {
            wrong.add("takes in a process while something is kept of who had its number");
        }
        joined.underWay.clean = true;
        joined.heard(Step.DONE_BY_ALL, Step.DONE_BY_ALL, 0);
        if (!joined.view.with(Map.of(2, process)).equals(joined.relocation.wish(joined.view))) {
            wrong.add("does not take in a process");
        }
        return wrong;
    }

    @Test
    void eachStepWaitsForWhatItMust() {
        assertEquals(List.of(), look(Relocation::new));
    }

    @ParameterizedTest
    @EnumSource(names = {"READS_WHAT_IS_NOT_COPIED", "COPIES_BEFORE_ALL_IS_WRITTEN", "LEAVES_OUT_A_STEP",
            "GIVES_A_NUMBER_AWAY_TOO_EARLY"})
    void whatIsWrongIsFound(RelocationTest.Kind kind) {
        assertNotEquals(List.of(), look(RelocationTest.wrong(kind)));
    }
}
