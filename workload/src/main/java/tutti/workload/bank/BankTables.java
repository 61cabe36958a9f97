package tutti.workload.bank;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/**
 * A bank in a database: accounts with balances, and a record of each transfer, written in the same transaction. Standard
 * SQL; tested on PostgreSQL. One thread.
 */
final class BankTables {
    private static final int BATCH = 500;

    private BankTables() {}

    static void create(Connection connection, BankOptions options) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("drop table if exists bank_account");
            statement.execute("drop table if exists bank_transfer");
            statement.execute("create table bank_account (id int primary key, balance bigint not null)");
            statement.execute("create table bank_transfer (id bigint primary key, source int not null, "
                    + "target int not null, amount bigint not null)");
        }
        connection.setAutoCommit(false);
        while (true) {
            try {
                fill(connection, options);
                connection.commit();
                return;
            } catch (SQLException lost) {
                connection.rollback();
                if (!"40001".equals(lost.getSQLState())) {
                    throw lost;
                }
            }
        }
    }

    private static void fill(Connection connection, BankOptions options) throws SQLException {
        try (PreparedStatement insert = connection
                .prepareStatement("insert into bank_account (id, balance) values (?, ?)")) {
            for (int account = 0; account < options.accounts(); account++) {
                insert.setInt(1, account);
                insert.setLong(2, options.initialBalance());
                insert.addBatch();
                if ((account + 1) % BATCH == 0) {
                    int[] _ = insert.executeBatch();
                }
            }
            int[] _ = insert.executeBatch();
        }
    }

    /** Moves money, unless the account holds less: then nothing is to be committed. */
    static boolean transfer(Connection connection, BankInput.Transfer transfer) throws SQLException {
        // In order of accounts, so that two transfers between the same two do not wait for each other in a circle.
        boolean debitFirst = transfer.from() < transfer.to();
        if (debitFirst && !debit(connection, transfer)) {
            return false;
        }
        try (PreparedStatement credit = connection
                .prepareStatement("update bank_account set balance = balance + ? where id = ?")) {
            credit.setLong(1, transfer.amount());
            credit.setInt(2, transfer.to());
            if (credit.executeUpdate() != 1) {
                throw new SQLException("there is no account " + transfer.to(), "02000");
            }
        }
        if (!debitFirst && !debit(connection, transfer)) {
            return false;
        }
        try (PreparedStatement insert = connection
                .prepareStatement("insert into bank_transfer (id, source, target, amount) values (?, ?, ?, ?)")) {
            insert.setLong(1, transfer.number());
            insert.setInt(2, transfer.from());
            insert.setInt(3, transfer.to());
            insert.setLong(4, transfer.amount());
            return insert.executeUpdate() == 1;
        }
    }

    private static boolean debit(Connection connection, BankInput.Transfer transfer) throws SQLException {
        try (PreparedStatement debit = connection
                .prepareStatement("update bank_account set balance = balance - ? where id = ? and balance >= ?")) {
            debit.setLong(1, transfer.amount());
            debit.setInt(2, transfer.from());
            debit.setLong(3, transfer.amount());
            return debit.executeUpdate() == 1;
        }
    }

    /** All balances, in two statements: only a snapshot makes them one state. */
    static long[] balances(Connection connection) throws SQLException {
        List<Long> balances = new ArrayList<>();
        for (int half = 0; half < 2; half++) {
            try (PreparedStatement select = connection
                    .prepareStatement("select id, balance from bank_account where mod(id, 2) = ? order by id")) {
                select.setInt(1, half);
                try (ResultSet row = select.executeQuery()) {
                    while (row.next()) {
                        int account = row.getInt(1);
                        while (balances.size() <= account) {
                            balances.add(0L);
                        }
                        balances.set(account, row.getLong(2));
                    }
                }
            }
        }
        return balances.stream().mapToLong(Long::longValue).toArray();
    }

    static BankState state(Connection connection) throws SQLException {
        List<BankOperation.Transfer> transfers = new ArrayList<>();
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("select id, source, target, amount from bank_transfer")) {
            while (row.next()) {
                transfers.add(
                        new BankOperation.Transfer(row.getLong(1), row.getInt(2), row.getInt(3), row.getLong(4)));
            }
        }
        return new BankState(balances(connection), transfers);
    }
}
