package tutti.order.local;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;
import tutti.core.spi.Order;
import tutti.order.OrderContract;
import tutti.runtime.real.RealMachine;

class DirectLocalOrderTest extends OrderContract {
    private static final long SECONDS_MAX = 60;

    @Override
    protected Cluster cluster(int nodes, long queueBytes) {
        return LocalOrderTest.group(nodes, queueBytes)::openDirect;
    }

    /** Notes what is delivered; each message asks for as many more as its byte says, and no call is inside another. */
    private static final class Echo implements DurableLog.Reader, Group.Listener {
        final Order order;
        final CountDownLatch ready = new CountDownLatch(1);
        final CountDownLatch all;
        final List<Byte> heard = new ArrayList<>();
        final Set<Thread> threads = new HashSet<>();
        int depth;
        int deepest;

        Echo(Order order, int count) {
            this.order = order;
            all = new CountDownLatch(count);
        }

        @Override
        public void delivered(long position, int sender, ByteBuffer payload) {
            deepest = Math.max(deepest, ++depth);
            byte left = payload.get();
            heard.add(left);
            threads.add(Thread.currentThread());
            if (left > 0) {
                submit(order, left - 1);
            }
            depth--;
            all.countDown();
        }

        @Override
        public void view(Group.View view) {
            ready.countDown();
        }

        @Override
        public void failed(Throwable cause) {
            throw new AssertionError(cause);
        }
    }

    private static void submit(Order order, int left) {
        try {
            order.log().append(new byte[]{(byte) left});
        } catch (DurableLog.OverflowException full) {
            throw new AssertionError(full);
        }
    }

    /** Lets the node's own thread come to rest, so that it does not take what follows. */
    private static void awaitRest(String name) {
        while (Thread.getAllStackTraces().keySet().stream()
                .noneMatch(thread -> thread.getName().equals(name) && thread.getState() == Thread.State.WAITING)) {
            Thread.onSpinWait();
        }
    }

    @Test
    void whoSubmitsDelivers() throws Exception {
        try (Order order = new LocalOrderGroup(RealMachine.INSTANCE, Set.of(77)).openDirect(77)) {
            Echo echo = new Echo(order, 2);
            order.group().join(echo);
            order.log().start(0, echo);
            assertTrue(echo.ready.await(SECONDS_MAX, TimeUnit.SECONDS));
            awaitRest("order-77-deliver");

            submit(order, 0);
            assertEquals(List.of((byte) 0), echo.heard);
            submit(order, 0);

            assertEquals(Set.of(Thread.currentThread()), echo.threads);
            assertEquals(2, order.log().status().lastDelivered());
            assertEquals(0, order.log().status().queuedBytes());
        }
    }

    @Test
    void whatIsSubmittedFromInsideADeliveryFollowsIt() throws Exception {
        try (Order order = new LocalOrderGroup(RealMachine.INSTANCE, Set.of(78)).openDirect(78)) {
            Echo echo = new Echo(order, 4);
            order.group().join(echo);
            order.log().start(0, echo);
            assertTrue(echo.ready.await(SECONDS_MAX, TimeUnit.SECONDS));

            submit(order, 3);

            assertTrue(echo.all.await(SECONDS_MAX, TimeUnit.SECONDS));
            assertEquals(List.of((byte) 3, (byte) 2, (byte) 1, (byte) 0), echo.heard);
            assertEquals(1, echo.deepest);
        }
    }

    @Test
    void aListenerThatFailsDirectlyHasLeft() throws Exception {
        List<Throwable> failures = new ArrayList<>();
        try (Order order = new LocalOrderGroup(RealMachine.INSTANCE, Set.of(79)).openDirect(79)) {
            CountDownLatch ready = new CountDownLatch(1);
            order.group().join(_ -> ready.countDown());
            order.log().start(0, new DurableLog.Reader() {
                @Override
                public void delivered(long position, int sender, ByteBuffer payload) {
                    throw new IllegalStateException("on purpose");
                }

                @Override
                public void failed(Throwable cause) {
                    failures.add(cause);
                }
            });
            assertTrue(ready.await(SECONDS_MAX, TimeUnit.SECONDS));
            awaitRest("order-79-deliver");

            submit(order, 0);
        }

        assertEquals(1, failures.size());
        assertEquals("on purpose", failures.getFirst().getMessage());
    }
}
