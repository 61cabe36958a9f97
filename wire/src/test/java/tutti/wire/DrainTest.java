package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A node that is told to stop lets its clients finish, and tells them why they have to go. */
@Timeout(60)
class DrainTest {
    private static CompletableFuture<Boolean> drain(FrontEndFixture fixture, Duration grace) {
        return CompletableFuture.supplyAsync(() -> {
            try {
                return fixture.frontEnd.drain(grace);
            } catch (InterruptedException stopped) {
                throw new IllegalStateException(stopped);
            }
        });
    }

    private static String told(Statement statement) {
        return assertThrows(SQLException.class, () -> statement.execute("select 1")).getSQLState();
    }

    @Test
    void idleClientsGoAtOnceAndOthersWhenTheirTransactionIsOver() throws Exception {
        try (FrontEndFixture fixture = new FrontEndFixture();
                Connection idle = fixture.jdbc();
                Connection working = fixture.jdbc();
                Statement none = idle.createStatement();
                Statement statement = working.createStatement()) {
            working.setAutoCommit(false);
            statement.execute("insert into account values (1, 10)");
            CompletableFuture<Boolean> drained = drain(fixture, Duration.ofSeconds(30));
            // The other client has gone when the node says so; until then this one works on.
            while (fixture.frontEnd.sessions() > 1) {
                statement.execute("update account set balance = balance + 1");
            }
            assertEquals("57P01", told(none));
            assertFalse(drained.isDone());
            assertThrows(SQLException.class, fixture::jdbc, "nobody else is let in");
            statement.execute("update account set balance = 42");
            working.commit();
            assertTrue(drained.get(20, TimeUnit.SECONDS));
            assertEquals("57P01", told(statement));
            assertEquals("1:42", fixture.accounts());
        }
    }

    @Test
    void whoTakesTooLongIsSentAway() throws Exception {
        try (FrontEndFixture fixture = new FrontEndFixture();
                Connection working = fixture.jdbc();
                Statement statement = working.createStatement()) {
            working.setAutoCommit(false);
            statement.execute("insert into account values (1, 10)");
            assertFalse(drain(fixture, Duration.ofMillis(1)).get(20, TimeUnit.SECONDS));
            assertEquals("57P01", told(statement));
        }
    }
}
