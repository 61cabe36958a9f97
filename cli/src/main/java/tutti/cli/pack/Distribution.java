package tutti.cli.pack;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import tutti.command.Failure;

/**
 * What a package holds, laid out in a directory:
 *
 * <pre>
 * bin/tutti              the command
 * bin/tutti-ready        whether a node is ready, for health checks
 * lib/*.jar, lib/*.aot   the program, its libraries, and what a node has learnt
 * runtime/               a Java runtime with the modules that they use
 * systemd/tutti.service  a unit for the archive unpacked as /opt/tutti
 * </pre>
 */
final class Distribution {
    /** All that the program and its libraries load, some of it by name only, so that no tool finds it. */
    private static final List<String> MODULES = List.of("java.base", "java.desktop", "java.instrument", "java.logging",
            "java.management", "java.naming", "java.net.http", "java.security.jgss", "java.security.sasl", "java.sql",
            "java.transaction.xa", "java.xml", "jdk.charsets", "jdk.crypto.ec", "jdk.httpserver", "jdk.jcmd", "jdk.jfr",
            "jdk.localedata", "jdk.management", "jdk.management.agent", "jdk.naming.dns", "jdk.net",
            "jdk.unsupported", "jdk.zipfs");
    private static final String JAR = ".jar";
    private static final String SERVER = "tutti-server-";
    private static final long PROGRAM_SECONDS_MAX = 600;

    private final Path root;
    private final String version;
    private final Instant time;

    private Distribution(Path root, String version, Instant time) {
        this.root = root;
        this.version = version;
        this.time = time;
    }

    /**
     * Lays it out.
     *
     * @param jar of the program, whose manifest names its libraries
     * @param into an empty directory
     */
    static Distribution stage(Path jar, Path into) throws IOException {
        List<Path> libraries = libraries(jar);
        Instant time = time(jar);
        String version = libraries.stream().map(library -> library.getFileName().toString())
                .filter(name -> name.startsWith(SERVER) && name.endsWith(JAR)).findFirst()
                .map(name -> name.substring(SERVER.length(), name.length() - JAR.length()))
                .orElseThrow(() -> new Failure(jar + " does not name the server's jar among its libraries", ""));
        Path root = into.resolve("tutti-" + version);
        Path lib = Files.createDirectories(root.resolve("lib"));
        // Where the manifest looks for the others, beside it in lib/.
        copy(jar, root.resolve(jar.getFileName()), time);
        for (Path library : libraries) {
            copy(library, lib.resolve(library.getFileName()), time);
        }
        resource("tutti.sh", Files.createDirectories(root.resolve("bin")).resolve("tutti"), "rwxr-xr-x");
        resource("tutti-ready.sh", root.resolve("bin/tutti-ready"), "rwxr-xr-x");
        resource("tutti.service", Files.createDirectories(root.resolve("systemd")).resolve("tutti.service"),
                "rw-r--r--");
        Path java = Path.of(System.getProperty("java.home"));
        run(List.of(java.resolve("bin").resolve("jlink").toString(), "--add-modules", String.join(",", MODULES),
                "--no-man-pages", "--no-header-files", "--strip-debug", "--compress", "zip-6", "--output",
                root.resolve("runtime").toString()));
        return new Distribution(root, version, time);
    }

    private static List<Path> libraries(Path jar) throws IOException {
        try (JarFile file = new JarFile(jar.toFile())) {
            String names = file.getManifest().getMainAttributes().getValue(Attributes.Name.CLASS_PATH);
            if (names == null) {
                throw new Failure(jar + " does not name its libraries", "");
            }
            return Stream.of(names.split(" ")).map(jar::resolveSibling).toList();
        }
    }

    /** When all in it was changed: {@code SOURCE_DATE_EPOCH} where that is set, otherwise when the program was built. */
    private static Instant time(Path jar) throws IOException {
        String asked = System.getenv("SOURCE_DATE_EPOCH");
        try {
            return asked == null
                    ? Files.getLastModifiedTime(jar).toInstant().truncatedTo(ChronoUnit.SECONDS)
                    : Instant.ofEpochSecond(Long.parseLong(asked));
        } catch (NumberFormatException | DateTimeException invalid) {
            throw new Failure("SOURCE_DATE_EPOCH is " + asked + ", which is no number of seconds since 1970", "",
                    invalid);
        }
    }

