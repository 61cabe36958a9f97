package tutti.bench.micro;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.SortedMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Order;
import tutti.order.OrderSettings;
import tutti.order.Orders;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;

/** One of our own orders. A message is acknowledged when it is delivered at its sender. */
final class TuttiContender implements OrderContender {
    private final int self;
    private final Order order;
    private final ConcurrentLinkedQueue<Runnable> waiting = new ConcurrentLinkedQueue<>();
    private final CountDownLatch ready = new CountDownLatch(1);

    TuttiContender(String kind, int self, SortedMap<Integer, InetSocketAddress> members, Path directory)
            throws Exception {
        this.self = self;
        order = Orders.STANDARD.descriptor(kind).open(OrderSettings.of("bench", self, members), RealMachine.INSTANCE,
                PathDirectory.of(directory));
        order.group().join(view -> {
            if (view.majority() && view.members().size() == members.size()) {
                ready.countDown();
            }
        });
        order.log().start(0, new DurableLog.Reader() {
            @Override
            public void delivered(long position, int sender, ByteBuffer payload) {
                if (sender == self) {
                    Runnable acknowledged = waiting.poll();
                    if (acknowledged != null) {
                        acknowledged.run();
                    }
                }
            }

            @Override
            public void failed(Throwable cause) {
                throw new IllegalStateException(cause);
            }
        });
    }

    @Override
    public void awaitReady() throws InterruptedException {
        ready.await();
    }

    @Override
    public boolean leads() {
        return order.group().view().leader() == self;
    }

    @Override
    public synchronized void submit(byte[] payload, Runnable acknowledged) throws Exception {
        waiting.add(acknowledged);
        order.log().append(payload);
    }

    @Override
    public void close() {
        order.close();
    }
}
