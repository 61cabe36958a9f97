package tutti.cli.demo;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import tutti.check.AcknowledgedCheck;
import tutti.check.CheckResult;
import tutti.check.ReplicaComparison;
import tutti.check.TpccConsistency;
import tutti.cluster.Cluster;
import tutti.cluster.ClusterFile;
import tutti.workload.tpcc.TpccLedger;
import tutti.workload.tpcc.TpccScale;

/**
 * What must hold when the terminals are gone: all copies are the same, TPC-C's conditions hold, nothing acknowledged is
 * missing. Looks at the servers beneath the nodes, so that nothing of Tutti stands between the check and the rows.
 */
final class DemoChecks {
    private DemoChecks() {}

    /** Runs all of them; every node is at the same position, and nobody writes. */
    static List<CheckResult> run(Cluster cluster, TpccScale scale, TpccLedger ledger)
            throws SQLException, InterruptedException {
        List<ClusterFile.Node> nodes = cluster.nodes();
        List<CheckResult> results = new ArrayList<>();
        boolean same = nodes.size() == 1;
        if (nodes.size() > 1) {
            CheckResult comparison = new ReplicaComparison(nodes.stream()
                    .map(node -> new ReplicaComparison.Source(node.name(), () -> open(cluster, node))).toList())
                    .compare();
            results.add(comparison);
            same = comparison.passed();
        }
        // What is the same everywhere need be examined once only.
        for (ClusterFile.Node node : same ? nodes.subList(0, 1) : nodes) {
            try (Connection connection = open(cluster, node)) {
                results.add(TpccConsistency.check(node.name(), connection, scale));
                results.add(AcknowledgedCheck.check(node.name(), connection, ledger));
            }
        }
        return results;
    }

    private static Connection open(Cluster cluster, ClusterFile.Node node) throws SQLException {
        return DriverManager.getConnection(cluster.jdbcUrlBeneath(node.id()));
    }
}
