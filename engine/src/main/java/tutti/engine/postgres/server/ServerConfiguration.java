package tutti.engine.postgres.server;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * What a server of our own is started with. Immutable; made from {@link #of} and refined with the other methods.
 *
 * @param binaries its programs
 * @param dataDirectory absolute; made at the first start
 * @param logFile where it writes its log
 * @param port TCP port on the loopback address, 1 to 65535
 * @param superuser name of the first role
 * @param password of the first role; used when the data directory is made
 * @param settings server settings by name, over those of {@link #effectiveSettings}
 * @param timeout for beginning to start; what it recovers then takes as long as it takes
 */
public record ServerConfiguration(
        ServerBinaries binaries,
        Path dataDirectory,
        Path logFile,
        int port,
        String superuser,
        String password,
        Map<String, String> settings,
        Duration timeout) {
    /** The only address that a server of our own listens on. */
    public static final String HOST = "127.0.0.1";
    private static final String AFTER_A_CRASH = "after a crash of the machine the database would be damaged";
    private static final String UNSEEN = "damage of the disk would pass unseen";
    private static final String NOT_FOUND = "the node would not find its server";
    /** Settings that a node's server must have as they are, with what would become of it otherwise. */
    public static final Map<String, String> RELIED_ON = Map.of("fsync", AFTER_A_CRASH, "full_page_writes",
            AFTER_A_CRASH, "zero_damaged_pages", UNSEEN, "ignore_checksum_failure", UNSEEN, "ignore_invalid_pages",
            UNSEEN, "restart_after_crash", "commits that a crash of one of its processes loses would be missed unseen",
            "session_replication_role", "what clients change would not be told the other nodes", "port",
            NOT_FOUND + "; postgres.embedded.port is for that", "unix_socket_directories", NOT_FOUND, "data_directory",
            NOT_FOUND);
    /** The operating system's bound on the path of a Unix socket. */
    private static final int SOCKET_PATH_LIMIT_BYTES = 107;

    /** Checks and copies. */
    public ServerConfiguration {
        if (port < 1 || port > 65_535) {
            throw new IllegalArgumentException("port must be 1 to 65535, was " + port);
        }
        if (superuser.equals("tutti")) {
            throw new IllegalArgumentException(
                    "the superuser must not be named tutti: what it creates would land in the"
                            + " schema tutti, which is not replicated");
        }
        if (!canBeSuperuser(superuser) || !canBePassword(password)) {
            throw new IllegalArgumentException(
                    "the superuser needs a name that does not begin with pg_, and a password of one line");
        }
        dataDirectory = dataDirectory.toAbsolutePath().normalize();
        logFile = logFile.toAbsolutePath().normalize();
        settings = Map.copyOf(settings);
    }

    /** Whether the first role may have this name. */
    public static boolean canBeSuperuser(String name) {
        return !name.isEmpty() && !name.startsWith("pg_") && !name.equals("tutti");
    }

    /** Whether the first role may have this password. */
    public static boolean canBePassword(String password) {
        return !password.isEmpty() && !password.contains("\n");
    }

    /** For a replica, with a log file beside the data directory. */
    public static ServerConfiguration of(ServerBinaries binaries, Path dataDirectory, int port, String superuser,
            String password) {
        Path data = dataDirectory.toAbsolutePath().normalize();
        return new ServerConfiguration(binaries, data, data.resolveSibling(data.getFileName() + ".log"), port,
                superuser,
                password, Map.of(), Duration.ofSeconds(60));
    }

    /** The same with another server setting, such as {@code synchronous_commit}. */
    public ServerConfiguration with(String setting, String value) {
        Map<String, String> more = new LinkedHashMap<>(settings);
        more.put(setting, value);
        return new ServerConfiguration(binaries, dataDirectory, logFile, port, superuser, password, more, timeout);
    }

    /** The same on another port. */
    public ServerConfiguration onPort(int other) {
        return new ServerConfiguration(binaries, dataDirectory, logFile, other, superuser, password, settings, timeout);
    }

    /** The Unix socket, in the data directory, unless its path is too long for one. */
    public Optional<Path> socket() {
        Path socket = dataDirectory.resolve(".s.PGSQL." + port);
        return socket.toString().getBytes(StandardCharsets.UTF_8).length <= SOCKET_PATH_LIMIT_BYTES
                ? Optional.of(socket)
                : Optional.empty();
    }

    /**
     * All settings that the server gets. The order of transactions is the durable log, so a commit need not wait for the
     * disk; what a crash loses is replayed. Everything else keeps the data safe (fsync, full pages, checksums).
     */
    public Map<String, String> effectiveSettings() {
        Map<String, String> all = new TreeMap<>();
        all.put("listen_addresses", HOST);
        all.put("port", Integer.toString(port));
        all.put("unix_socket_directories", socket().isPresent() ? dataDirectory.toString() : "");
        all.put("synchronous_commit", "off");
        all.put("wal_level", "replica");
        all.put("max_wal_senders", "4");
        // A role's slot that nobody reads must not fill the disk; a copy's is read within the time of a copy.
        all.put("max_slot_wal_keep_size", "16GB");
        all.put("max_connections", "200");
        all.put("shared_buffers", "128MB");
        all.put("max_wal_size", "2GB");
        all.put("checkpoint_timeout", "15min");
        all.put("checkpoint_completion_target", "0.9");
        all.put("jit", "off");
        all.put("log_checkpoints", "off");
        all.put("log_min_messages", "warning");
        all.put("log_line_prefix", "%m [%p] ");
        all.put("timezone", "UTC");
        all.put("log_timezone", "UTC");
        all.put("max_prepared_transactions", "64");
        // A crash of one server process loses commits; whoever runs this server must notice before anybody connects again.
        all.put("restart_after_crash", "off");
        all.put("deadlock_timeout", "1s");
        all.putAll(settings);
        return all;
    }
}
