package tutti.engine.jdbc.hsqldb;

import java.nio.file.Path;
import java.sql.SQLException;
import java.util.Map;
import org.hsqldb.persist.HsqlDatabaseProperties;
import tutti.engine.jdbc.EmbeddedDatabase;
import tutti.engine.jdbc.InProcessEngine;
import tutti.engine.jdbc.SqlDialect;
import tutti.engine.jdbc.SqlSyntax;

/** Describes HSQLDB. */
public final class HsqldbEngine implements InProcessEngine {
    /** Longest text, since a type must say how long its values may become. */
    private static final String TEXT = "varchar(16777216)";
    private static final String NUMBER = "decimal(128," + SqlDialect.UNLIMITED_SCALE + ")";
    private static final SqlDialect DIALECT = new SqlDialect(
            Map.ofEntries(Map.entry("timestamptz", "timestamp with time zone"), Map.entry("time", "time(6)"),
                    Map.entry("timetz", "time(6) with time zone"), Map.entry("numeric", NUMBER),
                    Map.entry("decimal", NUMBER), Map.entry("dec", NUMBER), Map.entry("json", TEXT),
                    Map.entry("jsonb", TEXT), Map.entry("text", TEXT), Map.entry("bytea", "varbinary(16777216)"),
                    Map.entry("int2", "smallint"), Map.entry("int4", "integer"), Map.entry("int8", "bigint"),
                    Map.entry("float4", "real"), Map.entry("float8", "double"), Map.entry("bool", "boolean"),
                    Map.entry("bpchar", "char")),
            Map.of("varchar", TEXT, "character varying", TEXT), "EXPLAIN PLAN FOR", false, false, false);

    @Override
    public String name() {
        return "hsqldb";
    }

    @Override
    public String product() {
        return "HSQLDB";
    }

    @Override
    public String version() {
        return HsqlDatabaseProperties.THIS_FULL_VERSION;
    }

    @Override
    public SqlDialect dialect() {
        return DIALECT;
    }

    @Override
    public EmbeddedDatabase inMemory(SqlSyntax syntax) throws SQLException {
        return HsqldbDatabase.inMemory(syntax);
    }

    @Override
    public EmbeddedDatabase inFiles(Path path, SqlSyntax syntax) throws SQLException {
        return HsqldbDatabase.inFiles(path, syntax);
    }
}
