package tutti.cli.clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Runs the programs in the directory {@code clients} at the top of the project, with the libraries that they name. Where the
 * language is not installed, the test is skipped. The first parameter of all is a directory for what they write.
 */
final class ClientPrograms {
    private static final Path CLIENTS = Path.of("..", "clients").toAbsolutePath().normalize();
    private static final Path ENVIRONMENTS = Path.of("target", "clients").toAbsolutePath();
    private static final Duration PATIENCE = Duration.ofMinutes(4);

    private ClientPrograms() {}

    /** Makes ready what a client needs. */
    private interface Installation {
        void in(Path environment) throws Exception;
    }

    /** A program in Java, with libraries that its project file names. */
    static void java(Path log, String program, List<String> urls) throws Exception {
        needs("mvn");
        Path environment = environment("java", there -> run(log, there, "mvn", "-B", "-ntp", "-q",
                "dependency:copy-dependencies", "-DoutputDirectory=libraries"));
        client(log, environment, urls, Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
                environment.resolve("libraries") + File.separator + "*", program);
    }

    static void psycopg(Path log, String program, List<String> urls) throws Exception {
        needs("python3");
        Path environment = environment("python", there -> {
            if (!Files.exists(there.resolve("venv/bin/python"))) {
                run(log, there, "python3", "-m", "venv", "venv");
            }
            run(log, there, there.resolve("venv/bin/python").toString(), "-m", "pip", "install", "--quiet",
                    "--no-compile", "--disable-pip-version-check", "-r", "requirements.txt");
        });
        client(log, environment, urls, environment.resolve("venv/bin/python").toString(), program);
    }

    static void nodePostgres(Path log, String program, List<String> urls) throws Exception {
        needs("node");
        needs("npm");
        Path environment = environment("node", there -> run(log, there, "npm", "ci", "--no-audit", "--no-fund"));
        client(log, environment, urls, "node", program);
    }

    /** @param what which of the program's tests are run: {@code cluster} or {@code engine} */
    static void pgx(Path log, String what, List<String> urls) throws Exception {
        needs("go");
        Path environment = environment("go", there -> run(log, there, "go", "build", "-o", "client", "."));
        client(log, environment, urls, "./client", what);
    }

    static void script(Path log, String name, List<String> needed, List<String> urls) throws Exception {
        needed.forEach(ClientPrograms::needs);
        client(log, environment(name, _ -> {}), urls, "bash", "client.sh");
    }

    /**
     * A directory of its own for a client, with the files it comes with and what it needs. Made anew when these have changed;
     * tests in other virtual machines use it, too.
     */
    private static Path environment(String client, Installation installation) throws Exception {
        Path environment = Files.createDirectories(ENVIRONMENTS.resolve(client));
        Path complete = environment.resolve("complete");
        try (FileChannel channel = FileChannel.open(environment.resolve("lock"), StandardOpenOption.CREATE,
                StandardOpenOption.WRITE); FileLock _ = channel.lock()) {
            try (var files = Files.newDirectoryStream(CLIENTS.resolve(client), Files::isRegularFile)) {
                for (Path file : files) {
                    Path copy = environment.resolve(file.getFileName());
                    if (!Files.exists(copy) || Files.mismatch(file, copy) >= 0) {
                        Files.deleteIfExists(complete);
                        Files.copy(file, copy, StandardCopyOption.REPLACE_EXISTING);
                    }
                }
            }
            if (!Files.exists(complete)) {
                installation.in(environment);
                Files.createFile(complete);
            }
        }
        return environment;
    }

    private static void needs(String program) {
        boolean found = Arrays.stream(System.getenv("PATH").split(File.pathSeparator, -1))
                .anyMatch(place -> Files.isExecutable(Path.of(place, program)));
        assumeTrue(found, program + " is not on the PATH");
    }

    private static void client(Path log, Path environment, List<String> urls, String... command) throws Exception {
        List<String> whole = new ArrayList<>(List.of(command));
        whole.addAll(urls);
        run(log, environment, whole.toArray(String[]::new));
    }

    private static void run(Path log, Path environment, String... command) throws Exception {
        Path output = Files.createTempFile(log, "client", ".log");
        ProcessBuilder builder = new ProcessBuilder(command).directory(environment.toFile()).redirectErrorStream(true)
                .redirectOutput(output.toFile());
        Process process = builder.start();
        if (!process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
            throw new AssertionError(command[0] + " did not end: " + Files.readString(output));
        }
        assertEquals(0, process.exitValue(), () -> shown(command, output));
    }

    private static String shown(String[] command, Path output) {
        try {
            return String.join(" ", command) + ":\n" + Files.readString(output);
        } catch (IOException unreadable) {
            return String.join(" ", command) + ": its output cannot be read: " + unreadable.getMessage();
        }
    }
}
