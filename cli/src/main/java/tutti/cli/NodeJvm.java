package tutti.cli;

import java.io.File;
import java.util.ArrayList;
import java.util.List;

/** How a node's own JVM is started from this one: the same Java, the same class path, options that suit a node. */
public final class NodeJvm {
    private static final String OPTIONS_VARIABLE = "TUTTI_NODE_JAVA_OPTIONS";
    /**
     * Several nodes share the machine: a serial collector and compact headers cost the least CPU and memory, and so does
     * leaving out the optimising compiler, which in runs of minutes takes more time than its code gives back.
     */
    private static final List<String> OPTIONS = List.of("-XX:+UseSerialGC", "-XX:+UseCompactObjectHeaders",
            "-XX:TieredStopAtLevel=1",
            "-XX:-UsePerfData", "-XX:+ExitOnOutOfMemoryError",
            "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow");

    /** Beside a database server, which has its own memory. */
    private static final List<String> SMALL = List.of("-Xms128m", "-Xmx768m", "-Xmn64m");
    /** With the rows on the heap: with the small one, comparing two warehouses of TPC-C in HSQLDB ran out of memory. */
    private static final List<String> LARGE = List.of("-Xms256m", "-Xmx2500m", "-Xmn192m");

    private NodeJvm() {}

    /** Command line up to the main class, of a node beside a server; the environment can add options. */
    public static List<String> command() {
        return command(false);
    }

    /**
     * Command line up to the main class; the environment can add options.
     *
     * @param inProcess whether the node's database lives in its JVM
     */
    public static List<String> command(boolean inProcess) {
        List<String> command = new ArrayList<>();
        command.add(System.getProperty("java.home") + File.separator + "bin" + File.separator + "java");
        command.addAll(OPTIONS);
        command.addAll(inProcess ? LARGE : SMALL);
        String more = System.getenv(OPTIONS_VARIABLE);
        if (more != null && !more.isBlank()) {
            command.addAll(List.of(more.strip().split("\\s+")));
        }
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Tutti.class.getName()));
        return command;
    }
}
