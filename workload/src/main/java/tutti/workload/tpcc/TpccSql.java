package tutti.workload.tpcc;

/** The statements of {@link TpccSession}. Statements joined by semicolons travel to the server together. */
final class TpccSql {
    /** District; warehouse and customer; items. */
    static final String NEW_ORDER_READ = """
            update district set d_next_o_id = d_next_o_id + 1 where d_w_id = ? and d_id = ?
            returning d_next_o_id - 1, d_tax;
            select w_tax, c_discount, c_last, c_credit from warehouse join customer on c_w_id = w_id
            where w_id = ? and c_d_id = ? and c_id = ?;
            select i_id, i_price, i_name, i_data from item where i_id = any (?)""";

    static final String UPDATE_STOCK = """
            update stock set s_quantity = s_quantity - l.q + case when s_quantity >= l.q + 10 then 0 else 91 end,
            s_ytd = s_ytd + l.q, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + l.remote
            from (select ?::int as district) as n, unnest(?::int[], ?::int[], ?::int[], ?::int[]) as l (w, i, q, remote)
            where s_w_id = l.w and s_i_id = l.i
            returning s_w_id, s_i_id, s_quantity, case n.district when 1 then s_dist_01 when 2 then s_dist_02
            when 3 then s_dist_03 when 4 then s_dist_04 when 5 then s_dist_05 when 6 then s_dist_06
            when 7 then s_dist_07 when 8 then s_dist_08 when 9 then s_dist_09 else s_dist_10 end, s_data""";

    static final String NEW_ORDER_WRITE = """
            insert into orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
            values (?, ?, ?, ?, ?, null, ?, ?);
            insert into new_order (no_w_id, no_d_id, no_o_id) values (?, ?, ?);
            insert into order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d,
            ol_quantity, ol_amount, ol_dist_info)
            select ?, ?, ?, l.n, l.i, l.s, null, l.q, l.amount, l.info
            from unnest(?::int[], ?::int[], ?::int[], ?::numeric[], ?::text[]) with ordinality
            as l (i, s, q, amount, info, n)""";

    private static final String CUSTOMER_BY_NUMBER = "?";
    private static final String CUSTOMER_BY_NAME = """
            (select (array_agg(c_id order by c_first, c_id))[((count(*) + 1) / 2)::int] from customer
            where c_w_id = ? and c_d_id = ? and c_last = ?)""";

    private static final String PAYMENT = """
            update warehouse set w_ytd = w_ytd + ? where w_id = ?
            returning w_name, w_street_1, w_street_2, w_city, w_state, w_zip;
            update district set d_ytd = d_ytd + ? where d_w_id = ? and d_id = ?
            returning d_name, d_street_1, d_street_2, d_city, d_state, d_zip;
            with c as (update customer set c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?,
            c_payment_cnt = c_payment_cnt + 1, c_data = case when c_credit = 'BC' then left(c_id || ' ' || c_d_id
            || ' ' || c_w_id || ' ' || ?::int || ' ' || ?::int || ' ' || ?::numeric || '|' || c_data, 500)
            else c_data end
            where c_w_id = ? and c_d_id = ? and c_id = %s
            returning c_id, c_balance, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip,
            c_phone, c_since, c_credit, c_credit_lim, c_discount,
            case when c_credit = 'BC' then left(c_data, 200) end as c_data),
            h as (insert into history (h_source, h_number, h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date,
            h_amount, h_data)
            select ?, ?, c_id, ?, ?, ?, ?, ?, ?, (select w_name from warehouse where w_id = ?) || '    '
            || (select d_name from district where d_w_id = ? and d_id = ?) from c)
            select * from c""";
    static final String PAYMENT_BY_NUMBER = PAYMENT.formatted(CUSTOMER_BY_NUMBER);
    static final String PAYMENT_BY_NAME = PAYMENT.formatted(CUSTOMER_BY_NAME);

    private static final String ORDER_STATUS = """
            select c_id, c_first, c_middle, c_last, c_balance, o_id, o_entry_d, o_carrier_id, ol_i_id, ol_supply_w_id,
            ol_quantity, ol_amount, ol_delivery_d
            from customer
            left join lateral (select * from orders where o_w_id = c_w_id and o_d_id = c_d_id and o_c_id = c_id
            order by o_id desc limit 1) as o on true
            left join order_line on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
            where c_w_id = ? and c_d_id = ? and c_id = %s""";
    static final String ORDER_STATUS_BY_NUMBER = ORDER_STATUS.formatted(CUSTOMER_BY_NUMBER);
    static final String ORDER_STATUS_BY_NAME = ORDER_STATUS.formatted(CUSTOMER_BY_NAME);

    /**
     * The oldest undelivered order of each district. The districts are generated, so that the planner knows how few they
     * are and finds the orders by index, whatever its statistics of tables that change all the time.
     */
    static final String DELIVERY_TAKE = """
            with oldest as (select d, o from generate_series(1, 10) as d cross join lateral (select no_o_id as o
            from new_order where no_w_id = ? and no_d_id = d order by no_o_id limit 1) as first)
            delete from new_order using oldest where no_w_id = ? and no_d_id = d and no_o_id = o
            returning no_d_id, no_o_id""";

    static final String DELIVERY_WRITE = """
            update orders set o_carrier_id = ? from unnest(?::int[], ?::int[]) as l (d, o)
            where o_w_id = ? and o_d_id = l.d and o_id = l.o;
            update order_line set ol_delivery_d = ? from unnest(?::int[], ?::int[]) as l (d, o)
            where ol_w_id = ? and ol_d_id = l.d and ol_o_id = l.o;
            update customer set c_balance = c_balance + s.amount, c_delivery_cnt = c_delivery_cnt + 1
            from (select o_d_id, o_c_id, sum(ol_amount) as amount from unnest(?::int[], ?::int[]) as l (d, o)
            join orders on o_w_id = ? and o_d_id = l.d and o_id = l.o
            join order_line on ol_w_id = ? and ol_d_id = l.d and ol_o_id = l.o group by o_d_id, o_c_id) as s
            where c_w_id = ? and c_d_id = s.o_d_id and c_id = s.o_c_id""";

    /** The quantity is a subquery, so that stock is read by index for the few items sold and never as a whole. */
    static final String STOCK_LEVEL = """
            select count(*) from (select distinct ol_i_id from district join order_line on ol_w_id = d_w_id
            and ol_d_id = d_id and ol_o_id >= d_next_o_id - 20 and ol_o_id < d_next_o_id
            where d_w_id = ? and d_id = ?) as sold
            where (select s_quantity from stock where s_w_id = ? and s_i_id = ol_i_id) < ?""";

    private TpccSql() {}
}
