package tutti.macro;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.invoke.MethodHandles;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.macro.call.CallKind;
import tutti.macro.call.Operation;
import tutti.macro.call.OperationTable;
import tutti.macro.call.Read;
import tutti.macro.call.Write;

/** What cannot work is refused before anything runs, with cause and remedy. */
@Timeout(60)
class RefusalsTest {
    private static MacroComponent.Builder<Counter> counter() {
        return MacroComponent.of(Counter.class).reads("get.*");
    }

    private static void assertRefused(Supplier<?> attempt, String... said) {
        RuntimeException thrown = assertThrows(RuntimeException.class, attempt::get);
        assertTrue(thrown instanceof IllegalArgumentException || thrown instanceof IllegalStateException,
                thrown.toString());
        for (String part : said) {
            assertTrue(thrown.getMessage().contains(part), thrown.getMessage());
        }
    }

    /** Has no methods. */
    public interface Nothing {}

    /** Nobody else may implement it. */
    public sealed interface Sealed permits One {
        int one();
    }

    /** The only one. */
    public record One(int one) implements Sealed {}

    /** Not everybody may know what this takes. */
    public interface TakesHidden {
        int take(Hidden[] hidden);
    }

    record Hidden() {}

    @Test
    void interfacesThatNothingCanStandForAreRefused() {
        assertRefused(() -> MacroComponent.of(ArrayList.class), "java.util.ArrayList is not an interface", "name the");
        assertRefused(() -> MacroComponent.of(Nothing.class).replica("a", new Nothing() {}).build(), "no methods");
        assertRefused(() -> MacroComponent.of(Sealed.class), "sealed");
        assertRefused(() -> MacroComponent.of(TakesHidden.class).replica("a", h -> h.length).build(),
                "Hidden, which is in a method of", "MethodHandles.lookup()");
        try (var macro = MacroComponent.of(TakesHidden.class, MethodHandles.lookup()).replica("a", h -> h.length)
                .build()) {
            assertEquals(2, macro.component().take(new Hidden[2]));
        }
    }

    @Test
    @SuppressWarnings({"unchecked", "rawtypes", "NullAway"})
    void replicasMustBeThereDifferentAndOfTheInterface() {
        assertRefused(() -> counter().build(), "at least one replica", "call replica(");
        assertRefused(() -> counter().replica("a", new Counter.Plain()).replica("a", new Counter.Plain()),
                "a replica named a already");
        Counter twice = new Counter.Plain();
        assertRefused(() -> counter().replica("a", twice).exclusiveReplica("b", twice),
                "replica b is the same object as replica a", "execute each write twice");
        assertRefused(() -> counter().replica("a", null), "replica a is null");
        assertRefused(() -> counter().replica(null, twice), "needs a name");
        assertRefused(() -> ((MacroComponent.Builder) counter()).replica("a", "text"), "a java.lang.String, not a");
        assertRefused(() -> counter().replica("a", twice).threads(_ -> null).build(), "thread factory");
        // Equal maps are no less two.
        MacroComponent.of((Class<Map<String, String>>) (Class<?>) Map.class).replica("a", new HashMap<>())
                .replica("b", new HashMap<>()).build().close();
    }

    @Test
    void replicasThatAreAddedMustBeDifferentToo() {
        Counter.Plain first = new Counter.Plain();
        try (var macro = counter().replica("a", first).build()) {
            StateCopier<Counter> none = (_, _) -> {};
            assertThrows(IllegalArgumentException.class, () -> macro.add("b", first, none));
            assertThrows(IllegalArgumentException.class, () -> macro.add("b", macro.component(), none));
            assertThrows(IllegalArgumentException.class, () -> macro.add("a", new Counter.Plain(), none));
            assertEquals(1, macro.replicas().size());
        }
    }

    @Test
    void boundsAreChecked() {
        assertRefused(() -> counter().queueCapacity(3), "queueCapacity is 3", "power of two");
        assertRefused(() -> counter().callLimit(Duration.ZERO), "callLimit is PT0S", "1 ms or more");
        assertRefused(() -> ReadStrategy.many(0), "at least one");
        assertRefused(() -> Voting.majority().withExcludeAfterFaults(0), "excludeAfterFaults is 0");
    }

    /** Marks some of its methods. */
    public interface Partly {
        @Read
        int marked();

        int unmarked();
    }

    /** Marks both ways. */
    public interface Both {
        @Read
        @Write
        int both();
    }

    @Test
    void misspeltAndContradictoryRulesAreRefused() {
        assertRefused(() -> counter().reads("gte.*").replica("a", new Counter.Plain()).build(),
                "matches gte.*; there are add, addTwice, fail, get, getPrimitives");
        assertRefused(() -> counter().detach("nothing", value -> value).replica("a", new Counter.Plain()).build(),
                "matches nothing");
        assertRefused(() -> OperationTable.of(Both.class).build(), "both @Read and @Write");
        assertRefused(() -> OperationTable.of(Partly.class).allClassified().build(), "unmarked() reads or writes",
                "mark it @Read or @Write");
        assertEquals(2, OperationTable.of(Partly.class).writes("unmarked").allClassified().build().operations().size());
        assertEquals(CallKind.WRITE, kinds(Partly.class).get("unmarked"), "which is always safe");
        assertTrue(OperationTable.of(Map.class).allClassified().build().operations().size() > 20,
                "of the JDK's interfaces everything is known");
    }

    private static Map<String, CallKind> kinds(Class<?> type) {
        return OperationTable.of(type).build().operations().stream()
                .collect(Collectors.toMap(o -> o.method().getName(), Operation::kind, (a, b) -> {
                    assertEquals(a, b, "methods of one name that differ in the result only");
                    return a;
                }));
    }

    /** Overrides with and without a mark. */
    public interface Derived extends Base {
        @Override
        String inherited();

        @Override
        @Write
        String marked();
    }

    /** Marks. */
    public interface Base {
        @Read
        Object inherited();

        @Read
        Object marked();
    }

    /** Declares a method of the JDK anew. */
    public interface Registry extends Map<String, List<String>> {
        @Override
        List<String> get(Object key);
    }

    @Test
    void methodsInheritWhatIsKnownOfThoseThatTheyOverride() {
        assertEquals(CallKind.READ, kinds(Derived.class).get("inherited"));
        assertEquals(CallKind.WRITE, OperationTable.of(Derived.class).build().operations().stream()
                .filter(o -> o.signature().endsWith("marked()java.lang.String")).findFirst().orElseThrow().kind());
        assertEquals(CallKind.READ, kinds(Registry.class).get("get"));
        assertEquals(CallKind.READ, kinds(Registry.class).get("toString"));
    }
}
