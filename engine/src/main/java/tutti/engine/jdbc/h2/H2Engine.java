package tutti.engine.jdbc.h2;

import java.nio.file.Path;
import java.sql.SQLException;
import java.util.Map;
import org.h2.engine.Constants;
import tutti.engine.jdbc.EmbeddedDatabase;
import tutti.engine.jdbc.InProcessEngine;
import tutti.engine.jdbc.SqlDialect;
import tutti.engine.jdbc.SqlSyntax;

/** Describes H2. */
public final class H2Engine implements InProcessEngine {
    /** Of H2 in its PostgreSQL mode. */
    public static final SqlDialect DIALECT = new SqlDialect(
            Map.ofEntries(Map.entry("timestamptz", "timestamp with time zone"), Map.entry("time", "time(6)"),
                    Map.entry("timetz", "time(6) with time zone"), Map.entry("jsonb", "json"),
                    Map.entry("text", "varchar"), Map.entry("bytea", "varbinary"), Map.entry("bpchar", "char"),
                    Map.entry("numeric", "decfloat(100)"), Map.entry("decimal", "decfloat(100)"),
                    Map.entry("dec", "decfloat(100)")),
            Map.of(), "EXPLAIN", true, true, true);

    @Override
    public String name() {
        return "h2";
    }

    @Override
    public String product() {
        return "H2";
    }

    @Override
    public String version() {
        return Constants.VERSION;
    }

    @Override
    public SqlDialect dialect() {
        return DIALECT;
    }

    @Override
    public EmbeddedDatabase inMemory(SqlSyntax syntax) throws SQLException {
        return H2Database.inMemory(syntax);
    }

    @Override
    public EmbeddedDatabase inFiles(Path path, SqlSyntax syntax) throws SQLException {
        return H2Database.inFile(path, syntax);
    }
}
