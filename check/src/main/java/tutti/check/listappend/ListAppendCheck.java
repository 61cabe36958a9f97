package tutti.check.listappend;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import tutti.check.CheckResult;
import tutti.check.column.IntColumn;
import tutti.check.column.LongIndex;
import tutti.check.graph.Dependency;
import tutti.check.graph.DependencyGraph;
import tutti.check.isolation.AnomalySearch;
import tutti.check.isolation.Isolation;
import tutti.workload.client.ClientOutcome;
import tutti.workload.listappend.ListAppendHistory;

/**
 * Checks that what the clients of a list-append run saw can have come from a database with an isolation level. Trusts
 * nothing that the database says of itself: versions and their order are inferred from the lists that were read, for a
 * list tells who wrote before whom (the idea of Elle: Kingsbury and Alvaro, VLDB 2020).
 *
 * <p>
 * What is inferred, and why it is certain. A transaction committed if its client was told so, or if one that did so read
 * something it appended. The longest list of a key that a committed transaction read is the order of its appends; every
 * other such list must be a beginning of it. The writer of a list's last value, not counting the reader's own, is who the
 * reader depends on; the writer of the value behind it in the order is who overwrote what it read. An append of
 * a committed transaction that is not in the longest list came after everything in it, for appends are never taken back. From these dependencies
 * follows a graph, whose cycles are judged as in {@link tutti.check.isolation.IsolationCheck}. Sessions and real time are
 * those of the clients: a transaction with unknown outcome precedes nobody. What contradicts the existence of an order is
 * told by name: incompatible orders, duplicate, lost and torn appends, values from nowhere, reads of transactions that
 * were rolled back (G1a), intermediate reads (G1b), and transactions that do not find again what they did.
 *
 * <p>
 * What is reported is wrong; what is not reported may still be, if nobody read it. An append is lost only for certain if a
 * transaction marked as last did not find it, or if it closes a cycle.
 *
 * <p>
 * Linear in the values read, apart from sorting instants. At most 16 committed appends that nobody saw are taken
 * into the graph for each key.
 */
public final class ListAppendCheck {
    private static final int UNSEEN_PER_KEY_MAX = 16;

    private final ListAppendHistory history;
    private final Isolation isolation;
    private final Appends appends;
    private final Observations observations;
    private final DependencyGraph.Builder graph;

    private ListAppendCheck(ListAppendHistory history, Isolation isolation) {
        this.history = history;
        this.isolation = isolation;
        appends = new Appends(history);
        observations = new Observations(history, appends, isolation.repeatsReads());
        graph = new DependencyGraph.Builder(history.size());
    }

    /**
     * Checks.
     *
     * @throws IllegalArgumentException if the same value was appended to the same key twice: then nothing can be inferred
     */
    public static CheckResult check(ListAppendHistory history, Isolation isolation) {
        long begun = System.nanoTime();
        ListAppendCheck check = new ListAppendCheck(history, isolation);
        if (check.appends.ambiguous().size() > 0) {
            int operation = check.appends.ambiguous().get(0);
            throw new IllegalArgumentException("the value " + history.appended(operation) + " was appended to list "
                    + history.key(operation) + " more than once, so that its writer cannot be told");
        }
        List<CheckResult.Violation> violations = new ArrayList<>(check.observations.violations());
        DependencyGraph graph = check.graph();
        violations.addAll(AnomalySearch.find(graph, isolation, new ListAppendText(history, check.appends)));
        int unknown = 0;
        int failed = 0;
        for (int t = 0; t < history.size(); t++) {
            unknown += history.outcome(t) == ClientOutcome.UNKNOWN ? 1 : 0;
            failed += history.outcome(t) == ClientOutcome.FAILED ? 1 : 0;
        }
        return new CheckResult("list-append: " + isolation.text(), history.size() + " transactions of which " + failed
                + " failed and " + unknown + " are unknown, " + check.appends.keys() + " keys, "
                + check.appends.size() + " appends, " + graph.edges() + " dependencies", violations, List.of(),
                (System.nanoTime() - begun) / 1e9);
    }

    private DependencyGraph graph() {
        int[][] unseen = unseen();
        for (int key = 0; key < appends.keys(); key++) {
            int last = -1;
            for (int place = 0; place < observations.length(key); place++) {
                int writer = observations.writer(key, place);
                if (writer >= 0) {
                    if (last >= 0) {
                        graph.add(last, writer, Dependency.WRITE_WRITE, key);
                    }
                    last = writer;
                }
            }
            for (int writer : unseen[key]) {
                if (last >= 0) {
                    graph.add(last, writer, Dependency.WRITE_WRITE, key);
                }
            }
        }
        for (int t = 0; t < history.size(); t++) {
            if (observations.committed(t)) {
                for (int i = history.operationsFrom(t); i < history.operationsTo(t); i++) {
                    if (observations.before(i) >= 0) {
                        read(t, i, unseen);
                    }
                }
            }
        }
        if (isolation.sessions()) {
            sessions();
        }
        if (isolation.realTime()) {
            realTime();
        }
        return graph.build();
    }

    private void read(int t, int read, int[][] unseen) {
        int key = appends.key(history.key(read));
        int before = observations.before(read);
        if (before > 0) {
            int writer = observations.writer(key, before - 1);
            if (writer >= 0) {
                graph.add(writer, t, Dependency.WRITE_READ, key);
            }
        }
        for (int place = before; place < observations.length(key); place++) {
            int writer = observations.writer(key, place);
            if (writer >= 0) {
                graph.add(t, writer, Dependency.READ_WRITE, key);
                return;
            }
        }
        for (int writer : unseen[key]) {
            graph.add(t, writer, Dependency.READ_WRITE, key);
        }
    }

    /** By key, who appended something and committed, but nobody has seen it. */
    private int[][] unseen() {
        int[][] unseen = new int[appends.keys()][];
        Arrays.fill(unseen, new int[0]);
        for (int append = 0; append < appends.size(); append++) {
            int writer = appends.transaction(append);
            int key = appends.keyOfAppend(append);
            if (observations.committed(writer) && !observations.seen(append)
                    && unseen[key].length < UNSEEN_PER_KEY_MAX) {
                unseen[key] = Arrays.copyOf(unseen[key], unseen[key].length + 1);
                unseen[key][unseen[key].length - 1] = writer;
            }
        }
        return unseen;
    }

    private void sessions() {
        LongIndex sessions = new LongIndex();
        IntColumn last = new IntColumn();
        for (int t = 0; t < history.size(); t++) {
            int session = sessions.add(history.session(t));
            if (session == last.size()) {
                last.add(-1);
            }
            if (observations.committed(t) && last.get(session) >= 0) {
                graph.add(last.get(session), t, Dependency.SESSION, 0);
            }
            if (history.outcome(t) == ClientOutcome.OK) {
                last.set(session, t);
            }
        }
    }

    private void realTime() {
        long[] begun = new long[history.size()];
        long[] ended = new long[history.size()];
        for (int t = 0; t < history.size(); t++) {
            begun[t] = observations.committed(t) ? history.begunNanos(t) : Long.MIN_VALUE;
            ended[t] = history.outcome(t) == ClientOutcome.OK ? history.endedNanos(t) : Long.MIN_VALUE;
        }
        graph.realTime(begun, ended);
    }
}
