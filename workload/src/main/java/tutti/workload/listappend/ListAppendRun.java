package tutti.workload.listappend;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import tutti.workload.client.ClientConnections;
import tutti.workload.client.ClientOptions;
import tutti.workload.client.ClientOutcome;
import tutti.workload.client.ClientRun;
import tutti.workload.client.ClientWorkload;

/**
 * List-append over JDBC. {@link #createTables} once, {@link #start}, {@link ClientRun#result}; then, when the cluster has come to
 * rest, {@link #lastReads}; and the {@link #history} is complete. Safe for use from any thread.
 */
public final class ListAppendRun {
    private static final int READS_PER_TRANSACTION = 1_000;
    private final ClientOptions options;
    private final ListAppendTables tables;
    private final ListAppendInputs inputs;
    private final ListAppendHistory history;
    private final ClientRun run;

    private ListAppendRun(ClientOptions options, ListAppendOptions workload) {
        this.options = options;
        tables = new ListAppendTables(workload.tables());
        inputs = new ListAppendInputs(workload, options.seed());
        history = new ListAppendHistory(options.historyLimit());
        run = ClientRun.start(options, this::next, "list-append");
    }

    /** Makes the tables, empty, in place of any there are. */
    public static void createTables(String url, ListAppendOptions workload) throws SQLException {
        try (Connection connection = ClientConnections.open(url)) {
            new ListAppendTables(workload.tables()).create(connection);
        }
    }

    /** Starts the clients, against tables that are there and empty. */
    public static ListAppendRun start(ClientOptions options, ListAppendOptions workload) {
        return new ListAppendRun(options, workload);
    }

    /** The clients, until the end of the run and after it. */
    public ClientRun clients() {
        return run;
    }

    /**
     * Reads all lists at a node, as transactions after the end: an acknowledged append that they do not find is lost. To be
     * called when the run is over, no transaction with an unknown outcome can be under way any more, and the node has
     * applied whatever was committed.
     *
     * @param node index of its URL
     * @return whether the history had room
     */
    public boolean lastReads(int node) throws SQLException {
        boolean noted = true;
        long keys;
        synchronized (inputs) {
            keys = inputs.keysUsed();
        }
        try (Connection connection = ClientConnections.open(options.urls().get(node))) {
            connection.setAutoCommit(false);
            connection.setTransactionIsolation(options.isolation());
            for (long from = 0; from < keys; from += READS_PER_TRANSACTION) {
                long begun = System.nanoTime();
                List<ListAppendOperation> reads = new ArrayList<>();
                for (long key = from; key < Math.min(keys, from + READS_PER_TRANSACTION); key++) {
                    reads.add(new ListAppendOperation.Read(key, tables.read(connection, key)));
                }
                connection.commit();
                noted &= history.add(new ListAppendTransaction(options.sessions() + node, node, begun,
                        System.nanoTime(), ClientOutcome.OK, true, reads));
            }
        }
        return noted;
    }

    /** What the clients saw. To be read when the run is over. */
    public ListAppendHistory history() {
        return history;
    }

    private ClientWorkload.Attempt next(int session, boolean readOnly) {
        List<ListAppendStep> steps;
        synchronized (inputs) {
            steps = inputs.next(readOnly);
        }
        return new Attempt(session, steps);
    }

    private final class Attempt implements ClientWorkload.Attempt {
        private final int session;
        private final List<ListAppendStep> steps;
        private final List<ListAppendOperation> done = new ArrayList<>();

        Attempt(int session, List<ListAppendStep> steps) {
            this.session = session;
            this.steps = steps;
        }

        @Override
        public boolean execute(Connection connection) throws SQLException {
            for (ListAppendStep step : steps) {
                switch (step) {
                    case ListAppendStep.Append(long key, int value) -> {
                        // Noted before it is tried: should it show up although it failed, its writer is known.
                        done.add(new ListAppendOperation.Append(key, value));
                        tables.append(connection, key, value);
                    }
                    case ListAppendStep.Read(long key) ->
                        done.add(new ListAppendOperation.Read(key, tables.read(connection, key)));
                }
            }
            return true;
        }

        @Override
        public boolean ended(int node, long begunNanos, long endedNanos, ClientOutcome outcome) {
            return history.add(new ListAppendTransaction(session, node, begunNanos, endedNanos, outcome, false, done));
        }
    }
}
