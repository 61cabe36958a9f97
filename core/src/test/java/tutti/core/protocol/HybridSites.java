package tutti.core.protocol;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeEach;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/** Three replicas of {@link Hybrid}, one order, and what each asks its world for, in words. */
abstract class HybridSites {
    static final Set<Integer> ALL = Set.of(0, 1, 2);
    /** With three logs, class 0 is of replica 0, and so on. */
    static final int LOGS = 3;
    static final int BATCH = 3;

    final List<Site> sites = new ArrayList<>();
    final ArrayDeque<Ordered> order = new ArrayDeque<>();
    long position;

    record Ordered(int sender, Message message) {}

    /** One replica: what it asks for is noted, in words, and messages wait to be delivered. */
    final class Site extends UniformWorld {
        final int node;
        final Hybrid protocol;
        final List<String> asked = new ArrayList<>();
        boolean up = true;

        Site(int node, int executors) {
            this.node = node;
            this.protocol = new Hybrid(
                    new Hybrid.Parameters(node, ALL, new Division(Hybrid.Mode.HYBRID, LOGS, List.of()), executors,
                            BATCH, 1, 1),
                    this);
        }

        @Override
        protected void ask(Consumer<ReplicaWorld> effect) {
            throw new AssertionError("asked for what nobody expects");
        }

        @Override
        public void undertake(TransactionId transaction, List<TransactionRequest.Whole> requests) {
            asked.add("undertake " + transaction.serial()
                    + (requests.size() == 1 ? "" : " and " + (requests.size() - 1) + " others"));
        }

        @Override
        public void includes(TransactionId transaction, long at) {
            asked.add("with " + transaction.serial());
        }

        @Override
        public void respond(TransactionId transaction, Response response) {
            asked.add("respond " + transaction.serial() + " " + new String(response.content(), UTF_8));
        }

        @Override
        public void run(TransactionId transaction, Priority priority) {
            asked.add("run " + transaction.serial());
        }

        @Override
        public void commit(TransactionId transaction, long at, WriteSet writes) {
            asked.add("commit " + transaction.serial());
        }

        @Override
        public void apply(TransactionId transaction, long at, WriteSet writes) {
            asked.add("apply " + transaction.serial() + " " + new String(writes.changes(), UTF_8));
        }

        @Override
        public void execute(TransactionId transaction, long at, TransactionRequest.Whole request) {
            asked.add("execute " + transaction.serial());
        }

        @Override
        public void abort(TransactionId transaction) {
            asked.add("abort " + transaction.serial());
        }

        @Override
        public void answer(TransactionId transaction, Outcome outcome) {
            asked.add((outcome instanceof Outcome.Committed ? "committed " : "aborted ") + transaction.serial());
        }

        @Override
        public void skip(long at) {
            // Said by what is not asked.
        }

        @Override
        public void order(Message message) {
            ByteBuffer to = ByteBuffer.allocate(message.encodedSize());
            message.encode(to);
            order.add(new Ordered(node, HybridMessage.MESSAGES.decode(to.flip())));
        }

        @Override
        public void timer(long timer, long delayNanos) {
            // Told by the test.
        }

        List<String> told() {
            List<String> told = List.copyOf(asked);
            asked.clear();
            return told;
        }
    }

    @BeforeEach
    void open() {
        for (int node = 0; node < 3; node++) {
            sites.add(new Site(node, 2));
            sites.get(node).protocol.committed(0, 0);
        }
    }

    static TransactionId id(long serial) {
        return new TransactionId(1, serial);
    }

    void deliverNext() {
        Ordered next = order.remove();
        position++;
        for (Site site : sites) {
            if (site.up) {
                site.protocol.delivered(position, next.sender(), next.message());
                site.protocol.committed(position, 0);
            }
        }
    }

    void deliver() {
        while (!order.isEmpty()) {
            deliverNext();
        }
    }

    /** At replica 1, as everything here. */
    void submit(long serial, TransactionRequest.Placement placement, Long... classes) {
        sites.get(1).protocol.submitted(id(serial), new TransactionRequest.Whole(new byte[]{1},
                ConflictClasses.of(List.of(classes)), KeySet.EMPTY, placement));
        deliver();
    }

    void submit(long serial, Long... classes) {
        submit(serial, TransactionRequest.Placement.OWNER, classes);
    }

    void undertaken(int node, long serial, String changes) {
        undertaken(node, serial, 1, changes);
    }

    void undertaken(int node, long serial, int requests, String changes) {
        sites.get(node).protocol.undertaken(id(serial),
                new Execution(position, position, new WriteSet(KeySet.EMPTY, changes.getBytes(UTF_8)), ReadSet.EMPTY),
                Collections.nCopies(requests, Response.done(("made by " + node).getBytes(UTF_8))));
    }

    List<String> told(int node) {
        return sites.get(node).told();
    }

    void told(List<String> zero, List<String> one, List<String> two) {
        assertEquals(List.of(zero, one, two), List.of(told(0), told(1), told(2)));
    }

    /** Somebody who knew the division of a position has another one ordered, by way of the descriptor. */
    Message change(OrderedParameters known, Map<String, String> values) {
        return Protocols.STANDARD.choose("hybrid", Map.of("logs", "3")).change(ALL, known, values);
    }

    OrderedParameters divided(Map<String, String> values) {
        order.add(new Ordered(0, change(sites.get(0).protocol.ordered(), values)));
        deliver();
        sites.forEach(site -> assertEquals(sites.get(0).protocol.ordered(), site.protocol.ordered()));
        return sites.get(0).protocol.ordered();
    }
}
