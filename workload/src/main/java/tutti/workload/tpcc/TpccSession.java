package tutti.workload.tpcc;

import java.math.BigDecimal;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;

/**
 * Executes TPC-C's transactions over one connection. In SQL for PostgreSQL, that takes few round trips: several statements
 * travel together, and lists of lines as arrays. Other databases get {@link PortableTpcc}. Every transaction ends with the caller's {@link #commit} or {@link #rollback}.
 * One thread.
 *
 * <p>
 * Isolation is REPEATABLE READ. Rows that many transactions want are updated first, so that the loser of a conflict has
 * done little in vain.
 */
public final class TpccSession implements AutoCloseable {
    private final Connection connection;
    private final @Nullable PGConnection postgres;
    /** For databases that are not PostgreSQL; null for those that are. */
    private final @Nullable PortableTpcc portable;
    private final Map<String, PreparedStatement> statements = new HashMap<>();

    /** What executes them whole; null if they are executed statement by statement. */
    private final @Nullable TpccCalls calls;

    /** Takes the connection over, to execute transactions statement by statement. */
    public TpccSession(Connection connection) throws SQLException {
        this(connection, TpccForm.INTERACTIVE);
    }

    /** Takes the connection over. */
    public TpccSession(Connection connection, TpccForm form) throws SQLException {
        this.connection = connection;
        boolean isPostgres = TpccDatabase.isPostgres(connection);
        postgres = isPostgres ? connection.unwrap(PGConnection.class) : null;
        portable = isPostgres ? null : new PortableTpcc(new JdbcStatements(connection));
        connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
        connection.setAutoCommit(form == TpccForm.STORED);
        calls = form == TpccForm.STORED ? new TpccCalls(connection) : null;
    }

    /** Whether {@link #execute} commits, too. */
    boolean executesWhole() {
        return calls != null;
    }

    /**
     * Runs a transaction up to its commit; in the stored form, with its commit.
     *
     * @param now the time that the rows get
     * @param historyKey key of the row of HISTORY that a Payment writes
     */
    public TpccOutput execute(TpccInput input, LocalDateTime now, HistoryKey historyKey) throws SQLException {
        if (portable != null) {
            return portable.execute(input, now, historyKey);
        }
        return calls != null ? calls.execute(input, now, historyKey) : switch (input) {
            case TpccInput.NewOrder order -> newOrder(order, now);
            case TpccInput.Payment payment -> payment(payment, now, historyKey);
            case TpccInput.OrderStatus status -> orderStatus(status);
            case TpccInput.Delivery delivery -> delivery(delivery, now);
            case TpccInput.StockLevel level -> stockLevel(level);
        };
    }

    /**
     * Hands a transaction in, in the stored form; what came of it need not be known yet.
     *
     * @throws IllegalStateException in the other form
     */
    public void submit(TpccInput input, LocalDateTime now, HistoryKey historyKey) throws SQLException {
        stored().submit(input, now, historyKey);
    }

    /**
     * Takes a transaction, to be handed in with others by {@link #handIn}, in the stored form; one that changes nothing is executed.
     *
     * @throws IllegalStateException in the other form
     */
    public void collect(TpccInput input, LocalDateTime now, HistoryKey historyKey) throws SQLException {
        stored().collect(input, now, historyKey);
    }

    /**
     * Hands in what was collected, those of a kind together.
     *
     * @throws IllegalStateException in the other form
     */
    public void handIn() throws SQLException {
        stored().handIn();
    }

    private TpccCalls stored() {
        if (calls == null) {
            throw new IllegalStateException("only stored transactions are handed in whole");
        }
        return calls;
    }

    /** Primary key of a row of HISTORY. */
    public record HistoryKey(long source, long number) {}

    /** Commits what was executed. */
    public void commit() throws SQLException {
        if (calls == null) {
            connection.commit();
        }
    }

    /** Rolls back what was executed. */
    public void rollback() throws SQLException {
        if (calls == null) {
            connection.rollback();
        }
    }

    @Override
    public void close() throws SQLException {
        connection.close();
    }

    /** Closes from any thread, without waiting for a statement that may be running. */
    void abort() throws SQLException {
        connection.abort(Runnable::run);
    }

