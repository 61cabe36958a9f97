package tutti.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.runtime.real.FreePorts;
import tutti.runtime.real.PageProgram;

/** The program of docs/grid.md's section on Spring compiles without a warning, and prints what the page says. */
@Timeout(60)
class SpringPageTest {
    @TempDir
    private Path directory = Path.of("");

    @Test
    void theProgramPrintsWhatThePageSays() throws Exception {
        PageProgram program = PageProgram.of(Path.of("..", "docs", "grid.md"), "## Spring")
                .with("7803", FreePorts.addresses(1).getFirst().getPort());
        assertEquals(program.prints(), program.run(directory));
    }
}
