package tutti.cli.torture;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import tutti.command.Failure;

/** Runs short programs of the system: ip, mount, kill. */
final class Tools {
    private static final long SECONDS_MAX = 60;

    private Tools() {}

    /**
     * Runs one and waits.
     *
     * @throws Failure with what it said, if it does not succeed
     */
    static String run(List<String> command) {
        try {
            Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
            process.getOutputStream().close();
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
            if (!process.waitFor(SECONDS_MAX, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                throw new Failure(String.join(" ", command) + " does not end", "");
            }
            if (process.exitValue() != 0) {
                throw new Failure("`" + String.join(" ", command) + "` failed: " + said, "");
            }
            return said;
        } catch (IOException missing) {
            throw new Failure("cannot run " + command.getFirst() + ": " + missing.getMessage(), "", missing);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new Failure("interrupted", "", interrupted);
        }
    }

    /** Likewise, its words given one by one. */
    static String run(String... command) {
        return run(List.of(command));
    }

    /** Whether it can be run with success. */
    static boolean works(String... command) {
        try {
            run(command);
            return true;
        } catch (Failure _) {
            return false;
        }
    }
}