    private TpccOutput newOrder(TpccInput.NewOrder input, LocalDateTime now) throws SQLException {
        List<TpccInput.Line> lines = input.lines();
        List<List<TpccInput.Line>> rounds = rounds(lines);
        int[] items = lines.stream().mapToInt(TpccInput.Line::item).distinct().toArray();

        Call first = new Call(rounds.size() == 1
                ? TpccSql.NEW_ORDER_READ + ";" + TpccSql.UPDATE_STOCK
                : TpccSql.NEW_ORDER_READ);
        first.integers(input.warehouse(), input.district());
        first.integers(input.warehouse(), input.district(), input.customer());
        first.array(items);
        if (rounds.size() == 1) {
            bindStock(first, input, lines);
        }
        Results results = first.execute();
        ResultSet row = results.single("district " + input.district() + " of warehouse " + input.warehouse());
        int order = row.getInt(1);
        BigDecimal districtTax = row.getBigDecimal(2);
        row = results.single("customer " + input.customer());
        BigDecimal warehouseTax = row.getBigDecimal(1);
        BigDecimal discount = row.getBigDecimal(2);
        Map<Integer, BigDecimal> prices = new HashMap<>();
        row = results.next();
        while (row.next()) {
            prices.put(row.getInt(1), row.getBigDecimal(2));
        }
        if (prices.size() < items.length) {
            return new TpccOutput.UnknownItem();
        }
        Map<StockKey, String> districtInfo = new HashMap<>();
        if (rounds.size() == 1) {
            readStock(results.next(), districtInfo);
        } else {
            for (List<TpccInput.Line> round : rounds) {
                Call call = new Call(TpccSql.UPDATE_STOCK);
                bindStock(call, input, round);
                readStock(call.execute().next(), districtInfo);
            }
        }
        return insertOrder(input, now, order, prices, districtInfo,
                BigDecimal.ONE.subtract(discount).multiply(BigDecimal.ONE.add(warehouseTax).add(districtTax)));
    }

    private TpccOutput insertOrder(TpccInput.NewOrder input, LocalDateTime now, int order,
            Map<Integer, BigDecimal> prices, Map<StockKey, String> districtInfo, BigDecimal factor)
            throws SQLException {
        List<TpccInput.Line> lines = input.lines();
        int count = lines.size();
        int[] items = new int[count];
        int[] supply = new int[count];
        int[] quantities = new int[count];
        BigDecimal[] amounts = new BigDecimal[count];
        String[] info = new String[count];
        BigDecimal total = BigDecimal.ZERO;
        for (int i = 0; i < count; i++) {
            TpccInput.Line line = lines.get(i);
            items[i] = line.item();
            supply[i] = line.supplyWarehouse();
            quantities[i] = line.quantity();
            amounts[i] = found(prices.get(line.item()), line).multiply(BigDecimal.valueOf(line.quantity()));
            info[i] = found(districtInfo.get(StockKey.of(line)), line);
            total = total.add(amounts[i]);
        }
        Call second = new Call(TpccSql.NEW_ORDER_WRITE);
        second.integers(input.warehouse(), input.district(), order, input.customer());
        second.timestamp(now);
        second.integers(count, input.allLocal() ? 1 : 0);
        second.integers(input.warehouse(), input.district(), order);
        second.integers(input.warehouse(), input.district(), order);
        second.array(items);
        second.array(supply);
        second.array(quantities);
        second.array("numeric", amounts);
        second.array("text", info);
        second.execute();
        return new TpccOutput.NewOrder(order, cents(total.multiply(factor)));
    }

    // The same item from the same warehouse may be on several lines, and an UPDATE changes a row only once: such lines
    // go into separate rounds, so that each finds what the one before it left. Sorted, so that locks are mostly taken in
    // the same order.
    private static List<List<TpccInput.Line>> rounds(List<TpccInput.Line> lines) {
        List<TpccInput.Line> left = new ArrayList<>(lines);
        left.sort(Comparator.comparingInt(TpccInput.Line::supplyWarehouse).thenComparingInt(TpccInput.Line::item));
        List<List<TpccInput.Line>> rounds = new ArrayList<>();
        while (!left.isEmpty()) {
            List<TpccInput.Line> round = new ArrayList<>();
            List<TpccInput.Line> later = new ArrayList<>();
            Set<StockKey> seen = new HashSet<>();
            for (TpccInput.Line line : left) {
                (seen.add(StockKey.of(line)) ? round : later).add(line);
            }
            rounds.add(round);
            left = later;
        }
        return rounds;
    }

