package tutti.engine.procedure;

import java.sql.SQLException;

/** A procedure that may not be one. */
public final class Files implements StoredProcedure {
    @Override
    public void execute(ProcedureCall call) throws SQLException {
        call.update("INSERT INTO b VALUES ($1)", String.valueOf(new java.io.File("x")));
    }
}
