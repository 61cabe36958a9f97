package tutti.workload.bank;

import java.sql.Connection;
import java.sql.SQLException;
import tutti.workload.client.ClientConnections;
import tutti.workload.client.ClientOptions;
import tutti.workload.client.ClientOutcome;
import tutti.workload.client.ClientRun;
import tutti.workload.client.ClientWorkload;

/**
 * A bank over JDBC. {@link #createTables} once, {@link #start}, {@link ClientRun#result}; then, when the cluster has come to rest,
 * {@link #state} of each node is to be compared with the {@link #history}. Safe for use from any thread.
 */
public final class BankRun {
    private final ClientOptions options;
    private final BankInputs inputs;
    private final BankHistory history;
    private final ClientRun run;

    private BankRun(ClientOptions options, BankOptions bank) {
        this.options = options;
        inputs = new BankInputs(bank, options.seed());
        history = new BankHistory(bank.accounts(), bank.initialBalance(), options.historyLimit());
        run = ClientRun.start(options, this::next, "bank");
    }

    /** Makes the tables and the accounts, in place of any there are. */
    public static void createTables(String url, BankOptions bank) throws SQLException {
        try (Connection connection = ClientConnections.open(url)) {
            BankTables.create(connection, bank);
        }
    }

    /** Starts the clients, against accounts just made. */
    public static BankRun start(ClientOptions options, BankOptions bank) {
        return new BankRun(options, bank);
    }

    /** The clients, until the end of the run and after it. */
    public ClientRun clients() {
        return run;
    }

    /**
     * What a node holds, in one snapshot.
     *
     * @param node index of its URL
     */
    public BankState state(int node) throws SQLException {
        try (Connection connection = ClientConnections.open(options.urls().get(node))) {
            connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            connection.setAutoCommit(false);
            BankState state = BankTables.state(connection);
            connection.commit();
            return state;
        }
    }

    /** What the clients saw. To be read when the run is over. */
    public BankHistory history() {
        return history;
    }

    private ClientWorkload.Attempt next(int session, boolean readOnly) {
        BankInput input;
        synchronized (inputs) {
            input = inputs.next(readOnly);
        }
        return new Attempt(session, input);
    }

    private final class Attempt implements ClientWorkload.Attempt {
        private final int session;
        private final BankInput input;
        private BankOperation done;

        Attempt(int session, BankInput input) {
            this.session = session;
            this.input = input;
            done = switch (input) {
                case BankInput.Transfer(long number, int from, int to, long amount) ->
                    new BankOperation.Transfer(number, from, to, amount);
                case BankInput.ReadBalances() -> new BankOperation.Balances(new long[0]);
            };
        }

        @Override
        public boolean execute(Connection connection) throws SQLException {
            switch (input) {
                case BankInput.Transfer transfer -> {
                    if (!BankTables.transfer(connection, transfer)) {
                        done = new BankOperation.Refused(transfer.from(), transfer.amount());
                        return false;
                    }
                }
                case BankInput.ReadBalances() -> done = new BankOperation.Balances(BankTables.balances(connection));
            }
            return true;
        }

        @Override
        public boolean ended(int node, long begunNanos, long endedNanos, ClientOutcome outcome) {
            return history.add(new BankTransaction(session, node, begunNanos, endedNanos, outcome, done));
        }
    }
}
