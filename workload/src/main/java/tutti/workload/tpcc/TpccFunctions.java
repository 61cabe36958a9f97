package tutti.workload.tpcc;

import java.util.ArrayList;
import java.util.List;

/**
 * TPC-C's transactions as functions in PL/pgSQL, one call each. They compute nothing that differs from server to server: the time
 * and the keys of HISTORY are arguments. What they return is what {@link TpccOutput} has to know.
 */
public final class TpccFunctions {
    /** SQLSTATE with which NewOrder refuses an item that does not exist (clause 2.4.2.3). */
    static final String UNKNOWN_ITEM = "P0002";

    static final String NEW_ORDER = "select * from tpcc_new_order(?, ?, ?, ?, ?, ?, ?)";
    static final String PAYMENT = "select * from tpcc_payment(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    static final String DELIVERY = "select * from tpcc_delivery(?, ?, ?)";
    /** What only reads says so, in the same round trip: it then waits for nobody. */
    static final String ORDER_STATUS = "begin read only; select * from tpcc_order_status(?, ?, ?, ?); commit";
    static final String STOCK_LEVEL = "begin read only; select tpcc_stock_level(?, ?, ?); commit";

    private static final String CREATE_CUSTOMER = """
            create function tpcc_customer(p_w int, p_d int, p_c int, p_last text) returns int language sql stable as $$
            select case when p_c is not null then p_c else (select (array_agg(c_id order by c_first, c_id))
            [((count(*) + 1) / 2)::int] from customer where c_w_id = p_w and c_d_id = p_d and c_last = p_last) end $$""";

    private static final String CREATE_NEW_ORDER = """
            create function tpcc_new_order(p_w int, p_d int, p_c int, p_items int[], p_supply int[], p_quantities int[],
                p_now timestamp, out v_order int, out v_total numeric) language plpgsql as $$
            declare
                v_line record;
                v_price numeric;
                v_info text;
                v_district_tax numeric;
                v_warehouse_tax numeric;
                v_discount numeric;
            begin
                update district set d_next_o_id = d_next_o_id + 1 where d_w_id = p_w and d_id = p_d
                    returning d_next_o_id - 1, d_tax into strict v_order, v_district_tax;
                select w_tax, c_discount into strict v_warehouse_tax, v_discount
                    from warehouse join customer on c_w_id = w_id where w_id = p_w and c_d_id = p_d and c_id = p_c;
                insert into orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
                    values (p_w, p_d, v_order, p_c, p_now, null, cardinality(p_items),
                        case when p_w = all (p_supply) then 1 else 0 end);
                insert into new_order (no_w_id, no_d_id, no_o_id) values (p_w, p_d, v_order);
                v_total := 0;
                for v_line in select n, i, s, q from unnest(p_items, p_supply, p_quantities) with ordinality
                    as l (i, s, q, n) order by s, i, n
                loop
                    select i_price into v_price from item where i_id = v_line.i;
                    if not found then
                        raise exception 'item % does not exist', v_line.i using errcode = '%1$s';
                    end if;
                    update stock set s_quantity = s_quantity - v_line.q
                        + case when s_quantity >= v_line.q + 10 then 0 else 91 end,
                        s_ytd = s_ytd + v_line.q, s_order_cnt = s_order_cnt + 1,
                        s_remote_cnt = s_remote_cnt + case when v_line.s = p_w then 0 else 1 end
                        where s_w_id = v_line.s and s_i_id = v_line.i
                        returning case p_d when 1 then s_dist_01 when 2 then s_dist_02 when 3 then s_dist_03
                        when 4 then s_dist_04 when 5 then s_dist_05 when 6 then s_dist_06 when 7 then s_dist_07
                        when 8 then s_dist_08 when 9 then s_dist_09 else s_dist_10 end into strict v_info;
                    insert into order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id,
                        ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
                        values (p_w, p_d, v_order, v_line.n, v_line.i, v_line.s, null, v_line.q,
                            v_price * v_line.q, v_info);
                    v_total := v_total + v_price * v_line.q;
                end loop;
                v_total := v_total * (1 - v_discount) * (1 + v_warehouse_tax + v_district_tax);
            end $$"""
            .replace("%1$s", UNKNOWN_ITEM);

