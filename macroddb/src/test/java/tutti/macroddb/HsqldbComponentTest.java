package tutti.macroddb;

import java.sql.SQLException;
import tutti.engine.jdbc.ClientEngine;
import tutti.engine.jdbc.JdbcEngine;
import tutti.engine.jdbc.hsqldb.HsqldbDatabase;

class HsqldbComponentTest extends DatabaseComponentContract {
    @Override
    ClientEngine open() throws SQLException {
        return JdbcEngine.open(HsqldbDatabase.inMemory());
    }
}
