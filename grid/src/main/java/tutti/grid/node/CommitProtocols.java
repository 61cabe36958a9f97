package tutti.grid.node;

import java.util.Set;
import tutti.grid.GridConfig;
import tutti.grid.commit.Commits;
import tutti.grid.commit.GroupCommit;
import tutti.grid.commit.TotalOrderCommit;
import tutti.grid.commit.TwoPhaseCommit;
import tutti.grid.multicast.LamportClock;
import tutti.grid.multicast.Multicast;
import tutti.grid.store.GroupOwners;
import tutti.grid.store.Layouts;
import tutti.grid.store.Store;

/** The protocol that a configuration names. */
final class CommitProtocols {
    private CommitProtocols() {}

    /**
     * Starts a member's side of it, in the view of these.
     *
     * @param process without views: 0 of the first life of a node
     */
    static Commits start(GridConfig config, Set<Integer> members, GroupOwners groups, Layouts layouts,
            LamportClock clock, Store store, long process, Commits.World world) {
        return switch (config.protocol()) {
            case TOM_2 -> new TotalOrderCommit(config.self(), Multicast.Steps.TWO, config.crashes(), clock, members,
                    layouts, store, world);
            case TOM_3 -> new TotalOrderCommit(config.self(), Multicast.Steps.THREE, config.crashes(), clock, members,
                    layouts, store, world);
            case GROUPS -> new GroupCommit(config.self(), groups, clock, store,
                    config.failureTimeout().toNanos() / 2, process, world);
            case TWO_PHASE -> new TwoPhaseCommit(config.self(), clock, members, layouts, store,
                    config.lockTimeout().toNanos(), config.findsDeadlocks(), world);
        };
    }
}
