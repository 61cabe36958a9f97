package tutti.order.raft;

import io.microraft.RaftEndpoint;

/** A member of the cluster, as MicroRaft knows it. */
record Node(int id) implements RaftEndpoint {
    /** The same in each run, for MicroRaft keeps members in hash sets and sends messages in their order. */
    @Override
    public int hashCode() {
        return id;
    }

    @Override
    public Object getId() {
        return id;
    }

    static int id(RaftEndpoint endpoint) {
        return ((Node) endpoint).id();
    }
}
