package tutti.macro.distribution;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class RequestQueueTest {
    private static Request request(int number, int priority) {
        return new Request(new RequestId(1, 1, number), 1, number, false, priority, true, true, new byte[0]);
    }

    private static List<Long> drain(RequestQueue queue) {
        List<Long> numbers = new ArrayList<>();
        while (queue.size() > 0) {
            numbers.add(queue.getRequest().orElseThrow().id().number());
        }
        return numbers;
    }

    @Test
    void fifoKeepsTheOrderAndPriorityChangesIt() {
        RequestQueue fifo = RequestQueue.fifo(10);
        RequestQueue priority = RequestQueue.priority(10);
        int[] priorities = {1, 5, 1, 9, 5};
        for (int i = 0; i < priorities.length; i++) {
            fifo.insertRequest(request(i, priorities[i]));
            priority.insertRequest(request(i, priorities[i]));
        }
        assertEquals(List.of(0L, 1L, 2L, 3L, 4L), drain(fifo));
        assertEquals(List.of(3L, 1L, 4L, 0L, 2L), drain(priority));
    }

    @Test
    void aFullQueueMakesWhoInsertsWaitAndClosingEndsAllWaiting() throws Exception {
        RequestQueue queue = RequestQueue.fifo(1);
        assertTrue(queue.insertRequest(request(1, 0)));
        CompletableFuture<Boolean> second = CompletableFuture.supplyAsync(() -> queue.insertRequest(request(2, 0)));
        assertEquals(1, queue.getRequest().orElseThrow().id().number());
        assertTrue(second.get(20, TimeUnit.SECONDS));
        CompletableFuture<Boolean> third = CompletableFuture.supplyAsync(() -> queue.insertRequest(request(3, 0)));
        queue.close();
        assertFalse(third.get(20, TimeUnit.SECONDS));
        assertTrue(queue.getRequest().isEmpty());
    }

    @Test
    void theLockServiceLetsManyReadersOrOneWriterIn() throws Exception {
        LockService locks = LockService.readersOrWriter();
        locks.barrier(false);
        locks.barrier(false);
        CountDownLatch writing = new CountDownLatch(1);
        CompletableFuture<Void> writer = CompletableFuture.runAsync(() -> {
            locks.barrier(true);
            writing.countDown();
        });
        locks.finishRead();
        assertEquals(1, writing.getCount(), "one still reads");
        locks.finishRead();
        writer.get(20, TimeUnit.SECONDS);
        locks.finishWrite();
        assertThrows(IllegalStateException.class, locks::finishWrite);
        assertThrows(IllegalStateException.class, locks::finishRead);
        AtomicInteger inside = new AtomicInteger();
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int t = 0; t < 4; t++) {
            all.add(CompletableFuture.runAsync(() -> {
                for (int i = 0; i < 2000; i++) {
                    boolean update = i % 3 == 0;
                    locks.barrier(update);
                    int now = inside.addAndGet(update ? 1000 : 1);
                    assertTrue(update ? now == 1000 : now < 1000, () -> "inside: " + now);
                    inside.addAndGet(update ? -1000 : -1);
                    if (update) {
                        locks.finishWrite();
                    } else {
                        locks.finishRead();
                    }
                }
            }, r -> Thread.ofPlatform().start(r)));
        }
        for (var one : all) {
            one.get(20, TimeUnit.SECONDS);
        }
    }
}
