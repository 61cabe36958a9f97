package tutti.check.listappend;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.StringJoiner;
import tutti.check.graph.Cycle;
import tutti.check.isolation.AnomalySearch;
import tutti.workload.listappend.ListAppendHistory;

/** How list-append transactions and what lies between them are told to people. */
record ListAppendText(ListAppendHistory history, Appends appends) implements AnomalySearch.Words {
    private static final int VALUES_SHOWN_MAX = 16;
    private static final int OPERATIONS_SHOWN_MAX = 24;

    @Override
    public String transaction(int transaction) {
        return "T" + transaction;
    }

    @Override
    public String details(int transaction) {
        StringJoiner did = new StringJoiner(", ");
        int from = history.operationsFrom(transaction);
        int to = history.operationsTo(transaction);
        for (int i = from; i < Math.min(to, from + OPERATIONS_SHOWN_MAX); i++) {
            did.add(history.isAppend(i)
                    ? "append(" + history.key(i) + ", " + history.appended(i) + ")"
                    : "read(" + history.key(i) + ") = " + list(i));
        }
        if (to - from > OPERATIONS_SHOWN_MAX) {
            did.add("and " + (to - from - OPERATIONS_SHOWN_MAX) + " more");
        }
        did.add("session " + history.session(transaction) + " at node " + history.node(transaction));
        did.add("from " + history.begunNanos(transaction) + " ns");
        did.add(switch (history.outcome(transaction)) {
            case OK -> "committed by " + history.endedNanos(transaction) + " ns";
            case FAILED -> "rolled back by " + history.endedNanos(transaction) + " ns";
            case UNKNOWN -> "nobody was told how it ended";
        });
        return did.toString();
    }

    Map<String, String> row(int transaction) {
        Map<String, String> row = new LinkedHashMap<>();
        row.put("transaction", transaction(transaction));
        row.put("did", details(transaction));
        return row;
    }

    /** What a read returned; of a long list its end. */
    String list(int read) {
        int length = history.length(read);
        StringJoiner values = new StringJoiner(", ", "[", "]");
        if (length > VALUES_SHOWN_MAX) {
            values.add("… " + (length - VALUES_SHOWN_MAX) + " before these");
        }
        for (int place = Math.max(0, length - VALUES_SHOWN_MAX); place < length; place++) {
            values.add(Integer.toString(history.value(read, place)));
        }
        return values.toString();
    }

    @Override
    public String step(Cycle.Step step) {
        String from = transaction(step.from());
        String to = transaction(step.to());
        return switch (step.kind()) {
            case WRITE_WRITE -> from + " appended to list " + appends.keyOf(step.label()) + " before " + to + " did";
            case WRITE_READ -> from + " appended to list " + appends.keyOf(step.label()) + " and " + to + " read that";
            case READ_WRITE ->
                from + " read list " + appends.keyOf(step.label()) + " without what " + to + " appended to it";
            case SESSION -> from + " came before " + to + " in session " + history.session(step.from());
            case REAL_TIME -> from + " had ended before " + to + " began";
        };
    }
}
