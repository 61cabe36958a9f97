package tutti.engine.procedure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.SQLException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which classes can be registered as procedures, and how nodes compare them. */
class ProceduresTest {
    private static Procedures of(Map<String, String> classes) {
        return Procedures.of(classes, ProceduresTest.class.getClassLoader());
    }

    private static String named(Class<?> one) {
        return one.getName();
    }

    @Test
    void aRegisteredClassIsMadeInItsVersion() {
        Procedures sums = of(Map.of("sums", named(Sums.class)));
        String version = String.valueOf(sums.version("sums"));
        assertInstanceOf(Sums.class, sums.make("sums", version));
        assertNull(sums.version("other"));
        assertTrue(assertThrows(IllegalArgumentException.class, () -> sums.make("sums", "other")).getMessage()
                .contains("another version"));
        assertTrue(assertThrows(IllegalArgumentException.class, () -> sums.make("other", version)).getMessage()
                .contains("none of that name"));
    }

    @Test
    void nodesTellEachOtherNameAndVersionShortly() {
        Procedures sums = of(Map.of("a".repeat(63), named(Sums.class)));
        Procedures more = of(Map.of("b", named(Sums.class)));
        assertTrue(sums.abilities().stream().allMatch(name -> name.length() <= 64),
                () -> String.valueOf(sums.abilities()));
        assertNotEquals(sums.abilities(), more.abilities());
        assertEquals(of(Map.of("b", named(Sums.class))).abilities(), more.abilities());
    }

    @ParameterizedTest
    @CsvSource({"Clocks,submitted()", "Dice,random(n)", "Threads,java.lang.Thread", "Salted,LinkedHashSet",
            "Files,java.io.File", "Keeper,static field calls"})
    void whatMayComeOutDifferentlyIsRefused(String name, String says) {
        String message = assertThrows(IllegalArgumentException.class,
                () -> of(Map.of("one", getClass().getPackageName() + "." + name))).getMessage();
        assertTrue(message.contains("procedure one") && message.contains(says), message);
    }

    @ParameterizedTest
    @CsvSource({"one,tutti.engine.procedure.Missing,not on the node's class path",
            "one,java.lang.String,does not implement", "One,tutti.engine.procedure.Sums,has the form",
            "one,tutti.engine.procedure.ProcedureCall,does not implement"})
    void whatIsNoProcedureIsRefused(String name, String of, String says) {
        String message = assertThrows(IllegalArgumentException.class, () -> of(Map.of(name, of))).getMessage();
        assertTrue(message.contains(says), message);
    }

    @Test
    void thereIsABound() {
        Map<String, String> many = new HashMap<>();
        IntStream.rangeClosed(0, Procedures.COUNT_MAX).forEach(i -> many.put("p" + i, named(Sums.class)));
        assertThrows(IllegalArgumentException.class, () -> of(many));
    }

    @Test
    void valuesAreReadAsWhatTheyAre() throws SQLException {
        ProcedureValues values = new ProcedureValues(Arrays.asList("7", "7.5", "t", null, "x"));
        assertEquals(7, values.number(1));
        assertEquals("7.5", values.decimal(2).toString());
        assertTrue(values.truth(3));
        assertNull(values.optional(4));
        assertEquals(List.of("22004", "22018", "22018", "22023"),
                List.of(state(() -> values.text(4)), state(() -> values.number(5)), state(() -> values.number(2)),
                        state(() -> values.optional(6))));
    }

    private static String state(org.junit.jupiter.api.function.Executable read) {
        return assertThrows(SQLException.class, read).getSQLState();
    }
}
