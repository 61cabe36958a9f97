package tutti.jdbc;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.function.Consumer;

/** What became of a transaction whose node was lost while it committed. */
enum Resolution {
    /** It has committed, at every node. */
    COMMITTED,
    /** It has not, and never will. */
    ABORTED,
    /** Nobody could tell. */
    UNKNOWN;

    /**
     * Asks one node after the other until one can tell, or the deadline has come.
     *
     * @param left given each connection on which there was an answer
     */
    static Resolution ask(Nodes nodes, String transaction, long deadlineNanos, Consumer<NodeConnection> left)
            throws SQLException {
        Nodes.Pauses pauses = new Nodes.Pauses(deadlineNanos);
        do {
            NodeConnection on;
            try {
                on = nodes.openUntil(deadlineNanos, null);
            } catch (SQLException nobody) {
                return UNKNOWN;
            }
            SilentNodes.Waiting waiting = on.waits();
            boolean answered = false;
            try (Statement question = on.connection().createStatement();
                    ResultSet answer = question.executeQuery("SELECT tutti_outcome('" + transaction + "')")) {
                answer.next();
                answered = true;
                switch (String.valueOf(answer.getString(1))) {
                    case "committed" -> {
                        return COMMITTED;
                    }
                    case "aborted" -> {
                        return ABORTED;
                    }
                    case "in progress" -> {
                    }
                    default -> {
                        return UNKNOWN;
                    }
                }
            } catch (SQLException failure) {
                if (!on.lostBy(failure) && !Failures.refusedNow(failure)) {
                    return UNKNOWN;
                }
                on.node().failed(System.nanoTime());
            } finally {
                waiting.close();
                if (answered) {
                    left.accept(on);
                } else {
                    on.discard();
                }
            }
        } while (pauses.next());
        return UNKNOWN;
    }
}
