package tutti.cluster;

import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import tutti.server.NodeCollector;
import tutti.server.NodeProgram;

/** How a node's own JVM is started from this one: the same Java, a node's class path, options that suit a node. */
public final class NodeJvm {
    private static final String CLASS_PATH_VARIABLE = "TUTTI_CLASSPATH";
    private static final String OPTIONS_VARIABLE = "TUTTI_NODE_JAVA_OPTIONS";
    /** Several nodes share the machine: compact headers cost the least memory. */
    private static final List<String> OPTIONS = List.of("-XX:+UseCompactObjectHeaders", "-XX:-UsePerfData",
            "-XX:+ExitOnOutOfMemoryError",
            "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow");
    /** Heap and code in pages of 2 MiB: a thread that is woken for a message then finds its way with fewer misses. */
    private static final String LARGE_PAGES = "-XX:+UseTransparentHugePages";
    /** Linux's answer to who may have them; without it, the virtual machine would not know the option. */
    private static final Path LARGE_PAGES_ALLOWED = Path.of("/sys/kernel/mm/transparent_hugepage/enabled");
    /**
     * Without {@linkplain #cache() what a training run has left}, the optimising compiler is left out: in runs of minutes,
     * finding out what to optimise takes more time than its code gives back.
     */
    private static final String UNTRAINED = "-XX:TieredStopAtLevel=1";
    private static final String JAR = ".jar";

    /** Beside a database server, which has its own memory. */
    private static final List<String> SMALL = List.of(NodeCollector.option(false), "-Xms128m", "-Xmx768m", "-Xmn64m");
    /** With the rows on the heap: with the small one, comparing two warehouses of TPC-C in HSQLDB ran out of memory. */
    private static final List<String> LARGE = List.of(NodeCollector.option(true), "-Xms256m", "-Xmx2500m");

    private NodeJvm() {}

    private static List<String> options() {
        List<String> options = new ArrayList<>(OPTIONS);
        if (allowsLargePages()) {
            options.add(LARGE_PAGES);
        }
        return options;
    }

    /** Whether the system gives large pages to whoever asks. */
    private static boolean allowsLargePages() {
        try {
            return Files.isReadable(LARGE_PAGES_ALLOWED)
                    && !Files.readString(LARGE_PAGES_ALLOWED, StandardCharsets.US_ASCII).contains("[never]");
        } catch (IOException unknown) {
            return false;
        }
    }

    /**
     * Command line up to the main class, of a node beside a server; the environment can add options, in which {@code {node}}
     * stands for the node's id.
     */
    public static List<String> command() {
        return command(false);
    }

    /**
     * Command line up to the main class; the environment can add options.
     *
     * @param inProcess whether the node's database lives in its JVM
     */
    public static List<String> command(boolean inProcess) {
        List<String> options = options();
        options.add(cache().filter(NodeJvm::fits).map(file -> "-XX:AOTCache=" + file).orElse(UNTRAINED));
        options.addAll(inProcess ? LARGE : SMALL);
        String more = System.getenv(OPTIONS_VARIABLE);
        if (more != null && !more.isBlank()) {
            options.addAll(List.of(more.strip().split("\\s+")));
        }
        return command(options);
    }

    /**
     * The file with the classes of a node, linked, and the profile of its methods (JEP 483, 514, 515), which a training run
     * makes beside the jar, whether it is there or not. It is used only if no jar beside it has changed since: the virtual machine
     * looks at the server's jar, and takes classes of older versions of those that its manifest names.
     * Empty if the classes do not come from jars, from which alone they can be kept.
     */
    public static Optional<Path> cache() {
        Path server = server();
        return Files.isRegularFile(server)
                ? Optional.of(server.resolveSibling(server.getFileName().toString().replace(JAR, "") + ".aot"))
                : Optional.empty();
    }

    private static boolean fits(Path cache) {
        if (!Files.isRegularFile(cache)) {
            return false;
        }
        try (DirectoryStream<Path> jars = Files.newDirectoryStream(cache.resolveSibling(""), "*" + JAR)) {
            FileTime made = Files.getLastModifiedTime(cache);
            for (Path jar : jars) {
                if (Files.getLastModifiedTime(jar).compareTo(made) > 0) {
                    return false;
                }
            }
            return true;
        } catch (IOException | DirectoryIteratorException unreadable) {
            return false;
        }
    }

    /**
     * Command line up to the main class, of a node that takes down, when it stops, what it has loaded and done.
     *
     * @param notes the file for it; {@code {node}} in it stands for the node's id
     */
    public static List<String> recording(String notes) {
        List<String> options = options();
        options.addAll(SMALL);
        options.addAll(List.of("-XX:AOTMode=record", "-XX:AOTConfiguration=" + notes));
        return command(options);
    }

    /** Command line that makes a {@link #cache()} of what a node has taken down. */
    public static List<String> assembling(String notes, Path cache) {
        List<String> options = options();
        options.addAll(List.of(NodeCollector.option(false), "-XX:AOTMode=create", "-XX:AOTConfiguration=" + notes,
                "-XX:AOTCache=" + cache));
        return command(options);
    }

    /** Command line up to the main class, with these options of the JVM and no others. */
    public static List<String> command(List<String> options) {
        List<String> command = new ArrayList<>();
        command.add(System.getProperty("java.home") + File.separator + "bin" + File.separator + "java");
        command.addAll(options);
        command.addAll(List.of("-cp", classPath(), NodeProgram.class.getName()));
        return command;
    }

    /**
     * The server's jar, whose manifest names what it needs and nothing else, and what the environment adds, such as another order; where
     * there are only directories of classes, as in tests, the class path of this JVM.
     */
    private static String classPath() {
        Path server = server();
        if (!Files.isRegularFile(server)) {
            return System.getProperty("java.class.path");
        }
        String more = System.getenv(CLASS_PATH_VARIABLE);
        return more == null || more.isBlank() ? server.toString() : server + File.pathSeparator + more.strip();
    }

    /** Where the classes of a node come from: a jar or a directory. */
    private static Path server() {
        return Path.of(URI.create(NodeProgram.class.getProtectionDomain().getCodeSource().getLocation().toString()));
    }
}
