package tutti.bench;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import tutti.command.Failure;
import tutti.engine.postgres.server.ServerBinaries;
import tutti.engine.postgres.server.ServerConfiguration;
import tutti.report.BenchFiles;
import tutti.workload.tpcc.TpccDatabase;

/**
 * PostgreSQL behind PgBouncer with a server connection for each client ({@code pool_mode=session}): what a process costs
 * that does nothing but pass messages on. The program is the machine's own.
 */
final class BouncerContender implements Contender {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final long POLL_MILLIS = 20;

    private final Path directory;
    private final PostgresContender server;

    /** One on a server with a directory of its own. */
    BouncerContender(Kind kind, Path directory, ServerBinaries binaries) {
        this.directory = directory;
        this.server = new PostgresContender(kind, directory, binaries, 0);
    }

    @Override
    public Kind kind() {
        return server.kind();
    }

    /** The server alone: rows are loaded without a detour. */
    @Override
    public Running startEmpty() throws IOException, InterruptedException {
        return server.startEmpty();
    }

    @Override
    public void loaded() throws IOException {
        server.loaded();
    }

    @Override
    public Running start() throws IOException, SQLException, InterruptedException {
        PostgresContender.Started behind = server.start();
        try {
            return new Started(behind);
        } catch (IOException | InterruptedException | RuntimeException e) {
            behind.close();
            throw e;
        }
    }

    /** The server and what stands before it. */
    private final class Started implements Running {
        private final PostgresContender.Started behind;
        private final Process bouncer;
        private final int port = BenchFiles.freePort();

        private Started(PostgresContender.Started behind) throws IOException, InterruptedException {
            this.behind = behind;
            Path configuration = directory.resolve("pgbouncer.ini");
            Path log = directory.resolve("pgbouncer.log");
            Files.write(configuration, List.of("[databases]",
                    "* = host=" + behind.address() + " port=" + behind.port() + " user=" + PostgresContender.USER
                            + " password=" + PostgresContender.PASSWORD,
                    "[pgbouncer]", "listen_addr = " + ServerConfiguration.HOST, "listen_port = " + port,
                    "unix_socket_dir =", "auth_type = any", "pool_mode = session",
                    "ignore_startup_parameters = extra_float_digits", "log_connections = 0", "log_disconnections = 0"));
            bouncer = started(configuration, log);
            try {
                awaitPort(log);
            } catch (InterruptedException | RuntimeException e) {
                bouncer.destroy();
                throw e;
            }
        }

        /** PgBouncer does not run as root, so root runs it, like PostgreSQL, in a user namespace of its own. */
        private Process started(Path configuration, Path log) throws IOException {
            List<String> command = new ArrayList<>();
            if (Integer.valueOf(0).equals(Files.getAttribute(Path.of("/proc/self"), "unix:uid"))) {
                command.addAll(List.of("unshare", "--user", "--"));
            }
            command.addAll(List.of("pgbouncer", configuration.toString()));
            try {
                return new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
            } catch (IOException e) {
                throw new Failure("contender (f) needs the program pgbouncer: " + e.getMessage(),
                        "install it (Debian's package pgbouncer), or leave (f) out");
            }
        }

        private void awaitPort(Path log) throws InterruptedException {
            long until = System.nanoTime() + PATIENCE.toNanos();
            while (!accepts()) {
                if (bouncer.waitFor(POLL_MILLIS, TimeUnit.MILLISECONDS) || System.nanoTime() > until) {
                    throw new Failure("pgbouncer does not take connections; its log: " + log, "");
                }
            }
        }

        private boolean accepts() {
            try (Socket socket = new Socket()) {
                socket.connect(new InetSocketAddress(InetAddress.ofLiteral(ServerConfiguration.HOST), port));
                return true;
            } catch (IOException _) {
                return false;
            }
        }

        @Override
        public List<TpccDatabase> databases() {
            return List.of(PostgresContender.database(ServerConfiguration.HOST, port));
        }

        @Override
        public List<TpccDatabase> copies() {
            return behind.copies();
        }

        @Override
        public List<Long> processes() {
            List<Long> all = new ArrayList<>(behind.processes());
            all.add(bouncer.pid());
            return all;
        }

        @Override
        public List<List<Long>> machines() {
            return List.of(processes());
        }

        @Override
        public void settle() throws SQLException {
            behind.settle();
        }

        @Override
        public void close() throws IOException {
            bouncer.destroy();
            behind.close();
        }
    }
}
