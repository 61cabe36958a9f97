package tutti.engine.jdbc;

import java.nio.file.Path;
import java.sql.SQLException;
import tutti.engine.jdbc.hsqldb.HsqldbDatabase;

class HsqldbEngineContractTest extends JdbcEngineContract {
    @Override
    protected EmbeddedDatabase database(Path files) throws SQLException {
        return HsqldbDatabase.inFiles(files);
    }
}
