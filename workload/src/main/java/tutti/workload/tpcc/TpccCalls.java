package tutti.workload.tpcc;

import java.math.BigDecimal;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Executes TPC-C's transactions by calling {@link TpccFunctions}, each in one round trip, which also commits it. One thread.
 */
final class TpccCalls {
    private final Connection connection;
    private final Map<String, PreparedStatement> statements = new HashMap<>();

    /** Of a connection that commits every statement by itself. */
    TpccCalls(Connection connection) {
        this.connection = connection;
    }

    TpccOutput execute(TpccInput input, LocalDateTime now, TpccSession.HistoryKey key) throws SQLException {
        return switch (input) {
            case TpccInput.NewOrder order -> newOrder(order, now);
            case TpccInput.Payment payment -> payment(payment, now, key);
            case TpccInput.OrderStatus status -> orderStatus(status);
            case TpccInput.Delivery delivery -> delivery(delivery, now);
            case TpccInput.StockLevel level -> stockLevel(level);
        };
    }

    /** Hands a transaction in whose result, if it changes something, may not be known yet. */
    void submit(TpccInput input, LocalDateTime now, TpccSession.HistoryKey key) throws SQLException {
        switch (input) {
            case TpccInput.NewOrder order -> bound(order, now).execute();
            case TpccInput.Payment payment -> bound(payment, now, key).execute();
            case TpccInput.OrderStatus status -> orderStatus(status);
            case TpccInput.Delivery delivery -> bound(delivery, now).execute();
            case TpccInput.StockLevel level -> stockLevel(level);
        }
    }

    /** Takes a transaction that changes something, to be handed in with others by {@link #handIn}; one that does not is executed. */
    void collect(TpccInput input, LocalDateTime now, TpccSession.HistoryKey key) throws SQLException {
        switch (input) {
            case TpccInput.NewOrder order -> bound(order, now).addBatch();
            case TpccInput.Payment payment -> bound(payment, now, key).addBatch();
            case TpccInput.OrderStatus status -> orderStatus(status);
            case TpccInput.Delivery delivery -> bound(delivery, now).addBatch();
            case TpccInput.StockLevel level -> stockLevel(level);
        }
    }

    /** Hands in what was collected, those of a kind together. */
    void handIn() throws SQLException {
        for (PreparedStatement each : statements.values()) {
            each.executeBatch();
        }
    }

    private PreparedStatement call(String sql) throws SQLException {
        PreparedStatement prepared = statements.get(sql);
        if (prepared == null) {
            prepared = connection.prepareStatement(sql);
            statements.put(sql, prepared);
        }
        return prepared;
    }

    private static int integers(PreparedStatement call, int from, int... values) throws SQLException {
        int index = from;
        for (int value : values) {
            call.setInt(index++, value);
        }
        return index;
    }

    private void array(PreparedStatement call, int index, int[] values) throws SQLException {
        Object[] boxed = java.util.Arrays.stream(values).boxed().toArray();
        Array array = connection.createArrayOf("int4", boxed);
        call.setArray(index, array);
        array.free();
    }

    private static int customer(PreparedStatement call, int from, TpccInput.Customer customer) throws SQLException {
        switch (customer) {
            case TpccInput.Customer.ById(int id) -> {
                call.setInt(from, id);
                call.setNull(from + 1, Types.VARCHAR);
            }
            case TpccInput.Customer.ByLastName(String name) -> {
                call.setNull(from, Types.INTEGER);
                call.setString(from + 1, name);
            }
        }
        return from + 2;
    }

    private PreparedStatement bound(TpccInput.NewOrder input, LocalDateTime now) throws SQLException {
        List<TpccInput.Line> lines = input.lines();
        PreparedStatement call = call(TpccFunctions.NEW_ORDER);
        int next = integers(call, 1, input.warehouse(), input.district(), input.customer());
        array(call, next, lines.stream().mapToInt(TpccInput.Line::item).toArray());
        array(call, next + 1, lines.stream().mapToInt(TpccInput.Line::supplyWarehouse).toArray());
        array(call, next + 2, lines.stream().mapToInt(TpccInput.Line::quantity).toArray());
        call.setObject(next + 3, now);
        return call;
    }

