package tutti.workload.tpcc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.engine.postgres.server.PlainServer;

/** What the loader puts into a real PostgreSQL and what each transaction does to it. */
class TpccSessionTest {
    private static final LocalDateTime NOW = LocalDateTime.of(2026, 3, 4, 5, 6, 7, 123_456_000);
    private static final TpccScale SCALE = TpccScale.reduced(2);
    private static PlainServer server;
    private static TpccDatabase database;

    @BeforeAll
    static void start(@TempDir Path directory) throws Exception {
        server = PlainServer.start(directory);
        database = TpccDatabase.of("one", server.url("postgres"));
        List<Long> progress = new ArrayList<>();
        TpccLoader.Report report = new TpccLoader(new TpccPopulation(SCALE, 7), 1, 400)
                .load(database, (rows, _) -> progress.add(rows));
        assertEquals(report.rows(), progress.getLast());
    }

    @AfterAll
    static void stop() throws Exception {
        server.close();
    }

    @Test
    void populationHasTheRowsOfItsScale() throws SQLException {
        assertEquals(1_000, number("select count(*) from item"));
        assertEquals(2, number("select count(*) from warehouse"));
        assertEquals(2_000, number("select count(*) from stock"));
        assertEquals(20, number("select count(*) from district"));
        assertEquals(600, number("select count(*) from customer"));
        assertEquals(600, number("select count(*) from history where h_source < 0"));
        assertEquals(600, number("select count(*) from orders where o_id <= 30"));
        assertTrue(number("select count(*) from order_line") > 5 * 600);
        assertEquals(0, number("select count(*) from customer where c_last <> upper(c_last) or c_middle <> 'OE'"));
        long bad = number("select count(*) from customer where c_credit = 'BC'");
        assertTrue(bad > 20 && bad < 130, "a tenth of 600 has bad credit, here " + bad);
        long original = number("select count(*) from stock where s_data like '%ORIGINAL%'");
        assertTrue(original > 120 && original < 300, "a tenth of 2000 is original, here " + original);
    }

    @Test
    void batchedInsertsLoadTheSameRowsAsCopy() throws SQLException {
        try (Connection connection = database.open(); Statement statement = connection.createStatement()) {
            statement.execute("create schema other");
            statement.execute("set search_path to other");
            TpccPopulation population = new TpccPopulation(SCALE, 7);
            for (TpccTable table : List.of(TpccTable.ITEM, TpccTable.HISTORY)) {
                statement.execute(table.createStatement());
                InsertRows rows = new InsertRows(300, chunk -> {
                    try {
                        InsertRows.insert(connection, table, chunk);
                    } catch (SQLException e) {
                        throw new AssertionError(e);
                    }
                });
                population.parts().stream().filter(part -> part.table() == table)
                        .forEach(part -> population.generate(part, rows));
                rows.flush();
            }
        }
        assertEquals(1_000,
                number("select count(*) from (select * from item intersect select * from other.item) as x"));
        assertEquals(600, number("""
                select count(*) from (select * from history where h_source < 0 intersect select * from other.history)
                as x"""));
    }

