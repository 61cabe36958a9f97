package tutti.check;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tutti.workload.tpcc.TpccScale;

/**
 * TPC-C's consistency conditions (clause 3.3.2, 1 to 12) over one database, in one snapshot of it. Each condition is a
 * query for the rows that violate it, so that a failure names them.
 */
public final class TpccConsistency {
    private static final int ROWS_SHOWN = 10;

    private TpccConsistency() {}

    /** A condition: what must hold, and the rows for which it does not. */
    private record Condition(String name, String text, String violations) {}

    /**
     * Checks all conditions.
     *
     * @param database name of what the connection leads to, for the report
     * @param connection without an open transaction; it is left in the same state
     * @param scale of the population: how many orders were delivered from the start, for condition 11
     */
    public static CheckResult check(String database, Connection connection, TpccScale scale) throws SQLException {
        long begun = System.nanoTime();
        List<CheckResult.Violation> violations = new ArrayList<>();
        boolean autoCommit = connection.getAutoCommit();
        connection.setAutoCommit(false);
        long districts;
        List<Condition> conditions = conditions(scale);
        try (Statement statement = connection.createStatement()) {
            statement.execute("set transaction isolation level repeatable read, read only");
            try (ResultSet row = statement.executeQuery("select count(*) from district")) {
                row.next();
                districts = row.getLong(1);
            }
            if (districts != (long) scale.warehouses() * scale.districts()) {
                violations.add(CheckResult.Violation.of("population", database, "there are " + districts
                        + " districts instead of those of " + scale));
            }
            for (Condition condition : conditions) {
                check(database, statement, condition, violations);
            }
        } finally {
            connection.rollback();
            connection.setAutoCommit(autoCommit);
        }
        return new CheckResult("TPC-C consistency of " + database, conditions.size() + " conditions over " + districts
                + " districts", violations, List.of(), (System.nanoTime() - begun) / 1e9);
    }

    private static void check(String database, Statement statement, Condition condition,
            List<CheckResult.Violation> violations) throws SQLException {
        String violating = " from (" + withoutFullJoin(condition.violations) + ") as violations";
        long count;
        try (ResultSet row = statement.executeQuery("select count(*)" + violating)) {
            row.next();
            count = row.getLong(1);
        }
        if (count == 0) {
            return;
        }
        List<Map<String, String>> rows = new ArrayList<>();
        try (ResultSet row = statement
                .executeQuery("select *" + violating + " order by 1, 2 limit " + ROWS_SHOWN)) {
            ResultSetMetaData columns = row.getMetaData();
            while (row.next()) {
                Map<String, String> values = new LinkedHashMap<>();
                for (int i = 1; i <= columns.getColumnCount(); i++) {
                    values.put(columns.getColumnLabel(i), String.valueOf(row.getString(i)));
                }
                rows.add(values);
            }
        }
        violations.add(new CheckResult.Violation("condition " + condition.name, database, condition.text, count, rows));
    }

    /** The rows of a full join are those of a left join and those of a right join; H2 has no other. */
    private static String withoutFullJoin(String query) {
        return query.contains("full join")
                ? query.replace("full join", "left join") + " union " + query.replace("full join", "right join")
                : query;
    }

