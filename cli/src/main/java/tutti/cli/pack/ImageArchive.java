package tutti.cli.pack;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;
import tools.jackson.databind.json.JsonMapper;
import tutti.command.Trees;
import tutti.server.PostgresBinaries;

/**
 * An image for containers: a tar archive in the layout of OCI's image specification 1.1, with the index of {@code docker load} beside it. It
 * is written by this class, without a daemon, a registry or a base image: the lowest of its three layers is the part of this machine's
 * operating system that a node needs. The same build gives the same bytes, except for what nodes have learnt.
 */
final class ImageArchive {
    /** As whom a node runs: nobody's number on a host. */
    static final int USER = 10_001;

    private static final String HOME = "home/tutti";
    private static final String INDEX = "application/vnd.oci.image.index.v1+json";
    private static final String MANIFEST = "application/vnd.oci.image.manifest.v1+json";
    private static final String CONFIGURATION = "application/vnd.oci.image.config.v1+json";
    private static final String LAYER = "application/vnd.oci.image.layer.v1.tar+gzip";

    private final Distribution distribution;
    private final Path work;
    private final Map<String, Path> blobs = new LinkedHashMap<>();
    private final List<Map<String, Object>> layers = new ArrayList<>();
    private final List<String> contents = new ArrayList<>();
    private final List<Map<String, Object>> history = new ArrayList<>();

    private ImageArchive(Distribution distribution, Path work) {
        this.distribution = distribution;
        this.work = work;
    }

    /**
     * Makes one.
     *
     * @return the file
     */
    static Path of(Distribution distribution, Path out) throws IOException {
        Path work = Files.createTempDirectory(distribution.root().getParent(), "image-");
        try {
            return new ImageArchive(distribution, work).write(out);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", interrupted);
        } finally {
            Trees.delete(work);
        }
    }

    private interface Content {
        void addTo(TarWriter layer) throws IOException;
    }

    private Path write(Path out) throws IOException, InterruptedException {
        Path root = distribution.root();
        Path postgres = PostgresBinaries.unpack(work.resolve("postgres"));
        Map<String, Path> system = SystemFiles.of(List.of(root.resolve("runtime"), postgres));
        layer("the operating system's part", layer -> system(layer, system));
        List<Path> program = new ArrayList<>();
        List<Path> libraries = new ArrayList<>();
        try (Stream<Path> all = Files.list(root.resolve("lib")).sorted()) {
            all.forEach(file -> (file.getFileName().toString().startsWith("tutti-") ? program : libraries).add(file));
        }
        layer("Java, PostgreSQL, and libraries", layer -> {
            layer.directory("opt", 0755, 0);
            layer.directory("opt/tutti", 0755, 0);
            layer.tree("opt/tutti/runtime", root.resolve("runtime"));
            layer.directory("opt/tutti/lib", 0755, 0);
            for (Path library : libraries) {
                layer.file("opt/tutti/lib/" + library.getFileName(), library);
            }
            layer.directory(HOME + "/.cache", 0755, USER);
            layer.directory(HOME + "/.cache/tutti", 0755, USER);
            layer.tree(HOME + "/.cache/tutti/" + postgres.getFileName(), postgres);
        });
        layer("Tutti " + distribution.version(), layer -> {
            layer.tree("opt/tutti/bin", root.resolve("bin"));
            for (Path each : program) {
                layer.file("opt/tutti/lib/" + each.getFileName(), each);
            }
            try (Stream<Path> jars = Files.list(root).filter(Files::isRegularFile).sorted()) {
                for (Path jar : jars.toList()) {
                    layer.file("opt/tutti/" + jar.getFileName(), jar);
                }
            }
        });
        Map<String, Object> configuration = blob(CONFIGURATION, JsonMapper.shared().writeValueAsBytes(configuration()));
        Map<String, Object> manifest = blob(MANIFEST, JsonMapper.shared().writeValueAsBytes(sorted("schemaVersion", 2,
                "mediaType", MANIFEST, "config", configuration, "layers", layers)));
        Path made = out.resolve("tutti-" + distribution.version() + "-image-" + Distribution.architecture() + ".tar");
        archive(made, manifest, configuration);
        return made;
    }

    private static void system(TarWriter layer, Map<String, Path> files) throws IOException {
        for (String directory : List.of("dev", "etc", "home", "proc", "run", "sys", "usr", "var", "var/lib")) {
            layer.directory(directory, 0755, 0);
        }
        layer.directory("tmp", 01777, 0);
        layer.directory("etc/tutti", 0750, USER);
        layer.directory(HOME, 0755, USER);
        layer.directory("var/lib/tutti", 0700, USER);
        for (String name : List.of("bin", "lib", "lib64")) {
            layer.link(name, "usr/" + name);
        }
        layer.text("etc/passwd",
                "root:x:0:0:root:/:/bin/bash\ntutti:x:" + USER + ":" + USER + "::/" + HOME + ":/bin/bash\n");
        layer.text("etc/group", "root:x:0:\ntutti:x:" + USER + ":\n");
        layer.text("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n");
        layer.bytes("etc/os-release", Files.readAllBytes(Path.of("/etc/os-release")));
        List<String> directories = new ArrayList<>(List.of("usr/lib", "usr/lib64"));
        for (String name : files.keySet()) {
            for (int slash = name.indexOf('/', 4); slash > 0; slash = name.indexOf('/', slash + 1)) {
                directories.add(name.substring(0, slash));
            }
        }
        for (String directory : directories.stream().distinct().sorted().toList()) {
            layer.directory(directory, 0755, 0);
        }
        layer.link("usr/bin/sh", "bash");
        for (Map.Entry<String, Path> file : files.entrySet()) {
            layer.file(file.getKey(), file.getValue());
        }
    }

