package tutti.engine.postgres.server;

import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.PostgresException;

/**
 * A base backup of a server of our own, while it serves: PostgreSQL's low-level interface for that ("Making a Base Backup Using the
 * Low Level API" of its manual). What the files hold may be of any moment since the beginning; with the label and the write-ahead log up
 * to the end, a server that starts on them recovers to what was committed at the end, or later. A temporary replication slot keeps that
 * log, up to {@code max_slot_wal_keep_size}; it goes with the connection, as the backup does. Its name is of random digits, so that
 * nobody's slot is in its way. For one thread at a time; methods block.
 */
public final class PostgresBackup implements AutoCloseable {
    private static final Duration TIMEOUT = Duration.ofMinutes(10);
    private static final Pattern WAL = Pattern.compile("[0-9A-F]{24}");
    private static final String WAL_DIRECTORY = "pg_wal";
    private static final String NOT_KEPT = "the server has ended the session that copies it: most likely more was written to its log"
            + " meanwhile than max_slot_wal_keep_size lets it keep. Copy faster (copies.bytes-per-second), or set a larger one among"
            + " postgres.embedded.parameters";
    private static final String NO_SLOT = "all replication slots of the server are taken, so that none is left for a copy of it: drop one that nobody reads"
            + " (SELECT slot_name FROM pg_replication_slots WHERE NOT active; SELECT pg_drop_replication_slot('...')), or set a larger"
            + " max_replication_slots among postgres.embedded.parameters";
    /** Directories of which only the names are copied, as the manual says. */
    private static final Set<String> EMPTIED = Set.of(WAL_DIRECTORY, "pg_replslot", "pg_dynshmem", "pg_notify",
            "pg_serial", "pg_snapshots", "pg_stat_tmp", "pg_subtrans");
    /** Names that are left out: what is of a running server, and what it makes anew. */
    private static final Pattern LEFT_OUT = Pattern
            .compile("postmaster\\.(pid|opts)|backup_(label|manifest)(\\.old)?|tablespace_map(\\.old)?"
                    + "|current_logfiles(\\.tmp)?|postgresql\\.auto\\.conf\\.tmp|pg_internal\\.init.*|pgsql_tmp.*"
                    + "|t\\d+_\\d+.*|\\.s\\.PGSQL\\..*");
    private static final Path CONTROL = Path.of("global", "pg_control");

    private final Path data;
    private final BackendConnection connection;
    private final String slot;
    private final String firstWal;
    private final List<String> files;

    private PostgresBackup(Path data, BackendConnection connection) throws IOException, InterruptedException {
        this.data = data;
        this.connection = connection;
        slot = "tutti_copy_" + UUID.randomUUID().toString().replace('-', '_');
        try {
            connection.execute("SELECT pg_catalog.pg_create_physical_replication_slot('" + slot + "', true, true)",
                    TIMEOUT);
        } catch (PostgresException refused) {
            if (refused.sqlState().equals("53400")) {
                throw new IOException(NO_SLOT, refused);
            }
            throw refused;
        }
        firstWal = value(connection
                .execute("SELECT pg_catalog.pg_walfile_name(pg_catalog.pg_backup_start('tutti copy', true))", TIMEOUT)
                .value());
        files = list();
    }

    /**
     * Begins one.
     *
     * @param settings of a superuser
     * @param data directory of the server
     * @throws IOException if it cannot be
     */
    public static PostgresBackup begin(EventLoopGroup loops, BackendSettings settings, Path data)
            throws IOException, InterruptedException {
        try (Stream<Path> tablespaces = Files.list(data.resolve("pg_tblspc"))) {
            if (tablespaces.findAny().isPresent()) {
                throw new IOException(
                        "the server in " + data + " has tablespaces, which are not copied: move all into pg_default");
            }
        }
        BackendConnection connection;
        try {
            connection = BackendConnection.connect(loops.next(), settings).get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException failed) {
            throw new IOException("cannot connect to PostgreSQL at " + settings.address() + ": " + failed.getMessage(),
                    failed);
        }
        boolean begun = false;
        try {
            PostgresBackup backup = new PostgresBackup(data, connection);
            begun = true;
            return backup;
        } finally {
            if (!begun) {
                connection.close();
            }
        }
    }

