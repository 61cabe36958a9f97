package tutti.workload.tpcc;

import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * The nine tables of clause 1.3, parents before children, in types of the SQL standard.
 *
 * <p>
 * One deviation: HISTORY has no key in TPC-C, and rows without a key cannot be replicated. It gets the columns
 * {@code h_source} (who wrote the row: a terminal of a run, or the district that the initial row belongs to) and
 * {@code h_number} (counted by that source) as its primary key: unique without coordination and without a hot spot.
 */
public enum TpccTable {
    ITEM("i_id", //
            "i_id integer", "i_im_id integer", "i_name varchar(24)", "i_price numeric(5,2)", "i_data varchar(50)"),
    WAREHOUSE("w_id", //
            "w_id integer", "w_name varchar(10)", "w_street_1 varchar(20)", "w_street_2 varchar(20)",
            "w_city varchar(20)", "w_state char(2)", "w_zip char(9)", "w_tax numeric(4,4)", "w_ytd numeric(12,2)"),
    STOCK("s_w_id, s_i_id", //
            "s_w_id integer", "s_i_id integer", "s_quantity integer", "s_dist_01 char(24)", "s_dist_02 char(24)",
            "s_dist_03 char(24)", "s_dist_04 char(24)", "s_dist_05 char(24)", "s_dist_06 char(24)",
            "s_dist_07 char(24)", "s_dist_08 char(24)", "s_dist_09 char(24)", "s_dist_10 char(24)", "s_ytd integer",
            "s_order_cnt integer", "s_remote_cnt integer", "s_data varchar(50)"),
    DISTRICT("d_w_id, d_id", //
            "d_w_id integer", "d_id integer", "d_name varchar(10)", "d_street_1 varchar(20)", "d_street_2 varchar(20)",
            "d_city varchar(20)", "d_state char(2)", "d_zip char(9)", "d_tax numeric(4,4)", "d_ytd numeric(12,2)",
            "d_next_o_id integer"),
    CUSTOMER("c_w_id, c_d_id, c_id", //
            "c_w_id integer", "c_d_id integer", "c_id integer", "c_first varchar(16)", "c_middle char(2)",
            "c_last varchar(16)", "c_street_1 varchar(20)", "c_street_2 varchar(20)", "c_city varchar(20)",
            "c_state char(2)", "c_zip char(9)", "c_phone char(16)", "c_since timestamp", "c_credit char(2)",
            "c_credit_lim numeric(12,2)", "c_discount numeric(4,4)", "c_balance numeric(12,2)",
            "c_ytd_payment numeric(12,2)", "c_payment_cnt integer", "c_delivery_cnt integer", "c_data varchar(500)"),
    HISTORY("h_source, h_number", //
            "h_source bigint", "h_number bigint", "h_c_id integer", "h_c_d_id integer", "h_c_w_id integer",
            "h_d_id integer", "h_w_id integer", "h_date timestamp", "h_amount numeric(6,2)", "h_data varchar(24)"),
    ORDERS("o_w_id, o_d_id, o_id", //
            "o_w_id integer", "o_d_id integer", "o_id integer", "o_c_id integer", "o_entry_d timestamp",
            "o_carrier_id integer null", "o_ol_cnt integer", "o_all_local integer"),
    NEW_ORDER("no_w_id, no_d_id, no_o_id", //
            "no_w_id integer", "no_d_id integer", "no_o_id integer"),
    ORDER_LINE("ol_w_id, ol_d_id, ol_o_id, ol_number", //
            "ol_w_id integer", "ol_d_id integer", "ol_o_id integer", "ol_number integer", "ol_i_id integer",
            "ol_supply_w_id integer", "ol_delivery_d timestamp null", "ol_quantity integer", "ol_amount numeric(6,2)",
            "ol_dist_info char(24)");

    private final String primaryKey;
    // One per line: an enum holds nothing mutable.
    private final String definitions;

    TpccTable(String primaryKey, String... definitions) {
        this.primaryKey = primaryKey;
        this.definitions = String.join("\n", definitions);
    }

    /** As it is called in SQL. */
    public String sqlName() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Names of the columns in the order in which rows are generated. */
    public List<String> columns() {
        return definitions.lines().map(definition -> definition.substring(0, definition.indexOf(' '))).toList();
    }

    /** Creates it, with its primary key and without foreign keys. */
    String createStatement() {
        return definitions.lines()
                .map(definition -> definition.endsWith(" null") ? definition : definition + " not null")
                .collect(Collectors.joining(", ",
                        "create table " + sqlName() + " (",
                        ", constraint " + sqlName() + "_pkey primary key (" + primaryKey + "))"));
    }

    /** What is best created when the rows are there: secondary indexes, then foreign keys. */
    static List<String> indexAndForeignKeyStatements() {
        return List.of("create index customer_by_name on customer (c_w_id, c_d_id, c_last, c_first, c_id)",
                "create index orders_by_customer on orders (o_w_id, o_d_id, o_c_id, o_id)",
                foreignKey(DISTRICT, "district_warehouse", "d_w_id", WAREHOUSE),
                foreignKey(STOCK, "stock_warehouse", "s_w_id", WAREHOUSE),
                foreignKey(STOCK, "stock_item", "s_i_id", ITEM),
                foreignKey(CUSTOMER, "customer_district", "c_w_id, c_d_id", DISTRICT),
                foreignKey(HISTORY, "history_customer", "h_c_w_id, h_c_d_id, h_c_id", CUSTOMER),
                foreignKey(HISTORY, "history_district", "h_w_id, h_d_id", DISTRICT),
                foreignKey(ORDERS, "orders_customer", "o_w_id, o_d_id, o_c_id", CUSTOMER),
                foreignKey(NEW_ORDER, "new_order_orders", "no_w_id, no_d_id, no_o_id", ORDERS),
                foreignKey(ORDER_LINE, "order_line_orders", "ol_w_id, ol_d_id, ol_o_id", ORDERS),
                foreignKey(ORDER_LINE, "order_line_stock", "ol_supply_w_id, ol_i_id", STOCK));
    }

    private static String foreignKey(TpccTable child, String name, String columns, TpccTable parent) {
        return "alter table " + child.sqlName() + " add constraint " + name + " foreign key (" + columns
                + ") references " + parent.sqlName() + " (" + parent.primaryKey + ")";
    }
}
