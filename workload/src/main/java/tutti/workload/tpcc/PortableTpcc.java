package tutti.workload.tpcc;

import java.math.BigDecimal;
import java.sql.SQLException;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * TPC-C's transactions in SQL that every engine understands: one row or one short list at a time, no arrays, no RETURNING.
 * What {@link TpccSession} does in a few round trips takes some thirty here, so it is for databases in the client's
 * virtual machine, and for nodes that have one. Like there, rows that many transactions want are updated first. One
 * thread.
 */
public final class PortableTpcc {
    private static final int DISTRICTS = 10;
    private static final int CUSTOMER_DATA_MAX = 500;
    private static final String CUSTOMER = " where c_w_id = ? and c_d_id = ? and c_id = ?";
    private static final String DISTRICT = " where d_w_id = ? and d_id = ?";
    private static final String ORDER = " where o_w_id = ? and o_d_id = ? and o_id = ?";
    private static final String LINES = " where ol_w_id = ? and ol_d_id = ? and ol_o_id = ?";

    private final Statements statements;

    /** Where statements are executed. */
    public interface Statements {
        /** Executes a statement that changes rows; answers how many. */
        int update(String sql, @Nullable Object... parameters) throws SQLException;

        /** Executes it once for each list of parameters. */
        void batch(String sql, List<@Nullable Object[]> parameters) throws SQLException;

        /** All rows of a query. */
        List<Row> query(String sql, @Nullable Object... parameters) throws SQLException;
    }

    /**
     * A row of a result.
     *
     * @param values as JDBC tells them
     */
    public record Row(List<@Nullable Object> values) {
        int integer(int column) {
            return values.get(column) instanceof Number number ? number.intValue() : 0;
        }

        BigDecimal decimal(int column) {
            return values.get(column) instanceof Number number ? new BigDecimal(number.toString()) : BigDecimal.ZERO;
        }

        String text(int column) {
            return String.valueOf(values.get(column));
        }
    }

    /** Executes by {@code statements}. */
    public PortableTpcc(Statements statements) {
        this.statements = statements;
    }

    /**
     * Runs a transaction up to its commit.
     *
     * @param now the time that the rows get
     * @param historyKey key of the row of HISTORY that a Payment writes
     */
    public TpccOutput execute(TpccInput input, LocalDateTime now, TpccSession.HistoryKey historyKey)
            throws SQLException {
        return switch (input) {
            case TpccInput.NewOrder order -> newOrder(order, now);
            case TpccInput.Payment payment -> payment(payment, now, historyKey);
            case TpccInput.OrderStatus status -> orderStatus(status);
            case TpccInput.Delivery delivery -> delivery(delivery, now);
            case TpccInput.StockLevel level -> stockLevel(level);
        };
    }

    private Row single(String what, String sql, @Nullable Object... parameters) throws SQLException {
        List<Row> rows = statements.query(sql, parameters);
        if (rows.isEmpty()) {
            throw missing(what);
        }
        return rows.getFirst();
    }

    private static SQLException missing(String what) {
        return new SQLException("there is no " + what + ": the population does not fit the run's scale", "02000");
    }

    // ------------------------------------------------------------------------------------------ new order

    private TpccOutput newOrder(TpccInput.NewOrder input, LocalDateTime now) throws SQLException {
        int warehouse = input.warehouse();
        int district = input.district();
        String where = "district " + district + " of warehouse " + warehouse;
        if (statements.update("update district set d_next_o_id = d_next_o_id + 1" + DISTRICT, warehouse,
                district) == 0) {
            throw missing(where);
        }
        Row row = single(where, "select d_next_o_id - 1, d_tax from district" + DISTRICT, warehouse, district);
        int order = row.integer(0);
        BigDecimal districtTax = row.decimal(1);
        row = single("customer " + input.customer(), "select w_tax, c_discount, c_last, c_credit from warehouse"
                + " join customer on c_w_id = w_id" + CUSTOMER, warehouse, district, input.customer());
        BigDecimal factor = BigDecimal.ONE.subtract(row.decimal(1))
                .multiply(BigDecimal.ONE.add(row.decimal(0)).add(districtTax));
        Map<Integer, BigDecimal> prices = prices(input.lines());
        if (prices.size() < input.lines().stream().mapToInt(TpccInput.Line::item).distinct().count()) {
            return new TpccOutput.UnknownItem();
        }
        statements.update("insert into orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt,"
                + " o_all_local) values (?, ?, ?, ?, ?, null, ?, ?)", warehouse, district, order, input.customer(),
                now, input.lines().size(), input.allLocal() ? 1 : 0);
        statements.update("insert into new_order (no_w_id, no_d_id, no_o_id) values (?, ?, ?)", warehouse, district,
                order);
        BigDecimal total = lines(input, order, prices);
        return new TpccOutput.NewOrder(order, TpccSession.cents(total.multiply(factor)));
    }