    @Test
    void newOrderWritesOrderAndLinesAndTakesStock() throws SQLException {
        // The same item twice from the same warehouse: the second line must find what the first one left.
        TpccInput.NewOrder input = new TpccInput.NewOrder(1, 3, 5, List.of(new TpccInput.Line(17, 1, 10),
                new TpccInput.Line(17, 1, 10), new TpccInput.Line(18, 2, 4)));
        update("update stock set s_quantity = 15 where s_i_id in (17, 18)");
        long next = number("select d_next_o_id from district where d_w_id = 1 and d_id = 3");
        TpccOutput.NewOrder output = assertInstanceOf(TpccOutput.NewOrder.class, run(input));

        assertEquals(next, output.order());
        assertEquals(next + 1, number("select d_next_o_id from district where d_w_id = 1 and d_id = 3"));
        String order = " where o_w_id = 1 and o_d_id = 3 and o_id = " + output.order();
        assertEquals(1, number("select count(*) from orders join new_order on no_w_id = o_w_id and no_d_id = o_d_id "
                + "and no_o_id = o_id" + order + " and o_c_id = 5 and o_ol_cnt = 3 and o_all_local = 0 "
                + "and o_carrier_id is null and o_entry_d = '2026-03-04 05:06:07.123456'"));
        // 15 - 10 would leave less than 10: 15 - 10 + 91 = 96, then 86.
        assertEquals(86, number("select s_quantity from stock where s_w_id = 1 and s_i_id = 17"));
        assertEquals(11, number("select s_quantity from stock where s_w_id = 2 and s_i_id = 18"));
        assertEquals(1, number("select count(*) from stock where s_w_id = 1 and s_i_id = 17 and s_ytd = 20 "
                + "and s_order_cnt = 2 and s_remote_cnt = 0"));
        assertEquals(1, number("select count(*) from stock where s_w_id = 2 and s_i_id = 18 and s_ytd = 4 "
                + "and s_order_cnt = 1 and s_remote_cnt = 1"));
        assertEquals(3,
                number("select count(*) from order_line join item on i_id = ol_i_id join stock on s_i_id = ol_i_id "
                        + "and s_w_id = ol_supply_w_id where ol_w_id = 1 and ol_d_id = 3 and ol_o_id = "
                        + output.order()
                        + " and ol_amount = ol_quantity * i_price and ol_dist_info = s_dist_03 and ol_delivery_d is null"));
        assertEquals(number("select round(100 * sum(ol_amount) * (1 - c_discount) * (1 + w_tax + d_tax)) "
                + "from order_line, customer, warehouse, district where ol_w_id = 1 and ol_d_id = 3 and ol_o_id = "
                + output.order() + " and w_id = 1 and d_w_id = 1 and d_id = 3 and c_w_id = 1 and c_d_id = 3 "
                + "and c_id = 5 group by c_discount, w_tax, d_tax"), output.totalCents());
    }

    @Test
    void newOrderOfAnUnknownItemIsRolledBack() throws SQLException {
        TpccInput.NewOrder input = new TpccInput.NewOrder(2, 1, 5,
                List.of(new TpccInput.Line(20, 2, 1), new TpccInput.Line(SCALE.items() + 1, 2, 1)));
        long next = number("select d_next_o_id from district where d_w_id = 2 and d_id = 1");
        assertInstanceOf(TpccOutput.UnknownItem.class, run(input));
        assertEquals(next, number("select d_next_o_id from district where d_w_id = 2 and d_id = 1"));
    }

    @Test
    void paymentMovesMoneyByNumberAndByName() throws SQLException {
        update("update customer set c_credit = 'BC' where c_w_id = 2 and c_d_id = 4 and c_id = 6");
        // Three customers of one name: the second by first name is meant.
        update("update customer set c_last = 'SAME', c_first = 'first' || 5 - c_id where c_w_id = 2 and c_d_id = 4 "
                + "and c_id in (2, 3, 4)");
        run(new TpccInput.Payment(1, 9, 2, 4, new TpccInput.Customer.ById(6), 12_345), 1);
        TpccOutput.Payment byName = assertInstanceOf(TpccOutput.Payment.class,
                run(new TpccInput.Payment(1, 9, 2, 4, new TpccInput.Customer.ByLastName("SAME"), 700), 2));
        assertEquals(3, byName.customer());
        assertEquals(-1_700, byName.balanceCents());

        assertEquals(2,
                number("select count(*) from history join warehouse on w_id = h_w_id join district on d_w_id = w_id "
                        + "and d_id = h_d_id where h_source = 99 and h_w_id = 1 and h_d_id = 9 and h_c_w_id = 2 and h_c_d_id = 4 "
                        + "and (h_number, h_c_id, h_amount) in ((1, 6, 123.45), (2, 3, 7.00)) "
                        + "and h_data = w_name || '    ' || d_name"));
        assertEquals(30_000 + 12_345 + 700, number("select 100 * d_ytd from district where d_w_id = 1 and d_id = 9"));
        assertEquals(300_000 + 12_345 + 700, number("select 100 * w_ytd from warehouse where w_id = 1"));
        assertEquals(1, number("select count(*) from customer where c_w_id = 2 and c_d_id = 4 and c_id = 6 "
                + "and c_balance = -133.45 and c_ytd_payment = 133.45 and c_payment_cnt = 2 "
                + "and c_data like '6 4 2 9 1 123.45|%'"));
    }

