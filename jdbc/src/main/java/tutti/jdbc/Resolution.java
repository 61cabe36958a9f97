package tutti.jdbc;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** What became of a transaction whose node was lost while it committed. */
enum Resolution {
    /** It has committed, at every node. */
    COMMITTED,
    /** It has not, and never will. */
    ABORTED,
    /** Nobody could tell. */
    UNKNOWN;

    /** Asks one node after the other until one can tell, or the deadline has come. */
    static Resolution ask(Nodes nodes, String transaction, long deadlineNanos) throws SQLException {
        do {
            NodeConnection on;
            try {
                on = nodes.openUntil(deadlineNanos, null);
            } catch (SQLException nobody) {
                return UNKNOWN;
            }
            try (Statement question = on.connection().createStatement();
                    ResultSet answer = question.executeQuery("SELECT tutti_outcome('" + transaction + "')")) {
                answer.next();
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
                on.discard();
            }
        } while (Nodes.pause(deadlineNanos));
        return UNKNOWN;
    }
}
