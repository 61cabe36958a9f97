package tutti.pgfront;

import java.sql.SQLException;
import tutti.node.Transactions;
import tutti.session.BlockingCompletion;

/** {@code tutti.read_level}: how new what a session's transactions see is at least. Of the session's thread. */
final class ReadLevels {
    private final Transactions node;
    private final SessionParameters parameters;
    /** Whether a causal session has still to wait for what its client may have seen elsewhere. */
    private boolean due = true;

    ReadLevels(Transactions node, SessionParameters parameters) {
        this.node = node;
        this.parameters = parameters;
    }

    /**
     * Another one is about to be set.
     *
     * @param local for the transaction
     * @param block whether a block is open
     * @param looked whether it has looked at the database
     * @throws SQLException with {@code 25001} if it cannot be any more
     */
    void mayChange(boolean local, boolean block, boolean looked) throws SQLException {
        if (block && (!local || looked)) {
            throw new SQLException(SessionParameters.READ_LEVEL + (local
                    ? " must be set before any query of the transaction"
                    : " cannot be set in a transaction block for the session: set it before BEGIN, or use SET LOCAL"),
                    "25001");
        }
    }

    /** Another one has been set. */
    void changed() {
        due = true;
    }

    /**
     * Before something is executed: waits, if it takes a snapshot, until all is visible that the level asks for.
     *
     * @param inTransaction whether there is a snapshot
     * @throws SQLException with {@code 57P03} if the node cannot tell, since it reaches no majority
     */
    void await(boolean inTransaction) throws SQLException {
        String level = parameters.readLevel();
        if (inTransaction || level.equals("local") || (level.equals("causal") && !due)) {
            return;
        }
        BlockingCompletion<Long> visible = new BlockingCompletion<>();
        node.awaitAll(visible);
        try {
            visible.await();
            due = false;
        } catch (SQLException unknown) {
            throw new SQLException(
                    "what is read here may be old: " + unknown.getMessage() + "; use another node, or SET "
                            + SessionParameters.READ_LEVEL + " = 'local'",
                    unknown.getSQLState(), unknown);
        }
    }
}
