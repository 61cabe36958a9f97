package tutti.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;

/** What becomes of questions to a node. */
class NodeLifeTest {
    private final List<Completion<String>> asked = new ArrayList<>();
    private final List<String> tooLate = new ArrayList<>();

    private String ask(Duration patience) throws IOException {
        return NodeLife.asked(asked::add, patience, tooLate::add);
    }

    /** As a backup, for which the node would keep the order's log until it is told that nobody makes it. */
    @Test
    void whatANodeDoesForSomebodyWhoHasGivenUpIsNotLost() {
        assertTrue(assertThrows(IOException.class, () -> ask(Duration.ZERO)).getMessage().contains("does not answer"));
        asked.getFirst().succeeded("done");
        assertEquals(List.of("done"), tooLate);
    }

    @Test
    void whatItDoesNotDoNeedsNoEnd() throws IOException {
        assertThrows(IOException.class, () -> ask(Duration.ZERO));
        asked.getFirst().failed(new EngineFailure("57P03", "no", true));
        assertEquals("done", NodeLife.<String>asked(done -> done.succeeded("done"), Duration.ofMinutes(1),
                tooLate::add));
        assertEquals("no", assertThrows(IOException.class, () -> NodeLife.<String>asked(
                done -> done.failed(new EngineFailure("57P03", "no", true)), Duration.ofMinutes(1),
                tooLate::add)).getMessage());
        assertEquals(List.of(), tooLate);
    }
}
