package tutti.check.isolation;

import java.util.StringJoiner;
import tutti.check.graph.Cycle;
import tutti.check.history.History;

/** How transactions of a history and what lies between them are told to people. */
record HistoryText(History history) implements AnomalySearch.Words {
    private static final int OPERATIONS_SHOWN_MAX = 24;

    @Override
    public String transaction(int transaction) {
        return history.name(transaction);
    }

    @Override
    public String details(int transaction) {
        StringJoiner did = new StringJoiner(", ");
        int shown = 0;
        for (int i = history.readsFrom(transaction); i < history.readsTo(transaction); i++) {
            if (shown++ < OPERATIONS_SHOWN_MAX) {
                did.add("read " + history.keyName(history.readKey(i)) + " of "
                        + history.name(history.readWriter(i)));
            }
        }
        for (int i = history.writesFrom(transaction); i < history.writesTo(transaction); i++) {
            if (shown++ < OPERATIONS_SHOWN_MAX) {
                did.add("wrote " + history.keyName(history.writeKey(i)));
            }
        }
        if (shown > OPERATIONS_SHOWN_MAX) {
            did.add("and " + (shown - OPERATIONS_SHOWN_MAX) + " more");
        }
        if (history.snapshot(transaction) != History.NO_SNAPSHOT) {
            did.add("snapshot of position " + history.snapshot(transaction));
        }
        did.add(history.position(transaction) > 0
                ? "committed at position " + history.position(transaction)
                : "changed nothing");
        if (history.session(transaction) >= 0) {
            did.add("session " + history.session(transaction));
        }
        if (history.begunNanos(transaction) != History.NO_INSTANT) {
            did.add("from " + history.begunNanos(transaction) + " ns");
        }
        if (history.answeredNanos(transaction) != History.NO_INSTANT) {
            did.add("to " + history.answeredNanos(transaction) + " ns");
        }
        return did.toString();
    }

    @Override
    public String step(Cycle.Step step) {
        String from = history.name(step.from());
        String to = history.name(step.to());
        return switch (step.kind()) {
            case WRITE_WRITE -> from + " wrote " + history.keyName(step.label()) + " before " + to + " overwrote it";
            case WRITE_READ -> from + " wrote " + history.keyName(step.label()) + " and " + to + " read that";
            case READ_WRITE -> from + " read " + history.keyName(step.label()) + " before " + to + " overwrote it";
            case SESSION -> from + " came before " + to + " in session " + history.session(step.from());
            case REAL_TIME -> from + " was answered before " + to + " began";
        };
    }
}
