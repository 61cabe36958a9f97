package tutti.check.graph;

import java.util.Arrays;
import tutti.check.column.IndexSort;
import tutti.check.column.IntColumn;
import tutti.check.column.LongColumn;

/**
 * A direct serialization graph: transactions, numbered from 0, and the dependencies between them. Edges lie in arrays,
 * sorted by their source. Immutable; 9 bytes per edge.
 *
 * <p>
 * Real time would take an edge for every two transactions of which one ended before the other began. Instead there is a
 * chain of <em>instants</em>, nodes numbered after the transactions: a transaction leads to the first instant after its
 * end, each instant to the next one, and an instant to the transactions that began after it and before the next. One
 * transaction then reaches another through instants exactly if it ended before the other began, with at most three edges
 * per transaction.
 */
public final class DependencyGraph {
    private final int transactions;
    private final int nodes;
    private final int[] starts;
    private final int[] targets;
    private final byte[] kinds;
    private final int[] labels;

    private DependencyGraph(int transactions, int nodes, int[] starts, int[] targets, byte[] kinds, int[] labels) {
        this.transactions = transactions;
        this.nodes = nodes;
        this.starts = starts;
        this.targets = targets;
        this.kinds = kinds;
        this.labels = labels;
    }

    /** How many edges. */
    public int edges() {
        return targets.length;
    }

    int nodes() {
        return nodes;
    }

    boolean isTransaction(int node) {
        return node < transactions;
    }

    int edgesFrom(int node) {
        return starts[node];
    }

    int edgesTo(int node) {
        return starts[node + 1];
    }

    int target(int edge) {
        return targets[edge];
    }

    Dependency kind(int edge) {
        return KINDS[kinds[edge]];
    }

    int kindBit(int edge) {
        return 1 << kinds[edge];
    }

    int label(int edge) {
        return labels[edge];
    }

    private static final Dependency[] KINDS = Dependency.values();

    /**
     * Some nodes of a graph and the edges between them.
     *
     * @param nodes of the whole graph, by node of the part
     */
    public record Part(DependencyGraph graph, int[] nodes) {
        /** A cycle of the part with the whole graph's numbers. */
        public Cycle original(Cycle cycle) {
            return new Cycle(cycle.steps().stream()
                    .map(step -> new Cycle.Step(nodes[step.from()], nodes[step.to()], step.kind(), step.label()))
                    .toList());
        }
    }

    /**
     * The part that lies between these nodes.
     *
     * @param kept ascending
     */
    Part between(int[] kept) {
        int[] numbers = new int[nodes];
        Arrays.fill(numbers, -1);
        int keptTransactions = 0;
        for (int i = 0; i < kept.length; i++) {
            numbers[kept[i]] = i;
            if (isTransaction(kept[i])) {
                keptTransactions++;
            }
        }
        Builder part = new Builder(keptTransactions);
        part.nodes = kept.length;
        for (int i = 0; i < kept.length; i++) {
            for (int edge = starts[kept[i]]; edge < starts[kept[i] + 1]; edge++) {
                if (numbers[targets[edge]] >= 0) {
                    part.edge(i, numbers[targets[edge]], kinds[edge], labels[edge]);
                }
            }
        }
        return new Part(part.build(), kept);
    }

    /** Collects edges. One thread. */
    public static final class Builder {
        private final int transactions;
        private int nodes;
        private final LongColumn ends = new LongColumn();
        private final IntColumn kindsAndLabels = new IntColumn();

        /** A graph without edges. */
        public Builder(int transactions) {
            this.transactions = transactions;
            nodes = transactions;
        }

        /**
         * Adds an edge; one that leads from a transaction to itself is left out.
         *
         * @param label what it is about, for the explanation: 0 to 2^28 - 1
         */
        public void add(int from, int to, Dependency kind, int label) {
            if (from != to) {
                edge(from, to, (byte) kind.ordinal(), label);
            }
        }

        private void edge(int from, int to, byte kind, int label) {
            ends.add((long) from << 32 | to);
            kindsAndLabels.add(label << 3 | kind);
        }

        /**
         * Adds what follows from real time.
         *
         * @param begun by transaction, in nanoseconds; {@link Long#MIN_VALUE} if not known or of no account
         * @param ended likewise; a transaction with an end is ordered before those that began strictly later
         */
        public void realTime(long[] begun, long[] ended) {
            int[] byBegin = known(begun);
            int[] byEnd = known(ended);
            int next = 0;
            int instant = -1;
            byte kind = (byte) Dependency.REAL_TIME.ordinal();
            for (int transaction : byBegin) {
                int first = next;
                while (next < byEnd.length && ended[byEnd[next]] < begun[transaction]) {
                    next++;
                }
                if (next > first) {
                    int following = nodes++;
                    if (instant >= 0) {
                        edge(instant, following, kind, 0);
                    }
                    instant = following;
                    for (int i = first; i < next; i++) {
                        edge(byEnd[i], instant, kind, 0);
                    }
                }
                if (instant >= 0) {
                    edge(instant, transaction, kind, 0);
                }
            }
        }

        private static int[] known(long[] instants) {
            IntColumn known = new IntColumn();
            for (int i = 0; i < instants.length; i++) {
                if (instants[i] != Long.MIN_VALUE) {
                    known.add(i);
                }
            }
            int[] sorted = known.toArray();
            IndexSort.sort(sorted, instants);
            return sorted;
        }

        /** The graph. */
        public DependencyGraph build() {
            int count = ends.size();
            int[] starts = new int[nodes + 1];
            for (int i = 0; i < count; i++) {
                starts[(int) (ends.get(i) >>> 32) + 1]++;
            }
            for (int i = 0; i < nodes; i++) {
                starts[i + 1] += starts[i];
            }
            int[] next = Arrays.copyOf(starts, nodes);
            int[] targets = new int[count];
            byte[] kinds = new byte[count];
            int[] labels = new int[count];
            for (int i = 0; i < count; i++) {
                int at = next[(int) (ends.get(i) >>> 32)]++;
                targets[at] = (int) ends.get(i);
                kinds[at] = (byte) (kindsAndLabels.get(i) & 7);
                labels[at] = kindsAndLabels.get(i) >>> 3;
            }
            return new DependencyGraph(transactions, nodes, starts, targets, kinds, labels);
        }
    }
}
