package tutti.model;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import tutti.core.recorded.RecordedNode;
import tutti.core.recorded.RecordedTransaction;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;

/**
 * What the clients of a real cluster did, as its nodes have written it down, on one time line.
 *
 * @param arrivals in the order in which they came; the first at 0
 * @param nodes that were recorded
 * @param speedUp by how much faster transactions come than they did, more than 0
 * @param cpuShare share of a transaction's recorded execution that is processor time, more than 0, at most 1
 */
public record RecordedWorkload(List<Arrival> arrivals, int nodes, double speedUp, double cpuShare) {
    /** Of all update transactions, at least this share names a key that is taken for a table's. */
    private static final double TABLE_SHARE = 0.01;
    private static final long MILLI = 1_000_000;

    /**
     * A transaction.
     *
     * @param atNanos after the first one
     * @param node where its client was, counted from 0
     * @param transaction as recorded
     */
    public record Arrival(long atNanos, int node, RecordedTransaction transaction) {}

    public RecordedWorkload {
        arrivals = List.copyOf(arrivals);
        if (!(speedUp > 0) || !(cpuShare > 0 && cpuShare <= 1)) {
            throw new IllegalArgumentException("speed-up " + speedUp + ", cpu-share " + cpuShare);
        }
    }

    /**
     * Puts the recordings of several nodes, and of several lives of a node, on one time line, by their clocks.
     *
     * @param fromNanos what came earlier than this after the first transaction is left out
     * @throws IllegalArgumentException if there are no transactions
     */
    public static RecordedWorkload of(List<RecordedNode> recordings, long fromNanos, double speedUp, double cpuShare) {
        List<Integer> numbers = List.copyOf(new TreeSet<>(recordings.stream().map(RecordedNode::node).toList()));
        long first = recordings.stream().mapToLong(RecordedNode::beganMillis).min().orElse(0);
        List<Arrival> all = new ArrayList<>();
        for (RecordedNode recording : recordings) {
            long offset = (recording.beganMillis() - first) * MILLI;
            int node = numbers.indexOf(recording.node());
            recording.transactions().forEach(one -> all.add(new Arrival(offset + one.beganNanos(), node, one)));
        }
        all.sort(Comparator.comparingLong(Arrival::atNanos));
        long earliest = all.isEmpty() ? 0 : all.getFirst().atNanos + fromNanos;
        all.removeIf(one -> one.atNanos < earliest);
        if (all.isEmpty()) {
            throw new IllegalArgumentException("there are no transactions in it" + (fromNanos > 0 ? " then" : ""));
        }
        long begin = all.getFirst().atNanos;
        return new RecordedWorkload(all.stream()
                .map(one -> new Arrival((long) ((one.atNanos - begin) / speedUp), one.node, one.transaction)).toList(),
                numbers.size(), speedUp, cpuShare);
    }

    /**
     * Classes for transactions that have declared none: the keys that they refer to and that many others refer to. Each
     * write set refers to the keys of the tables that it writes, and to those of parents' rows, which are, one by one, rare.
     *
     * @return for each arrival
     */
    List<ConflictClasses> classes() {
        Map<Long, Integer> referred = new HashMap<>();
        int updates = 0;
        for (Arrival arrival : arrivals) {
            KeySet keys = arrival.transaction.writes();
            updates += arrival.transaction.readOnly() ? 0 : 1;
            for (int i = 0; i < keys.size(); i++) {
                if (keys.kind(i) == KeyKind.REFERENCE) {
                    referred.merge(keys.hash(i), 1, Integer::sum);
                }
            }
        }
        double enough = Math.max(1, TABLE_SHARE * updates);
        // What all refer to is the schema: it says nothing.
        int everybody = updates;
        List<ConflictClasses> classes = new ArrayList<>(arrivals.size());
        for (Arrival arrival : arrivals) {
            RecordedTransaction one = arrival.transaction;
            if (!one.classes().all() || one.readOnly()) {
                classes.add(one.classes());
                continue;
            }
            TreeSet<Long> tables = new TreeSet<>();
            for (int i = 0; i < one.writes().size(); i++) {
                int times = referred.getOrDefault(one.writes().hash(i), 0);
                if (one.writes().kind(i) == KeyKind.REFERENCE && times >= enough && times < everybody) {
                    tables.add(one.writes().hash(i));
                }
            }
            classes.add(tables.isEmpty() ? ConflictClasses.ALL : ConflictClasses.of(tables));
        }
        return classes;
    }
}
