package tutti.cli.torture;

import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import tutti.command.Failure;

/**
 * Runs this program again in namespaces of its own: networks, mounts and processes that nobody else sees, and that end with it. Whatever
 * becomes of this process, the kernel kills everything in there and takes its networks and mounts away.
 */
public final class NamespaceLauncher {
    private static final long STOP_SECONDS_MAX = 90;
    /** The first process of a namespace has to bury what its children leave behind: a shell does, Java does not. */
    private static final String FIRST_PROCESS = "\"$@\"; exit $?";

    private NamespaceLauncher() {}

    /** The command that makes the namespaces; empty if they cannot be made here. */
    public static Optional<List<String>> command() {
        List<String> command = new ArrayList<>(List.of("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child",
                "--mount-proc"));
        if (!isRoot()) {
            // Rights over the namespaces only, and still no root: a PostgreSQL server would not run as root.
            command.addAll(List.of("--user", "--map-current-user", "--keep-caps"));
        }
        command.add("--");
        List<String> probe = new ArrayList<>(command);
        probe.addAll(List.of("sh", "-c", "ip link add tutti type bridge && command -v nsenter"));
        return Tools.works(probe.toArray(String[]::new)) ? Optional.of(command) : Optional.empty();
    }

    private static boolean isRoot() {
        try {
            return Integer.valueOf(0).equals(Files.getAttribute(Path.of("/proc/self"), "unix:uid"));
        } catch (IOException | UnsupportedOperationException _) {
            return false;
        }
    }

    /**
     * Runs it and waits. When this process is told to stop, the other is too, and has time to stop well.
     *
     * @param command of {@link #command}
     * @param main its main class
     * @return its exit status
     */
    public static int run(List<String> command, Class<?> main, List<String> arguments) throws InterruptedException {
        List<String> line = new ArrayList<>(command);
        line.addAll(List.of("sh", "-c", FIRST_PROCESS, "sh"));
        line.add(System.getProperty("java.home") + File.separator + "bin" + File.separator + "java");
        line.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        line.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
        line.addAll(arguments);
        Process process;
        try {
            // Its standard input is a pipe: the end of that is how it hears that it is to stop, also if this process is killed.
            process = new ProcessBuilder(line).redirectOutput(ProcessBuilder.Redirect.INHERIT)
                    .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        } catch (IOException e) {
            throw new Failure("cannot run " + line.getFirst() + ": " + e.getMessage(), "", e);
        }
        Thread stop = Thread.ofPlatform().name("stop").unstarted(() -> stop(process));
        Runtime.getRuntime().addShutdownHook(stop);
        int status = process.waitFor();
        try {
            Runtime.getRuntime().removeShutdownHook(stop);
        } catch (IllegalStateException _) {
            // It is what has ended the process.
            return status;
        }
        return status;
    }

    private static void stop(Process process) {
        try {
            process.getOutputStream().close();
            if (process.waitFor(STOP_SECONDS_MAX, TimeUnit.SECONDS)) {
                return;
            }
        } catch (IOException | InterruptedException _) {
            process.destroyForcibly();
            return;
        }
        process.destroyForcibly();
    }
}
