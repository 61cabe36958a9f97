package tutti.cli.pack;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import tutti.command.Failure;

/**
 * The part of this machine's operating system that a node needs: the shell and the few programs that start it, and the C and C++ libraries
 * that these, the Java runtime and PostgreSQL are linked with, found by {@code ldd}. With the licences of the Debian packages that they are
 * from, where this is a Debian.
 */
final class SystemFiles {
    private static final List<String> PROGRAMS = List.of("bash", "cat", "dirname", "env", "id", "ls", "ps", "readlink",
            "sleep");
    /** Loaded by name: how names of hosts are looked up. */
    private static final List<String> LOADED_BY_NAME = List.of("libnss_dns.so.2", "libnss_files.so.2",
            "libresolv.so.2");
    /** Of the runtime: what draws and plays, for which no node has a use and no server the libraries. */
    private static final Pattern NOT_OF_SERVERS = Pattern.compile("lib(awt_xawt|splashscreen|jsound|jawt)\\.so");
    private static final Pattern NEEDED = Pattern.compile("(?m)^\\s+(?:\\S+ => )?(/\\S+) \\(0x[0-9a-f]+\\)$");
    private static final Path DOCUMENTS = Path.of("/usr/share/doc");

    private SystemFiles() {}

    /**
     * Finds them.
     *
     * @param own directories of programs and libraries that come along, and what these need
     * @return the files by their names in the image, which begin with {@code usr/}
     */
    static Map<String, Path> of(Collection<Path> own) throws IOException {
        Map<String, Path> found = new TreeMap<>();
        Set<String> asked = new TreeSet<>();
        for (String name : PROGRAMS) {
            Path program = Stream.of("/usr/bin/", "/bin/").map(directory -> Path.of(directory + name))
                    .filter(Files::isExecutable).findFirst().orElse(null);
            if (program != null) {
                found.put("usr/bin/" + name, program.toRealPath());
                asked.add(program.toString());
            } else if (!name.equals("ps")) {
                throw new Failure("there is no " + name + " in /usr/bin or /bin", "an image takes it from here");
            }
        }
        for (Path directory : own) {
            try (Stream<Path> all = Files.walk(directory)) {
                all.filter(Files::isRegularFile).filter(SystemFiles::isLinked)
                        .forEach(file -> asked.add(file.toString()));
            }
        }
        List<String> command = new ArrayList<>(List.of("ldd"));
        command.addAll(asked);
        Matcher needed = NEEDED.matcher(Distribution.said(command));
        while (needed.find()) {
            Path library = Path.of(needed.group(1));
            if (own.stream().noneMatch(library::startsWith)) {
                found.put(place(library), library.toRealPath());
            }
        }
        Path libc = found.entrySet().stream().filter(file -> file.getKey().endsWith("/libc.so.6")).findFirst()
                .map(Map.Entry::getValue).orElseThrow(() -> new Failure("ldd names no libc.so.6",
                        "images are made where glibc is"));
        for (String name : LOADED_BY_NAME) {
            Path library = libc.resolveSibling(name);
            if (Files.exists(library)) {
                found.put(place(library), library.toRealPath());
            }
        }
        licences(found);
        return found;
    }

    private static boolean isLinked(Path file) {
        String name = file.getFileName().toString();
        return (name.contains(".so") || Files.isExecutable(file)) && !NOT_OF_SERVERS.matcher(name).matches()
                && isElf(file);
    }

    private static boolean isElf(Path file) {
        try (var in = Files.newInputStream(file)) {
            return new String(in.readNBytes(4), StandardCharsets.ISO_8859_1).equals("\177ELF");
        } catch (IOException unreadable) {
            return false;
        }
    }

    /** {@code /lib} and {@code /lib64} are links to directories in {@code /usr} in the image, wherever it is made. */
    private static String place(Path library) {
        String name = library.toString().substring(1);
        return name.startsWith("usr/") ? name : "usr/" + name;
    }

    private static void licences(Map<String, Path> found) throws IOException {
        if (!Files.isExecutable(Path.of("/usr/bin/dpkg-query"))) {
            return;
        }
        Deque<String> names = new ArrayDeque<>(List.of("/usr/bin/dpkg-query", "--search"));
        // By either name: the database may know a file by the directory that has since become a link.
        found.forEach((name, file) -> {
            names.add("/" + name);
            names.add(file.toString());
            names.add(file.toString().replaceFirst("^/usr/", "/"));
        });
        for (String line : Distribution.said(List.copyOf(names)).split("\n", -1)) {
            int colon = line.indexOf(':');
            Path licence = DOCUMENTS.resolve(colon < 0 ? line : line.substring(0, colon)).resolve("copyright");
            if (colon > 0 && Files.isRegularFile(licence)) {
                found.put(licence.toString().substring(1), licence.toRealPath());
            }
        }
    }
}
