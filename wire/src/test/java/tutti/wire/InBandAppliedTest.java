package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.Applier;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.PostgresEngine;
import tutti.pgwire.BackendConnection;
import tutti.wire.InBandFixture.Way;

/** What statements tell of the rows that they change makes another database equal to theirs. */
@Timeout(120)
class InBandAppliedTest {
    private static final String LARGE = "(select string_agg(md5(i::text), '') from generate_series(1, 1000) i)";
    /** With columns of which it is certain that all nodes compute the same, and others of which it is not. */
    private static final String TABLES = """
            CREATE TYPE mood AS ENUM ('sad', 'happy');
            CREATE TEXT SEARCH CONFIGURATION plain (COPY = simple);
            CREATE TABLE document (id int PRIMARY KEY, n int DEFAULT 0, mood mood NOT NULL,
                happy boolean GENERATED ALWAYS AS (mood = 'happy') STORED, body text,
                words tsvector GENERATED ALWAYS AS (to_tsvector('public.plain', left(body, 64))) STORED,
                certain text GENERATED ALWAYS AS (upper(left(body, 8))) STORED);
            CREATE TABLE revised (id int PRIMARY KEY, rev bigint GENERATED ALWAYS AS IDENTITY, body text)
            """;
    private static InBandFixture fixture;
    private static BackendConnection other;
    private static PostgresEngine engine;
    private static Applier applier;
    private static long position;

    @BeforeAll
    static void start() throws Exception {
        fixture = new InBandFixture(TABLES);
        fixture.admin.execute("CREATE DATABASE other", InBandFixture.PATIENCE);
        other = fixture.connect(fixture.server.settings().inDatabase("other"));
        other.execute(TABLES, InBandFixture.PATIENCE);
        engine = fixture.another("other");
        applier = engine.openApplier();
    }

    @AfterAll
    static void stop() throws Exception {
        applier.close();
        engine.close();
        other.close();
        fixture.close();
    }

    /** Commits the statements, each by itself or all in a block, in band, and has the other database make what they tell. */
    private static void transactions(boolean block, String... statements) throws Exception {
        fixture.committed();
        try (Connection connection = DriverManager.getConnection(fixture.url(Way.IN_BAND));
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(!block);
            for (String sql : statements) {
                statement.execute(sql);
            }
            if (block) {
                connection.commit();
            }
        }
        for (ScriptedNode.Open open = fixture.node.begun.poll(); open != null; open = fixture.node.begun.poll()) {
            if (!open.writes.isEmpty()) {
                apply(open.writes);
            }
        }
    }

    private static void apply(WriteSet writes) throws Exception {
        CompletableFuture<Void> applied = new CompletableFuture<>();
        position++;
        applier.applyAndCommit(position, List.of(writes), position, new Completion<>() {
            @Override
            public void succeeded(Void nothing) {
                applied.complete(null);
            }

            @Override
            public void failed(EngineFailure failure) {
                applied.completeExceptionally(new AssertionError(failure.toString()));
            }
        });
        applied.get(30, TimeUnit.SECONDS);
    }

    private static void assertEqual(String table) throws Exception {
        String query = "SELECT string_agg(t::text, ' ' ORDER BY id) FROM " + table + " t";
        String rows = fixture.admin.execute(query, InBandFixture.PATIENCE).value();
        assertEquals(rows, other.execute(query, InBandFixture.PATIENCE).value());
        assertTrue(rows != null && !rows.isEmpty(), table);
    }

    @Test
    void columnsThatOthersComputeAreToldWhereOthersAreLeftOut() throws Exception {
        transactions(false, "insert into document (id, mood, body) select i, 'sad', " + LARGE
                + " from generate_series(1, 4) i", "update document set n = 1 where id = 1",
                "update document set n = 2 where id < 3", "update document set mood = 'happy' where id = 2",
                "update document set body = 'b' || body where id = 3");
        assertEqual("document");
    }

    /** Several changes of a row are made as one. */
    @Test
    void whatIsComputedIsThatOfTheLastChangeOfATransaction() throws Exception {
        transactions(false, "insert into document (id, mood, body) values (10, 'sad', " + LARGE + ")",
                "update document set n = 1 where id = 10");
        transactions(true, "insert into document (id, mood, body) values (11, 'sad', 'c' || " + LARGE + ")",
                "update document set mood = 'happy' where id = 11", "update document set n = 2 where id = 11",
                "update document set body = 'd' || " + LARGE + " where id = 10",
                "update document set mood = 'happy' where id = 10", "update document set n = n + 5 where id > 9");
        assertEqual("document");
    }

    @Test
    void anIdentityIsDrawnAnew() throws Exception {
        transactions(false, "insert into revised (id, body) values (1, 'a'), (2, 'b')",
                "update revised set rev = default where id = 1");
        transactions(true, "update revised set body = 'c'", "update revised set rev = default, body = 'd' where id = 2",
                "update revised set body = 'e' where id = 2");
        assertEqual("revised");
    }
}