    private Map<Integer, BigDecimal> prices(List<TpccInput.Line> lines) throws SQLException {
        TreeSet<Integer> items = new TreeSet<>();
        lines.forEach(line -> items.add(line.item()));
        Map<Integer, BigDecimal> prices = new HashMap<>();
        for (Row row : statements.query("select i_id, i_price, i_name, i_data from item where i_id in "
                + list("?", items.size()), items.toArray())) {
            prices.put(row.integer(0), row.decimal(1));
        }
        return prices;
    }

    private static String list(String element, int count) {
        return "(" + String.join(", ", Collections.nCopies(count, element)) + ")";
    }

    private record StockKey(int warehouse, int item) {}

    /** Takes the items from stock and enters the lines; answers what they cost. */
    private BigDecimal lines(TpccInput.NewOrder input, int order, Map<Integer, BigDecimal> prices)
            throws SQLException {
        Map<StockKey, String> info = stock(input);
        List<TpccInput.Line> sorted = new ArrayList<>(input.lines());
        // Sorted, so that rows are mostly changed in the same order.
        sorted.sort(Comparator.comparingInt(TpccInput.Line::supplyWarehouse).thenComparingInt(TpccInput.Line::item));
        List<@Nullable Object[]> updates = new ArrayList<>();
        for (TpccInput.Line line : sorted) {
            updates.add(new Object[]{line.quantity() + 10, line.quantity(), 91 - line.quantity(), line.quantity(),
                    line.supplyWarehouse() == input.warehouse() ? 0 : 1, line.supplyWarehouse(), line.item()});
        }
        statements.batch("update stock set s_quantity = case when s_quantity >= ? then s_quantity - ?"
                + " else s_quantity + ? end, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1,"
                + " s_remote_cnt = s_remote_cnt + ? where s_w_id = ? and s_i_id = ?", updates);
        BigDecimal total = BigDecimal.ZERO;
        List<@Nullable Object[]> inserts = new ArrayList<>();
        int number = 0;
        for (TpccInput.Line line : input.lines()) {
            BigDecimal price = prices.get(line.item());
            String district = info.get(new StockKey(line.supplyWarehouse(), line.item()));
            if (price == null || district == null) {
                throw missing("stock of item " + line.item() + " in warehouse " + line.supplyWarehouse());
            }
            BigDecimal amount = price.multiply(BigDecimal.valueOf(line.quantity()));
            total = total.add(amount);
            inserts.add(new Object[]{input.warehouse(), input.district(), order, ++number, line.item(),
                    line.supplyWarehouse(), line.quantity(), amount, district});
        }
        statements.batch("insert into order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id,"
                + " ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) values (?, ?, ?, ?, ?, ?, null, ?, ?, ?)",
                inserts);
        return total;
    }

    /**
     * What the stock rows say of the district, before they are changed. Asked for by whole keys: neither H2 nor HSQLDB finds
     * rows by an index with the first column's value and a list of the second's, but reads the whole warehouse.
     */
    private Map<StockKey, String> stock(TpccInput.NewOrder input) throws SQLException {
        TreeSet<StockKey> wanted = new TreeSet<>(
                Comparator.comparingInt(StockKey::warehouse).thenComparingInt(StockKey::item));
        input.lines().forEach(line -> wanted.add(new StockKey(line.supplyWarehouse(), line.item())));
        List<@Nullable Object> parameters = new ArrayList<>();
        for (StockKey key : wanted) {
            parameters.add(key.warehouse());
            parameters.add(key.item());
        }
        String column = String.format(Locale.ROOT, "s_dist_%02d", input.district());
        Map<StockKey, String> info = new HashMap<>();
        for (Row row : statements.query("select s_w_id, s_i_id, " + column + ", s_data, s_quantity from stock"
                + " where (s_w_id, s_i_id) in " + list("(?, ?)", wanted.size()), parameters.toArray())) {
            info.put(new StockKey(row.integer(0), row.integer(1)), row.text(2));
        }
        return info;
    }

    // ------------------------------------------------------------------------------------------ payment