    private static final String CREATE_PAYMENT = """
            create function tpcc_payment(p_w int, p_d int, p_c_w int, p_c_d int, p_c int, p_last text, p_amount numeric,
                p_source bigint, p_number bigint, p_now timestamp, out v_customer int, out v_balance numeric)
                language plpgsql as $$
            declare
                v_warehouse text;
                v_district text;
            begin
                update warehouse set w_ytd = w_ytd + p_amount where w_id = p_w returning w_name into strict v_warehouse;
                update district set d_ytd = d_ytd + p_amount where d_w_id = p_w and d_id = p_d
                    returning d_name into strict v_district;
                update customer set c_balance = c_balance - p_amount, c_ytd_payment = c_ytd_payment + p_amount,
                    c_payment_cnt = c_payment_cnt + 1, c_data = case when c_credit = 'BC' then left(c_id || ' ' || c_d_id
                    || ' ' || c_w_id || ' ' || p_d || ' ' || p_w || ' ' || p_amount || '|' || c_data, 500)
                    else c_data end
                    where c_w_id = p_c_w and c_d_id = p_c_d and c_id = tpcc_customer(p_c_w, p_c_d, p_c, p_last)
                    returning c_id, c_balance into strict v_customer, v_balance;
                insert into history (h_source, h_number, h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount,
                    h_data) values (p_source, p_number, v_customer, p_c_d, p_c_w, p_d, p_w, p_now, p_amount,
                    v_warehouse || '    ' || v_district);
            end $$""";

    private static final String CREATE_DELIVERY = """
            create function tpcc_delivery(p_w int, p_carrier int, p_now timestamp)
                returns table (v_district int, v_order int) language plpgsql as $$
            declare
                v_customer int;
                v_amount numeric;
            begin
                for v_each in 1 .. 10 loop
                    v_district := v_each;
                    select no_o_id into v_order from new_order where no_w_id = p_w and no_d_id = v_district
                        order by no_o_id limit 1;
                    continue when not found;
                    delete from new_order where no_w_id = p_w and no_d_id = v_district and no_o_id = v_order;
                    update orders set o_carrier_id = p_carrier where o_w_id = p_w and o_d_id = v_district
                        and o_id = v_order returning o_c_id into strict v_customer;
                    update order_line set ol_delivery_d = p_now where ol_w_id = p_w and ol_d_id = v_district
                        and ol_o_id = v_order;
                    select sum(ol_amount) into strict v_amount from order_line where ol_w_id = p_w
                        and ol_d_id = v_district and ol_o_id = v_order;
                    update customer set c_balance = c_balance + v_amount, c_delivery_cnt = c_delivery_cnt + 1
                        where c_w_id = p_w and c_d_id = v_district and c_id = v_customer;
                    return next;
                end loop;
            end $$""";

    private static final String CREATE_ORDER_STATUS = """
            create function tpcc_order_status(p_w int, p_d int, p_c int, p_last text, out v_customer int, out v_order int,
                out v_lines int) language plpgsql stable as $$
            begin
                select c_id into strict v_customer from customer where c_w_id = p_w and c_d_id = p_d
                    and c_id = tpcc_customer(p_w, p_d, p_c, p_last);
                select max(o_id) into strict v_order from orders where o_w_id = p_w and o_d_id = p_d
                    and o_c_id = v_customer;
                select count(*) into strict v_lines from order_line where ol_w_id = p_w and ol_d_id = p_d
                    and ol_o_id = v_order;
            end $$""";

    private static final String CREATE_STOCK_LEVEL = """
            create function tpcc_stock_level(p_w int, p_d int, p_threshold int) returns int language sql stable as $$
            select count(*)::int from (select ol_i_id from district join order_line on ol_w_id = d_w_id
            and ol_d_id = d_id and ol_o_id >= d_next_o_id - 20 and ol_o_id < d_next_o_id
            where d_w_id = p_w and d_id = p_d group by ol_i_id) as sold
            where (select s_quantity from stock where s_w_id = p_w and s_i_id = ol_i_id) < p_threshold $$""";

    private TpccFunctions() {}

    /**
     * Declares conflict classes of each warehouse: its column divides every table but ITEM, which they share, and the functions that change something
     * say which warehouses they touch. To a database without Tutti these are comments and settings that nobody reads.
     */
    public static List<String> divisionStatements() {
        List<String> statements = new ArrayList<>();
        for (String column : List.of("warehouse.w_id", "stock.s_w_id", "district.d_w_id", "customer.c_w_id",
                "history.h_w_id", "orders.o_w_id", "new_order.no_w_id", "order_line.ol_w_id")) {
            statements.add("comment on column " + column + " is 'tutti.class warehouse/64'");
        }
        statements.add("comment on table item is 'tutti.class warehouse/64'");
        says(statements, "tpcc_new_order", "warehouse($1), district($1), customer($1), orders($1), new_order($1),"
                + " order_line($1), stock($5), item($1)");
        says(statements, "tpcc_payment", "warehouse($1), district($1), customer($3), history($1)");
        says(statements, "tpcc_delivery", "new_order($1), orders($1), order_line($1), customer($1)");
        return statements;
    }

    private static void says(List<String> statements, String function, String classes) {
        statements.add("alter function " + function + " set tutti.classes = '" + classes + "'");
    }

    /** What creates them, where the tables are. */
    public static List<String> createStatements() {
        return List.of(CREATE_CUSTOMER, CREATE_NEW_ORDER, CREATE_PAYMENT, CREATE_DELIVERY, CREATE_ORDER_STATUS,
                CREATE_STOCK_LEVEL);
    }
}
