package tutti.engine.postgres;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.engine.postgres.capture.CaptureInstaller;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.QueryResult;

@Timeout(60)
class AwaitedSessionsTest {
    private static String ask(String database, CaptureInstaller.Functions functions) throws Exception {
        return AwaitedSessions.ask(TestServer.loops(), TestServer.reach(database), functions).get(20, TimeUnit.SECONDS);
    }

    @Test
    void whoHoldsUpTheReadingOfTheCatalogIsNamed() throws Exception {
        String database = TestServer.database("CREATE TABLE held (id int PRIMARY KEY)");
        TestServer.install(database, 0);
        BackendConnection engine = BackendConnection
                .connect(TestServer.loops().next(),
                        OwnSessions.superuser(TestServer.reach(database), "tutti engine"))
                .get(20, TimeUnit.SECONDS);
        CaptureInstaller.Functions functions = CaptureInstaller.functions(engine);
        assertEquals("", ask(database, functions));
        try (Connection holder = TestServer.jdbc(database)) {
            holder.createStatement().execute("LOCK TABLE held");
            CompletableFuture<QueryResult> reading = engine.query("SELECT count(*) FROM public.held")
                    .toCompletableFuture();
            String told = ask(database, functions);
            while (told.isEmpty()) {
                told = ask(database, functions);
            }
            assertTrue(told.startsWith("session ") && told.endsWith(" holds up table public.held"), told);
            holder.rollback();
            assertEquals("0", reading.get(20, TimeUnit.SECONDS).value());
        }
        assertEquals("", ask(database, functions));
        engine.close();
    }
}
