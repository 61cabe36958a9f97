package tutti.engine.procedure;

import java.sql.SQLException;
import java.util.List;

/**
 * A stored transaction in Java, for the owner of its request log to execute. Has a public constructor without parameters; one object is made for
 * each run. It may be run several times until a run counts, and must come to the same each time: of all that it uses only {@link ProcedureCall} may
 * tell it what time it is, or give it a random value. {@link ProcedureCheck} says what classes may not use.
 */
@FunctionalInterface
public interface StoredProcedure {
    /**
     * Executes a call. On one thread, which may be interrupted when the run is given up.
     *
     * @param call what is called, and the transaction in which it is
     * @throws SQLException refuses the call: its transaction is rolled back, and the client is told the SQL state and message. What
     *             {@code call} throws may be passed on, and must be if it was not expected
     */
    void execute(ProcedureCall call) throws SQLException;

    /**
     * The tables that any call may touch, where the schema does not say that: with H2 and HSQLDB, whose schemas know nothing of procedures in Java. It is held
     * to its word. The same for every object.
     *
     * @return their names, as in SQL; none if it may touch any, and so stands in the way of all other requests
     */
    default List<String> tables() {
        return List.of();
    }
}
