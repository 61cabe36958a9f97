package tutti.macroddb;

import java.sql.SQLException;
import tutti.engine.jdbc.ClientEngine;
import tutti.engine.jdbc.JdbcEngine;
import tutti.engine.jdbc.h2.H2Database;

class H2ComponentTest extends DatabaseComponentContract {
    @Override
    ClientEngine open() throws SQLException {
        return JdbcEngine.open(H2Database.inMemory());
    }
}
