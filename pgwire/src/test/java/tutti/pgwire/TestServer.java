package tutti.pgwire;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A real PostgreSQL server for tests: unpacked once per build directory, its data in a directory of its own, SCRAM for
 * TCP connections, superuser {@value #SUPERUSER} with password {@value #PASSWORD}.
 */
public final class TestServer implements AutoCloseable {
    /** The superuser. */
    public static final String SUPERUSER = "postgres";
    /** The superuser's password. */
    public static final String PASSWORD = "secret of the superuser";
    private static final long WAIT_SECONDS = 60;
    private static @Nullable Path unused;

    private final Path binaries;
    private final Path data;
    private final int port;

    private TestServer(Path binaries, Path data, int port) {
        this.binaries = binaries;
        this.data = data;
        this.port = port;
    }

    /** Starts one, with these further settings, each {@code name=value}. */
    public static TestServer start(String... settings) throws IOException {
        Path target = Path.of(System.getProperty("java.io.tmpdir")).toAbsolutePath();
        Files.createDirectories(target);
        Path binaries = unpack(target);
        Path data = Files.createTempDirectory(target, "postgres-");
        TestServer server = new TestServer(binaries, data, freePort());
        command(List.of("cp", "-a", made(target, binaries) + "/.", data.toString()));
        // Autovacuum looks at tables when it comes to it: the same statement would give its rows in another order now and then.
        List<String> lines = new ArrayList<>(List.of("port=" + server.port, "listen_addresses='127.0.0.1'",
                "unix_socket_directories=''", "fsync=off", "max_connections=100", "log_min_messages=fatal",
                "autovacuum=off"));
        lines.addAll(List.of(settings));
        Files.writeString(data.resolve("postgresql.auto.conf"), String.join("\n", lines) + "\n");
        server.run("pg_ctl", "-D", data.toString(), "-w", "-s", "-l", data.resolve("log").toString(), "start");
        return server;
    }

    private static synchronized Path unpack(Path target) throws IOException {
        Path directory = target.resolve("postgres-binaries");
        if (!Files.exists(directory.resolve("bin/postgres"))) {
            Path fresh = Files.createTempDirectory(target, "unpack-");
            Path archive = fresh.resolve("binaries.txz");
            String name = "/postgres-linux-" + (System.getProperty("os.arch").equals("aarch64") ? "arm_64" : "x86_64")
                    + ".txz";
            try (InputStream in = TestServer.class.getResourceAsStream(name)) {
                Files.copy(java.util.Objects.requireNonNull(in, name), archive);
            }
            command(List.of("tar", "-xJf", archive.toString(), "-C", fresh.toString()));
            Files.delete(archive);
            try {
                Files.move(fresh, directory, StandardCopyOption.ATOMIC_MOVE);
            } catch (FileSystemException another) {
                // Another process of tests was faster.
                command(List.of("rm", "-rf", fresh.toString()));
                if (!Files.exists(directory.resolve("bin/postgres"))) {
                    throw another;
                }
            }
        }
        return directory;
    }

    /** A data directory that no server has used yet, made once for all of this virtual machine: to copy it takes a tenth of the time. */
    private static synchronized Path made(Path target, Path binaries) throws IOException {
        Path data = unused;
        if (data == null) {
            data = Files.createTempDirectory(target, "postgres-unused-");
            Path passwordFile = Files.writeString(data.resolveSibling(data.getFileName() + ".password"), PASSWORD);
            new TestServer(binaries, data, 0).run("initdb", "-D", data.toString(), "-U", SUPERUSER,
                    "--auth=scram-sha-256", "-E", "UTF8", "--locale=C", "-N", "--pwfile=" + passwordFile);
            Files.delete(passwordFile);
            TestServer made = new TestServer(binaries, data, 0);
            Runtime.getRuntime().addShutdownHook(new Thread(made::delete));
            unused = data;
        }
        return data;
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    private void run(String program, String... arguments) throws IOException {
        List<String> command = new ArrayList<>();
        if (System.getProperty("user.name").equals("root")) {
            command.addAll(List.of("unshare", "-U"));
        }
        command.add(binaries.resolve("bin").resolve(program).toString());
        command.addAll(List.of(arguments));
        command(command);
    }

    private static void command(List<String> command) throws IOException {
        Path output = Files.createTempFile("command", ".out");
        Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile()).start();
        boolean finished;
        try {
            finished = process.waitFor(WAIT_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException interrupted) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
            throw new IOException(command + " was interrupted", interrupted);
        }
        if (!finished || process.exitValue() != 0) {
            process.destroyForcibly();
            throw new IOException(command + " failed: " + Files.readString(output, StandardCharsets.UTF_8));
        }
        Files.delete(output);
    }

    /** Where it listens. */
    public InetSocketAddress address() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
    }

    /** How to connect as the superuser. */
    public BackendSettings settings() {
        return BackendSettings.of(address(), SUPERUSER, "postgres", new BackendSettings.Credentials.Password(PASSWORD));
    }

    /** Stops it at once, as a crash would. */
    public void crash() throws IOException {
        run("pg_ctl", "-D", data.toString(), "-w", "-s", "-m", "immediate", "stop");
    }

    /** Starts it again. */
    public void restart() throws IOException {
        run("pg_ctl", "-D", data.toString(), "-w", "-s", "-l", data.resolve("log").toString(), "start");
    }

    @Override
    public void close() throws IOException {
        if (Files.exists(data.resolve("postmaster.pid"))) {
            crash();
        }
        delete();
    }

    private void delete() {
        try (var files = Files.walk(data)) {
            for (Path file : files.sorted(java.util.Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }
}
