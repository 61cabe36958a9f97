package tutti.order.raft;

import io.microraft.RaftEndpoint;

/** A member of the cluster, as MicroRaft knows it. */
record Node(int id) implements RaftEndpoint {
    @Override
    public Object getId() {
        return id;
    }

    static int id(RaftEndpoint endpoint) {
        return ((Node) endpoint).id();
    }
}
