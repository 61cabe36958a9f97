package tutti.grid.node;

import tutti.grid.commit.Result;

/** What a node counts as long as it is open, whether it is a member all the time or not. One thread. */
final class GridCounts {
    long committed;
    long conflicts;
    long deadlocks;
    long lockTimeouts;
    long messages;

    /** A commit has ended. */
    void ended(Result.Kind how) {
        switch (how) {
            case CONFLICT -> conflicts++;
            case DEADLOCK -> deadlocks++;
            case LOCK_TIMEOUT -> lockTimeouts++;
            case COMMITTED, OWNER_UNAVAILABLE -> {
                // Counted elsewhere, or not.
            }
        }
    }
}
