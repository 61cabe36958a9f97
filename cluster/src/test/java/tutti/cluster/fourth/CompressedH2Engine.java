package tutti.cluster.fourth;

import java.nio.file.Path;
import java.sql.SQLException;
import org.h2.engine.Constants;
import tutti.engine.jdbc.EmbeddedDatabase;
import tutti.engine.jdbc.InProcessEngine;
import tutti.engine.jdbc.SqlDialect;
import tutti.engine.jdbc.SqlSyntax;
import tutti.engine.jdbc.h2.H2Database;
import tutti.engine.jdbc.h2.H2Engine;

/** An engine that Tutti does not come with: H2 whose files are compressed. */
public final class CompressedH2Engine implements InProcessEngine {
    static final String NAME = "h2-compressed";

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public String product() {
        return "H2, compressed";
    }

    @Override
    public String version() {
        return Constants.VERSION;
    }

    @Override
    public SqlDialect dialect() {
        return H2Engine.DIALECT;
    }

    @Override
    public EmbeddedDatabase inMemory(SqlSyntax syntax) throws SQLException {
        return H2Database.inMemory(syntax);
    }

    @Override
    public EmbeddedDatabase inFiles(Path path, SqlSyntax syntax) throws SQLException {
        return H2Database.inFile(path, syntax, ";COMPRESS=TRUE");
    }
}