    private TpccOutput payment(TpccInput.Payment input, LocalDateTime now, TpccSession.HistoryKey key)
            throws SQLException {
        BigDecimal amount = BigDecimal.valueOf(input.amountCents(), 2);
        int warehouse = input.warehouse();
        int district = input.district();
        statements.update("update warehouse set w_ytd = w_ytd + ? where w_id = ?", amount, warehouse);
        Row there = single("warehouse " + warehouse, "select w_name, w_street_1, w_street_2, w_city, w_state, w_zip"
                + " from warehouse where w_id = ?", warehouse);
        statements.update("update district set d_ytd = d_ytd + ?" + DISTRICT, amount, warehouse, district);
        Row in = single("district " + district + " of warehouse " + warehouse, "select d_name, d_street_1, d_street_2,"
                + " d_city, d_state, d_zip from district" + DISTRICT, warehouse, district);
        int customer = customer(input.customerWarehouse(), input.customerDistrict(), input.customer());
        Object[] who = {input.customerWarehouse(), input.customerDistrict(), customer};
        Row row = single("customer " + customer, "select c_balance, c_credit, c_data, c_first, c_middle, c_last,"
                + " c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit_lim, c_discount"
                + " from customer" + CUSTOMER, who);
        String paid = "update customer set c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?,"
                + " c_payment_cnt = c_payment_cnt + 1";
        if (row.text(1).strip().equals("BC")) {
            String data = customer + " " + who[1] + " " + who[0] + " " + district + " " + warehouse + " " + amount + "|"
                    + row.text(2);
            statements.update(paid + ", c_data = ?" + CUSTOMER, amount, amount,
                    data.substring(0, Math.min(CUSTOMER_DATA_MAX, data.length())), who[0], who[1], customer);
        } else {
            statements.update(paid + CUSTOMER, amount, amount, who[0], who[1], customer);
        }
        statements.update("insert into history (h_source, h_number, h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date,"
                + " h_amount, h_data) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", key.source(), key.number(), customer,
                who[1], who[0], district, warehouse, now, amount, there.text(0) + "    " + in.text(0));
        return new TpccOutput.Payment(customer, TpccSession.cents(row.decimal(0).subtract(amount)));
    }

    private int customer(int warehouse, int district, TpccInput.Customer customer) throws SQLException {
        return switch (customer) {
            case TpccInput.Customer.ById(int id) -> id;
            case TpccInput.Customer.ByLastName(String name) -> {
                List<Row> sharing = statements.query("select c_id from customer where c_w_id = ? and c_d_id = ?"
                        + " and c_last = ? order by c_first, c_id", warehouse, district, name);
                if (sharing.isEmpty()) {
                    throw missing(customer + " in district " + district + " of warehouse " + warehouse);
                }
                yield sharing.get((sharing.size() + 1) / 2 - 1).integer(0);
            }
        };
    }

    // ------------------------------------------------------------------------------------------ the others

    private TpccOutput orderStatus(TpccInput.OrderStatus input) throws SQLException {
        int warehouse = input.warehouse();
        int district = input.district();
        int customer = customer(warehouse, district, input.customer());
        single("customer " + customer, "select c_first, c_middle, c_last, c_balance from customer" + CUSTOMER,
                warehouse, district, customer);
        List<Row> last = statements.query("select o_id, o_entry_d, o_carrier_id from orders where o_w_id = ?"
                + " and o_d_id = ? and o_c_id = ? order by o_id desc limit 1", warehouse, district, customer);
        if (last.isEmpty()) {
            return new TpccOutput.OrderStatus(customer, 0, 0);
        }
        int order = last.getFirst().integer(0);
        return new TpccOutput.OrderStatus(customer, order, statements.query("select ol_i_id, ol_supply_w_id,"
                + " ol_quantity, ol_amount, ol_delivery_d from order_line" + LINES, warehouse, district, order)
                .size());
    }

    private TpccOutput delivery(TpccInput.Delivery input, LocalDateTime now) throws SQLException {
        int warehouse = input.warehouse();
        List<TpccOutput.DeliveredOrder> delivered = new ArrayList<>();
        for (int district = 1; district <= DISTRICTS; district++) {
            List<Row> oldest = statements.query("select no_o_id from new_order where no_w_id = ? and no_d_id = ?"
                    + " order by no_w_id, no_d_id, no_o_id limit 1", warehouse, district);
            if (oldest.isEmpty()) {
                continue;
            }
            int order = oldest.getFirst().integer(0);
            statements.update("delete from new_order where no_w_id = ? and no_d_id = ? and no_o_id = ?", warehouse,
                    district, order);
            Row row = single("order " + order, "select o_c_id from orders" + ORDER, warehouse, district, order);
            statements.update("update orders set o_carrier_id = ?" + ORDER, input.carrier(), warehouse, district,
                    order);
            statements.update("update order_line set ol_delivery_d = ?" + LINES, now, warehouse, district, order);
            Row sum = single("lines of order " + order, "select sum(ol_amount) from order_line" + LINES, warehouse,
                    district, order);
            statements.update("update customer set c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1"
                    + CUSTOMER, sum.decimal(0), warehouse, district, row.integer(0));
            delivered.add(new TpccOutput.DeliveredOrder(district, order));
        }
        return new TpccOutput.Delivery(delivered);
    }

    private TpccOutput stockLevel(TpccInput.StockLevel input) throws SQLException {
        int next = single("district " + input.district(), "select d_next_o_id from district" + DISTRICT,
                input.warehouse(), input.district()).integer(0);
        Row low = single("stock", "select count(distinct s_i_id) from order_line join stock on s_w_id = ol_w_id"
                + " and s_i_id = ol_i_id where ol_w_id = ? and ol_d_id = ? and ol_o_id >= ? and ol_o_id < ?"
                + " and s_quantity < ?", input.warehouse(), input.district(), next - 20, next, input.threshold());
        return new TpccOutput.StockLevel(low.integer(0));
    }
}
