package tutti.node;

/**
 * How a replica applies what others have changed. All of it may change while the replica runs ({@link ReplicaNode#applying}),
 * at each replica by itself: it says when and how many together, and neither what is applied nor in which order it becomes visible.
 *
 * @param appliers how many write sets are applied side by side, at least 1
 * @param groupPositionsMax how many positions are made visible by one engine transaction at most, at least 1
 * @param lingerNanos for how long transactions of other nodes may wait for more, while nobody here waits to see them, in
 *            nanoseconds; 0 for never
 */
public record ApplySettings(int appliers, int groupPositionsMax, long lingerNanos) {
    /** Four appliers, groups of 64; nothing waits. */
    public static final ApplySettings DEFAULTS = new ApplySettings(4, 64, 0);

    /** Checks the ranges. */
    public ApplySettings {
        if (appliers < 1 || groupPositionsMax < 1 || lingerNanos < 0) {
            throw new IllegalArgumentException(appliers + " appliers, groups of " + groupPositionsMax + ", a wait of "
                    + lingerNanos + " ns: at least 1, 1 and 0 are needed");
        }
    }
}
