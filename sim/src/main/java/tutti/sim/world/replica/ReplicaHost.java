package tutti.sim.world.replica;

import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Replica;
import tutti.core.spi.DurableLog;
import tutti.core.txn.TransactionId;
import tutti.sim.host.Host;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.RandomStream;
import tutti.sim.world.engine.SimEngine;
import tutti.sim.world.order.SimOrder;

/**
 * A host with a replica on it: engine, disk and protocol snapshots stay from life to life, everything else begins anew with
 * each boot. Calls and callbacks are events of the kernel.
 */
public final class ReplicaHost {
    static final Comparator<TransactionId> BY_NODE_AND_SERIAL = Comparator.comparingInt(TransactionId::node)
            .thenComparingLong(TransactionId::serial);

    /** Makes the protocol of one replica. */
    public interface ProtocolFactory {
        /** A replica at the beginning of the order. */
        Protocol create(int node, Set<Integer> replicas, Replica replica);
    }

    /** Opens the order of a replica for the present life of its host. */
    public interface OrderFactory {
        /** Not started yet. */
        SimOrder open(Host host, int node);
    }

    /**
     * What replicas are made of.
     *
     * @param hosts names by node; all are replicas
     * @param protocol makes protocols
     * @param order opens orders
     * @param concurrency of the engines
     * @param timing of the engines
     * @param statement how long a client's statement takes, thinking included
     * @param appliers write sets applied side by side, at least 1
     * @param snapshotPositions after how many positions the protocol's state is saved
     * @param restartInterval how often a replica tells from where on it would need the order
     * @param repliesEarly whether, broken on purpose, clients are told success when a transaction has executed
     */
    public record Settings(List<String> hosts, ProtocolFactory protocol, OrderFactory order,
            SimEngine.Concurrency concurrency, SimEngine.Timing timing, Distribution statement, int appliers,
            long snapshotPositions, Distribution restartInterval, boolean repliesEarly) {
        public Settings {
            hosts = List.copyOf(hosts);
        }

        /** All nodes. */
        public Set<Integer> replicas() {
            Set<Integer> all = new TreeSet<>();
            for (int node = 0; node < hosts.size(); node++) {
                all.add(node);
            }
            return all;
        }
    }

    private final Host host;
    private final int node;
    private final Settings settings;
    private final WorldLog log;
    private final Function<ReplicaHost, Long> messages;
    private final SimEngine engine;
    private final Snapshots snapshots;
    private final RandomStream random;
    private @Nullable SimReplica replica;
    private Runnable whenReady = () -> {};

    /**
     * On a host that is down and attached to the network.
     *
     * @param messages numbers the messages of the whole simulation
     */
    public ReplicaHost(Host host, int node, Settings settings, WorldLog log,
            Function<ReplicaHost, Long> messages) {
        this.host = host;
        this.node = node;
        this.settings = settings;
        this.log = log;
        this.messages = messages;
        this.engine = new SimEngine(host, settings.concurrency, settings.timing);
        this.snapshots = new Snapshots(host.disk().file("protocol snapshots"));
        this.random = host.random("replica");
        host.onBoot(_ -> boot());
    }

    private void boot() {
        engine.boot();
        snapshots.boot();
        host.onCrash(() -> replica = null);
        try {
            SimReplica next = new SimReplica(this, settings.order.open(host, node));
            replica = next;
            next.start();
        } catch (DurableLog.TruncatedException truncated) {
            throw new IllegalStateException("replica " + node + " cannot recover", truncated);
        }
    }

    /** Sets what is done whenever the replica has caught up. */
    public void onReady(Runnable action) {
        whenReady = action;
    }

    void becameReady() {
        whenReady.run();
    }

    /** Whether it serves clients. */
    public boolean isReady() {
        SimReplica now = replica;
        return now != null && now.isReady();
    }

    /** Whether it serves, and nothing is left to be done. */
    public boolean isQuiet() {
        SimReplica now = replica;
        return now != null && now.isQuiet();
    }

    /** The last position delivered; 0 if it is down. */
    public long delivered() {
        SimReplica now = replica;
        return now == null ? 0 : now.delivered();
    }

    /**
     * A client begins a transaction.
     *
     * @throws IllegalStateException if the replica does not serve
     */
    public void begin(Submission submission, Client client) {
        SimReplica now = replica;
        if (now == null || !now.isReady()) {
            throw new IllegalStateException("replica " + node + " does not serve");
        }
        now.begin(submission, client);
    }

    /** Its number. */
    public int node() {
        return node;
    }

    /** Its machine. */
    public Host host() {
        return host;
    }

    /** Its database. */
    public SimEngine engine() {
        return engine;
    }

    Settings settings() {
        return settings;
    }

    WorldLog log() {
        return log;
    }

    Snapshots snapshots() {
        return snapshots;
    }

    RandomStream random() {
        return random;
    }

    long nextMessage() {
        return messages.apply(this);
    }

    @Override
    public String toString() {
        SimReplica now = replica;
        return now == null ? "replica " + node + " down" : now + ", " + host.state();
    }
}
