package tutti.macroddb;

import java.sql.SQLException;
import tutti.engine.jdbc.ClientEngine;
import tutti.engine.jdbc.h2.H2Database;
import tutti.engine.macro.MacroDb;

/** A primary and two secondaries in each node, as the thesis has them. */
class MacroH2ComponentTest extends DatabaseComponentContract {
    @Override
    ClientEngine open() throws SQLException {
        return MacroDb.open(H2Database.inMemory(), H2Database::inMemory, 2, MacroDb.Settings.DEFAULT);
    }
}
