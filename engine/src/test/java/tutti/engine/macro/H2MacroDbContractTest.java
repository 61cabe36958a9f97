package tutti.engine.macro;

import java.nio.file.Path;
import java.sql.SQLException;
import tutti.engine.jdbc.ClientEngine;
import tutti.engine.jdbc.EmbeddedDatabase;
import tutti.engine.jdbc.JdbcEngineContract;
import tutti.engine.jdbc.h2.H2Database;

class H2MacroDbContractTest extends JdbcEngineContract {
    @Override
    protected EmbeddedDatabase database(Path files) throws SQLException {
        return H2Database.inFile(files);
    }

    @Override
    protected ClientEngine engine(EmbeddedDatabase database) throws SQLException {
        return MacroDb.open(database, H2Database::inMemory, 2, MacroDb.Settings.DEFAULT);
    }
}
