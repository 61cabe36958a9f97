package tutti.engine.jdbc;

import java.nio.file.Path;
import java.sql.SQLException;
import tutti.engine.jdbc.h2.H2Database;
import tutti.engine.jdbc.hsqldb.HsqldbDatabase;

/** The engines that run in this virtual machine. */
enum EngineKind {
    H2 {
        @Override
        EmbeddedDatabase inMemory() throws SQLException {
            return H2Database.inMemory();
        }

        @Override
        EmbeddedDatabase inFiles(Path path) throws SQLException {
            return H2Database.inFile(path);
        }
    },
    HSQLDB {
        @Override
        EmbeddedDatabase inMemory() throws SQLException {
            return HsqldbDatabase.inMemory();
        }

        @Override
        EmbeddedDatabase inFiles(Path path) throws SQLException {
            return HsqldbDatabase.inFiles(path);
        }
    };

    abstract EmbeddedDatabase inMemory() throws SQLException;

    abstract EmbeddedDatabase inFiles(Path path) throws SQLException;
}
