package tutti.bench;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Runs `bench macro` in a JVM with the memory that all the copies need; that of the command itself has too little. */
final class MacroJvm {
    private MacroJvm() {}

    /**
     * Runs it there, with this one's output.
     *
     * @param heap as {@code -Xmx} takes it
     * @param arguments of the command, all of them
     * @return its exit status
     */
    static int run(String heap, List<String> arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(System.getProperty("java.home") + "/bin/java",
                "-XX:+UseSerialGC", "-Xms" + heap, "-Xmx" + heap, "-Xmn1g", "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow", "-cp", System.getProperty("java.class.path"),
                BenchProgram.class.getName()));
        command.addAll(arguments);
        Process process = new ProcessBuilder(command).inheritIO().start();
        Thread end = new Thread(process::destroy, "macro-end");
        Runtime.getRuntime().addShutdownHook(end);
        int status = process.waitFor();
        Runtime.getRuntime().removeShutdownHook(end);
        return status;
    }
}
