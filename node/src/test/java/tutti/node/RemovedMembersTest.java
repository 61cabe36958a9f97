package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;
import tutti.core.spi.Order;
import tutti.core.txn.TransactionId;

/** A node that is removed while it has open transactions, over an order that lets members change. */
class RemovedMembersTest extends ReplicaTrio {
    /** The members' list is kept here; the order itself goes on with all. */
    private static final class Changing implements Group {
        private final Group inner;
        private Members now = new Members(0, new TreeMap<>(Map.of(0, "a:1", 1, "b:1", 2, "c:1")), Set.of(),
                new TreeMap<>());

        Changing(Group inner) {
            this.inner = inner;
        }

        @Override
        public void join(Listener listener) {
            inner.join(listener);
        }

        @Override
        public void multicast(byte[] payload, Set<Integer> nodes) {
            inner.multicast(payload, nodes);
        }

        @Override
        public boolean changesMembers() {
            return true;
        }

        @Override
        public Members members() {
            return now;
        }

        @Override
        public void members(Members changed) {
            now = changed;
        }

        @Override
        public View view() {
            return inner.view();
        }

        @Override
        public void close() {
            inner.close();
        }
    }

    @Override
    Order order(int node) {
        Order inner = super.order(node);
        Group changing = new Changing(inner.group());
        return new Order() {
            @Override
            public DurableLog log() {
                return inner.log();
            }

            @Override
            public Group group() {
                return changing;
            }
        };
    }

    /** Whoever asks hears so at once: its life is over at the position of its removal, and nobody has to end it in the order. */
    @Test
    void whatItHasOpenIsAbortedAtItsRemoval() throws IOException {
        openAll("si");
        new Client(2, "before", 1).committed();
        TransactionId open = new Client(2, new TransactionId(2, nodes.get(2).incarnation() << 32 | 77), false).ticket
                .id();
        this.<Group.Members>told(done -> nodes.get(0).change(new ReplicaNode.MemberChange.Remove(2), done));
        long removed = nodes.get(0).deliveredPosition();
        await(() -> nodes.get(1).deliveredPosition() >= removed);
        CompletableFuture<TransactionOutcome> outcome = new CompletableFuture<>();
        nodes.get(1).outcome(open, telling(outcome));
        assertEquals(TransactionOutcome.ABORTED, get(outcome));
        assertEquals(removed, nodes.get(1).deliveredPosition());
    }
}