    private static List<Condition> conditions(TpccScale scale) {
        return List.of(new Condition("1", "W_YTD = sum(D_YTD)", """
                select w_id, w_ytd, sum_d_ytd from warehouse full join
                (select d_w_id, sum(d_ytd) as sum_d_ytd from district group by d_w_id) as d on d_w_id = w_id
                where w_ytd is distinct from sum_d_ytd"""),
                // With nothing left to deliver there is no greatest NO_O_ID; the orders still have one.
                new Condition("2", "D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID)",
                        """
                                select d_w_id, d_id, d_next_o_id, max_o_id, max_no_o_id from district
                                left join (select o_w_id, o_d_id, max(o_id) as max_o_id from orders group by o_w_id, o_d_id) as o
                                on o_w_id = d_w_id and o_d_id = d_id
                                left join (select no_w_id, no_d_id, max(no_o_id) as max_no_o_id from new_order group by no_w_id, no_d_id)
                                as n on no_w_id = d_w_id and no_d_id = d_id
                                where d_next_o_id - 1 is distinct from max_o_id or max_no_o_id <> max_o_id"""),
                new Condition("3", "max(NO_O_ID) - min(NO_O_ID) + 1 = count(NEW_ORDER)",
                        """
                                select no_w_id, no_d_id, min(no_o_id) as least, max(no_o_id) as most, count(*) as new_orders from new_order
                                group by no_w_id, no_d_id having max(no_o_id) - min(no_o_id) + 1 <> count(*)"""),
                new Condition("4", "sum(O_OL_CNT) = count(ORDER_LINE)",
                        """
                                select coalesce(o_w_id, ol_w_id) as w_id, coalesce(o_d_id, ol_d_id) as d_id, sum_o_ol_cnt, lines
                                from (select o_w_id, o_d_id, sum(o_ol_cnt) as sum_o_ol_cnt from orders group by o_w_id, o_d_id) as o
                                full join (select ol_w_id, ol_d_id, count(*) as lines from order_line group by ol_w_id, ol_d_id) as l
                                on ol_w_id = o_w_id and ol_d_id = o_d_id where sum_o_ol_cnt is distinct from lines"""),
                new Condition("5", "O_CARRIER_ID is null exactly for orders in NEW_ORDER", """
                        select coalesce(o_w_id, no_w_id) as w_id, coalesce(o_d_id, no_d_id) as d_id,
                        coalesce(o_id, no_o_id) as o_id, o_carrier_id, no_o_id is not null as in_new_order
                        from orders full join new_order on no_w_id = o_w_id and no_d_id = o_d_id and no_o_id = o_id
                        where o_id is null or (o_carrier_id is null) <> (no_o_id is not null)"""),
                new Condition("6", "O_OL_CNT = number of the order's lines",
                        """
                                select coalesce(o_w_id, ol_w_id) as w_id, coalesce(o_d_id, ol_d_id) as d_id,
                                coalesce(o_id, ol_o_id) as o_id, o_ol_cnt, lines from orders full join
                                (select ol_w_id, ol_d_id, ol_o_id, count(*) as lines from order_line group by ol_w_id, ol_d_id, ol_o_id) as l
                                on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
                                where o_ol_cnt is distinct from lines"""),
                new Condition("7", "OL_DELIVERY_D is null exactly when O_CARRIER_ID is", """
                        select ol_w_id, ol_d_id, ol_o_id, ol_number, ol_delivery_d, o_carrier_id from order_line
                        left join orders on o_w_id = ol_w_id and o_d_id = ol_d_id and o_id = ol_o_id
                        where (ol_delivery_d is null) <> (o_carrier_id is null)"""),
                new Condition("8", "W_YTD = sum(H_AMOUNT)",
                        """
                                select w_id, w_ytd, sum_h_amount from warehouse full join
                                (select h_w_id, sum(h_amount) as sum_h_amount from history group by h_w_id) as h on h_w_id = w_id
                                where w_ytd is distinct from sum_h_amount"""),
                new Condition("9", "D_YTD = sum(H_AMOUNT)", """
                        select coalesce(d_w_id, h_w_id) as w_id, coalesce(d_id, h_d_id) as d_id, d_ytd, sum_h_amount
                        from district full join
                        (select h_w_id, h_d_id, sum(h_amount) as sum_h_amount from history group by h_w_id, h_d_id) as h
                        on h_w_id = d_w_id and h_d_id = d_id where d_ytd is distinct from sum_h_amount"""),
                new Condition("10", "C_BALANCE = sum(OL_AMOUNT of delivered lines) - sum(H_AMOUNT)",
                        """
                                select c_w_id, c_d_id, c_id, c_balance, delivered, paid from customer
                                left join (select o_w_id, o_d_id, o_c_id, sum(ol_amount) as delivered from orders
                                join order_line on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
                                where ol_delivery_d is not null group by o_w_id, o_d_id, o_c_id) as l
                                on o_w_id = c_w_id and o_d_id = c_d_id and o_c_id = c_id
                                left join (select h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) as paid from history
                                group by h_c_w_id, h_c_d_id, h_c_id) as h on h_c_w_id = c_w_id and h_c_d_id = c_d_id and h_c_id = c_id
                                where c_balance <> coalesce(delivered, 0) - coalesce(paid, 0)"""),
                // The clause states it for the initial population; each delivery since has been counted once more.
                new Condition("11", "count(ORDERS) - count(NEW_ORDER) = orders delivered from the start + sum"
                        + "(C_DELIVERY_CNT)",
                        """
                                        select d_w_id, d_id, orders, new_orders, deliveries from district
                                        left join (select o_w_id, o_d_id, count(*) as orders from orders group by o_w_id, o_d_id) as o
                                        on o_w_id = d_w_id and o_d_id = d_id
                                        left join (select no_w_id, no_d_id, count(*) as new_orders from new_order group by no_w_id, no_d_id)
                                        as n on no_w_id = d_w_id and no_d_id = d_id
                                        left join (select c_w_id, c_d_id, sum(c_delivery_cnt) as deliveries from customer
                                        group by c_w_id, c_d_id) as c on c_w_id = d_w_id and c_d_id = d_id
                                        where orders - coalesce(new_orders, 0) is distinct from deliveries + \
                                """
                                + scale.delivered()),
                new Condition("12", "C_BALANCE + C_YTD_PAYMENT = sum(OL_AMOUNT of delivered lines)", """
                        select c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, delivered from customer
                        left join (select o_w_id, o_d_id, o_c_id, sum(ol_amount) as delivered from orders
                        join order_line on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
                        where ol_delivery_d is not null group by o_w_id, o_d_id, o_c_id) as l
                        on o_w_id = c_w_id and o_d_id = c_d_id and o_c_id = c_id
                        where c_balance + c_ytd_payment <> coalesce(delivered, 0)"""));
    }
}
