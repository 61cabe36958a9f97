package tutti.core.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ProtocolsTest {
    private static final Replica NOWHERE = (Replica) Proxy.newProxyInstance(Replica.class.getClassLoader(),
            new Class<?>[]{Replica.class}, (_, method, _) -> {
                throw new AssertionError("asked for " + method);
            });

    @Test
    void everyProtocolIsMadeFromItsDefaultsAndFromThemSpelledOut() {
        for (String name : Protocols.names()) {
            Protocols.Description description = Protocols.describe(name);
            assertEquals(name, description.name());
            Map<String, String> spelled = new TreeMap<>();
            for (Parameter parameter : description.parameters()) {
                spelled.put(parameter.name(), parameter.byDefault());
                assertEquals(parameter.byDefault(), parameter.nearest(parameter.byDefault()));
            }
            Protocol byDefault = Protocols.create(name, 1, Set.of(0, 1, 2), Map.of(), NOWHERE);
            Protocol explicit = Protocols.create(name, 1, Set.of(0, 1, 2), spelled, NOWHERE);
            assertEquals(byDefault.getClass(), explicit.getClass());
            assertEquals(description.claims().needsReads(), byDefault.needsReads(), name);
            explicit.restore(byDefault.snapshot());
        }
    }

    @Test
    void claimsDependOnParameters() {
        assertEquals(Protocols.Isolation.SNAPSHOT_ISOLATION,
                Protocols.describe("postgres-r").claims().isolation());
        Protocols.Claims serializable = Protocols.describe("postgres-r", Map.of("isolation", "serializable")).claims();
        assertEquals(Protocols.Isolation.SERIALIZABILITY, serializable.isolation());
        assertTrue(serializable.needsReads());
        assertFalse(Protocols.describe("postgres-r").claims().needsReads());
    }

    @Test
    void whatOneKindOfReplicaKnowsIsRefusedByTheOther() {
        Protocol rows = Protocols.create("dbsm", 0, Set.of(0, 1), Map.of("reads", "rows"), NOWHERE);
        Protocol bloom = Protocols.create("dbsm", 0, Set.of(0, 1), Map.of("reads", "bloom"), NOWHERE);
        assertThrows(IllegalArgumentException.class, () -> bloom.restore(rows.snapshot()));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
            "dbms|       |      |no protocol 'dbms'|nearest: dbsm",
            "si  |windows|5     |protocol si has no parameter 'windows' (5)|nearest: window",
            "active|window|5    |protocol active has no parameter 'window' (5)|it has none",
            "si  |window |0     |protocol si: window is '0'; valid: 1 to 1073741823 (positions)|nearest: 1",
            "si  |window |many  |protocol si: window is 'many'|nearest: 1000000",
            "si  |progress-interval|10us|progress-interval is '10us'; valid: 1ms to 1h|nearest: 1ms",
            "si  |progress-interval|soon|progress-interval is 'soon'|nearest: 1s",
            "si  |progress-interval|900000000000000h|valid: 1ms to 1h|nearest: 1h",
            "wice|clusters|braga 0|wice: clusters is 'braga 0'; valid: each-alone, or names with their replicas|nearest: each-alone",
            "dbsm|reads  |row   |reads is 'row'; valid: rows, bloom|nearest: rows",
            "dbsm|false-positives|0|valid: 1.0E-9 to 0.5|nearest: 1.0E-9",
            "dbsm|false-positives|NaN|valid: 1.0E-9 to 0.5|nearest: 1.0E-4"})
    void errorsNameWhatIsWrongAndTheNearestThatIsRight(String protocol, String parameter, String value, String says,
            String nearest) {
        Map<String, String> parameters = parameter == null ? Map.of() : Map.of(parameter, value);
        String message = assertThrows(IllegalArgumentException.class,
                () -> Protocols.create(protocol, 0, Set.of(0), parameters, NOWHERE)).getMessage();
        assertTrue(message.contains(says), message);
        assertTrue(message.endsWith(nearest), message);
    }

    @Test
    void clustersHoldEachReplicaOnce() {
        Set<Integer> three = Set.of(0, 1, 2);
        Map<String, String> right = Map.of("clusters", "braga:0,1;lisbon:2", "primary", "lisbon");
        assertEquals(Wice.class, Protocols.create("wice", 1, three, right, NOWHERE).getClass());
        for (String wrong : List.of("braga:0,1", "braga:0,1;lisbon:1,2", "braga:0,1;braga:2", "braga:0,1;lisbon:2,3")) {
            assertThrows(IllegalArgumentException.class,
                    () -> Protocols.create("wice", 1, three, Map.of("clusters", wrong), NOWHERE), wrong);
        }
        assertThrows(IllegalArgumentException.class,
                () -> Protocols.create("wice", 1, three, Map.of("primary", "porto"), NOWHERE));
    }

    @Test
    void timesAreReadInAnyUnitAndPrintedInTheLargest() {
        Parameter.Time time = new Parameter.Time("t", 1_000, 7_200_000_000_000L, 1_000, "A time.");
        assertEquals(1_500_000_000L, time.parse("1500 ms"));
        assertEquals("1us to 2h", time.valid());
        assertEquals("90min",
                new Parameter.Time("t", 0, 7_200_000_000_000L, 5_400_000_000_000L, "A time.").byDefault());
    }
}
