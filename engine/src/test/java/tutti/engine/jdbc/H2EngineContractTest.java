package tutti.engine.jdbc;

import java.nio.file.Path;
import java.sql.SQLException;
import tutti.engine.jdbc.h2.H2Database;

class H2EngineContractTest extends JdbcEngineContract {
    @Override
    protected EmbeddedDatabase database(Path files) throws SQLException {
        return H2Database.inFile(files);
    }
}
