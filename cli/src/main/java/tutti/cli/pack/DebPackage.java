package tutti.cli.pack;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import tutti.command.Trees;

/**
 * A binary package of Debian's, format 2.0 (deb(5)): an {@code ar} archive with the format's version, what the package manager is to know, and
 * the files. Everything goes to {@code /opt/tutti}, with a link to the command in {@code /usr/bin} and a unit for systemd. The user
 * {@code tutti} and the directories for configuration and data are made when it is installed, and stay when it is removed.
 */
final class DebPackage {
    private static final byte[] ARCHIVE = "!<arch>\n".getBytes(StandardCharsets.US_ASCII);
    private static final String MODE = "100644";

    private DebPackage() {}

    /**
     * Makes one.
     *
     * @return the file
     */
    static Path of(Distribution distribution, Path out) throws IOException {
        // In the order of versions, what is to become a release comes before it.
        String version = distribution.version().replace('-', '~');
        String architecture = Distribution.architecture();
        Path work = Files.createTempDirectory(distribution.root().getParent(), "deb-");
        try {
            Path files = Files.createDirectories(work.resolve("files"));
            Path opt = Files.createDirectories(files.resolve("opt"));
            Path units = Files.createDirectories(files.resolve("usr/lib/systemd/system"));
            Distribution.resource("tutti.service", units.resolve("tutti.service"), "rw-r--r--");
            Files.createSymbolicLink(Files.createDirectories(files.resolve("usr/bin")).resolve("tutti"),
                    Path.of("/opt/tutti/bin/tutti"));
            Path data = work.resolve("data.tar.gz");
            // Not copied: it is large.
            Files.move(distribution.root(), opt.resolve("tutti"));
            long kibibytes;
            try {
                kibibytes = kibibytes(files);
                distribution.tar(data, files, List.of("./opt", "./usr"));
            } finally {
                Files.move(opt.resolve("tutti"), distribution.root());
            }
            Path control = Files.createDirectories(work.resolve("control"));
            Files.writeString(control.resolve("control"), Distribution.resource("control")
                    .replace("@VERSION@", version).replace("@ARCHITECTURE@", architecture)
                    .replace("@KIBIBYTES@", String.valueOf(kibibytes)));
            for (String script : List.of("postinst", "prerm", "postrm")) {
                Distribution.resource(script, control.resolve(script), "rwxr-xr-x");
            }
            Path told = work.resolve("control.tar.gz");
            distribution.tar(told, control, List.of("./control", "./postinst", "./prerm", "./postrm"));
            Path made = out.resolve("tutti_" + version + "_" + architecture + ".deb");
            try (OutputStream to = Files.newOutputStream(made)) {
                to.write(ARCHIVE);
                Path format = Files.writeString(work.resolve("debian-binary"), "2.0\n");
                for (Path member : List.of(format, told, data)) {
                    member(to, member);
                }
            }
            return made;
        } finally {
            Trees.delete(work);
        }
    }

    private static long kibibytes(Path directory) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            long bytes = 0;
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                bytes += Files.size(file);
            }
            return bytes >> 10;
        }
    }

    private static void member(OutputStream to, Path file) throws IOException {
        long size = Files.size(file);
        to.write(String.format(Locale.ROOT, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", file.getFileName(), 0L, 0, 0, MODE, size)
                .getBytes(StandardCharsets.US_ASCII));
        Files.copy(file, to);
        if (size % 2 != 0) {
            to.write('\n');
        }
    }
}
