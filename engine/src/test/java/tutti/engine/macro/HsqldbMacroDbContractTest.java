package tutti.engine.macro;

import java.nio.file.Path;
import java.sql.SQLException;
import org.junit.jupiter.api.Tag;
import tutti.engine.jdbc.ClientEngine;
import tutti.engine.jdbc.EmbeddedDatabase;
import tutti.engine.jdbc.JdbcEngineContract;
import tutti.engine.jdbc.hsqldb.HsqldbDatabase;

@Tag("long")
class HsqldbMacroDbContractTest extends JdbcEngineContract {
    @Override
    protected EmbeddedDatabase database(Path files) throws SQLException {
        return HsqldbDatabase.inFiles(files);
    }

    @Override
    protected ClientEngine engine(EmbeddedDatabase database) throws SQLException {
        return MacroDb.open(database, HsqldbDatabase::inMemory, 2, MacroDb.Settings.DEFAULT);
    }
}
