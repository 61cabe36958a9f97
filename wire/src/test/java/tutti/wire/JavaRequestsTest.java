package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import tutti.engine.procedure.Procedures;
import tutti.pgwire.ErrorFields;
import tutti.wire.sql.StatementClasses.Statements;

/** Which calls of procedures in Java are handed in, and what clients are told of the others. */
class JavaRequestsTest {
    private static final Procedures PROCEDURES = Procedures.of(Map.of("pay", NothingToDo.class.getName()),
            JavaRequestsTest.class.getClassLoader());
    private static final JavaRequests AT_ALL = new JavaRequests(PROCEDURES, _ -> Set.of());

    private static Statements call(String procedure, boolean several, @Nullable String undeclared) {
        return new Statements(List.of("CALL pay(1)"), null, null, true, Set.of(procedure), several, undeclared,
                Map.of());
    }

    private static final Statements PAY = call("pay", false, null);

    private static void refused(String state, String says, @Nullable ErrorFields refusal) {
        ErrorFields told = Objects.requireNonNull(refusal);
        assertEquals(state, told.sqlState());
        assertTrue(told.toString().contains(says), told::toString);
    }

    @Test
    void aCallByItselfIsHandedInWithItsVersion() {
        assertNull(AT_ALL.refusal(List.of(PAY), true, false));
        assertEquals(Set.of("tutti.java_calls", "tutti.java_versions"), AT_ALL.settings(PAY).keySet());
        assertEquals("pay=" + PROCEDURES.version("pay"), AT_ALL.settings(PAY).get("tutti.java_versions"));
    }

    @Test
    void whatCallsNothingInJavaIsNoMatter() {
        Statements plain = new Statements(List.of("UPDATE a SET n = 1", "UPDATE b SET n = 1"), null, null, true);
        assertNull(JavaRequests.NONE.refusal(List.of(plain, plain), false, false));
        assertEquals(Map.of(), AT_ALL.settings(plain));
    }

    @Test
    void anUnknownProcedureIsRefused() {
        refused("42883", "no Java procedure lend", AT_ALL.refusal(List.of(call("lend", false, null)), true, false));
    }

    @Test
    void oneThatSomeNodeLacksIsRefused() {
        JavaRequests some = new JavaRequests(PROCEDURES, ability -> PROCEDURES.abilities().contains(ability)
                ? Set.of(2)
                : Set.of());
        refused("55000", "not at node 2", some.refusal(List.of(PAY), true, false));
    }

    @Test
    void oneThatDoesNotSayWhatItTouchesIsRefused() {
        refused("42P13", "does not say which tables", AT_ALL.refusal(List.of(call("pay", false, "pay")), true, false));
    }

    @Test
    void itMustBeCalledAlone() {
        refused("0A000", "called alone", AT_ALL.refusal(List.of(call("pay", true, null)), true, false));
        refused("0A000", "called alone", AT_ALL.refusal(List.of(PAY, PAY), true, false));
        assertNull(AT_ALL.refusal(List.of(PAY, PAY), true, true));
    }

    @Test
    void onlyOwnersExecuteIt() {
        refused("0A000", "only the owner", AT_ALL.refusal(List.of(PAY), false, false));
    }
}
