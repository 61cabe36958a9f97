package tutti.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import tutti.command.Trees;
import tutti.engine.postgres.server.EmbeddedPostgres;
import tutti.engine.postgres.server.ServerBinaries;
import tutti.engine.postgres.server.ServerConfiguration;
import tutti.report.BenchFiles;
import tutti.workload.tpcc.TpccDatabase;

/**
 * PostgreSQL without Tutti: the same programs and settings as under a Tutti node, except that a commit waits until it is
 * durable ({@code synchronous_commit=on}, PostgreSQL's default), on its own disk and, if there are standbys, on theirs.
 */
final class PostgresContender implements Contender {
    static final String USER = "postgres";
    static final String PASSWORD = "tutti";
    /** What a standby has not fetched when the primary stops stays there for it. */
    private static final String KEPT_FOR_STANDBYS = "1GB";

    private final Kind kind;
    private final Path directory;
    private final ServerBinaries binaries;
    private final int standbys;
    private final boolean synchronous;

    /**
     * A server with standbys.
     *
     * @param directory of its own
     * @param standbys how many, all of which must confirm a commit; 0 or more
     */
    PostgresContender(Kind kind, Path directory, ServerBinaries binaries, int standbys) {
        this(kind, directory, binaries, standbys, true);
    }

    /**
     * Likewise.
     *
     * @param synchronous whether a commit waits for the standbys
     */
    PostgresContender(Kind kind, Path directory, ServerBinaries binaries, int standbys, boolean synchronous) {
        this.kind = kind;
        this.directory = directory;
        this.binaries = binaries;
        this.standbys = standbys;
        this.synchronous = synchronous;
    }

    @Override
    public Kind kind() {
        return kind;
    }

    /** The primary alone. */
    @Override
    public Running startEmpty() throws IOException, InterruptedException {
        Started started = new Started(0);
        started.add(primary(BenchFiles.freePort()));
        return started;
    }

    /** The files of the primary, which has stopped, are what its standbys begin with. */
    @Override
    public void loaded() throws IOException {
        for (int i = 1; i <= standbys; i++) {
            Trees.copy(directory.resolve("primary"), directory.resolve(standbyName(i)));
            Files.createFile(directory.resolve(standbyName(i)).resolve("standby.signal"));
        }
    }

    @Override
    public Started start() throws IOException, SQLException, InterruptedException {
        Started started = new Started(synchronous ? 0 : standbys);
        boolean ready = false;
        try {
            int port = BenchFiles.freePort();
            ServerConfiguration primary = primary(port);
            if (standbys > 0) {
                List<String> names = new ArrayList<>();
                for (int i = 1; i <= standbys; i++) {
                    names.add(standbyName(i));
                }
                primary = primary.with("wal_keep_size", KEPT_FOR_STANDBYS);
                if (synchronous) {
                    primary = primary.with("synchronous_standby_names",
                            standbys + " (" + String.join(", ", names) + ")");
                }
            }
            started.add(primary);
            for (int i = 1; i <= standbys; i++) {
                started.add(server(standbyName(i), BenchFiles.freePort())
                        .with("primary_conninfo",
                                "host=" + ServerConfiguration.HOST + " port=" + port + " user=" + USER + " password="
                                        + PASSWORD + " application_name=" + standbyName(i)));
            }
            started.settle();
            ready = true;
            return started;
        } finally {
            if (!ready) {
                started.close();
            }
        }
    }

    private static String standbyName(int number) {
        return "standby_" + number;
    }

    private ServerConfiguration primary(int port) {
        return server("primary", port);
    }

    private ServerConfiguration server(String name, int port) {
        return ServerConfiguration.of(binaries, directory.resolve(name), port, USER, PASSWORD)
                .with("synchronous_commit", "on");
    }

    /** The database that is to be had at a port. */
    static TpccDatabase database(String host, int port) {
        return TpccDatabase.of("PostgreSQL", "jdbc:postgresql://" + host + ":" + port + "/postgres?user=" + USER
                + "&password=" + PASSWORD);
    }

    /** The primary, then its standbys. */
    static final class Started implements Running {
        private final List<EmbeddedPostgres> servers = Collections.synchronizedList(new ArrayList<>());
        /** Standbys for which no commit waits. */
        private final int behind;

        private Started(int behind) {
            this.behind = behind;
        }

        private void add(ServerConfiguration configuration) throws IOException, InterruptedException {
            servers.add(EmbeddedPostgres.start(configuration));
        }

        @Override
        public List<TpccDatabase> databases() {
            return List.of(database(servers.getFirst().host(), port()));
        }

        /** Where the primary is to be found: the directory of its Unix socket, or a host if it has none. */
        String address() {
            EmbeddedPostgres primary = servers.getFirst();
            return primary.socket().map(socket -> String.valueOf(socket.getParent())).orElse(primary.host());
        }

        /** Of the primary. */
        int port() {
            return servers.getFirst().port();
        }

        @Override
        public List<TpccDatabase> copies() {
            return databases();
        }

        @Override
        public List<Long> processes() {
            synchronized (servers) {
                return servers.stream().map(EmbeddedPostgres::pid).toList();
            }
        }

        /** A commit with {@code remote_apply} returns when every standby is there and has applied all before it. */
        @Override
        public void settle() throws SQLException {
            if (servers.size() == 1) {
                return;
            }
            try (Connection connection = databases().getFirst().open();
                    Statement statement = connection.createStatement()) {
                if (behind > 0) {
                    // all have replayed what is written by now; the server waits a little between two looks
                    statement.execute("do $$ declare target pg_lsn := pg_current_wal_lsn(); begin"
                            + " while (select count(*) from pg_stat_replication where replay_lsn >= target) < " + behind
                            + " loop perform pg_sleep(0.01), pg_stat_clear_snapshot(); end loop; end $$");
                    return;
                }
                statement.execute("set synchronous_commit = remote_apply");
                statement.execute("select pg_logical_emit_message(true, 'bench', 'settled')");
            }
        }

        /** The primary first: it sends its standbys all it has before it ends. */
        @Override
        public void close() throws IOException {
            List<EmbeddedPostgres> toStop;
            synchronized (servers) {
                toStop = List.copyOf(servers);
            }
            IOException failed = null;
            for (EmbeddedPostgres server : toStop) {
                try {
                    server.close();
                } catch (IOException e) {
                    if (failed != null) {
                        e.addSuppressed(failed);
                    }
                    failed = e;
                }
            }
            if (failed != null) {
                throw failed;
            }
        }
    }
}