    private record StockKey(int warehouse, int item) {
        static StockKey of(TpccInput.Line line) {
            return new StockKey(line.supplyWarehouse(), line.item());
        }
    }

    private static void bindStock(Call call, TpccInput.NewOrder input, List<TpccInput.Line> unsorted)
            throws SQLException {
        List<TpccInput.Line> lines = rounds(unsorted).getFirst();
        call.integers(input.district());
        call.array(lines.stream().mapToInt(TpccInput.Line::supplyWarehouse).toArray());
        call.array(lines.stream().mapToInt(TpccInput.Line::item).toArray());
        call.array(lines.stream().mapToInt(TpccInput.Line::quantity).toArray());
        call.array(lines.stream().mapToInt(line -> line.supplyWarehouse() == input.warehouse() ? 0 : 1).toArray());
    }

    private static void readStock(ResultSet row, Map<StockKey, String> districtInfo) throws SQLException {
        while (row.next()) {
            districtInfo.put(new StockKey(row.getInt(1), row.getInt(2)), row.getString(4));
        }
    }

    private static <T> T found(@Nullable T value, TpccInput.Line line) throws SQLException {
        if (value == null) {
            throw new SQLException("there is no stock of item " + line.item() + " in warehouse "
                    + line.supplyWarehouse() + ": the population does not fit the run's scale", "02000");
        }
        return value;
    }

    private TpccOutput payment(TpccInput.Payment input, LocalDateTime now, HistoryKey key) throws SQLException {
        boolean byName = input.customer() instanceof TpccInput.Customer.ByLastName;
        BigDecimal amount = BigDecimal.valueOf(input.amountCents(), 2);
        Call call = new Call(byName ? TpccSql.PAYMENT_BY_NAME : TpccSql.PAYMENT_BY_NUMBER);
        call.decimal(amount);
        call.integers(input.warehouse());
        call.decimal(amount);
        call.integers(input.warehouse(), input.district());
        call.decimal(amount);
        call.decimal(amount);
        call.integers(input.district(), input.warehouse());
        call.decimal(amount);
        call.integers(input.customerWarehouse(), input.customerDistrict());
        customer(call, input.customerWarehouse(), input.customerDistrict(), input.customer());
        call.number(key.source());
        call.number(key.number());
        call.integers(input.customerDistrict(), input.customerWarehouse(), input.district(), input.warehouse());
        call.timestamp(now);
        call.decimal(amount);
        call.integers(input.warehouse(), input.warehouse(), input.district());
        Results results = call.execute();
        results.single("warehouse " + input.warehouse());
        results.single("district " + input.district() + " of warehouse " + input.warehouse());
        ResultSet row = results.single(input.customer() + " of district " + input.customerDistrict() + " of warehouse "
                + input.customerWarehouse());
        return new TpccOutput.Payment(row.getInt(1), cents(row.getBigDecimal(2)));
    }

    private TpccOutput orderStatus(TpccInput.OrderStatus input) throws SQLException {
        boolean byName = input.customer() instanceof TpccInput.Customer.ByLastName;
        Call call = new Call(byName ? TpccSql.ORDER_STATUS_BY_NAME : TpccSql.ORDER_STATUS_BY_NUMBER);
        call.integers(input.warehouse(), input.district());
        customer(call, input.warehouse(), input.district(), input.customer());
        ResultSet row = call.execute().next();
        int customer = 0;
        int order = 0;
        int lines = 0;
        while (row.next()) {
            customer = row.getInt(1);
            order = row.getInt(6);
            lines += order == 0 ? 0 : 1;
        }
        if (customer == 0) {
            throw new SQLException("there is no " + input.customer() + " in district " + input.district()
                    + " of warehouse " + input.warehouse(), "02000");
        }
        return new TpccOutput.OrderStatus(customer, order, lines);
    }

