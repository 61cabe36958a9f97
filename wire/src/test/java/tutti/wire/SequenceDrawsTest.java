package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.pgwire.ErrorFields;
import tutti.wire.sql.StatementClasses.Statements;

/** Which values of sequences are drawn for requests, as the functions say that these call. */
class SequenceDrawsTest {
    private static Statements calling(Map<String, String> draws) {
        return new Statements(List.of("CALL pay(1)"), null, null, true, Set.of(), false, null, draws);
    }

    @Test
    void eachRequestHasItsOwnAndOneStatementMayAskForMoreThanAnother() {
        SequenceDraws draws = SequenceDraws.of(List.of(
                List.of(calling(Map.of("pay", "one, \"Odd\".two 3")), calling(Map.of("buy", "one 2"))),
                List.of(calling(Map.of())), List.of(calling(Map.of("buy", "one 2")))));
        assertNull(draws.refusal());
        assertEquals("SELECT tutti.draw(ARRAY[0,0,2], ARRAY['\"Odd\".two','one','one']::pg_catalog.regclass[],"
                + " ARRAY[3,2,2])", draws.sql());
        assertEquals("{\"s\": {}}", SequenceDraws.of("{}\n{}\n{\"s\": {}}", 2));
    }

    @Test
    void whoSaysNothingDrawsNothing() {
        assertEquals(SequenceDraws.NONE, SequenceDraws.of(List.of(List.of(calling(Map.of())))));
        assertEquals("{}", SequenceDraws.of(null, 7));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "one 0", "one 1001", "one two 3", "one,", "one'); DROP TABLE a; --", "one 9999999999",
            "o\\ne"})
    void whatIsNoSequenceAndNumberIsRefused(String says) {
        ErrorFields refusal = Objects
                .requireNonNull(SequenceDraws.of(List.of(List.of(calling(Map.of("pay", says))))).refusal());
        assertEquals("22023", refusal.sqlState());
        assertTrue(refusal.message().startsWith("function pay says that it draws values of"), refusal::message);
    }
}
