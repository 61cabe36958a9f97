package tutti.macro.distribution;

/** What a read through a node's component sees. */
public enum ReadLevel {
    /**
     * Everything whose call had returned anywhere before the read was called: the read takes a place in the total order
     * and is executed by this node alone, when that place has been reached. All calls of the group together are linearizable.
     */
    LINEARIZABLE,
    /**
     * The state of this node, at once: everything that was written through this node, and of the others' writes a prefix of
     * the order that never shrinks. The group is sequentially consistent for clients that stay at their nodes.
     */
    LOCAL
}