    private TpccOutput newOrder(TpccInput.NewOrder input, LocalDateTime now) throws SQLException {
        try (ResultSet row = bound(input, now).executeQuery()) {
            single(row, input);
            return new TpccOutput.NewOrder(row.getInt(1), TpccSession.cents(row.getBigDecimal(2)));
        } catch (SQLException e) {
            if (TpccFunctions.UNKNOWN_ITEM.equals(e.getSQLState())) {
                return new TpccOutput.UnknownItem();
            }
            throw e;
        }
    }

    private PreparedStatement bound(TpccInput.Payment input, LocalDateTime now, TpccSession.HistoryKey key)
            throws SQLException {
        PreparedStatement call = call(TpccFunctions.PAYMENT);
        int next = integers(call, 1, input.warehouse(), input.district(), input.customerWarehouse(),
                input.customerDistrict());
        next = customer(call, next, input.customer());
        call.setBigDecimal(next, BigDecimal.valueOf(input.amountCents(), 2));
        call.setLong(next + 1, key.source());
        call.setLong(next + 2, key.number());
        call.setObject(next + 3, now);
        return call;
    }

    private TpccOutput payment(TpccInput.Payment input, LocalDateTime now, TpccSession.HistoryKey key)
            throws SQLException {
        try (ResultSet row = bound(input, now, key).executeQuery()) {
            single(row, input);
            return new TpccOutput.Payment(row.getInt(1), TpccSession.cents(row.getBigDecimal(2)));
        }
    }

    private PreparedStatement bound(TpccInput.Delivery input, LocalDateTime now) throws SQLException {
        PreparedStatement call = call(TpccFunctions.DELIVERY);
        integers(call, 1, input.warehouse(), input.carrier());
        call.setObject(3, now);
        return call;
    }

    private TpccOutput delivery(TpccInput.Delivery input, LocalDateTime now) throws SQLException {
        PreparedStatement call = bound(input, now);
        List<TpccOutput.DeliveredOrder> orders = new ArrayList<>();
        try (ResultSet row = call.executeQuery()) {
            while (row.next()) {
                orders.add(new TpccOutput.DeliveredOrder(row.getInt(1), row.getInt(2)));
            }
        }
        return new TpccOutput.Delivery(orders);
    }

    private TpccOutput orderStatus(TpccInput.OrderStatus input) throws SQLException {
        PreparedStatement call = call(TpccFunctions.ORDER_STATUS);
        customer(call, integers(call, 1, input.warehouse(), input.district()), input.customer());
        try (ResultSet row = read(call)) {
            single(row, input);
            return new TpccOutput.OrderStatus(row.getInt(1), row.getInt(2), row.getInt(3));
        }
    }

    private TpccOutput stockLevel(TpccInput.StockLevel input) throws SQLException {
        PreparedStatement call = call(TpccFunctions.STOCK_LEVEL);
        integers(call, 1, input.warehouse(), input.district(), input.threshold());
        try (ResultSet row = read(call)) {
            single(row, input);
            return new TpccOutput.StockLevel(row.getInt(1));
        }
    }

    /** The rows of the one statement of several that returns some. */
    private static ResultSet read(PreparedStatement call) throws SQLException {
        boolean rows = call.execute();
        while (!rows && call.getUpdateCount() >= 0) {
            rows = call.getMoreResults();
        }
        @Nullable
        ResultSet found = rows ? call.getResultSet() : null;
        if (found == null) {
            throw new SQLException("a result with rows was expected", "08P01");
        }
        return found;
    }

    private static void single(ResultSet row, TpccInput input) throws SQLException {
        if (!row.next()) {
            throw new SQLException("nothing came of " + input + ": the population does not fit the run's scale",
                    "02000");
        }
    }
}
