package tutti.model.scenario;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tutti.model.Calibration;
import tutti.model.ModelConfig;
import tutti.yaml.UnusableFileException;

class ScenarioReaderTest {
    @TempDir
    private Path directory;

    private ScenarioFile read(String text) throws IOException, UnusableFileException {
        return ScenarioReader.read(Files.writeString(directory.resolve("my.yaml"), text).toString(), Map.of());
    }

    @Test
    void shippedScenariosAreRight() throws UnusableFileException {
        for (String name : ScenarioReader.SHIPPED) {
            assertTrue(
                    ScenarioReader.read(name, Map.of()).config().topology()
                            .sites() >= (name.equals("one-database") ? 1 : 3),
                    name);
        }
    }

    @Test
    void aFileLiesOnTopOfWhatItExtends() throws Exception {
        ModelConfig config = read("""
                extends: gorda-wan
                topology: {cores: 8}
                workload:
                  clients: 60
                  mix: {neworder: 40, payment: 48}
                """).config();
        assertEquals(8, config.topology().cores());
        assertEquals(6, config.topology().sites());
        assertEquals(60, config.workload().clients());
        assertEquals(10, config.workload().clientsPerWarehouse());
    }

    @Test
    void aScenarioMayHaveOtherValuesThanItsCalibration() throws Exception {
        Calibration calibration = read("""
                extends: gorda-lan
                database: {with: {apply-share: 0.16, code: {packet: 54us}}}
                """).config().calibration();
        assertEquals(0.16, calibration.rows().applyShare());
        assertEquals(54_000, calibration.code().packetNanos());
        assertEquals(3.8088, calibration.log().writesPerRow(), "as the calibration has it");
    }

    @Test
    void aSweepIsEveryCombination() throws Exception {
        ScenarioFile file = read("""
                extends: gorda-lan
                sweep:
                  workload.clients: [90, 180]
                  protocol.name: [si, nodo]
                """);
        assertEquals(List.of(Map.of("workload.clients", "90", "protocol.name", "si"),
                Map.of("workload.clients", "90", "protocol.name", "nodo"),
                Map.of("workload.clients", "180", "protocol.name", "si"),
                Map.of("workload.clients", "180", "protocol.name", "nodo")), file.points());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            workload: {client: 3}           |my.yaml:2: workload.client is no key; did you mean workload.clients?
            workload: {clients: many}       |my.yaml:2: workload.clients is 'many'; valid: a whole number from 1
            workload: {mix: {payment: 50}}  |workload.mix adds up to 106.0 percent
            workload: {arrival: opne}       |workload.arrival is 'opne'; did you mean open?
            workload: {arrival: open}       |workload.rate must be given
            protocol: {name: dbms}          |my.yaml:2: protocol.name is 'dbms'; did you mean dbsm?
            protocol: {parameters: {a: 1}}  |protocol.parameters are wrong: protocol si has no parameter 'a'
            topology: {quantum: 10}         |topology.quantum is wrong: '10' is no duration
            topology: {clusters: 9}         |topology.clusters must be a list
            topology: {local: {latency: 1ms}}|topology.local.latency is wrong
            order: {kind: groups}           |order.kind is 'groups'; did you mean group?
            order: {kind: group, waits-for: all} |order.waits-for is 'all', but real group communication delivers what a majority has; write majority, or kind: sequencer
            {topology: {machines: 2}, order: {kind: group}}|topology.machines is 2 for 9 sites, but members of real group communication have processors of their own; write order.kind: sequencer, or as many machines as sites
            topology: {machines: 10}        |topology.machines is '10'; valid: a whole number from 1 to 9
            {topology: {machines: 2}, faults: [{kind: crash, sites: 1}]}|faults crash a site whose machine is another's, too
            {database: {with: {code: {order: 9us}}}, faults: [{kind: random-loss}]}|faults are given, but an order whose members compute (code.order of the calibration) has none; write
            order: {members: first-cluster} |order.members is 'first-cluster', but protocol si needs an order that all sites are delivered; write all
            faults: [{kind: crash}]         |my.yaml:2: faults crash 9 of the 9 sites that take part in the order
            faults: [{kind: random-loss, rate: 1}]|my.yaml:2: faults[0].rate is '1'
            faults: [{sites: 9}]            |my.yaml:2: faults[0].sites is '9'; valid: all, or numbers from 0 to 8
            database: {with: {apply-shar: 1}}|my.yaml:2: apply-shar is no key; did you mean apply-share?
            database: {replicas: 3, locks: locking} |replicas is 3, but with 'locks: locking'
            database: {calibration: papr}   |is no shipped calibration; did you mean paper?
            run: {seed: 1, seed: 2}         |run.seed is given twice
            run: [                          |my.yaml:3: is not YAML
            """)
    void whatIsWrongIsSaidWithLineAndRemedy(String line, String message) {
        UnusableFileException wrong = assertThrows(UnusableFileException.class,
                () -> read(line.startsWith("{")
                        ? "{extends: gorda-lan,\n" + line.substring(1) + "\n"
                        : "extends: gorda-lan\n" + line + "\n"));
        assertTrue(wrong.getMessage().contains(message), wrong.getMessage());
    }

    @Test
    void missingFilesAndEndlessExtensionsAreSaid() throws IOException {
        assertTrue(
                assertThrows(UnusableFileException.class, () -> ScenarioReader.read("none.yaml", Map.of())).getMessage()
                        .contains("there is no such file; shipped scenarios: akara-lan"));
        assertTrue(assertThrows(UnusableFileException.class, () -> ScenarioReader.read("gorda", Map.of())).getMessage()
                .contains("did you mean gorda-lan?"));
        assertTrue(assertThrows(UnusableFileException.class, () -> read("extends: my.yaml\n")).getMessage()
                .contains("extends more than"));
    }
}
