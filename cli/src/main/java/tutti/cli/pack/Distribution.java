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
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
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

    private Distribution(Path root, String version) {
        this.root = root;
        this.version = version;
    }

    /**
     * Lays it out.
     *
     * @param jar of the program, whose manifest names its libraries
     * @param into an empty directory
     */
    static Distribution stage(Path jar, Path into) throws IOException {
        List<Path> libraries = libraries(jar);
        String version = libraries.stream().map(library -> library.getFileName().toString())
                .filter(name -> name.startsWith(SERVER) && name.endsWith(JAR)).findFirst()
                .map(name -> name.substring(SERVER.length(), name.length() - JAR.length()))
                .orElseThrow(() -> new Failure(jar + " does not name the server's jar among its libraries", ""));
        Path root = into.resolve("tutti-" + version);
        Path lib = Files.createDirectories(root.resolve("lib"));
        // Where the manifest looks for the others, beside it in lib/.
        copy(jar, root.resolve(jar.getFileName()));
        for (Path library : libraries) {
            copy(library, lib.resolve(library.getFileName()));
            unseal(lib.resolve(library.getFileName()));
        }
        resource("tutti.sh", Files.createDirectories(root.resolve("bin")).resolve("tutti"), "rwxr-xr-x");
        resource("tutti.service", Files.createDirectories(root.resolve("systemd")).resolve("tutti.service"),
                "rw-r--r--");
        Path java = Path.of(System.getProperty("java.home"));
        run(List.of(java.resolve("bin").resolve("jlink").toString(), "--add-modules", String.join(",", MODULES),
                "--no-man-pages", "--no-header-files", "--strip-debug", "--compress", "zip-6", "--output",
                root.resolve("runtime").toString()));
        return new Distribution(root, version);
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

    /** With its time of change, by which a virtual machine tells whether what was learnt is of this file. */
    private static void copy(Path from, Path to) throws IOException {
        Files.copy(from, to, StandardCopyOption.COPY_ATTRIBUTES);
        Files.setPosixFilePermissions(to, PosixFilePermissions.fromString("rw-r--r--"));
    }

    /**
     * Lets a library's packages be sealed no more. A virtual machine that begins with what was learnt at one place (an AOT cache) and finds
     * a sealed library at another place takes that for a second library with the same packages, and ends.
     */
    private static void unseal(Path library) throws IOException {
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

    /** Packs entries of a directory, all of root's, sorted by name. */
    static void tar(Path archive, Path directory, List<String> entries) throws IOException {
        List<String> command = new ArrayList<>(List.of("tar", "--create", "--gzip", "--file", archive.toString(),
                "--owner=0", "--group=0", "--numeric-owner", "--sort=name", "--directory", directory.toString()));
        command.addAll(entries);
        run(command);
    }

    private static void run(List<String> command) throws IOException {
        File said = File.createTempFile("tutti-package-", ".log");
        try {
            Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(said).start();
            if (!process.waitFor(PROGRAM_SECONDS_MAX, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                throw new Failure("`" + String.join(" ", command) + "` does not end", "");
            }
            if (process.exitValue() != 0) {
                throw new Failure("`" + String.join(" ", command) + "` failed: "
                        + Files.readString(said.toPath()).strip(), "");
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new Failure("interrupted", "", interrupted);
        } finally {
            Files.deleteIfExists(said.toPath());
        }
    }
}
