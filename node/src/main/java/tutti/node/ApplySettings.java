package tutti.node;

/**
 * How a replica applies what others have changed. All of it may change while the replica runs ({@link ReplicaNode#applying}),
 * at each replica by itself: it says when and how many together, and neither what is applied nor in which order it becomes visible.
 *
 * @param appliers how many write sets are applied side by side, at least 1; or {@link #AUTO}
 * @param groupPositionsMax how many positions are made visible by one engine transaction at most, at least 1; or {@link #AUTO}
 * @param lingerNanos for how long transactions of other nodes may wait for more, while nobody here waits to see them, in
 *            nanoseconds; 0 for never
 */
public record ApplySettings(int appliers, int groupPositionsMax, long lingerNanos) {
    /** In place of a number: the replica chooses it from how far it is behind, and another one as that changes. */
    public static final int AUTO = 0;
    /** Four appliers, groups of 64; nothing waits. */
    public static final ApplySettings DEFAULTS = new ApplySettings(4, 64, 0);

    /** Checks the ranges. */
    public ApplySettings {
        if (appliers < AUTO || groupPositionsMax < AUTO || lingerNanos < 0) {
            throw new IllegalArgumentException(appliers + " appliers, groups of " + groupPositionsMax + ", a wait of "
                    + lingerNanos + " ns: none of that can be negative");
        }
    }

    boolean autoAppliers() {
        return appliers == AUTO;
    }

    boolean autoGroups() {
        return groupPositionsMax == AUTO;
    }
}
