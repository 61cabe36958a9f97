package tutti.engine.jdbc;

import java.sql.SQLException;
import tutti.engine.jdbc.hsqldb.HsqldbDatabase;

class HsqldbEngineContractTest extends JdbcEngineContract {
    @Override
    EmbeddedDatabase database() throws SQLException {
        return HsqldbDatabase.inMemory();
    }
}
