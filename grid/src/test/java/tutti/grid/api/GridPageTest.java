package tutti.grid.api;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.runtime.real.FreePorts;
import tutti.runtime.real.PageProgram;

/** The program of docs/grid.md compiles without a warning, and prints what the page says. */
@Timeout(60)
class GridPageTest {
    @TempDir
    private Path directory = Path.of("");

    @Test
    void theProgramPrintsWhatThePageSays() throws Exception {
        List<InetSocketAddress> free = FreePorts.addresses(2);
        PageProgram program = PageProgram.of(Path.of("..", "docs", "grid.md"), "# The grid")
                .with("7801", free.get(0).getPort()).with("7802", free.get(1).getPort());
        assertEquals(program.prints(), program.run(directory));
    }
}
