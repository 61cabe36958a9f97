package tutti.engine.postgres.server;

import java.io.IOException;
import java.io.InputStream;
import java.net.JarURLConnection;
import java.net.URL;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarFile;
import java.util.zip.CRC32;
import org.jspecify.annotations.Nullable;
import org.tukaani.xz.XZInputStream;

/**
 * The PostgreSQL programs: where they are, and how they are run by the user that this process has. Unpacks the archive
 * that comes as a dependency once per user, into a directory named after its contents; several processes may ask at
 * once. PostgreSQL refuses to run as root, so root runs it in a user namespace of its own, in which it is nobody in
 * particular but still owns root's files.
 */
public final class ServerBinaries {
    /** The PostgreSQL release that the dependency carries. */
    public static final String VERSION = "18.6";
    private static final String UNSHARE = "unshare";

    private final Path home;
    private final List<String> prefix;

    private ServerBinaries(Path home, List<String> prefix) {
        this.home = home;
        this.prefix = prefix;
    }

    /** Unpacked below {@code ~/.cache/tutti}. */
    public static ServerBinaries unpacked() throws IOException, InterruptedException {
        return unpacked(Path.of(System.getProperty("user.home"), ".cache", "tutti"));
    }

    /** Unpacked below that directory, now or earlier. */
    public static ServerBinaries unpacked(Path cache) throws IOException, InterruptedException {
        String resource = resource();
        Files.createDirectories(cache);
        String name = "postgres-" + VERSION + "-" + fingerprint(resource);
        Path home = cache.toAbsolutePath().resolve(name);
        if (!Files.exists(home)) {
            unpack(resource, cache.toAbsolutePath(), home);
        }
        return new ServerBinaries(home, runPrefix());
    }

    private static void unpack(String resource, Path cache, Path home) throws IOException {
        Path lock = cache.resolve(home.getFileName() + ".lock");
        try (FileChannel channel = FileChannel.open(lock, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                Held _ = Held.lock(channel)) {
            if (Files.exists(home)) {
                return;
            }
            Path temporary = cache.resolve(home.getFileName() + ".unpacking");
            deleteRecursively(temporary);
            Files.createDirectory(temporary);
            try (InputStream packed = open(resource); XZInputStream archive = new XZInputStream(packed)) {
                TarReader.unpack(archive, temporary);
                Files.move(temporary, home, StandardCopyOption.ATOMIC_MOVE);
            } catch (AtomicMoveNotSupportedException impossible) {
                throw new IOException("cannot rename within " + cache, impossible);
            } catch (IOException failed) {
                deleteRecursively(temporary);
                throw ServerException.explain("cannot unpack PostgreSQL into " + home,
                        String.valueOf(failed.getMessage()));
            }
        }
    }

    /** A lock among processes, and, by the class's monitor, among the threads of this one. */
    private record Held(FileLock lock) implements AutoCloseable {
        private static final java.util.concurrent.locks.ReentrantLock THREADS = new java.util.concurrent.locks.ReentrantLock();

        static Held lock(FileChannel channel) throws IOException {
            THREADS.lock();
            try {
                return new Held(channel.lock());
            } catch (IOException | RuntimeException failed) {
                THREADS.unlock();
                throw failed;
            }
        }

        @Override
        public void close() throws IOException {
            try {
                lock.release();
            } finally {
                THREADS.unlock();
            }
        }
    }

    private static String resource() throws ServerException {
        String architecture = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
        String name = switch (architecture) {
            case "amd64", "x86_64" -> "postgres-linux-x86_64.txz";
            case "aarch64", "arm64" -> "postgres-linux-arm_64.txz";
            default -> throw new ServerException(ServerException.Kind.CANNOT_RUN,
                    "there are no embedded PostgreSQL binaries for " + architecture
                            + "; give a PostgreSQL URL instead");
        };
        if (ServerBinaries.class.getClassLoader().getResource(name) == null) {
            throw new ServerException(ServerException.Kind.CANNOT_RUN,
                    "the embedded PostgreSQL binaries " + name + " are not on the class path");
        }
        return name;
    }

    private static InputStream open(String resource) throws IOException {
        return Optional.ofNullable(ServerBinaries.class.getClassLoader().getResourceAsStream(resource))
                .orElseThrow(() -> new ServerException(ServerException.Kind.CANNOT_RUN, resource + " has vanished"));
    }

    /** Tells one archive of a version from another without reading all of it: the checksum that its jar has for it. */
    private static String fingerprint(String resource) throws IOException {
        URL url = ServerBinaries.class.getClassLoader().getResource(resource);
        if (url == null) {
            throw new ServerException(ServerException.Kind.CANNOT_RUN, resource + " has vanished");
        }
        if (url.openConnection() instanceof JarURLConnection jar) {
            jar.setUseCaches(false);
            try (JarFile file = jar.getJarFile()) {
                return Long.toHexString(file.getJarEntry(jar.getEntryName()).getCrc());
            }
        }
        CRC32 checksum = new CRC32();
        try (InputStream packed = open(resource)) {
            checksum.update(packed.readAllBytes());
        }
        return Long.toHexString(checksum.getValue());
    }

    private static List<String> runPrefix() throws IOException, InterruptedException {
        if (!Integer.valueOf(0).equals(Files.getAttribute(Path.of("/proc/self"), "unix:uid"))) {
            return List.of();
        }
        List<String> prefix = List.of(UNSHARE, "--user", "--");
        Process probe;
        try {
            probe = new ProcessBuilder(List.of(UNSHARE, "--user", "--", "true")).redirectErrorStream(true).start();
        } catch (IOException missing) {
            throw cannotRunAsRoot("the command unshare is missing", missing);
        }
        String said = new String(probe.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
        if (!probe.waitFor(10, TimeUnit.SECONDS) || probe.exitValue() != 0) {
            probe.destroyForcibly();
            throw cannotRunAsRoot(said.strip(), null);
        }
        return prefix;
    }

    private static ServerException cannotRunAsRoot(String why, @Nullable Throwable cause) {
        String message = "PostgreSQL does not run as root, and a user namespace for it cannot be made here (" + why
                + "); run as an ordinary user, or give a PostgreSQL URL";
        return cause == null
                ? new ServerException(ServerException.Kind.CANNOT_RUN, message)
                : new ServerException(ServerException.Kind.CANNOT_RUN, message, cause);
    }

    /** The directory with {@code bin}, {@code lib} and {@code share}. */
    public Path home() {
        return home;
    }

    /** A process to be started of one of the programs: postgres, initdb, pg_ctl. */
    ProcessBuilder command(String program, List<String> arguments) {
        List<String> command = new java.util.ArrayList<>(prefix);
        command.add(home.resolve("bin").resolve(program).toString());
        command.addAll(arguments);
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().keySet().removeIf(name -> name.startsWith("PG") || name.startsWith("LC_"));
        builder.environment().put("LC_ALL", "C");
        builder.environment().put("LD_LIBRARY_PATH", home.resolve("lib").toString());
        return builder;
    }

    static void deleteRecursively(Path root) throws IOException {
        if (!Files.exists(root)) {
            return;
        }
        Files.walkFileTree(root, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.delete(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path directory, @Nullable IOException failed) throws IOException {
                if (failed != null) {
                    throw failed;
                }
                Files.delete(directory);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
