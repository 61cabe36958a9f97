package tutti.check;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tutti.engine.postgres.server.PlainServer;
import tutti.workload.tpcc.TpccDatabase;
import tutti.workload.tpcc.TpccLedger;
import tutti.workload.tpcc.TpccLoader;
import tutti.workload.tpcc.TpccOptions;
import tutti.workload.tpcc.TpccPopulation;
import tutti.workload.tpcc.TpccResult;
import tutti.workload.tpcc.TpccRun;
import tutti.workload.tpcc.TpccScale;
import tutti.workload.tpcc.TpccTable;

/** TPC-C's conditions and the ledger after a real run, and after the data of that run have been broken on purpose. */
@Tag("long")
class TpccChecksTest {
    private static final TpccScale SCALE = TpccScale.reduced(2);
    private static PlainServer server;
    private static TpccResult result;

    @BeforeAll
    static void run(@TempDir Path directory) throws Exception {
        server = PlainServer.start(directory);
        execute("postgres", "create database original");
        TpccPopulation population = new TpccPopulation(SCALE, 7);
        new TpccLoader(population).load(TpccDatabase.of("original", server.url("original")), (_, _) -> {});
        TpccRun earlier = TpccRun.start(options(population, 1, 1), _ -> {});
        assertTrue(earlier.result().total().committed() > 0);
        result = TpccRun.start(options(population, 2, 2), _ -> {}).result();
        assertTrue(result.failure().isEmpty(), result.text());
        // Foreign keys would forbid some of what these tests do.
        execute("original", "do $$ declare f record; begin for f in select conrelid::regclass as t, conname as c "
                + "from pg_constraint where contype = 'f' loop execute format('alter table %s drop constraint %I', f.t, "
                + "f.c); end loop; end $$");
    }

    private static TpccOptions options(TpccPopulation population, int seconds, long runId) {
        TpccOptions usual = TpccOptions.of(List.of(TpccDatabase.of("original", server.url("original"))), population, 4,
                Duration.ofSeconds(seconds), runId);
        return new TpccOptions(usual.databases(), population, 4, usual.placement(), usual.duration(), runId, runId,
                false, 100, 1_000_000, usual.form(), usual.readPercent());
    }

    @AfterAll
    static void stop() throws Exception {
        server.close();
    }

    @BeforeEach
    void copy() throws SQLException {
        execute("postgres", "drop database if exists copy");
        execute("postgres", "create database copy template original");
    }

