package tutti.engine.postgres.server;

import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.PostgresException;
import tutti.pgwire.Transport;

/**
 * Makes PostgreSQL's own physical standby of a running server: what Tutti is compared with. The files are copied under
 * {@code pg_backup_start}, as the manual's section "Making a Base Backup Using the Low Level API" describes; the log is
 * streamed from the primary.
 */
public final class Standby {
    private static final Duration TIMEOUT = Duration.ofMinutes(5);
    /** Directories whose contents a backup must not or need not have. */
    private static final Set<String> EMPTY = Set.of("pg_wal", "pg_replslot", "pg_dynshmem", "pg_notify", "pg_serial",
            "pg_snapshots", "pg_stat_tmp", "pg_subtrans");

    /** SQLSTATE cannot_connect_now. */
    private static final String STARTING = "57P03";

    private Standby() {}

    /**
     * Copies the primary and starts the copy as its standby. To make commits wait for it, set the primary's
     * {@code synchronous_standby_names} (and {@code synchronous_commit}) with {@link EmbeddedPostgres#reconfigure}.
     *
     * @param name what the standby calls itself at the primary
     * @param configuration where and how the standby runs; its data directory must not exist
     */
    public static EmbeddedPostgres of(EmbeddedPostgres primary, String name, ServerConfiguration configuration)
            throws IOException, InterruptedException {
        Path data = configuration.dataDirectory();
        if (Files.exists(data)) {
            throw new ServerException(ServerException.Kind.DATA_IN_USE,
                    data + " exists already; a standby begins with an empty directory of its own");
        }
        if (!name.matches("[a-z][a-z0-9_]*")) {
            throw new IllegalArgumentException(
                    "a standby's name has lower case letters, digits and underscores: " + name);
        }
        EventLoopGroup loops = Transport.eventLoops(1, "standby");
        try {
            copy(primary, loops, data);
            ServerConfiguration from = primary.configuration();
            Files.createFile(data.resolve("standby.signal"));
            EmbeddedPostgres standby = EmbeddedPostgres.start(configuration.with("primary_conninfo", "host="
                    + primary.host() + " port=" + primary.port() + " user=" + word(from.superuser()) + " password="
                    + word(from.password()) + " application_name=" + name));
            boolean answers = false;
            try {
                awaitAnswer(standby, from, loops);
                answers = true;
                return standby;
            } finally {
                if (!answers) {
                    standby.close();
                }
            }
        } finally {
            loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    /** A standby may say that it is ready and yet turn its first clients away while it is starting up. */
    private static void awaitAnswer(EmbeddedPostgres standby, ServerConfiguration primary, EventLoopGroup loops)
            throws IOException, InterruptedException {
        long deadline = System.nanoTime() + standby.configuration().timeout().toNanos();
        while (true) {
            try {
                connect(standby, primary, loops).close();
                return;
            } catch (IOException refused) {
                boolean starting = refused.getCause() instanceof ExecutionException failed
                        && failed.getCause() instanceof PostgresException told
                        && told.fields().sqlState().equals(STARTING);
                if (!starting || !standby.isAlive() || System.nanoTime() > deadline) {
                    throw refused;
                }
            }
        }
    }

    private static BackendConnection connect(EmbeddedPostgres server, ServerConfiguration user, EventLoopGroup loops)
            throws IOException, InterruptedException {
        try {
            return BackendConnection.connect(loops.next(),
                    BackendSettings.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()),
                            user.superuser(), "postgres", new BackendSettings.Credentials.Password(user.password())))
                    .get(30, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException failed) {
            throw new IOException("cannot connect to the server on port " + server.port(), failed);
        }
    }

    private static String word(String value) {
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'";
    }

    private static void copy(EmbeddedPostgres primary, EventLoopGroup loops, Path data)
            throws IOException, InterruptedException {
        ServerConfiguration from = primary.configuration();
        BackendConnection connection = connect(primary, from, loops);
        try {
            connection.execute("SELECT pg_catalog.pg_backup_start('tutti standby', true)", TIMEOUT);
            Files.walkFileTree(from.dataDirectory(), new Copier(from.dataDirectory(), data));
            Files.createDirectories(data.resolve("pg_wal/archive_status"));
            List<@Nullable String> label = connection
                    .execute("SELECT labelfile FROM pg_catalog.pg_backup_stop(false)", TIMEOUT).rows().getFirst();
            Files.writeString(data.resolve("backup_label"), String.valueOf(label.getFirst()));
        } finally {
            connection.close();
        }
    }

    private static final class Copier extends SimpleFileVisitor<Path> {
        private final Path from;
        private final Path to;

        Copier(Path from, Path to) {
            this.from = from;
            this.to = to;
        }

        @Override
        public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes) throws IOException {
            Path relative = from.relativize(directory);
            Files.createDirectory(to.resolve(relative),
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            return EMPTY.contains(relative.toString()) ? FileVisitResult.SKIP_SUBTREE : FileVisitResult.CONTINUE;
        }

        @Override
        public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
            String name = file.getFileName().toString();
            if (attributes.isRegularFile() && !name.startsWith("postmaster.") && !name.startsWith("pgsql_tmp")) {
                try {
                    Files.copy(file, to.resolve(from.relativize(file)));
                } catch (NoSuchFileException dropped) {
                    return FileVisitResult.CONTINUE;
                }
            }
            return FileVisitResult.CONTINUE;
        }

        @Override
        public FileVisitResult visitFileFailed(Path file, IOException failure) throws IOException {
            if (failure instanceof NoSuchFileException) {
                return FileVisitResult.CONTINUE;
            }
            throw failure;
        }
    }
}
