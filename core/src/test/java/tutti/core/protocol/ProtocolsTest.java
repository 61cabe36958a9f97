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
    private static final ReplicaWorld NOWHERE = (ReplicaWorld) Proxy.newProxyInstance(
            ReplicaWorld.class.getClassLoader(),
            new Class<?>[]{ReplicaWorld.class}, (_, method, _) -> {
                throw new AssertionError("asked for " + method);
            });

    @Test
    void everyProtocolIsMadeFromItsDefaultsAndFromThemSpelledOut() {
        for (ProtocolDescriptor descriptor : Protocols.STANDARD.all()) {
            Map<String, String> spelled = new TreeMap<>();
            for (Parameter parameter : descriptor.parameters()) {
                spelled.put(parameter.name(), parameter.byDefault());
                assertEquals(parameter.byDefault(), parameter.nearest(parameter.byDefault()));
            }
            ChosenProtocol byDefault = Protocols.STANDARD.choose(descriptor.name());
            ChosenProtocol explicit = Protocols.STANDARD.choose(descriptor.name(), spelled);
            assertEquals(byDefault.claims(), explicit.claims());
            assertEquals(byDefault.voters(Set.of(0, 1, 2)), explicit.voters(Set.of(0, 1, 2)));
            Protocol protocol = byDefault.create(1, Set.of(0, 1, 2), NOWHERE);
            explicit.create(1, Set.of(0, 1, 2), NOWHERE).restore(protocol.snapshot());
            assertEquals(byDefault.has(Trait.ONE_PRIMARY), protocol.primary().isPresent(), descriptor.name());
        }
    }

    private static Protocol create(String name, Set<Integer> replicas, Map<String, String> parameters) {
        return Protocols.STANDARD.choose(name, parameters).create(0, replicas, NOWHERE);
    }

    @Test
    void claimsDependOnParameters() {
        Claims snapshot = Protocols.STANDARD.choose("postgres-r").claims();
        assertEquals(Guarantee.SNAPSHOT_ISOLATION, snapshot.guarantee());
        assertFalse(snapshot.has(Trait.NEEDS_READS));
        Claims serializable = Protocols.STANDARD.choose("postgres-r", Map.of("isolation", "serializable")).claims();
        assertEquals(Guarantee.SERIALIZABILITY, serializable.guarantee());
        assertTrue(serializable.has(Trait.NEEDS_READS));
    }

    @Test
    void whatOneKindOfReplicaKnowsIsRefusedByTheOther() {
        Protocol rows = create("dbsm", Set.of(0, 1), Map.of("reads", "rows"));
        Protocol bloom = create("dbsm", Set.of(0, 1), Map.of("reads", "bloom"));
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
                () -> create(protocol, Set.of(0), parameters)).getMessage();
        assertTrue(message.contains(says), message);
        assertTrue(message.endsWith(nearest), message);
    }

    @Test
    void clustersHoldEachReplicaOnce() {
        Set<Integer> three = Set.of(0, 1, 2);
        Map<String, String> right = Map.of("clusters", "braga:0,1;lisbon:2", "primary", "lisbon");
        assertEquals(Wice.class, create("wice", three, right).getClass());
        for (String wrong : List.of("braga:0,1", "braga:0,1;lisbon:1,2", "braga:0,1;braga:2", "braga:0,1;lisbon:2,3")) {
            assertThrows(IllegalArgumentException.class,
                    () -> create("wice", three, Map.of("clusters", wrong)), wrong);
        }
        assertThrows(IllegalArgumentException.class,
                () -> create("wice", three, Map.of("primary", "porto")));
    }

    @Test
    void onlyTheVotersOfAPrimaryClusterThatStaysDecide() {
        Map<String, String> four = Map.of("clusters", "braga:0,1,2;lisbon:3");
        Set<Integer> all = Set.of(0, 1, 2, 3);
        assertEquals(Set.of(0, 1, 2), Protocols.STANDARD.choose("wice", four).voters(all));
        Map<String, String> moving = new TreeMap<>(four);
        moving.put("move-after", "5");
        assertEquals(all, Protocols.STANDARD.choose("wice", moving).voters(all));
        moving.put("voters", "primary");
        assertThrows(IllegalArgumentException.class, () -> Protocols.STANDARD.choose("wice", moving).voters(all));
        assertEquals(all, Protocols.STANDARD.choose("si").voters(all));
    }

    @Test
    void anOrderOfOneClusterIsRefusedByProtocolsThatCannotDoWithIt() {
        Deployment where = new Deployment(0, Set.of(0, 1), Set.of(0));
        assertTrue(assertThrows(IllegalArgumentException.class,
                () -> Protocols.STANDARD.choose("si").create(where, NOWHERE)).getMessage()
                .contains("needs an order that every replica is delivered"));
        assertEquals(Wice.class, Protocols.STANDARD.choose("wice").create(where, NOWHERE).getClass());
    }

    @Test
    void namesAreTakenOnce() {
        assertThrows(IllegalArgumentException.class,
                () -> Protocols.STANDARD.with(Protocols.STANDARD.descriptor("si")));
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
