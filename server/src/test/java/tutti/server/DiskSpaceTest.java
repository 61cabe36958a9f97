package tutti.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DiskSpaceTest {
    @TempDir
    private Path data;

    @Test
    void aPartWhoseDiskIsFullIsNamed() throws Exception {
        Path order = Files.createDirectory(data.resolve("order"));
        List<Path> parts = List.of(data, data.resolve("not there"), order);
        assertNull(DiskSpace.shortage(parts, _ -> DiskSpace.BYTES_MIN));
        String full = DiskSpace.shortage(parts, part -> part.equals(order) ? 5 << 10 : Long.MAX_VALUE);
        assertTrue(String.valueOf(full).endsWith(order
                + " has 5 KiB left, less than 16 MiB: make room, since changes fail when there is none"), full);
        assertEquals(null, DiskSpace.shortage(parts, _ -> {
            throw new IOException("unknown");
        }));
    }

    @Test
    void whatIsLeftIsAskedOfTheFileSystem() {
        assertNull(DiskSpace.shortage(List.of(data)), "there is room for tests");
    }
}
