package tutti.workload.tpcc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.engine.postgres.server.PlainServer;

/** The two forms of TPC-C's transactions: the same inputs have the same outputs, and leave the same rows. */
@Tag("long")
class TpccFormsTest {
    private static final LocalDateTime NOW = LocalDateTime.of(2026, 3, 4, 5, 6, 7, 123_456_000);
    private static final TpccScale SCALE = TpccScale.reduced(2);
    private static final int TRANSACTIONS = 300;

    @Test
    void bothDoTheSame(@TempDir Path directory) throws Exception {
        try (PlainServer server = PlainServer.start(directory)) {
            TpccPopulation population = new TpccPopulation(SCALE, 7);
            TpccDatabase interactive = TpccDatabase.of("interactive", PlainServer.url(server.port(), "postgres"));
            TpccDatabase stored = TpccDatabase.of("stored", PlainServer.url(server.port(), "stored"));
            try (Connection connection = interactive.open(); Statement statement = connection.createStatement()) {
                statement.execute("create database stored");
            }
            new TpccLoader(population).load(interactive, (_, _) -> {});
            TpccLoader statements = TpccLoader.ofStatements(population);
            statements.load(stored, (_, _) -> {});
            statements.createFunctions(stored);
            assertEquals(rows(interactive), rows(stored), "loaded alike");
            List<TpccOutput> expected = work(interactive, TpccForm.INTERACTIVE);
            List<TpccOutput> found = work(stored, TpccForm.STORED);
            for (int i = 0; i < TRANSACTIONS; i++) {
                assertEquals(expected.get(i), found.get(i), "transaction " + i);
            }
            assertTrue(expected.stream().anyMatch(TpccOutput.UnknownItem.class::isInstance), "an item is unknown");
            assertEquals(rows(interactive), rows(stored));
        }
    }

    private static List<TpccOutput> work(TpccDatabase database, TpccForm form) throws SQLException {
        TpccConstants constants = TpccConstants.forRun(TpccConstants.forLoad(7), 3);
        TpccInputs inputs = new TpccInputs(SCALE, constants, 3, 0, 1, 1);
        List<TpccOutput> outputs = new ArrayList<>();
        Set<TpccTransaction> types = EnumSet.noneOf(TpccTransaction.class);
        try (TpccSession session = new TpccSession(database.open(), form)) {
            for (int i = 0; i < TRANSACTIONS; i++) {
                TpccInput input = inputs.next();
                types.add(input.type());
                TpccOutput output = session.execute(input, NOW.plusSeconds(i), new TpccSession.HistoryKey(99, i));
                if (output instanceof TpccOutput.UnknownItem) {
                    session.rollback();
                } else {
                    session.commit();
                }
                outputs.add(output);
            }
        }
        assertEquals(EnumSet.allOf(TpccTransaction.class), types);
        return outputs;
    }

    /** What is in each table, as one number. */
    private static List<String> rows(TpccDatabase database) throws SQLException {
        List<String> found = new ArrayList<>();
        try (Connection connection = database.open(); Statement statement = connection.createStatement()) {
            for (TpccTable table : TpccTable.values()) {
                try (ResultSet row = statement
                        .executeQuery("select count(*) || ' ' || sum(hashtextextended(t::text, 0)) from "
                                + table.sqlName() + " as t")) {
                    row.next();
                    found.add(table + " " + row.getString(1));
                }
            }
        }
        return found;
    }
}
