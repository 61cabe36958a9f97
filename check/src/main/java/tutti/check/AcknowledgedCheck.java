package tutti.check;

import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tutti.workload.tpcc.TpccLedger;
import tutti.workload.tpcc.TpccOutput;

/**
 * Checks that every transaction that a TPC-C run's clients were told had committed is in the database, exactly once and
 * as they were told, and nothing that they were told had failed. Transactions in doubt may be there or not, but not in
 * part. Looks at one database, in one snapshot; replicas are compared with each other by {@link ReplicaComparison}.
 *
 * <p>
 * Rules: an acknowledged order, payment or delivery is there ({@code missing}) with the values acknowledged
 * ({@code different}); no two acknowledged transactions were given the same order number or delivered the same order
 * ({@code doubled}); and every row that the run could have made belongs to a transaction that was acknowledged or is in
 * doubt ({@code unexplained}): an aborted transaction that left something behind, or one executed twice, shows here.
 */
public final class AcknowledgedCheck {
    private static final int FETCH_ROWS = 5_000;

    private final TpccLedger ledger;
    private final Findings findings = new Findings();

    private AcknowledgedCheck(TpccLedger ledger) {
        this.ledger = ledger;
    }

    private record OrderKey(int warehouse, int district, int order) {}

    private record HistoryKey(long source, long number) {}

    /**
     * Checks.
     *
     * @param database name of what the connection leads to, for the report
     * @param connection without an open transaction; it is left in the same state
     * @param ledger of the only run that changed the database since the run began
     */
    public static CheckResult check(String database, Connection connection, TpccLedger ledger) throws SQLException {
        long begun = System.nanoTime();
        AcknowledgedCheck check = new AcknowledgedCheck(ledger);
        List<TpccLedger.Entry> entries = ledger.entries();
        boolean autoCommit = connection.getAutoCommit();
        connection.setAutoCommit(false);
        try {
            try (Statement statement = connection.createStatement()) {
                statement.execute("set transaction isolation level repeatable read, read only");
            }
            check.orders(connection, entries);
            check.deliveries(connection, entries);
            check.payments(connection, entries);
        } finally {
            connection.rollback();
            connection.setAutoCommit(autoCommit);
        }
        long inDoubt = entries.stream().filter(entry -> !entry.acknowledged()).count();
        return new CheckResult("acknowledged transactions at " + database, entries.size() - inDoubt
                + " acknowledged, " + inDoubt + " in doubt of which " + check.findings.inDoubtFound + " are there",
                check.findings.violations(), List.of(), (System.nanoTime() - begun) / 1e9);
    }

    private void orders(Connection connection, List<TpccLedger.Entry> entries) throws SQLException {
        // An order in doubt did not commit if its number was given to another, so the acknowledged one counts.
        Map<OrderKey, List<TpccLedger.NewOrder>> expected = new HashMap<>();
        List<TpccLedger.NewOrder> unnumbered = new ArrayList<>();
        for (TpccLedger.Entry entry : entries) {
            if (entry instanceof TpccLedger.NewOrder order) {
                OrderKey key = new OrderKey(order.warehouse(), order.district(), order.order());
                if (order.order() == TpccLedger.UNKNOWN) {
                    unnumbered.add(order);
                    continue;
                }
                List<TpccLedger.NewOrder> same = expected.computeIfAbsent(key, _ -> new ArrayList<>(1));
                if (order.acknowledged() && same.stream().anyMatch(TpccLedger.NewOrder::acknowledged)) {
                    findings.add("doubled", "orders", "two acknowledged orders have the same number", row(key));
                }
                same.add(order);
            }
        }
        try (PreparedStatement statement = streaming(connection, """
                select o_w_id, o_d_id, o_id, o_c_id, o_ol_cnt, o_entry_d, (select count(*) from order_line
                where ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id) from orders
                where o_id >= ?""", lowest(TpccLedger.Mark::nextOrder));
                ResultSet row = statement.executeQuery()) {
            while (row.next()) {
                OrderKey key = new OrderKey(row.getInt(1), row.getInt(2), row.getInt(3));
                if (key.order < mark(key).nextOrder()) {
                    continue;
                }
                order(key, expected.remove(key), unnumbered, row);
            }
        }
        expected.forEach((key, orders) -> {
            if (orders.stream().anyMatch(TpccLedger.NewOrder::acknowledged)) {
                findings.add("missing", "orders", "acknowledged orders are not there", row(key));
            }
        });
    }

