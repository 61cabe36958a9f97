package tutti.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.json.JsonMapper;
import tutti.command.Failure;
import tutti.runtime.real.PrivateFiles;

/**
 * What {@code DIR/cluster.json} says: where everything of a cluster is, for scripts and for the next start.
 *
 * @param cluster the cluster's name
 * @param id of the cluster, which no other has
 * @param supervisorPid process that started the nodes and watches them
 * @param password of the role {@code postgres} at every node; chosen at the first start
 * @param jdbcUrl of the cluster as a whole, for the driver of Tutti
 * @param nodes in order of their ids
 */
public record ClusterFile(String cluster, @Nullable String id, long supervisorPid, String password, String jdbcUrl,
        List<Node> nodes) {
    private static final String NAME = "cluster.json";
    private static final JsonMapper MAPPER = JsonMapper.builder()
            .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES).build();

    public ClusterFile {
        nodes = List.copyOf(nodes);
    }

    /**
     * One node.
     *
     * @param id its id
     * @param name its name
     * @param host where all of it listens
     * @param postgresPort for PostgreSQL clients
     * @param httpPort for operators
     * @param orderPort for the other nodes
     * @param databasePort of the PostgreSQL server beneath; for looking only: what is written there is not replicated
     * @param postgresUrl for psql and most drivers
     * @param jdbcUrl for pgjdbc
     * @param httpUrl for operators
     * @param pid its process, 0 if it does not run
     * @param processGroup which it shares with its database, 0 if it does not run
     * @param config its configuration file
     * @param log its log
     */
    public record Node(int id, String name, String host, int postgresPort, int httpPort, int orderPort,
            int databasePort,
            String postgresUrl, String jdbcUrl, String httpUrl, long pid, long processGroup, String config,
            String log) {
        /** The same node, where the others find it at another port. */
        Node withOrderPort(int other) {
            return new Node(id, name, host, postgresPort, httpPort, other, databasePort, postgresUrl, jdbcUrl, httpUrl,
                    pid,
                    processGroup, config, log);
        }

        /** The same node in another process; 0 for none. */
        Node withProcess(long other) {
            return new Node(id, name, host, postgresPort, httpPort, orderPort, databasePort, postgresUrl, jdbcUrl,
                    httpUrl, other,
                    other, config, log);
        }
    }

    /** The cluster that was last started in a directory, if one was. */
    public static Optional<ClusterFile> read(Path directory) {
        Path file = directory.resolve(NAME);
        try {
            return Optional.of(MAPPER.readValue(Files.readString(file), ClusterFile.class));
        } catch (NoSuchFileException _) {
            return Optional.empty();
        } catch (IOException | JacksonException e) {
            throw new Failure("cannot read " + file + ": " + Failure.said(e),
                    "remove the file; the ports are then chosen anew, the data is kept", e);
        }
    }

    /** Replaces the file of a directory at once: who reads it sees the old one or the new one. */
    void write(Path directory) {
        Path file = directory.resolve(NAME);
        try {
            Path fresh = PrivateFiles.write(directory.resolve(NAME + ".new"),
                    MAPPER.writerWithDefaultPrettyPrinter().writeValueAsString(this) + "\n");
            Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            throw new Failure("cannot write " + file + ": " + Failure.said(e), "", e);
        }
    }
}
