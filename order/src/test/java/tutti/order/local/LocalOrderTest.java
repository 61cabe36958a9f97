package tutti.order.local;

import java.util.HashSet;
import java.util.Set;
import tutti.order.OrderContract;

class LocalOrderTest extends OrderContract {
    @Override
    protected Cluster cluster(int nodes, long queueBytes) {
        Set<Integer> members = new HashSet<>();
        for (int node = 0; node < nodes; node++) {
            members.add(node);
        }
        LocalOrderGroup group = new LocalOrderGroup(members, queueBytes, 1 << 16);
        return group::open;
    }
}
