package tutti.sim.world;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.protocol.Protocols;
import tutti.sim.fault.FaultProfile;
import tutti.sim.world.Scenario.OrderKind;
import tutti.sim.world.mutant.Hunt;
import tutti.sim.world.mutant.Mutants;

/** Tables that some nodes do not keep: what protocols promise holds as if all kept all, and those who keep a table hold the same. */
class PartialTablesTest {
    private static final int SEEDS = Integer.getInteger("tutti.partial.seeds", 6);
    private static final int TRANSACTIONS = 300;

    private static Scenario scenario(long seed, String protocol, String faults, OrderKind order) {
        return Scenario.random(seed, Protocols.STANDARD.descriptor(protocol), Map.of(), order, TRANSACTIONS,
                FaultProfile.parse(faults)).withTablesOnSomeNodes();
    }

    @ParameterizedTest
    @CsvSource({"si,all", "dbsm,all", "postgres-r,all", "nodo,all", "akara,all", "2pc,all", "wice,all", "si,'members'",
            "si,'rows,long'", "si,'members,crash,kill'"})
    void promisesHold(String protocol, String faults) {
        Map<String, Integer> counts = new TreeMap<>();
        for (long seed = 1; seed <= SEEDS; seed++) {
            ScenarioResult result = ScenarioRun.run(scenario(seed, protocol, faults,
                    seed % 3 == 0 ? OrderKind.IDEAL : OrderKind.RAFT));
            assertTrue(result.passed(), () -> result.scenario().describe() + ": " + result.failed() + " "
                    + result.why() + "\n" + result.scenario().plan());
            result.counts().forEach((what, count) -> counts.merge(what, count, Integer::sum));
        }
        assertTrue(counts.getOrDefault("committed", 0) > SEEDS * TRANSACTIONS / 2, counts::toString);
        assertTrue(counts.getOrDefault("aborted: not here", 0) > 0, counts::toString);
    }

    /** From seed 1000 on half of the scenarios begin with all tables everywhere, and from 2000 on half of these bring tables back to a node. */
    @ParameterizedTest
    @CsvSource({"si,'crash,kill,engine',1000,tables placed", "2pc,network,1000,tables placed",
            "si,'crash,kill,engine',2000,tables brought back"})
    void promisesHoldWhileTablesArePlaced(String protocol, String faults, long from, String happens) {
        Map<String, Integer> counts = new TreeMap<>();
        for (long seed = from; seed < from + SEEDS; seed++) {
            ScenarioResult result = ScenarioRun.run(scenario(seed, protocol, faults, OrderKind.RAFT));
            assertTrue(result.passed(), () -> result.scenario().describe() + ": " + result.failed() + " "
                    + result.why() + "\n" + result.scenario().plan());
            result.counts().forEach((what, count) -> counts.merge(what, count, Integer::sum));
        }
        assertTrue(counts.getOrDefault(happens, 0) > 0, counts::toString);
    }

    @ParameterizedTest
    @ValueSource(strings = {"lacking-table-is-read", "everywhere-though-some-lack-it", "copy-of-whoever-lacks-it",
            "placement-forgotten"})
    void whatIsBrokenIsFound(String mutant) throws IOException {
        assertEquals("", Hunt.after(Mutants.find(mutant), MutantsTest.lastFound().get(mutant), _ -> {}).failure());
    }

    @ParameterizedTest
    @ValueSource(strings = {"active", "passive", "hybrid"})
    void whereOthersThanTheClientsNodeExecuteTablesAreOnAllNodes(String protocol) {
        assertThrows(IllegalArgumentException.class, () -> scenario(1, protocol, "none", OrderKind.IDEAL));
    }

    @Test
    void aReplayFileSaysWhereTablesAre() {
        Scenario scenario = scenario(3, "si", "none", OrderKind.RAFT);
        ReplayFile written = new ReplayFile(scenario, ReplayFile.NO_MUTANT, List.of(), "");
        assertEquals(scenario.placement(), ReplayFile.parse(written.text()).scenario().placement());
    }
}
