package tutti.cli.faults;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Faults of every kind in random order on a cluster under load, for as long as {@code -Dtutti.campaign.minutes=N} says;
 * everything is checked after each. {@code -Dtutti.campaign.seed=S} repeats the choices, though not the instants.
 */
@EnabledIfSystemProperty(named = "tutti.campaign.minutes", matches = "[0-9]+")
class CampaignTest {
    private static final Logger LOG = LoggerFactory.getLogger(CampaignTest.class);

    @TempDir
    private Path directory;

    private enum Fault {
        NODE_KILLED, LEADER_KILLED, ALL_KILLED, SERVER_KILLED, SERVER_PROCESS_KILLED, NODE_STOOD_STILL,
        MAJORITY_STOOD_STILL
    }

    @Test
    void nothingAcknowledgedIsEverLost() throws Exception {
        long seed = Long.getLong("tutti.campaign.seed", System.nanoTime());
        Random random = new Random(seed);
        long end = System.nanoTime() + Duration.ofMinutes(Long.getLong("tutti.campaign.minutes")).toNanos();
        try (FaultCluster cluster = FaultCluster.start(directory, 3)) {
            Ledger.create(cluster);
            for (int round = 1; System.nanoTime() < end; round++) {
                Fault fault = Fault.values()[random.nextInt(Fault.values().length)];
                int node = random.nextInt(cluster.size());
                LOG.warn("campaign seed {} round {}: {} at node {}", seed, round, fault, node);
                try (Ledger ledger = Ledger.run(cluster, 1 + random.nextInt(3), random.nextLong())) {
                    ledger.awaitMore(random.nextInt(500));
                    inflict(cluster, ledger, fault, node);
                    cluster.awaitReady();
                    cluster.ids().forEach(id -> ledger.awaitMore(id, 5));
                    ledger.verify();
                }
            }
        }
    }

    private static void inflict(FaultCluster cluster, Ledger ledger, Fault fault, int node) throws Exception {
        switch (fault) {
            case NODE_KILLED -> restart(cluster, ledger, node);
            case LEADER_KILLED -> restart(cluster, ledger, cluster.leader());
            case ALL_KILLED -> {
                cluster.killAll();
                cluster.startAll();
            }
            case SERVER_KILLED -> FaultCluster.signal("KILL", cluster.serverProcess(node));
            case SERVER_PROCESS_KILLED -> FaultCluster.signal("KILL", cluster.beneathValue(node,
                    "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() ORDER BY random() LIMIT 1"));
            case NODE_STOOD_STILL -> {
                long pid = cluster.node(node).pid();
                FaultCluster.signal("STOP", pid);
                try {
                    ledger.awaitMore((node + 1) % cluster.size(), 50);
                } finally {
                    FaultCluster.signal("CONT", pid);
                }
            }
            case MAJORITY_STOOD_STILL -> {
                long[] others = cluster.ids().filter(id -> id != node).mapToLong(id -> cluster.node(id).pid())
                        .toArray();
                for (long pid : others) {
                    FaultCluster.signal("STOP", pid);
                }
                try {
                    cluster.cluster.await(node, FaultCluster.PATIENCE, "without a majority",
                            status -> !status.majority());
                } finally {
                    for (long pid : others) {
                        FaultCluster.signal("CONT", pid);
                    }
                }
            }
        }
    }

    private static void restart(FaultCluster cluster, Ledger ledger, int node) {
        cluster.cluster.kill(node);
        ledger.awaitMore((node + 1) % cluster.size(), 20);
        cluster.cluster.startNode(node);
    }
}
