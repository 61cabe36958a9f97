package tutti.workload.tpcc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.engine.postgres.server.PlainServer;

/** Terminals at work against a real PostgreSQL. */
class TpccRunTest {
    private static final TpccPopulation POPULATION = new TpccPopulation(TpccScale.reduced(2), 7);
    private PlainServer server;
    private TpccDatabase database;

    @BeforeEach
    void start(@TempDir Path directory) throws Exception {
        server = PlainServer.start(directory);
        database = TpccDatabase.of("one", server.url("postgres"));
        new TpccLoader(POPULATION).load(database, (_, _) -> {});
    }

    @AfterEach
    void stop() throws Exception {
        server.close();
    }

    @Tag("long")
    @Test
    void acknowledgesWhatIsThereAndCountsIt() throws Exception {
        CountDownLatch told = new CountDownLatch(1);
        TpccRun run = TpccRun.start(
                TpccOptions.of(List.of(database), POPULATION, 8, Duration.ofMinutes(2), 11), snapshot -> {
                    if (Stream.of(TpccTransaction.values()).allMatch(type -> snapshot.latencies().containsKey(type)
                            && snapshot.latencies().get(type).count() > 0)) {
                        told.countDown();
                    }
                });
        assertTrue(told.await(60, TimeUnit.SECONDS));
        assertTrue(run.snapshot().committed() > 0);
        run.stop();
        TpccResult result = run.result();

        assertTrue(result.failure().isEmpty(), result.text());
        TpccSnapshot total = result.total();
        assertEquals(total.committed(), result.series().stream().mapToLong(TpccSecond::committed).sum());
        assertEquals(total.newOrders(), result.series().stream().mapToLong(TpccSecond::newOrders).sum());
        assertEquals(0, total.inDoubt());
        assertEquals(0, total.givenUp());
        assertTrue(total.aborts().keySet().stream().allMatch(List.of("first-updater", "deadlock")::contains),
                total.aborts().toString());
        for (TpccTransaction type : TpccTransaction.values()) {
            assertTrue(total.latencies().get(type).count() > 0, result.text());
        }
        assertEquals(total.newOrders(), number("select count(*) - 600 from orders"));
        assertEquals(total.newOrders(),
                result.ledger().entries().stream().filter(TpccLedger.NewOrder.class::isInstance).count());
        assertEquals(total.latencies().get(TpccTransaction.PAYMENT).count(),
                number("select count(*) from history where h_source > 0"));
        assertEquals(0, number("""
                select count(*) from warehouse
                where w_ytd <> (select sum(d_ytd) from district where d_w_id = w_id)"""));
        assertTrue(result.text().contains("NewOrders per minute"));
    }

    @Tag("long")
    @Test
    void movesToAnotherNodeWhenItsOwnIsLostAndComesBack() throws Exception {
        try (BreakableLink link = new BreakableLink(server.port())) {
            CountDownLatch working = new CountDownLatch(1);
            CountDownLatch away = new CountDownLatch(1);
            CountDownLatch home = new CountDownLatch(1);
            TpccOptions options = TpccOptions.of(List.of(database, at("two", link.port())), POPULATION, 4,
                    Duration.ofSeconds(60), 11);
            TpccRun run = TpccRun.start(options, snapshot -> {
                TpccSnapshot.Node two = snapshot.nodes().get(1);
                if (two.lastSecond().committed() > 0 && away.getCount() == 1) {
                    working.countDown();
                }
                if (!two.up() && snapshot.nodes().get(0).terminals() == 4) {
                    away.countDown();
                }
                if (away.getCount() == 0 && two.up() && two.terminals() == 2) {
                    home.countDown();
                }
            });
            assertTrue(working.await(20, TimeUnit.SECONDS));
            link.cut();
            assertTrue(away.await(20, TimeUnit.SECONDS));
            link.mend();
            assertTrue(home.await(20, TimeUnit.SECONDS));
            run.stop();
            TpccResult result = run.result();

            assertTrue(result.failure().isEmpty(), result.text());
            assertTrue(result.total().aborts().containsKey("connection"), result.text());
            List<TpccLedger.Entry> entries = result.ledger().entries();
            assertEquals(result.total().inDoubt(), entries.stream().filter(entry -> !entry.acknowledged()).count());
            long orders = number("select count(*) - 600 from orders");
            long acknowledged = result.total().newOrders();
            assertTrue(acknowledged <= orders && orders <= acknowledged + result.total().inDoubt(),
                    orders + " orders, " + result.text());
        }
    }

    @Test
    void endsWithAnErrorWhenTheLedgerIsFull() throws Exception {
        TpccOptions options = TpccOptions.of(List.of(database), POPULATION, 2, Duration.ofSeconds(60), 3)
                .withLedgerLimit(20);
        TpccResult result = TpccRun.start(options, _ -> {}).result();
        assertTrue(result.failure().orElseThrow().contains("ledger is full"));
        assertEquals(20, result.ledger().entries().size());
    }

    @Test
    void endsWithAnErrorWhenStatementsAreWrong() throws Exception {
        execute("alter table history drop column h_data");
        TpccOptions options = TpccOptions.of(List.of(database), POPULATION, 2, Duration.ofSeconds(60), 3);
        TpccResult result = TpccRun.start(options, _ -> {}).result();
        assertTrue(result.failure().orElseThrow().contains("42703"), result.text());
        assertTrue(result.total().aborts().containsKey("error-42703"), result.text());
    }

    @Tag("long")
    @Test
    void usersWhoThinkDoLittle() throws Exception {
        TpccOptions options = TpccOptions.of(List.of(database), POPULATION, 5, Duration.ofMillis(500), 3)
                .withThinking(true);
        TpccResult result = TpccRun.start(options, _ -> {}).result();
        assertTrue(result.failure().isEmpty());
        assertFalse(result.total().committed() > 5, result.text());
    }

    private static TpccDatabase at(String name, int port) {
        return TpccDatabase.of(name, PlainServer.url(port, "postgres"));
    }

    private void execute(String sql) throws SQLException {
        try (Connection connection = database.open(); Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private long number(String sql) throws SQLException {
        try (Connection connection = database.open();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            assertTrue(row.next());
            return row.getLong(1);
        }
    }
}
