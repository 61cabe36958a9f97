package tutti.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import tutti.command.Failure;
import tutti.runtime.real.PrivateFiles;

class PasswordOptionsTest {
    @TempDir
    private Path directory;

    @Command
    private static final class Any {
        @Mixin
        private PasswordOptions password;
    }

    private static String password(Map<String, String> environment, String... arguments) {
        Any command = new Any();
        new CommandLine(command).parseArgs(arguments);
        return command.password.password(environment);
    }

    private static String refusal(String... arguments) {
        return String.valueOf(assertThrows(Failure.class, () -> password(Map.of(), arguments)).getMessage());
    }

    @Test
    void aPasswordAmongTheArgumentsIsRefused() {
        assertTrue(refusal("--password", "sesame").contains("can be seen by everybody"));
        assertTrue(refusal("--password=sesame").contains("can be seen by everybody"));
        assertTrue(refusal("--password").contains("no terminal"));
    }

    @Test
    void itComesFromAPrivateFileOrFromTheEnvironment() throws Exception {
        Path file = PrivateFiles.write(directory.resolve("password"), "sesame\nsecond line\n");
        assertEquals("sesame", password(Map.of(PasswordOptions.VARIABLE, "other"), "--password-file", file.toString()));
        assertEquals("other", password(Map.of(PasswordOptions.VARIABLE, "other")));
        assertEquals("tutti", password(Map.of()));
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
        assertTrue(refusal("--password-file", file.toString()).contains("chmod 600"));
        assertTrue(refusal("--password-file", directory.resolve("none").toString()).contains("cannot be read"));
    }
}
