package tutti.engine.jdbc;

import java.nio.file.Path;
import java.sql.SQLException;
import tutti.engine.EngineDescriptor;

/** An engine whose databases run in the node's own process. */
public interface InProcessEngine extends EngineDescriptor {
    /** How its SQL differs from PostgreSQL's, if it is opened with {@link SqlSyntax#POSTGRES}. */
    SqlDialect dialect();

    /**
     * A new, empty database in memory, gone when it is closed.
     *
     * @throws SQLException if it cannot be opened
     */
    EmbeddedDatabase inMemory(SqlSyntax syntax) throws SQLException;

    /**
     * A database in files, made if it is not there.
     *
     * @param path of its files, without the endings that the engine gives them; the directory is there
     * @throws SQLException if it cannot be opened
     */
    EmbeddedDatabase inFiles(Path path, SqlSyntax syntax) throws SQLException;
}
