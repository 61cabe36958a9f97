package tutti.cli.clients;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.cli.NodeCommand;
import tutti.cluster.Cluster;
import tutti.cluster.ClusterFile;
import tutti.cluster.ClusterSpec;

/** Unmodified clients and frameworks work at a node with H2 or HSQLDB, which only speaks PostgreSQL's protocol. */
@Tag("long")
class EngineClientsTest {
    @TempDir
    private Path directory;

    @ParameterizedTest
    @ValueSource(strings = {"h2", "hsqldb"})
    void unmodifiedClients(String engine) throws Exception {
        ClusterSpec spec = new ClusterSpec(directory.resolve("cluster"), 1, 0, "si", "tutti", "secret",
                Map.of(ClusterSpec.ENGINE, engine), NodeCommand.line());
        try (Cluster cluster = Cluster.start(spec, (died, exitStatus) -> {})) {
            ClusterFile.Node node = cluster.nodes().getFirst();
            cluster.awaitReady(node.id(), Duration.ofMinutes(2));
            List<String> urls = List.of(node.postgresUrl());
            ClientPrograms.psycopg(directory, "engine.py", urls);
            if (engine.equals("h2")) {
                // Of the two, H2 infers less, and these two rely more on what they are told.
                ClientPrograms.pgx(directory, "engine", urls);
                ClientPrograms.nodePostgres(directory, "engine.js", urls);
            }
            String url = "jdbc:tutti://" + node.host() + ":" + node.postgresPort()
                    + "/tutti?user=postgres&password=secret";
            Frameworks.hikari(url);
            Frameworks.spring(url);
            Frameworks.hibernate(url);
        }
    }
}