    private void order(OrderKey key, @Nullable List<TpccLedger.NewOrder> numbered,
            List<TpccLedger.NewOrder> unnumbered, ResultSet row) throws SQLException {
        List<TpccLedger.NewOrder> candidates = numbered;
        if (numbered == null || numbered.stream().noneMatch(TpccLedger.NewOrder::acknowledged)) {
            candidates = unnumbered.stream()
                    .filter(order -> order.warehouse() == key.warehouse && order.district() == key.district)
                    .collect(Collectors.toCollection(ArrayList::new));
            candidates.addAll(numbered == null ? List.of() : numbered);
        }
        if (candidates == null || candidates.isEmpty()) {
            findings.add("unexplained", "orders", "nobody was told of these orders, nor are they in doubt", row(key));
            return;
        }
        int customer = row.getInt(4);
        int lines = row.getInt(5);
        LocalDateTime enteredAt = row.getObject(6, LocalDateTime.class);
        long linesThere = row.getLong(7);
        TpccLedger.NewOrder found = null;
        for (TpccLedger.NewOrder candidate : candidates) {
            if (candidate.customer() == customer && candidate.lines() == lines && lines == linesThere
                    && candidate.enteredAt().equals(enteredAt)) {
                found = candidate;
            }
        }
        boolean acknowledged = candidates.stream().anyMatch(TpccLedger.NewOrder::acknowledged);
        if (found == null || (acknowledged && !found.acknowledged())) {
            Map<String, String> values = row(key);
            values.put("customer, lines, entered",
                    customer + ", " + lines + " (" + linesThere + " there), " + enteredAt);
            values.put("told", candidates.toString());
            findings.add("different", "orders", "orders are not as their clients were told", values);
        } else if (!found.acknowledged()) {
            findings.inDoubtFound++;
            // Its terminal tells orders apart by the time at which they were entered: it is this one.
            unnumbered.remove(found);
        }
    }

