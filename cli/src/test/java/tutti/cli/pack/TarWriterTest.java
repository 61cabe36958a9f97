package tutti.cli.pack;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Archives of the same files are the same bytes, and GNU tar reads them. */
class TarWriterTest {
    private static final Instant TIME = Instant.parse("2026-01-01T00:00:00Z");
    private static final String DEEP = "directory-".repeat(9) + "/" + "file-".repeat(12);

    @TempDir
    private Path directory;

    private byte[] archive() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (TarWriter tar = new TarWriter(bytes, TIME)) {
            tar.directory("home", 01777, 10_001);
            tar.tree("here", directory.resolve("here"));
            tar.text(DEEP, "deep\n");
        }
        return bytes.toByteArray();
    }

    @Test
    void anArchiveFollowsFromWhatIsAdded() throws Exception {
        Path here = Files.createDirectories(directory.resolve("here/more"));
        Path program = Files.writeString(here.resolve("program"), "#!/bin/sh\n");
        Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwx------"));
        Files.writeString(here.resolve("a"), "x".repeat(512));
        Files.createSymbolicLink(here.resolve("link"), Path.of("program"));
        byte[] archive = archive();
        Files.setLastModifiedTime(program, FileTime.from(TIME));
        assertArrayEquals(archive, archive());

        Process tar = new ProcessBuilder("tar", "--list", "--verbose", "--numeric-owner", "--utc", "--full-time")
                .redirectErrorStream(true).start();
        tar.getOutputStream().write(archive);
        tar.getOutputStream().close();
        String listed = new String(tar.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, tar.waitFor(), listed);
        assertEquals("""
                drwxrwxrwt 10001/10001 0 2026-01-01 00:00:00 home/
                drwxr-xr-x 0/0 0 2026-01-01 00:00:00 here/
                drwxr-xr-x 0/0 0 2026-01-01 00:00:00 here/more/
                -rw-r--r-- 0/0 512 2026-01-01 00:00:00 here/more/a
                lrwxrwxrwx 0/0 0 2026-01-01 00:00:00 here/more/link -> program
                -rwxr-xr-x 0/0 10 2026-01-01 00:00:00 here/more/program
                -rw-r--r-- 0/0 5 2026-01-01 00:00:00 %s
                """.formatted(DEEP), listed.replaceAll("(?m)  +", " "));
    }

    @Test
    void aNameThatDoesNotFitIsRefused() throws Exception {
        try (TarWriter tar = new TarWriter(new ByteArrayOutputStream(), TIME)) {
            assertThrows(IOException.class, () -> tar.text("x".repeat(101), ""));
        }
    }
}
