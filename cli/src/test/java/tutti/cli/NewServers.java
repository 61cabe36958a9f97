package tutti.cli;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import tutti.cluster.ClusterFile;
import tutti.cluster.ClusterSpec;
import tutti.command.Trees;
import tutti.engine.postgres.server.EmbeddedPostgres;
import tutti.engine.postgres.server.ServerBinaries;
import tutti.engine.postgres.server.ServerConfiguration;
import tutti.runtime.real.PrivateFiles;

/**
 * Data directories of new PostgreSQL servers, all copied from one that the first test of a virtual machine makes, which takes half a second
 * less of a processor for each. Nodes that are started otherwise, as in the tests of commands, make their own.
 */
public final class NewServers {
    private static final String USER = "postgres";
    private static final String PASSWORD = "secret";

    private NewServers() {}

    /** Only what asks for it has it made. */
    private static final class Made {
        static final Path DATA = make();

        private static Path make() {
            try {
                Path directory = Files.createTempDirectory("new-server");
                Runtime.getRuntime().addShutdownHook(new Thread(() -> delete(directory)));
                Path data = directory.resolve("data");
                EmbeddedPostgres.start(ServerConfiguration.of(ServerBinaries.unpacked(), data, FreePorts.base(0), USER,
                        PASSWORD)).stop();
                return data;
            } catch (IOException failed) {
                throw new UncheckedIOException(failed);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException(interrupted);
            }
        }

        private static void delete(Path directory) {
            try {
                Trees.delete(directory);
            } catch (IOException failed) {
                throw new UncheckedIOException(failed);
            }
        }
    }

    /** Gives the nodes of a cluster that has never been started their servers' data, if it is one with such a password. */
    public static void provide(ClusterSpec spec) {
        if (spec.inProcess() || !spec.password().equals(PASSWORD) || ClusterFile.read(spec.directory()).isPresent()) {
            return;
        }
        for (int node = 0; node < spec.nodes(); node++) {
            Path data = spec.directory().resolve("node-" + node).resolve("data");
            try {
                PrivateFiles.createDirectories(data);
                copy(Made.DATA, data.resolve("postgres"));
            } catch (IOException failed) {
                throw new UncheckedIOException(failed);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException(interrupted);
            }
        }
    }

    private static void copy(Path from, Path to) throws IOException, InterruptedException {
        int status = new ProcessBuilder(List.of("cp", "-a", from.toString(), to.toString())).inheritIO().start()
                .waitFor();
        if (status != 0) {
            throw new IOException("cp ends with " + status);
        }
    }
}
