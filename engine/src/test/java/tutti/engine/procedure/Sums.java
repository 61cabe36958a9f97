package tutti.engine.procedure;

import java.sql.SQLException;
import java.util.List;

/** A procedure as it should be, with a lambda and a class of its own. */
public final class Sums implements StoredProcedure {
    private record Row(long value) {}

    @Override
    public void execute(ProcedureCall call) throws SQLException {
        List<Row> rows = call.query("SELECT n FROM a ORDER BY n").stream().map(row -> new Row(row.size())).toList();
        long sum = 0;
        for (Row row : rows) {
            sum += row.value();
        }
        call.update("INSERT INTO b VALUES ($1, $2)", sum, "of " + rows.size());
    }
}
