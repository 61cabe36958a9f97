package tutti.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;
import tutti.command.Program;

class PositionCommandTest {
    @Test
    void whereNobodyAnswersNothingIsSaidOfPositions() {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        assertEquals(Program.FAILURE,
                new Tutti().commandLine().setOut(new PrintWriter(out)).setErr(new PrintWriter(err))
                        .execute("position", "show", "--json", "--url", "http://127.0.0.1:1"));
        assertEquals("", out.toString());
        assertTrue(err.toString().contains("cannot be reached"), err::toString);
        assertFalse(err.toString().contains("there is no position"), err::toString);
    }
}
