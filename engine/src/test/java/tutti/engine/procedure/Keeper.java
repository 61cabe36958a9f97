package tutti.engine.procedure;

import java.sql.SQLException;

/** A procedure that may not be one: it remembers. */
public final class Keeper implements StoredProcedure {
    private static long calls;

    @Override
    public void execute(ProcedureCall call) throws SQLException {
        calls = calls + 1;
        call.update("INSERT INTO b VALUES ($1)", calls);
    }
}
