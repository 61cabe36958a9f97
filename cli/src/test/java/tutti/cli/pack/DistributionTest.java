package tutti.cli.pack;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tutti.cli.FreePorts;
import tutti.server.NodeProgram;

/** Packages are made of this build, unpacked elsewhere, and used where there is no Java. */
@Tag("long")
@Timeout(300)
class DistributionTest {
    private static final String VERSION = "9.8.7-TEST";

    /** Runs a node in the unpacked image as a container would: in a root directory of its own, as its user, until it is ready. */
    private static final String CONTAINER = """
            set -e
            mount -t proc proc rootfs/proc
            mount --rbind /dev rootfs/dev
            in="env --ignore-environment PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/home/tutti TUTTI_HTTP_PORT=$2 chroot $1 rootfs"
            $in $3 > log 2>&1 &
            node=$!
            tries=0
            until $in $4 2> not-ready; do
              tries=$((tries + 1))
              if [ $tries -gt 600 ] || ! kill -0 $node; then cat log not-ready; exit 1; fi
              sleep 0.1
            done
            kill -TERM $node
            wait $node && status=0 || status=$?
            echo "ready, and ended with $status"
            """;

    @TempDir
    private Path directory;

    /** This build as jars, as Maven makes them. */
    private Path jars() throws IOException {
        Path lib = Files.createDirectories(directory.resolve("build/lib"));
        List<String> names = new ArrayList<>();
        Path classes = Path.of(NodeProgram.class.getProtectionDomain().getCodeSource().getLocation().getPath());
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
            Path from = Path.of(entry);
            String name = names.size() + "-" + from.getFileName() + ".jar";
            if (from.equals(classes) || !Files.exists(from)) {
                continue;
            }
            if (Files.isDirectory(from)) {
                jar(lib.resolve(name), new Attributes(), from);
            } else {
                Files.copy(from, lib.resolve(name));
            }
            names.add("lib/" + name);
        }
        Attributes libraries = new Attributes();
        libraries.put(Attributes.Name.CLASS_PATH, String.join(" ", names).replace("lib/", ""));
        names.add("lib/tutti-server-" + VERSION + ".jar");
        jar(directory.resolve("build").resolve(names.getLast()), libraries, classes);
        Attributes sealed = new Attributes();
        sealed.put(Attributes.Name.SEALED, "true");
        jar(lib.resolve("sealed.jar"), sealed, Files.createDirectories(directory.resolve("empty")));
        names.add("lib/sealed.jar");
        Attributes main = new Attributes();
        main.put(Attributes.Name.CLASS_PATH, String.join(" ", names));
        return jar(directory.resolve("build/tutti-cli.jar"), main, directory.resolve("empty"));
    }

    /** @param classes a directory, or another jar */
    private static Path jar(Path jar, Attributes main, Path classes) throws IOException {
        if (!Files.isDirectory(classes)) {
            try (FileSystem inside = FileSystems.newFileSystem(classes)) {
                return jar(jar, main, inside.getPath("/"));
            }
        }
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
        imageIsWhatItSays(ImageArchive.of(distribution, out));

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

    /** Every blob is named by its digest, every layer's content as well; the layers, unpacked over each other, are a system that runs. */
    private void imageIsWhatItSays(Path image) throws Exception {
        run("mkdir", "layout", "rootfs");
        run("tar", "--extract", "--file", image.toString(), "--directory", "layout");
        Path layout = directory.resolve("layout");
        JsonNode index = json(layout.resolve("index.json")).get("manifests").get(0);
        JsonNode manifest = json(blob(index));
        JsonNode configuration = json(blob(manifest.get("config")));
        JsonNode contents = configuration.get("rootfs").get("diff_ids");
        assertEquals(contents.size(), manifest.get("layers").size());
        for (int i = 0; i < contents.size(); i++) {
            Path layer = blob(manifest.get("layers").get(i));
            assertEquals(contents.get(i).asString(),
                    "sha256:" + run("sh", "-c", "gunzip --stdout " + layer + " | sha256sum").substring(0, 64));
            run("tar", "--extract", "--gzip", "--preserve-permissions", "--same-owner", "--numeric-owner", "--file",
                    layer.toString(), "--directory", "rootfs");
        }
        JsonNode old = json(layout.resolve("manifest.json")).get(0);
        assertEquals(Checksums.of(layout.resolve(old.get("Config").asString())),
                manifest.get("config").get("digest").asString().substring("sha256:".length()));
        JsonNode runs = configuration.get("config");
        assertEquals(ImageArchive.USER + ":" + ImageArchive.USER, runs.get("User").asString());
        assertTrue(Files
                .isExecutable(directory.resolve("rootfs" + runs.get("Healthcheck").get("Test").get(1).asString())));

        Assumptions.assumeTrue("root".equals(System.getProperty("user.name")), "chroot takes root");
        int port = FreePorts.base(0, 1, 2);
        Files.writeString(directory.resolve("rootfs/etc/tutti/node.yaml"), """
                node: 0
                data: /var/lib/tutti
                members: [{id: 0, name: a, order: "127.0.0.1:%d", http: "127.0.0.1:%d"}]
                postgres: {embedded: {}}
                listen: {port: %d}
                http: {port: %2$d}
                """.formatted(port, port + 1, port + 2));
        String said = run("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", CONTAINER, "sh",
                "--userspec=" + ImageArchive.USER + ":" + ImageArchive.USER, String.valueOf(port + 1),
                entry(runs.get("Entrypoint")) + " " + entry(runs.get("Cmd")),
                entry(runs.get("Healthcheck").get("Test")));
        assertTrue(said.endsWith("ready, and ended with 143\n") || said.endsWith("ready, and ended with 0\n"), said);
    }

    private static String entry(JsonNode words) {
        return words.valueStream().map(JsonNode::asString).filter(word -> !word.equals("CMD"))
                .collect(Collectors.joining(" "));
    }

    private Path blob(JsonNode described) throws IOException {
        String digest = described.get("digest").asString();
        Path file = directory.resolve("layout/blobs").resolve(digest.replace(':', '/'));
        assertEquals(digest, "sha256:" + Checksums.of(file));
        assertEquals(described.get("size").asLong(), Files.size(file));
        return file;
    }

    private static JsonNode json(Path file) throws IOException {
        return JsonMapper.shared().readTree(Files.readAllBytes(file));
    }
}
