package tutti.jdbc;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.AbstractList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class SilentNodesTest {
    private static final long SILENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(300);

    private static Node node(ScriptedNode at) {
        String[] parts = at.address().split(":", -1);
        return Node.at(new HostPort(parts[0], Integer.parseInt(parts[1])));
    }

    /** Whatever has gone wrong, as when there are no more file descriptors. */
    @Test
    @Timeout(20)
    void whoWatchesGoesOnAfterAFailure() throws Exception {
        try (ScriptedNode still = new ScriptedNode(query -> ScriptedNode.STANDS_STILL);
                ScriptedNode there = new ScriptedNode(query -> ScriptedNode.DONE)) {
            still.standStill();
            CountDownLatch failed = new CountDownLatch(1);
            List<Node> others = new AbstractList<>() {
                @Override
                public Node get(int index) {
                    return node(there);
                }

                @Override
                public int size() {
                    return 1;
                }

                @Override
                public Stream<Node> stream() {
                    failed.countDown();
                    throw new IllegalStateException("a failure");
                }
            };
            SilentNodes.Waiting fails = SilentNodes.begin(node(still), others, SILENCE_NANOS, () -> {});
            failed.await();
            fails.close();
            CountDownLatch silent = new CountDownLatch(1);
            SilentNodes.Waiting waits = SilentNodes.begin(node(still), List.of(node(there)), SILENCE_NANOS,
                    silent::countDown);
            assertTrue(silent.await(15, TimeUnit.SECONDS));
            waits.close();
        }
    }
}
