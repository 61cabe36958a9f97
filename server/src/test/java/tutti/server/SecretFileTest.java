package tutti.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SecretFileTest {
    @Test
    void isMadeOnceAndKept(@TempDir Path directory) throws Exception {
        Path file = directory.resolve("secret");
        String made = SecretFile.of(file);
        assertTrue(made.matches("[0-9a-f]{32}"), made);
        assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
        assertEquals(made, SecretFile.of(file));
        assertNotEquals(made, SecretFile.of(directory.resolve("another")));
    }

    /** As a node leaves it that stops while it makes one. */
    @Test
    void isMadeWhereOnlyABeginningIs(@TempDir Path directory) throws Exception {
        Files.writeString(directory.resolve("secret.new"), "0");
        assertTrue(SecretFile.of(directory.resolve("secret")).matches("[0-9a-f]{32}"));
    }

    @Test
    void isRefusedIfEmptyOrOpen(@TempDir Path directory) throws Exception {
        Path file = directory.resolve("secret");
        Files.createFile(file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        assertTrue(assertThrows(IOException.class, () -> SecretFile.of(file)).getMessage().contains("empty"));
        Files.delete(file);
        SecretFile.of(file);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
        assertTrue(assertThrows(IOException.class, () -> SecretFile.of(file)).getMessage().contains("chmod 600"));
    }
}