    private void layer(String what, Content content) throws IOException {
        Path file = work.resolve("layer-" + layers.size());
        MessageDigest packed = Checksums.digest();
        MessageDigest plain = Checksums.digest();
        try (OutputStream to = new DigestOutputStream(new BufferedOutputStream(Files.newOutputStream(file)), packed);
                GZIPOutputStream gzip = new GZIPOutputStream(to, 1 << 16);
                OutputStream tar = new DigestOutputStream(gzip, plain);
                TarWriter layer = new TarWriter(tar, distribution.time())) {
            content.addTo(layer);
        }
        layers.add(described(LAYER, HexFormat.of().formatHex(packed.digest()), file));
        contents.add("sha256:" + HexFormat.of().formatHex(plain.digest()));
        history.add(sorted("created", distribution.time().toString(), "created_by", "tutti package", "comment", what));
    }

    private Map<String, Object> blob(String type, byte[] content) throws IOException {
        String digest = HexFormat.of().formatHex(Checksums.digest().digest(content));
        return described(type, digest, Files.write(work.resolve(digest), content));
    }

    private Map<String, Object> described(String type, String digest, Path file) throws IOException {
        blobs.put(digest, file);
        return sorted("mediaType", type, "digest", "sha256:" + digest, "size", Files.size(file));
    }

    private Map<String, Object> configuration() {
        Instant time = distribution.time();
        Map<String, Object> run = sorted(
                "User", USER + ":" + USER,
                "ExposedPorts", sorted("5432/tcp", Map.of(), "7400/tcp", Map.of(), "8008/tcp", Map.of()),
                "Env", List.of("PATH=/opt/tutti/bin:/usr/bin:/bin", "HOME=/" + HOME),
                "Entrypoint", List.of("/opt/tutti/bin/tutti"),
                "Cmd", List.of("node", "--config", "/etc/tutti/node.yaml"),
                "Volumes", sorted("/var/lib/tutti", Map.of()),
                "WorkingDir", "/var/lib/tutti",
                "StopSignal", "SIGTERM",
                // Of Docker's, beyond the specification; others leave it aside.
                "Healthcheck", sorted("Test", List.of("CMD", "/opt/tutti/bin/tutti-ready"),
                        "Interval", Duration.ofSeconds(10).toNanos(), "Timeout", Duration.ofSeconds(6).toNanos(),
                        "StartPeriod", Duration.ofMinutes(2).toNanos(), "Retries", 3),
                "Labels", sorted("org.opencontainers.image.title", "Tutti",
                        "org.opencontainers.image.description", "A node of a replicated PostgreSQL",
                        "org.opencontainers.image.version", distribution.version()));
        return sorted("created", time.toString(), "architecture", Distribution.architecture(), "os", "linux",
                "config", run, "rootfs", sorted("type", "layers", "diff_ids", contents), "history", history);
    }

    private void archive(Path made, Map<String, Object> manifest, Map<String, Object> configuration)
            throws IOException {
        String tag = tag(distribution.version());
        Map<String, Object> listed = new LinkedHashMap<>(manifest);
        listed.put("annotations", sorted("io.containerd.image.name", "docker.io/library/tutti:" + tag,
                "org.opencontainers.image.ref.name", tag));
        JsonMapper json = JsonMapper.shared();
        try (OutputStream to = new BufferedOutputStream(Files.newOutputStream(made));
                TarWriter tar = new TarWriter(to, distribution.time())) {
            tar.text("oci-layout", json.writeValueAsString(sorted("imageLayoutVersion", "1.0.0")));
            tar.text("index.json", json.writeValueAsString(sorted("schemaVersion", 2, "mediaType", INDEX,
                    "manifests", List.of(listed))));
            tar.text("manifest.json", json.writeValueAsString(List.of(sorted("Config", place(configuration),
                    "RepoTags", List.of("tutti:" + tag), "Layers",
                    layers.stream().map(ImageArchive::place).toList()))));
            tar.directory("blobs", 0755, 0);
            tar.directory("blobs/sha256", 0755, 0);
            for (Map.Entry<String, Path> blob : blobs.entrySet()) {
                tar.file("blobs/sha256/" + blob.getKey(), blob.getValue());
            }
        }
    }

    private static String place(Map<String, Object> blob) {
        return "blobs/" + String.valueOf(blob.get("digest")).replace(':', '/');
    }

    /** A version as a tag, which may not have every character. */
    private static String tag(String version) {
        return version.replaceAll("[^A-Za-z0-9_.-]", "-");
    }

    /** A JSON object whose members stay in the order in which they are named. */
    private static Map<String, Object> sorted(Object... namesAndValues) {
        Map<String, Object> object = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            object.put(String.valueOf(namesAndValues[i]), namesAndValues[i + 1]);
        }
        return object;
    }
}
