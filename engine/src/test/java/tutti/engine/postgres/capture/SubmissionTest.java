package tutti.engine.postgres.capture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.util.UUID;
import org.junit.jupiter.api.Test;

/** What is fixed at the submission of a request that the database was not asked about. */
class SubmissionTest {
    private static final String MADE = "1764280000000000 0f8fad5b-d9cb-469f-a165-70867728950e";

    @Test
    void whatIsSubmittedLaterHasATimeOfItsOwnAndAnotherRandomValue() {
        String[] later = Statement.submittedLater(MADE, 250).split(" ", -1);
        assertEquals("1764280000000250", later[0]);
        assertEquals(UUID.fromString(later[1]).toString(), later[1]);
        assertNotEquals(MADE.split(" ", -1)[1], later[1]);
        assertNotEquals(later[1], Statement.submittedLater(MADE, 250).split(" ", -1)[1]);
    }
}