    private void deliveries(Connection connection, List<TpccLedger.Entry> entries) throws SQLException {
        Map<OrderKey, List<TpccLedger.Delivery>> expected = new HashMap<>();
        List<TpccLedger.Delivery> unnumbered = new ArrayList<>();
        for (TpccLedger.Entry entry : entries) {
            if (entry instanceof TpccLedger.Delivery delivery) {
                for (TpccOutput.DeliveredOrder order : delivery.orders()) {
                    OrderKey key = new OrderKey(delivery.warehouse(), order.district(), order.order());
                    if (order.order() == TpccLedger.UNKNOWN) {
                        unnumbered.add(delivery);
                        continue;
                    }
                    List<TpccLedger.Delivery> same = expected.computeIfAbsent(key, _ -> new ArrayList<>(1));
                    if (delivery.acknowledged() && same.stream().anyMatch(TpccLedger.Delivery::acknowledged)) {
                        findings.add("doubled", "deliveries", "two acknowledged deliveries had the same order",
                                row(key));
                    }
                    same.add(delivery);
                }
            }
        }
        Map<TpccLedger.Delivery, Integer> inDoubtParts = new HashMap<>();
        try (PreparedStatement statement = streaming(connection, """
                select o_w_id, o_d_id, o_id, o_carrier_id, min(ol_delivery_d), max(ol_delivery_d),
                count(*) - count(ol_delivery_d) as undelivered
                from orders join order_line on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
                where o_carrier_id is not null and o_id >= ? group by o_w_id, o_d_id, o_id""",
                lowest(TpccLedger.Mark::firstUndelivered));
                ResultSet row = statement.executeQuery()) {
            while (row.next()) {
                OrderKey key = new OrderKey(row.getInt(1), row.getInt(2), row.getInt(3));
                if (key.order < mark(key).firstUndelivered()) {
                    continue;
                }
                List<TpccLedger.Delivery> candidates = new ArrayList<>(
                        unnumbered.stream().filter(one -> one.warehouse() == key.warehouse).toList());
                candidates.addAll(expected.getOrDefault(key, List.of()));
                expected.remove(key);
                TpccLedger.Delivery found = delivery(key, candidates, row);
                if (found != null && !found.acknowledged()) {
                    inDoubtParts.merge(found, 1, Integer::sum);
                }
            }
        }
        expected.forEach((key, deliveries) -> {
            if (deliveries.stream().anyMatch(TpccLedger.Delivery::acknowledged)) {
                findings.add("missing", "deliveries", "orders whose delivery was acknowledged are not delivered",
                        row(key));
            }
        });
        inDoubtParts.forEach((delivery, parts) -> {
            findings.inDoubtFound++;
            if (parts < delivery.orders().size()) {
                findings.add("different", "deliveries", "deliveries in doubt are there in part",
                        new LinkedHashMap<>(Map.of("delivery", delivery.toString(), "orders there",
                                parts.toString())));
            }
        });
    }

    private TpccLedger.@Nullable Delivery delivery(OrderKey key, List<TpccLedger.Delivery> candidates, ResultSet row)
            throws SQLException {
        if (candidates.isEmpty()) {
            findings.add("unexplained", "deliveries", "nobody was told that these orders were delivered", row(key));
            return null;
        }
        int carrier = row.getInt(4);
        LocalDateTime first = row.getObject(5, LocalDateTime.class);
        LocalDateTime last = row.getObject(6, LocalDateTime.class);
        boolean complete = row.getInt(7) == 0 && first != null && first.equals(last);
        TpccLedger.Delivery found = null;
        for (TpccLedger.Delivery candidate : candidates) {
            if (complete && candidate.carrier() == carrier && candidate.deliveredAt().equals(first)) {
                found = candidate;
            }
        }
        boolean acknowledged = candidates.stream().anyMatch(TpccLedger.Delivery::acknowledged);
        if (found == null || (acknowledged && !found.acknowledged())) {
            Map<String, String> values = row(key);
            values.put("carrier, lines delivered", carrier + ", " + first + " to " + last);
            values.put("told", candidates.toString());
            findings.add("different", "deliveries", "deliveries are not as their clients were told", values);
        }
        return found;
    }

    private void payments(Connection connection, List<TpccLedger.Entry> entries) throws SQLException {
        Map<HistoryKey, TpccLedger.Payment> expected = new HashMap<>();
        for (TpccLedger.Entry entry : entries) {
            if (entry instanceof TpccLedger.Payment payment) {
                HistoryKey key = new HistoryKey(payment.historySource(), payment.historyNumber());
                if (expected.put(key, payment) != null) {
                    findings.add("doubled", "history", "two payments have the same key", row(key));
                }
            }
        }
        try (PreparedStatement statement = streaming(connection, """
                select h_source, h_number, h_w_id, h_d_id, h_c_w_id, h_c_d_id, h_c_id, h_amount from history
                where h_source > ?""", 0);
                ResultSet row = statement.executeQuery()) {
            while (row.next()) {
                HistoryKey key = new HistoryKey(row.getLong(1), row.getLong(2));
                if (!ledger.isOfThisRun(key.source)) {
                    continue;
                }
                payment(key, expected.remove(key), row);
            }
        }
        expected.forEach((key, payment) -> {
            if (payment.acknowledged()) {
                findings.add("missing", "history", "acknowledged payments are not there", row(key));
            }
        });
    }

