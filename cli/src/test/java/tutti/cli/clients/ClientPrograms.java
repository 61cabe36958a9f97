package tutti.cli.clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Runs the programs in the directory {@code clients} at the top of the project, with the libraries that they name. Where the
 * language is not installed, the test is skipped. The first parameter of all is a directory for what they write.
 */
final class ClientPrograms {
    private static final Path CLIENTS = Path.of("..", "clients").toAbsolutePath().normalize();
    private static final Path ENVIRONMENTS = Path.of("target", "clients").toAbsolutePath();
    /** What has been installed by this virtual machine. */
    private static final Set<String> INSTALLED = new HashSet<>();
    private static final Duration PATIENCE = Duration.ofMinutes(4);

    private ClientPrograms() {}

    static void psycopg(Path log, String program, List<String> urls) throws Exception {
        needs("python3");
        Path environment = environment("python");
        Path python = environment.resolve("venv/bin/python");
        if (!Files.exists(python)) {
            run(log, environment, "python3", "-m", "venv", "venv");
        }
        if (INSTALLED.add("python")) {
            run(log, environment, python.toString(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                    "-r", "requirements.txt");
        }
        client(log, environment, urls, python.toString(), program);
    }

    static void nodePostgres(Path log, String program, List<String> urls) throws Exception {
        needs("node");
        needs("npm");
        Path environment = environment("node");
        if (INSTALLED.add("node")) {
            run(log, environment, "npm", "ci", "--no-audit", "--no-fund");
        }
        client(log, environment, urls, "node", program);
    }

    /** @param what which of the program's tests are run: {@code cluster} or {@code engine} */
    static void pgx(Path log, String what, List<String> urls) throws Exception {
        needs("go");
        Path environment = environment("go");
        run(log, environment, "go", "build", "-o", "client", ".");
        client(log, environment, urls, "./client", what);
    }

    static void script(Path log, String name, List<String> needed, List<String> urls) throws Exception {
        needed.forEach(ClientPrograms::needs);
        client(log, environment(name), urls, "bash", "client.sh");
    }

    /** A directory of its own for a client, with the files it comes with; what was built there before is kept. */
    private static Path environment(String client) throws IOException {
        Path environment = Files.createDirectories(ENVIRONMENTS.resolve(client));
        try (var files = Files.newDirectoryStream(CLIENTS.resolve(client), Files::isRegularFile)) {
            for (Path file : files) {
                Files.copy(file, environment.resolve(file.getFileName()), StandardCopyOption.REPLACE_EXISTING);
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
