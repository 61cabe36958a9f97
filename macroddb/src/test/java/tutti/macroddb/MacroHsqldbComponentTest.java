package tutti.macroddb;

import java.sql.SQLException;
import tutti.engine.jdbc.ClientEngine;
import tutti.engine.jdbc.hsqldb.HsqldbDatabase;
import tutti.engine.macro.MacroDb;

/** A primary and two secondaries in each node, as the thesis has them. */
class MacroHsqldbComponentTest extends DatabaseComponentContract {
    @Override
    ClientEngine open() throws SQLException {
        return MacroDb.open(HsqldbDatabase.inMemory(), HsqldbDatabase::inMemory, 2, MacroDb.Settings.DEFAULT);
    }
}
