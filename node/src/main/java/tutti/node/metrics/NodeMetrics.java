package tutti.node.metrics;

/**
 * What a node counts and measures while it runs. Called on hot paths, from any thread; an implementation neither blocks
 * nor fails. What can be read off the node at any time (positions, sessions, queues) is not told here but taken from
 * its status when somebody asks.
 */
public interface NodeMetrics {
    /** Counts nothing. */
    NodeMetrics NONE = new NodeMetrics() {
        @Override
        public void committed(long commitNanos) {}

        @Override
        public void aborted(String cause) {}

        @Override
        public void applied(int transactions, long applyNanos) {}

        @Override
        public void applying(int appliers, int positions) {}

        @Override
        public void replayed() {}

        @Override
        public void barrierExecuted() {}

        @Override
        public void certified(int keys) {}

        @Override
        public void remembered(int keys) {}

        @Override
        public void undeclared() {}

        @Override
        public void undertaken(int requests) {}

        @Override
        public void undertaking(int executors, int requests) {}

        @Override
        public void requestBacklog(int requests) {}

        @Override
        public void waitingRequests(long bytes) {}

        @Override
        public void repeated() {}

        @Override
        public void repeatedInVain() {}

        @Override
        public void lost(Loss loss) {}

        @Override
        public void doubtful() {}

        @Override
        public void slow(long nanos, String statement) {}
    };

    /**
     * A transaction of this node's client committed a change.
     *
     * @param commitNanos from the client's request to commit to the answer
     */
    void committed(long commitNanos);

    /**
     * A transaction of this node's client was aborted.
     *
     * @param cause {@code AbortReason.label()}: one of a small fixed set
     */
    void aborted(String cause);

    /**
     * An applier committed write sets of other nodes together.
     *
     * @param transactions how many, at least 1
     * @param applyNanos from the first statement to the commit
     */
    void applied(int transactions, long applyNanos);

    /**
     * What others have changed is applied so from now on.
     *
     * @param appliers how many work side by side, at most
     * @param positions how many one makes visible together, at most
     */
    void applying(int appliers, int positions);

    /** A transaction of this node had lost its locks after it was certified and was applied from its write set. */
    void replayed();

    /** A statement was executed at every node at one position. */
    void barrierExecuted();

    /**
     * A delivered transaction was certified.
     *
     * @param keys that were compared
     */
    void certified(int keys);

    /**
     * Another message was delivered.
     *
     * @param keys how many the protocol keeps to decide by now
     */
    void remembered(int keys);

    /** A transaction was ordered by conflict classes and had to be taken to touch all of them. */
    void undeclared();

    /**
     * This node has executed clients' requests as the owner of their logs, in one transaction of its engine.
     *
     * @param requests how many
     */
    void undertaken(int requests);

    /**
     * The protocol has chosen by itself how it executes requests as the owner of their logs, perhaps as before.
     *
     * @param executors in how many transactions of its engine at a time, at most
     * @param requests how many in one, at most
     */
    void undertaking(int executors, int requests);

    /**
     * The requests of this node's clients have changed in number that have been acknowledged as logged, or are about to be, and
     * have not been executed.
     */
    void requestBacklog(int requests);

    /** About so many bytes of memory are taken by requests, of all nodes' clients, that are ordered and not executed, perhaps as before. */
    void waitingRequests(long bytes);

    /** A session ran a transaction again that had lost. */
    void repeated();

    /** A client had to hear of the loss after all, since it would have seen something else. */
    void repeatedInVain();

    /** A transaction of this node's client lost to another. */
    void lost(Loss loss);

    /** A client was told that what becomes of its commit is in doubt. */
    void doubtful();

    /**
     * A client waited long for a statement.
     *
     * @param nanos from the statement's coming to the end of its answer
     * @param statement its text, or the beginning of it; it may have values of rows in it
     */
    void slow(long nanos, String statement);

    /**
     * How a transaction lost, in words that may name rows.
     *
     * @param sqlState of the error that its client hears, or would have heard
     * @param message of that error
     * @param detail of that error, with the key that was lost where that is known; empty if it has none
     * @param statement that the client had said last, or the beginning of its text; empty if that is not known
     * @param repeated whether the node runs it again, so that its client need not hear of it
     */
    record Loss(String sqlState, String message, String detail, String statement, boolean repeated) {}
}