    /** Copies a jar. By the time of its change, which packages keep, a virtual machine tells whether what was learnt is of this file. */
    private static void copy(Path from, Path to, Instant time) throws IOException {
        Files.copy(from, to);
        Files.setPosixFilePermissions(to, PosixFilePermissions.fromString("rw-r--r--"));
        unseal(to, time);
        Files.setLastModifiedTime(to, FileTime.from(time));
    }

    /**
     * Lets a library's packages be sealed no more. A virtual machine that begins with what was learnt at one place (an AOT cache) and finds
     * a sealed library at another place takes that for a second library with the same packages, and ends.
     */
    private static void unseal(Path library, Instant time) throws IOException {
        try (FileSystem inside = FileSystems.newFileSystem(library)) {
            Path place = inside.getPath(JarFile.MANIFEST_NAME);
            if (!Files.exists(place)) {
                return;
            }
            Manifest manifest;
            try (InputStream in = Files.newInputStream(place)) {
                manifest = new Manifest(in);
            }
            List<Attributes> all = new ArrayList<>(manifest.getEntries().values());
            all.add(manifest.getMainAttributes());
            boolean sealed = false;
            for (Attributes attributes : all) {
                sealed |= attributes.remove(Attributes.Name.SEALED) != null;
            }
            if (sealed) {
                try (OutputStream to = Files.newOutputStream(place)) {
                    manifest.write(to);
                }
                Files.setLastModifiedTime(place, FileTime.from(time));
            }
        }
    }

    /** Writes a file that comes with this program. */
    static void resource(String name, Path to, String permissions) throws IOException {
        Files.writeString(to, resource(name));
        Files.setPosixFilePermissions(to, PosixFilePermissions.fromString(permissions));
    }

    /** A text that comes with this program. */
    static String resource(String name) throws IOException {
        try (InputStream in = Distribution.class.getResourceAsStream(name)) {
            if (in == null) {
                throw new IllegalStateException("there is no " + name);
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    Path root() {
        return root;
    }

    String version() {
        return version;
    }

    /** When all in it was changed, to the second. */
    Instant time() {
        return time;
    }

    /** As Debian calls the processor. */
    static String architecture() {
        String name = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
        return name.equals("aarch64") ? "arm64" : name.equals("x86_64") ? "amd64" : name;
    }

    /** Has nodes of what is laid out work for a while, with its own runtime, and keeps what they have learnt. */
    void train() throws IOException {
        run(List.of(root.resolve("bin").resolve("tutti").toString(), "train"));
    }

    /**
     * Packs it.
     *
     * @return the archive
     */
    Path archive(Path out) throws IOException {
        Path archive = out.resolve("tutti-" + version + "-linux-" + architecture() + ".tar.gz");
        tar(archive, root.getParent(), List.of(root.getFileName().toString()));
        return archive;
    }

    /** Packs entries of a directory, all of root's and of one time, sorted by name. */
    void tar(Path archive, Path directory, List<String> entries) throws IOException {
        List<String> command = new ArrayList<>(List.of("tar", "--create", "--gzip", "--file", archive.toString(),
                "--owner=0", "--group=0", "--numeric-owner", "--sort=name", "--mtime=@" + time.getEpochSecond(),
                "--directory", directory.toString()));
        command.addAll(entries);
        run(command);
    }

    private static void run(List<String> command) throws IOException {
        Said said = end(command);
        if (said.status() != 0) {
            throw new Failure("`" + String.join(" ", command) + "` failed: " + said.text().strip(), "");
        }
    }

    /** What a program says that fails for some of what it is asked, and answers for the rest. */
    static String said(List<String> command) throws IOException {
        return end(command).text();
    }

    private record Said(int status, String text) {}

    private static Said end(List<String> command) throws IOException {
        File said = File.createTempFile("tutti-package-", ".log");
        try {
            Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(said).start();
            if (!process.waitFor(PROGRAM_SECONDS_MAX, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                throw new Failure("`" + command.getFirst() + "` does not end", "");
            }
            return new Said(process.exitValue(), Files.readString(said.toPath()));
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new Failure("interrupted", "", interrupted);
        } finally {
            Files.deleteIfExists(said.toPath());
        }
    }
}
