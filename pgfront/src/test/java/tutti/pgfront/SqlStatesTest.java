package tutti.pgfront;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.sql.SQLException;
import org.junit.jupiter.api.Test;

/** What clients are told of errors. */
class SqlStatesTest {
    /** A client that is told of a cancelled statement believes that nothing has happened. */
    @Test
    void aCommitInDoubtIsToldAlsoWhenItsStatementWasToBeCancelled() {
        SQLException doubt = new SQLException("nobody can tell", "08007");
        assertEquals("08007", SqlStates.of(doubt, "canceling statement due to user request").sqlState());
        assertEquals("57014", SqlStates.of(new SQLException("stopped", "57014"), "by its limit").sqlState());
    }
}