    @Test
    void everythingHoldsAfterARun() throws SQLException {
        CheckResult consistency = consistency();
        assertTrue(consistency.passed(), consistency.text());
        CheckResult acknowledged = acknowledged(result.ledger());
        assertTrue(acknowledged.passed(), acknowledged.text());
        assertTrue(acknowledged.examined().startsWith(result.ledger().entries().size() + " acknowledged, 0 in doubt"));
        assertTrue(result.ledger().entries().size() > 100);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
            "update warehouse set w_ytd = w_ytd + 0.01 where w_id = 2 | 1 8",
            "update district set d_ytd = d_ytd + 0.01 where d_w_id = 1 and d_id = 4 | 1 9",
            "update district set d_next_o_id = d_next_o_id + 1 where d_w_id = 1 and d_id = 4 | 2",
            "delete from new_order where (no_w_id, no_d_id, no_o_id) in (select no_w_id, no_d_id, max(no_o_id) - 1 "
                    + "from new_order where no_w_id = 1 and no_d_id = 4 group by 1, 2) | 3 5 11",
            "delete from order_line where ol_w_id = 1 and ol_d_id = 4 and ol_o_id = 3 and ol_number = 2 | 4 6",
            "update orders set o_carrier_id = null where o_w_id = 1 and o_d_id = 4 and o_id = 3 | 5 7",
            "update order_line set ol_delivery_d = null where ol_w_id = 2 and ol_d_id = 4 and ol_o_id = 3 and "
                    + "ol_number = 2 | 7",
            "insert into history select -9999, 1, h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, 5.55, h_data "
                    + "from history where h_source < 0 limit 1 | 8 9 10",
            "update customer set c_balance = c_balance + 1 where c_w_id = 1 and c_d_id = 4 and c_id = 5 | 10 12",
            "update customer set c_delivery_cnt = c_delivery_cnt + 1 where c_w_id = 1 and c_d_id = 4 and c_id = 5 | 11",
            "update customer set c_ytd_payment = c_ytd_payment + 1 where c_w_id = 1 and c_d_id = 4 and c_id = 5 | 12",
            "delete from orders where o_w_id = 1 and o_d_id = 4 and o_id = 3 | 4 6 11",
            "delete from district where d_w_id = 1 and d_id = 4 | 1 9 population"})
    void eachConditionIsSeenToBreak(String breakIt, String conditions) throws SQLException {
        execute("copy", breakIt);
        CheckResult broken = consistency();
        Set<String> expected = new TreeSet<>(List.of(conditions.split(" ")));
        Set<String> found = broken.violations().stream()
                .map(violation -> violation.rule().replace("condition ", "")).collect(Collectors.toSet());
        assertTrue(found.containsAll(expected), "expected " + expected + " in " + broken.text());
        assertTrue(broken.violations().stream().filter(violation -> !"population".equals(violation.rule()))
                .allMatch(violation -> violation.count() > 0 && !violation.rows().isEmpty()), broken.text());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
            "delete from orders where %s | missing orders",
            "update orders set o_c_id = o_c_id %% 30 + 1 where %s | different orders",
            "delete from order_line where ol_number = 2 and (ol_w_id, ol_d_id, ol_o_id) in (select o_w_id, o_d_id, o_id "
                    + "from orders where %s) | different orders",
            "insert into orders select o_w_id, o_d_id, 100000, o_c_id, o_entry_d, null, o_ol_cnt, o_all_local "
                    + "from orders where %s | unexplained orders",
            "delete from history where h_source = 8193 and h_number = (select min(h_number) from history "
                    + "where h_source = 8193) | missing history",
            "update history set h_amount = h_amount + 1 where h_source = 8193 | different history",
            "insert into history select h_source, 1000000, h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, "
                    + "h_data from history where h_source = 8193 limit 1 | unexplained history",
            "update orders set o_carrier_id = null where o_id = (select max(o_id) from orders where o_d_id = 3 "
                    + "and o_w_id = 1 and o_carrier_id is not null) and o_d_id = 3 and o_w_id = 1 | missing deliveries",
            "update orders set o_carrier_id = 11 where o_id = (select max(o_id) from orders where o_d_id = 3 "
                    + "and o_w_id = 1 and o_carrier_id is not null) and o_d_id = 3 and o_w_id = 1 | different deliveries",
            "update orders set o_carrier_id = 1 where o_id = (select max(o_id) from orders where o_d_id = 3 "
                    + "and o_w_id = 1) and o_d_id = 3 and o_w_id = 1 | unexplained deliveries"})
    void eachLossAndEachDoublingIsSeen(String breakIt, String expected) throws SQLException {
        TpccLedger.NewOrder last = result.ledger().entries().stream().filter(TpccLedger.NewOrder.class::isInstance)
                .map(TpccLedger.NewOrder.class::cast).reduce((_, b) -> b).orElseThrow();
        String order = "o_w_id = " + last.warehouse() + " and o_d_id = " + last.district() + " and o_id = "
                + last.order();
        execute("copy", String.format(breakIt, order));
        CheckResult broken = acknowledged(result.ledger());
        assertTrue(broken.violations().stream()
                .anyMatch(violation -> (violation.rule() + " " + violation.subject()).equals(expected)
                        && !violation.rows().isEmpty()),
                "expected " + expected + " in " + broken.text());
    }

    @Test
    void twoAcknowledgedTransactionsCannotShareAnOrder() throws SQLException {
        TpccLedger twice = ledger();
        result.ledger().entries().forEach(twice::add);
        result.ledger().entries().stream().filter(entry -> !(entry instanceof TpccLedger.Payment)).limit(60)
                .forEach(twice::add);
        Set<String> doubled = acknowledged(twice).violations().stream()
                .filter(violation -> "doubled".equals(violation.rule())).map(CheckResult.Violation::subject)
                .collect(Collectors.toSet());
        assertEquals(Set.of("orders", "deliveries"), doubled);
    }

    @Test
    void whatIsInDoubtMayBeThereOrNotButNotInPart() throws SQLException {
        TpccLedger doubtful = ledger();
        result.ledger().entries().forEach(entry -> doubtful.add(switch (entry) {
            case TpccLedger.NewOrder o -> new TpccLedger.NewOrder(o.terminal(), false, o.warehouse(), o.district(),
                    o.order(), o.customer(), o.lines(), o.enteredAt());
            case TpccLedger.Payment p -> new TpccLedger.Payment(p.terminal(), false, p.warehouse(), p.district(),
                    p.customerWarehouse(), p.customerDistrict(), p.customer(), p.amountCents(), p.historySource(),
                    p.historyNumber());
            case TpccLedger.Delivery d -> new TpccLedger.Delivery(d.terminal(), false, d.warehouse(), d.carrier(),
                    d.deliveredAt(), d.orders());
        }));
        CheckResult there = acknowledged(doubtful);
        int count = doubtful.entries().size();
        assertTrue(there.passed(), there.text());
        assertEquals("0 acknowledged, " + count + " in doubt of which " + count + " are there", there.examined());

        execute("copy", "delete from history where h_source = 8193");
        CheckResult fewer = acknowledged(doubtful);
        assertTrue(fewer.passed(), fewer.text());

        TpccLedger.Delivery delivery = doubtful.entries().stream().filter(TpccLedger.Delivery.class::isInstance)
                .map(TpccLedger.Delivery.class::cast).findFirst().orElseThrow();
        execute("copy",
                "update orders set o_carrier_id = null where o_w_id = " + delivery.warehouse() + " and o_d_id = "
                        + delivery.orders().getFirst().district() + " and o_id = "
                        + delivery.orders().getFirst().order());
        CheckResult part = acknowledged(doubtful);
        assertTrue(part.text().contains("there in part"), part.text());
    }

    @Test
    void aDirectlyLoadedPopulationIsTheSameEverywhere() throws Exception {
        TpccPopulation population = new TpccPopulation(SCALE, 99);
        for (String name : List.of("left_one", "right_one")) {
            execute("postgres", "create database " + name);
        }
        new TpccLoader(population, 1, 777).load(TpccDatabase.of("left_one", server.url("left_one")), (_, _) -> {});
        new TpccLoader(population, 4, 10_000).load(TpccDatabase.of("right_one", server.url("right_one")), (_, _) -> {});
        CheckResult same = new ReplicaComparison(List.of(
                new ReplicaComparison.Source("left_one",
                        () -> TpccDatabase.of("left_one", server.url("left_one")).open()),
                new ReplicaComparison.Source("right_one",
                        () -> TpccDatabase.of("right_one", server.url("right_one")).open())))
                .compare();
        assertTrue(same.passed(), same.text());
        assertTrue(same.examined().startsWith(TpccTable.values().length + " tables"), same.text());
        try (Connection connection = TpccDatabase.of("left_one", server.url("left_one")).open()) {
            CheckResult consistency = TpccConsistency.check("left_one", connection, SCALE);
            assertTrue(consistency.passed(), consistency.text());
        }
    }

    private static TpccLedger ledger() {
        return new TpccLedger(result.ledger().baseline(), 2 * 4_096, 1_000_000);
    }

    private static CheckResult consistency() throws SQLException {
        try (Connection connection = TpccDatabase.of("copy", server.url("copy")).open()) {
            return TpccConsistency.check("copy", connection, SCALE);
        }
    }

    private static CheckResult acknowledged(TpccLedger ledger) throws SQLException {
        try (Connection connection = TpccDatabase.of("copy", server.url("copy")).open()) {
            return AcknowledgedCheck.check("copy", connection, ledger);
        }
    }

    private static void execute(String database, String sql) throws SQLException {
        try (Connection connection = TpccDatabase.of(database, server.url(database)).open();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
