package tutti.pgfront;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;

/** Tests of what clients do at one node with H2 or HSQLDB. */
abstract class AtOneNode {
    @TempDir
    Path directory;

    JdbcNodes nodes;

    final Connection connect(EngineKind kind) throws Exception {
        nodes = new JdbcNodes(kind, directory, 1);
        return nodes.connect(0);
    }

    @AfterEach
    void stop() {
        nodes.close();
    }

    static void run(Connection connection, String... statements) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }
}
