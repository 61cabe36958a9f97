package tutti.cli.pack;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.server.NodeProgram;

/** Packages are made of this build, unpacked elsewhere, and used where there is no Java. */
@Tag("long")
@Timeout(300)
class DistributionTest {
    private static final String VERSION = "9.8.7-TEST";

    @TempDir
    private Path directory;

    /** This build as jars, as Maven makes them. */
    private Path jars() throws IOException {
        Path lib = Files.createDirectories(directory.resolve("build/lib"));
        List<String> names = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
            Path from = Path.of(entry);
            boolean server = from.equals(Path.of(
                    NodeProgram.class.getProtectionDomain().getCodeSource().getLocation().getPath()));
            String name = server
                    ? "tutti-server-" + VERSION + ".jar"
                    : names.size() + "-" + from.getFileName() + ".jar";
            if (Files.isDirectory(from)) {
                jar(lib.resolve(name), new Attributes(), from);
                names.add("lib/" + name);
            } else if (Files.exists(from)) {
                Files.copy(from, lib.resolve(name));
                names.add("lib/" + name);
            }
        }
        Attributes sealed = new Attributes();
        sealed.put(Attributes.Name.SEALED, "true");
        jar(lib.resolve("sealed.jar"), sealed, Files.createDirectories(directory.resolve("empty")));
        names.add("lib/sealed.jar");
        Attributes main = new Attributes();
        main.put(Attributes.Name.CLASS_PATH, String.join(" ", names));
        return jar(directory.resolve("build/tutti-cli.jar"), main, directory.resolve("empty"));
    }

    private static Path jar(Path jar, Attributes main, Path classes) throws IOException {
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().putAll(main);
        try (OutputStream file = Files.newOutputStream(jar);
                JarOutputStream to = new JarOutputStream(file, manifest);
                Stream<Path> all = Files.walk(classes)) {
            for (Path one : all.filter(Files::isRegularFile).toList()) {
                String name = classes.relativize(one).toString();
                if (!name.equals(JarFile.MANIFEST_NAME)) {
                    to.putNextEntry(new ZipEntry(name));
                    Files.copy(one, to);
                }
            }
        }
        return jar;
    }

    private String run(String... command) throws Exception {
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true).directory(directory.toFile());
        builder.environment().keySet().retainAll(List.of("HOME"));
        builder.environment().put("PATH", "/usr/bin:/bin");
        Process process = builder.start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), said);
        return said;
    }

    @Test
    void whatIsPackedRunsElsewhereWithoutJava() throws Exception {
        Path out = Files.createDirectories(directory.resolve("out"));
        Path staging = Files.createDirectories(directory.resolve("staging"));
        Distribution distribution = Distribution.stage(jars(), staging);
        assertEquals(VERSION, distribution.version());
        try (JarFile unsealed = new JarFile(distribution.root().resolve("lib/sealed.jar").toFile())) {
            assertNull(unsealed.getManifest().getMainAttributes().getValue(Attributes.Name.SEALED));
        }
        Path deb = DebPackage.of(distribution, out);
        Path tar = distribution.archive(out);
        Checksums.write(out, Map.of(Checksums.of(deb), deb, Checksums.of(tar), tar));
        run("sh", "-c", "cd out && sha256sum --check SHA256SUMS");

        Files.createDirectories(directory.resolve("elsewhere"));
        run("tar", "--extract", "--file", tar.toString(), "--directory", "elsewhere");
        String home = "elsewhere/tutti-" + VERSION;
        assertTrue(run(home + "/bin/tutti", "--version").startsWith("Tutti "), "it has its own Java");
        assertTrue(Files.readString(directory.resolve(home + "/systemd/tutti.service")).contains("KillMode=mixed"));

        Assumptions.assumeTrue(Files.isExecutable(Path.of("/usr/bin/dpkg-deb")));
        assertTrue(run("dpkg-deb", "--info", deb.toString()).contains("Version: 9.8.7~TEST"));
        String listed = run("dpkg-deb", "--contents", deb.toString());
        for (String file : List.of("./opt/tutti/bin/tutti", "./usr/lib/systemd/system/tutti.service",
                "./usr/bin/tutti -> /opt/tutti/bin/tutti")) {
            assertTrue(listed.contains(file), listed);
        }
    }
}
