package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A client that prepares more than the node keeps of it is served all the same. */
@Tag("long")
@Timeout(120)
class LargeStatementsTest {
    private static final int STATEMENTS = 40;
    private static final int BYTES = 1 << 20;

    @Test
    void statementsThatAreNotKeptAreExecuted() throws Exception {
        try (FrontEndFixture fixture = new FrontEndFixture();
                Connection connection = fixture.jdbc("prepareThreshold=1")) {
            List<PreparedStatement> prepared = new ArrayList<>();
            for (int i = 0; i < STATEMENTS; i++) {
                PreparedStatement insert = connection.prepareStatement(
                        "INSERT INTO account VALUES (?, ?) -- " + i + "x".repeat(BYTES));
                prepared.add(insert);
                execute(insert, i);
            }
            assertTrue(fixture.frontEnd.memory().preparedBytes() > BYTES,
                    () -> fixture.frontEnd.memory().preparedBytes() + " bytes are kept");
            assertTrue(
                    fixture.frontEnd.memory().preparedBytes() <= new KeptBytes(KeptBytes.Shared.ofStatements()).most(),
                    () -> fixture.frontEnd.memory().preparedBytes() + " bytes are kept");
            for (int i = 0; i < STATEMENTS; i++) {
                execute(prepared.get(i), STATEMENTS + i);
            }
            assertEquals(String.valueOf(2 * STATEMENTS),
                    fixture.admin.execute("SELECT count(*) FROM account", FrontEndFixture.PATIENCE).value());
        }
    }

    private static void execute(PreparedStatement insert, int id) throws Exception {
        insert.setInt(1, id);
        insert.setInt(2, 7);
        assertEquals(1, insert.executeUpdate());
    }
}
