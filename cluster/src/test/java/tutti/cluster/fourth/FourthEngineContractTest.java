package tutti.cluster.fourth;

import java.nio.file.Path;
import java.sql.SQLException;
import tutti.engine.Engines;
import tutti.engine.jdbc.EmbeddedDatabase;
import tutti.engine.jdbc.InProcessEngine;
import tutti.engine.jdbc.JdbcEngineContract;
import tutti.engine.jdbc.SqlSyntax;

class FourthEngineContractTest extends JdbcEngineContract {
    @Override
    protected EmbeddedDatabase database(Path files) throws SQLException {
        return Engines.INSTALLED.find(CompressedH2Engine.NAME, InProcessEngine.class).orElseThrow().inFiles(files,
                SqlSyntax.OWN);
    }
}