    @Test
    void deliveryTakesTheOldestOrderOfEachDistrict() throws SQLException {
        // District 7 has nothing to deliver.
        update("delete from new_order where no_w_id = 2 and no_d_id = 7");
        long due = number(
                "select round(100 * sum(ol_amount)) from order_line where ol_w_id = 2 and ol_d_id = 8 and ol_o_id = 22");
        long customer = number("select o_c_id from orders where o_w_id = 2 and o_d_id = 8 and o_id = 22");
        TpccOutput.Delivery output = assertInstanceOf(TpccOutput.Delivery.class, run(new TpccInput.Delivery(2, 3)));
        assertEquals(9, output.orders().size());
        assertTrue(output.orders().stream().allMatch(order -> order.order() == 22 && order.district() != 7));
        assertEquals(9, number("select count(*) from orders where o_w_id = 2 and o_id = 22 and o_carrier_id = 3 "
                + "and o_d_id <> 7"));
        assertEquals(0, number("select count(*) from new_order where no_w_id = 2 and no_o_id = 22"));
        assertEquals(0, number("select count(*) from order_line where ol_w_id = 2 and ol_o_id = 22 and ol_d_id <> 7 "
                + "and ol_delivery_d is distinct from timestamp '2026-03-04 05:06:07.123456'"));
        assertEquals(due - 1_000, number("select 100 * c_balance from customer where c_w_id = 2 and c_d_id = 8 "
                + "and c_delivery_cnt = 1 and c_id = " + customer));
    }

    @Test
    void orderStatusAndStockLevelRead() throws SQLException {
        long customer = number("select o_c_id from orders where o_w_id = 2 and o_d_id = 10 and o_id = 30");
        TpccOutput.OrderStatus status = assertInstanceOf(TpccOutput.OrderStatus.class,
                run(new TpccInput.OrderStatus(2, 10, new TpccInput.Customer.ById((int) customer))));
        assertEquals(30, status.order());
        assertEquals(number("select o_ol_cnt from orders where o_w_id = 2 and o_d_id = 10 and o_id = 30"),
                status.lines());
        TpccOutput.StockLevel level = assertInstanceOf(TpccOutput.StockLevel.class,
                run(new TpccInput.StockLevel(2, 10, 15)));
        assertEquals(
                number("select count(distinct s_i_id) from stock join order_line on ol_i_id = s_i_id and s_w_id = 2 "
                        + "where ol_w_id = 2 and ol_d_id = 10 and ol_o_id between 11 and 30 and s_quantity < 15"),
                level.lowItems());
    }

    private static TpccOutput run(TpccInput input) throws SQLException {
        return run(input, 0);
    }

    private static TpccOutput run(TpccInput input, long historyNumber) throws SQLException {
        try (TpccSession session = new TpccSession(database.open())) {
            TpccOutput output = session.execute(input, NOW, new TpccSession.HistoryKey(99, historyNumber));
            if (output instanceof TpccOutput.UnknownItem) {
                session.rollback();
            } else {
                session.commit();
            }
            return output;
        }
    }

    private static void update(String sql) throws SQLException {
        try (Connection connection = database.open(); Statement statement = connection.createStatement()) {
            statement.executeUpdate(sql);
        }
    }

    private static long number(String sql) throws SQLException {
        try (Connection connection = database.open();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            assertTrue(row.next());
            return row.getLong(1);
        }
    }
}
