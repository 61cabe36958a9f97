package tutti.order.raft;

import io.microraft.impl.RaftNodeImpl;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.order.peer.PeerNetwork;

/**
 * Moves leadership to preferred nodes. A leader that is not among the preferred ones hands over to one that is, as soon
 * as one can be reached. Meanwhile nothing is appended, and what is submitted is sent to the new leader. Any voter may
 * lead as far as correctness goes, so this is advice only; if it does not work out it is tried again later.
 */
final class LeaderPreference {
    private static final Logger LOGGER = LoggerFactory.getLogger(LeaderPreference.class);
    /** How often a leader looks, in MicroRaft's seconds: the time of two elections. */
    private static final int HEARTBEATS = 10;

    private final RaftOrderConfig config;
    private final RaftTime time;
    private final RaftNodeImpl raft;
    private final PeerNetwork network;
    private volatile Set<Integer> wanted = Set.of();

    LeaderPreference(RaftOrderConfig config, RaftTime time, RaftNodeImpl raft, PeerNetwork network) {
        this.config = config;
        this.time = time;
        this.raft = raft;
        this.network = network;
    }

    /** From now on one of these should lead; empty if it does not matter. Any thread. */
    void prefer(Set<Integer> nodes) {
        wanted = Set.copyOf(nodes);
    }

    /** Begins to look. On Raft's loop from then on. */
    void watch() {
        time.schedule(this::look, HEARTBEATS, TimeUnit.SECONDS);
    }

    private void look() {
        Set<Integer> now = wanted;
        if (raft.state().leaderState() != null && !now.isEmpty() && !now.contains(config.self())) {
            Set<Integer> reachable = network.reachable();
            GroupChange.ids(raft.state().votingMembers()).stream()
                    .filter(id -> now.contains(id) && reachable.contains(id)).findFirst()
                    .ifPresent(this::handOver);
        }
        watch();
    }

    private void handOver(int to) {
        LOGGER.info("node {}: hands leadership over to node {}", config.self(), to);
        var _ = raft.transferLeadership(new Node(to)).exceptionally(e -> {
            LOGGER.info("node {}: leads on for now: {}", config.self(), e.toString());
            return null;
        });
    }
}