    private void payment(HistoryKey key, TpccLedger.@Nullable Payment payment, ResultSet row) throws SQLException {
        if (payment == null) {
            findings.add("unexplained", "history", "nobody was told of these payments, nor are they in doubt",
                    row(key));
            return;
        }
        BigDecimal amount = row.getBigDecimal(8);
        TpccLedger.Payment there = new TpccLedger.Payment(payment.terminal(), payment.acknowledged(), row.getInt(3),
                row.getInt(4), row.getInt(5), row.getInt(6), row.getInt(7), amount.movePointRight(2).longValueExact(),
                key.source, key.number);
        if (!there.equals(payment)
                && !(payment.customer() == TpccLedger.UNKNOWN && there.equals(known(payment, there)))) {
            Map<String, String> values = row(key);
            values.put("there", there.toString());
            values.put("told", payment.toString());
            findings.add("different", "history", "payments are not as their clients were told", values);
        } else if (!payment.acknowledged()) {
            findings.inDoubtFound++;
        }
    }

    /** A payment whose client did not learn which customer had paid. */
    private static TpccLedger.Payment known(TpccLedger.Payment payment, TpccLedger.Payment there) {
        return new TpccLedger.Payment(payment.terminal(), payment.acknowledged(), payment.warehouse(),
                payment.district(), payment.customerWarehouse(), payment.customerDistrict(), there.customer(),
                payment.amountCents(), payment.historySource(), payment.historyNumber());
    }

    private TpccLedger.Mark mark(OrderKey key) {
        TpccLedger.Mark mark = ledger.baseline().districts()
                .get(new TpccLedger.District(key.warehouse, key.district));
        // A district that was not there before the run: all of it is the run's.
        return mark == null ? new TpccLedger.Mark(0, 0) : mark;
    }

    private int lowest(ToIntFunction<TpccLedger.Mark> of) {
        return ledger.baseline().districts().values().stream().mapToInt(of).min().orElse(0);
    }

    private static PreparedStatement streaming(Connection connection, String sql, int from) throws SQLException {
        PreparedStatement statement = connection.prepareStatement(sql);
        statement.setFetchSize(FETCH_ROWS);
        statement.setInt(1, from);
        return statement;
    }

    private static Map<String, String> row(OrderKey key) {
        Map<String, String> row = new LinkedHashMap<>();
        row.put("w_id", Integer.toString(key.warehouse));
        row.put("d_id", Integer.toString(key.district));
        row.put("o_id", Integer.toString(key.order));
        return row;
    }

    private static Map<String, String> row(HistoryKey key) {
        Map<String, String> row = new LinkedHashMap<>();
        row.put("h_source", Long.toString(key.source));
        row.put("h_number", Long.toString(key.number));
        return row;
    }

    /** Collects violations by rule and subject, with the first rows of each. */
    private static final class Findings {
        private static final int ROWS_SHOWN = 10;
        private final Map<String, Finding> found = new LinkedHashMap<>();
        private long inDoubtFound;

        private static final class Finding {
            private final String rule;
            private final String subject;
            private final String text;
            private final List<Map<String, String>> rows = new ArrayList<>();
            private long count;

            Finding(String rule, String subject, String text) {
                this.rule = rule;
                this.subject = subject;
                this.text = text;
            }
        }

        void add(String rule, String subject, String text, Map<String, String> row) {
            Finding finding = found.computeIfAbsent(rule + subject + text, _ -> new Finding(rule, subject, text));
            finding.count++;
            if (finding.rows.size() < ROWS_SHOWN) {
                finding.rows.add(row);
            }
        }

        List<CheckResult.Violation> violations() {
            return found.values().stream().map(finding -> new CheckResult.Violation(finding.rule, finding.subject,
                    finding.text, finding.count, finding.rows)).toList();
        }
    }
}
