package tutti.cli;

import java.io.Console;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;
import tutti.command.Failure;
import tutti.runtime.real.PrivateFiles;

/** How a password is given to a command: by a file, by the environment or at the terminal, and not among its arguments. */
final class PasswordOptions {
    /** What it is if nobody says. */
    static final String DEFAULT = "tutti";
    static final String VARIABLE = "TUTTI_PASSWORD";
    private static final String ASK = "";
    private static final String REMEDY = "write it to a file that only you can read, and name that with --password-file;"
            + " or set " + VARIABLE + "; or say --password alone, to be asked";

    @Option(names = "--password-file", paramLabel = "FILE", description = "A file whose first line is the password of the role postgres, at the first start; only its owner may read it. Without it, the environment variable "
            + VARIABLE + ", or else `" + DEFAULT + "`.")
    private @Nullable Path file;

    @Option(names = "--password", arity = "0..1", fallbackValue = ASK, paramLabel = "", description = "Ask for it at the terminal.")
    private @Nullable String asked;

    /**
     * The password.
     *
     * @param environment of the process
     * @throws Failure if it is given in a way that others can see, or cannot be had
     */
    String password(Map<String, String> environment) {
        if (asked != null && !asked.equals(ASK)) {
            throw Failure.usage("a password among the arguments can be seen by everybody on this machine (ps)", REMEDY);
        }
        if (file != null) {
            return ofFile(file);
        }
        if (asked != null) {
            char[] typed = Optional.ofNullable(System.console()).filter(Console::isTerminal)
                    .map(console -> console.readPassword("Password of the role postgres: ")).orElse(null);
            if (typed == null) {
                throw Failure.usage("there is no terminal to ask for the password", REMEDY);
            }
            return new String(typed);
        }
        return environment.getOrDefault(VARIABLE, DEFAULT);
    }

    private static String ofFile(Path file) {
        try {
            PrivateFiles.requirePrivate(file);
            List<String> lines = Files.readAllLines(file);
            if (lines.isEmpty() || lines.getFirst().isEmpty()) {
                throw new Failure(file + " is empty", "its first line is the password");
            }
            return lines.getFirst();
        } catch (IOException unusable) {
            throw new Failure("the password cannot be read: " + unusable.getMessage(), "", unusable);
        }
    }
}
