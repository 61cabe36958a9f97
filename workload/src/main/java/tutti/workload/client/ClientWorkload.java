package tutti.workload.client;

import java.sql.Connection;
import java.sql.SQLException;

/** What clients do: the side of a workload that {@link ClientRun} drives. Called from the threads of all sessions. */
public interface ClientWorkload {
    /** The next transaction of a session. It is tried once: one that fails is part of the history, and another follows. */
    Attempt next(int session, boolean readOnly);

    /** One transaction. One thread. */
    interface Attempt {
        /**
         * Runs up to the commit, noting what it is answered.
         *
         * @param connection in a transaction
         * @return whether to commit; otherwise it is rolled back
         */
        boolean execute(Connection connection) throws SQLException;

        /**
         * It has ended.
         *
         * @param node index of the URL it ran at
         * @param begunNanos before anything was sent
         * @param endedNanos after the last answer had come
         * @return whether it could be noted; the run ends with an error if not
         */
        boolean ended(int node, long begunNanos, long endedNanos, ClientOutcome outcome);
    }
}