    private static void customer(Call call, int warehouse, int district, TpccInput.Customer customer)
            throws SQLException {
        switch (customer) {
            case TpccInput.Customer.ById(int id) -> call.integers(id);
            case TpccInput.Customer.ByLastName(String name) -> {
                call.integers(warehouse, district);
                call.text(name);
            }
        }
    }

    private TpccOutput delivery(TpccInput.Delivery input, LocalDateTime now) throws SQLException {
        Call first = new Call(TpccSql.DELIVERY_TAKE);
        first.integers(input.warehouse(), input.warehouse());
        ResultSet row = first.execute().next();
        List<TpccOutput.DeliveredOrder> orders = new ArrayList<>();
        while (row.next()) {
            orders.add(new TpccOutput.DeliveredOrder(row.getInt(1), row.getInt(2)));
        }
        if (!orders.isEmpty()) {
            orders.sort(Comparator.comparingInt(TpccOutput.DeliveredOrder::district));
            int[] districts = orders.stream().mapToInt(TpccOutput.DeliveredOrder::district).toArray();
            int[] numbers = orders.stream().mapToInt(TpccOutput.DeliveredOrder::order).toArray();
            Call second = new Call(TpccSql.DELIVERY_WRITE);
            second.integers(input.carrier());
            second.array(districts);
            second.array(numbers);
            second.integers(input.warehouse());
            second.timestamp(now);
            second.array(districts);
            second.array(numbers);
            second.integers(input.warehouse());
            second.array(districts);
            second.array(numbers);
            second.integers(input.warehouse(), input.warehouse(), input.warehouse());
            second.execute();
        }
        return new TpccOutput.Delivery(orders);
    }

    private TpccOutput stockLevel(TpccInput.StockLevel input) throws SQLException {
        Call call = new Call(TpccSql.STOCK_LEVEL);
        call.integers(input.warehouse(), input.district(), input.warehouse(), input.threshold());
        return new TpccOutput.StockLevel(call.execute().single("stock level").getInt(1));
    }

    static long cents(BigDecimal amount) {
        return amount.movePointRight(2).setScale(0, java.math.RoundingMode.HALF_UP).longValueExact();
    }

    /** Binds parameters one after the other, then executes. */
    private final class Call {
        private final PreparedStatement statement;
        private int index;

        Call(String sql) throws SQLException {
            PreparedStatement prepared = statements.get(sql);
            if (prepared == null) {
                prepared = connection.prepareStatement(sql);
                statements.put(sql, prepared);
            }
            statement = prepared;
        }

        void integers(int... values) throws SQLException {
            for (int value : values) {
                statement.setInt(++index, value);
            }
        }

        void number(long value) throws SQLException {
            statement.setLong(++index, value);
        }

        void decimal(BigDecimal value) throws SQLException {
            statement.setBigDecimal(++index, value);
        }

        void text(String value) throws SQLException {
            statement.setString(++index, value);
        }

        void timestamp(LocalDateTime value) throws SQLException {
            statement.setObject(++index, value);
        }

        void array(int[] values) throws SQLException {
            array(Objects.requireNonNull(postgres).createArrayOf("int4", values));
        }

        void array(String type, Object[] values) throws SQLException {
            array(Objects.requireNonNull(postgres).createArrayOf(type, values));
        }

        private void array(Array array) throws SQLException {
            statement.setArray(++index, array);
            array.free();
        }

        Results execute() throws SQLException {
            return new Results(statement, statement.execute());
        }
    }

    /** The results of statements that travelled together, in their order. */
    private static final class Results {
        private final PreparedStatement statement;
        private boolean isRows;
        private boolean first = true;

        Results(PreparedStatement statement, boolean isRows) {
            this.statement = statement;
            this.isRows = isRows;
        }

        ResultSet next() throws SQLException {
            if (!first) {
                isRows = statement.getMoreResults();
            }
            first = false;
            if (!isRows) {
                throw new SQLException("a result with rows was expected, the server sent "
                        + statement.getUpdateCount() + " updated rows", "08P01");
            }
            return statement.getResultSet();
        }

        ResultSet single(String what) throws SQLException {
            ResultSet row = next();
            if (!row.next()) {
                throw new SQLException("there is no " + what + ": the population does not fit the run's scale",
                        "02000");
            }
            return row;
        }
    }
}
