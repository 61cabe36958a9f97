package tutti.command;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FailureTest {
    @TempDir
    private Path directory;

    @Test
    void whatTheFileSystemRefusesIsToldWithItsCause() throws Exception {
        Path file = directory.resolve("lock");
        String user = System.getProperty("user.name");
        assertEquals(file + " is not there", Failure.said(new NoSuchFileException(file.toString())));
        Files.createFile(file);
        assertEquals(file + " may not be read or written by user " + user + ": it belongs to "
                + Files.getOwner(file).getName(), Failure.said(new AccessDeniedException(file.toString())));
        assertTrue(Failure.explain(new IllegalStateException("cannot start", new NoSuchFileException("x")))
                .startsWith("cannot start: x is not there"));
        assertEquals("the disk is full", Failure.said(new IOException("the disk is full")));
    }
}
