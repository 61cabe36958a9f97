package tutti.sim.world;

import java.util.ArrayList;
import java.util.List;
import tutti.check.CheckResult;
import tutti.check.history.History;
import tutti.check.isolation.Isolation;
import tutti.check.isolation.IsolationCheck;
import tutti.check.isolation.LockExclusionCheck;
import tutti.check.isolation.PrefixSnapshotCheck;
import tutti.check.isolation.PrefixSnapshotCheck.Freshness;
import tutti.check.isolation.SerialReadsCheck;
import tutti.check.listappend.ListAppendCheck;
import tutti.check.order.TotalOrderCheck;
import tutti.check.replica.AcknowledgedHistoryCheck;
import tutti.check.replica.CommitSequenceCheck;
import tutti.core.protocol.Guarantee;
import tutti.core.protocol.Trait;
import tutti.sim.world.database.Catalog;
import tutti.workload.listappend.ListAppendHistory;

/**
 * What is held against a run: the order's properties, equal replicas, that answers were true, and the isolation that the
 * protocol claims over such engines. Clients stay at their replica, or count as new ones when they move; and a client that
 * stays sees its own commits under every protocol, since it is answered when they are visible there, or waits for that
 * ({@link ScenarioClient}): hence the session variants of isolation. Where nodes have left out what one of them had acknowledged, they must be equal, and whatever else was
 * acknowledged there. What transactions lock excludes where write sets are certified; elsewhere it is for the primary's database, or a class, to see to that.
 */
final class Checks {
    private Checks() {}

    static List<CheckResult> run(Scenario scenario, Recording recording, History history, ListAppendHistory clients) {
        List<CheckResult> results = new ArrayList<>();
        results.add(recording.violations());
        results.add(TotalOrderCheck.check(recording.deliveries()));
        results.add(CommitSequenceCheck.check(history));
        results.add(AcknowledgedHistoryCheck.check(history));
        if (recording.hasLeftOut()) {
            // Whoever has seen what is left out has seen what never was.
            return results;
        }
        boolean serializable = scenario.guarantee() == Guarantee.SERIALIZABILITY;
        Isolation isolation = serializable
                ? Isolation.STRONG_SESSION_SERIALIZABLE
                : Isolation.STRONG_SESSION_SNAPSHOT_ISOLATION;
        results.add(IsolationCheck.check(history, isolation));
        if (!serializable) {
            results.add(PrefixSnapshotCheck.check(history, Freshness.STRONG_SESSION));
        }
        if (scenario.mixesLevels()) {
            results.add(SerialReadsCheck.check(history, t -> scenario.isSerializable(history.session(t))));
        }
        if (scenario.guarantee() == Guarantee.STRONG_SNAPSHOT_ISOLATION) {
            results.add(PrefixSnapshotCheck.check(history, Freshness.STRONG_FOR_UPDATES));
        }
        if (scenario.protocol().has(Trait.EXECUTES_AT_ONCE)) {
            results.add(LockExclusionCheck.check(history, recording.held(), Catalog::name));
        }
        results.add(ListAppendCheck.check(clients, isolation));
        return results;
    }
}