    private static String value(@Nullable String told) throws IOException {
        if (told == null) {
            throw new IOException("PostgreSQL tells nothing of a backup");
        }
        return told;
    }

    private List<String> list() throws IOException {
        List<String> found = new ArrayList<>();
        Files.walkFileTree(data, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes) {
                Path path = data.relativize(directory);
                if (directory.equals(data)) {
                    return FileVisitResult.CONTINUE;
                }
                if (LEFT_OUT.matcher(directory.getFileName().toString()).matches()) {
                    return FileVisitResult.SKIP_SUBTREE;
                }
                found.add(path + "/");
                if (path.toString().equals(WAL_DIRECTORY)) {
                    found.add(WAL_DIRECTORY + "/archive_status/");
                    found.add(WAL_DIRECTORY + "/summaries/");
                }
                return path.getNameCount() == 1 && EMPTIED.contains(path.toString())
                        ? FileVisitResult.SKIP_SUBTREE
                        : FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                Path path = data.relativize(file);
                if (attributes.isRegularFile() && !LEFT_OUT.matcher(file.getFileName().toString()).matches()
                        && !path.equals(CONTROL)) {
                    found.add(path.toString());
                }
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException gone) {
                return FileVisitResult.CONTINUE;
            }
        });
        found.add(CONTROL.toString());
        return List.copyOf(found);
    }

    /** Paths below the data directory of what is to be copied; those of directories end with a slash. Files may be gone. */
    public List<String> files() {
        return files;
    }

    /**
     * What there is besides.
     *
     * @param label content of the file {@code backup_label}
     * @param wal paths of files of the write-ahead log
     */
    public record Rest(String label, List<String> wal) {}

    /** Ends it, when all files have been copied; what is told must be copied before it is closed. */
    public Rest end() throws IOException, InterruptedException {
        List<@Nullable String> told = ask(
                "SELECT labelfile, pg_catalog.pg_walfile_name(lsn) FROM pg_catalog.pg_backup_stop(false)").getFirst();
        String lastWal = value(told.get(1));
        try (Stream<Path> wal = Files.list(data.resolve(WAL_DIRECTORY))) {
            List<String> names = wal.map(each -> each.getFileName().toString())
                    .filter(name -> WAL.matcher(name).matches() && name.compareTo(firstWal) >= 0
                            && name.compareTo(lastWal) <= 0)
                    .sorted().map(name -> WAL_DIRECTORY + "/" + name).toList();
            return new Rest(value(told.getFirst()), names);
        }
    }

    /**
     * Looks whether the server still has all of the log that the backup needs. Asked when that has been copied: a file that the server
     * does not keep any more becomes another one while it is read.
     *
     * @throws IOException if it has not
     */
    public void check() throws IOException, InterruptedException {
        if (ask("SELECT wal_status FROM pg_catalog.pg_replication_slots WHERE wal_status <> 'lost' AND slot_name = '"
                + slot + "'").isEmpty()) {
            throw new IOException(NOT_KEPT);
        }
    }

    /** A server that drops the log ends the session whose slot kept it. */
    private List<List<@Nullable String>> ask(String sql) throws IOException, InterruptedException {
        try {
            return connection.execute(sql, TIMEOUT).rows();
        } catch (PostgresException failed) {
            throw failed.sqlState().equals("57P01") ? new IOException(NOT_KEPT, failed) : new IOException(failed);
        } catch (IOException failed) {
            throw connection.closed().isDone() ? new IOException(NOT_KEPT, failed) : failed;
        }
    }

    /** Gives up what has not ended, and the log that was kept. */
    @Override
    public void close() {
        connection.close();
    }
}
