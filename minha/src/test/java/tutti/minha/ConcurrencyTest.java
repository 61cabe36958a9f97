package tutti.minha;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Clock;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import org.junit.jupiter.api.Test;
import tutti.minha.jdk.lang.System;
import tutti.minha.jdk.lang.Thread;
import tutti.minha.jdk.time.SimulatedClock;
import tutti.minha.jdk.util.concurrent.ArrayBlockingQueue;
import tutti.minha.jdk.util.concurrent.CountDownLatch;
import tutti.minha.jdk.util.concurrent.CyclicBarrier;
import tutti.minha.jdk.util.concurrent.Executors;
import tutti.minha.jdk.util.concurrent.LinkedBlockingQueue;
import tutti.minha.jdk.util.concurrent.PriorityBlockingQueue;
import tutti.minha.jdk.util.concurrent.Semaphore;
import tutti.minha.jdk.util.concurrent.SynchronousQueue;
import tutti.minha.jdk.util.concurrent.ThreadPoolExecutor;
import tutti.minha.jdk.util.concurrent.locks.LockSupport;
import tutti.minha.jdk.util.concurrent.locks.ReentrantLock;
import tutti.minha.jdk.util.concurrent.locks.ReentrantReadWriteLock;

/** What the mirrors of java.util.concurrent do, in virtual time. */
@SuppressWarnings({"LockNotBeforeTry", "WaitNotInLoop"})
class ConcurrencyTest {
    private static void say(String what) {
        System.out.println(System.currentTimeMillis() + " " + what);
    }

    private static Thread spawn(Program program) {
        Thread thread = new Thread(() -> {
            try {
                program.main(new String[0]);
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        thread.start();
        return thread;
    }

    @Test
    void threadsSleepJoinAndAreInterrupted() {
        assertEquals(List.of("5 interrupted", "7 slept", "7 main TERMINATED false"), World.run(_ -> {
            Thread sleeper = spawn(_ -> {
                assertThrows(InterruptedException.class, () -> Thread.sleep(1000));
                say("interrupted");
                Thread.sleep(2);
                say("slept");
            });
            assertEquals(java.lang.Thread.State.RUNNABLE, sleeper.getState());
            Thread.sleep(5);
            assertEquals(java.lang.Thread.State.WAITING, sleeper.getState());
            sleeper.interrupt();
            sleeper.join(1);
            assertTrue(sleeper.isAlive());
            sleeper.join();
            say(Thread.currentThread().getName() + " " + sleeper.getState() + " " + sleeper.isAlive());
        }));
    }

    @Test
    void anUncaughtExceptionEndsItsThreadOnly() {
        List<String> log = World.run(_ -> {
            Thread.startVirtualThread(() -> {
                throw new IllegalStateException("broken");
            }).join();
            Thread told = Thread.ofPlatform().name("told").uncaughtExceptionHandler((thread, e) -> say(thread.getName()
                    + " threw " + e.getMessage())).start(() -> {
                        throw new IllegalStateException("broken too");
                    });
            told.join();
            say("goes on");
        });
        assertEquals("Exception in thread \"\" java.lang.IllegalStateException: broken", log.getFirst());
        assertEquals(List.of("0 told threw broken too", "0 goes on"), log.subList(log.size() - 2, log.size()));
    }

    @Test
    void aProcessEndsWithItsLastThreadThatIsNoDaemon() {
        assertEquals(List.of("3 other", "3 hook"), World.run(_ -> {
            Thread daemon = new Thread(() -> {
                while (true) {
                    LockSupport.park();
                }
            });
            daemon.setDaemon(true);
            daemon.start();
            Jvm.current().addShutdownHook(new Thread(() -> say("hook")));
            spawn(_ -> {
                Thread.sleep(3);
                say("other");
            });
        }));
    }

    @Test
    void exitEndsAllThreadsWhereTheyWait() {
        try (World world = new World()) {
            world.machine("a").run("main", _ -> {
                spawn(_ -> {
                    Thread.sleep(1000);
                    say("not reached");
                });
                Jvm.current().addShutdownHook(new Thread(() -> say("hook")));
                Thread.sleep(5);
                System.exit(3);
                say("not reached either");
            });
            Jvm[] jvm = new Jvm[1];
            world.simulation.kernel().schedule(1, tutti.sim.kernel.Label.of("test", "look"),
                    () -> jvm[0] = world.machine("a").processes().getFirst());
            world.simulation.run();
            assertEquals(List.of("5 hook"), world.log);
            assertEquals(3, jvm[0].exitStatus());
            assertTrue(jvm[0].hasEnded());
            assertEquals("", world.simulation.describe());
        }
    }

    @Test
    void aCrashEndsProcessesAndABootBeginsThemAnew() {
        try (World world = new World()) {
            world.machine("a").run("main", _ -> {
                say("begun");
                Thread.sleep(20);
                say("ended");
            });
            world.simulation.kernel().schedule(5_000_000, tutti.sim.kernel.Label.of("test", "crash"), () -> {
                world.machine("a").host().crash();
                world.machine("a").host().boot();
            });
            world.simulation.run();
            assertEquals(List.of("0 begun", "5 begun", "25 ended"), world.log);
        }
    }

    @Test
    void locksExcludeAndConditionsWait() {
        assertEquals(List.of("5 in 1", "15 in 2", "25 impatient false", "25 done"), World.run(_ -> {
            ReentrantLock lock = new ReentrantLock(true);
            Condition open = lock.newCondition();
            boolean[] isOpen = {false};
            for (int i = 1; i <= 2; i++) {
                int number = i;
                spawn(_ -> {
                    lock.lock();
                    try {
                        while (!isOpen[0]) {
                            open.await();
                        }
                        say("in " + number);
                        Thread.sleep(10);
                    } finally {
                        lock.unlock();
                    }
                });
            }
            Thread.sleep(5);
            lock.lock();
            assertEquals(2, lock.getWaitQueueLength(open));
            lock.lock();
            isOpen[0] = true;
            open.signalAll();
            lock.unlock();
            assertEquals(1, lock.getHoldCount());
            lock.unlock();
            assertThrows(IllegalMonitorStateException.class, lock::unlock);
            Thread.sleep(1);
            boolean got = lock.tryLock(20, MILLISECONDS);
            assertTrue(got, "the fair lock came to it third");
            say("impatient " + open.await(0, MILLISECONDS));
            lock.unlock();
            say("done");
        }));
    }

    @Test
    void readersShareAndAWriterKeepsNewReadersOut() {
        assertEquals(List.of("0 read", "0 read", "10 write", "15 read late"), World.run(_ -> {
            ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
            for (int i = 0; i < 2; i++) {
                spawn(_ -> {
                    lock.readLock().lock();
                    say("read");
                    Thread.sleep(10);
                    lock.readLock().unlock();
                });
            }
            Thread.sleep(1);
            spawn(_ -> {
                lock.writeLock().lock();
                lock.readLock().lock();
                say("write");
                Thread.sleep(5);
                lock.readLock().unlock();
                lock.writeLock().unlock();
            });
            Thread.sleep(1);
            lock.readLock().lock();
            say("read late");
            lock.readLock().unlock();
        }));
    }

    @Test
    void parkingHasAPermit() {
        assertEquals(List.of("0 had a permit", "3 timed out", "7 unparked", "9 interrupted true"), World.run(_ -> {
            Thread parker = spawn(_ -> {
                LockSupport.unpark(Thread.currentThread());
                LockSupport.park();
                say("had a permit");
                LockSupport.parkNanos(3_000_000);
                say("timed out");
                LockSupport.park("why");
                say("unparked");
                LockSupport.park();
                say("interrupted " + Thread.interrupted());
            });
            Thread.sleep(7);
            assertEquals("why", LockSupport.getBlocker(parker));
            LockSupport.unpark(parker);
            Thread.sleep(2);
            parker.interrupt();
        }));
    }

    @Test
    void latchesBarriersAndSemaphores() {
        assertEquals(List.of("10 open 0", "10 together", "10 broken", "11 two permits"), World.run(_ -> {
            CountDownLatch latch = new CountDownLatch(2);
            CyclicBarrier barrier = new CyclicBarrier(2, () -> say("together"));
            Semaphore semaphore = new Semaphore(0, true);
            spawn(_ -> {
                Thread.sleep(10);
                latch.countDown();
                latch.countDown();
                barrier.await();
                assertThrows(TimeoutException.class, () -> barrier.await(1, MILLISECONDS));
                semaphore.release(2);
            });
            assertTrue(!latch.await(5, MILLISECONDS));
            latch.await();
            say("open " + latch.getCount());
            barrier.await();
            Thread breaker = Thread.currentThread();
            spawn(_ -> breaker.interrupt());
            CyclicBarrier other = new CyclicBarrier(2);
            assertThrows(InterruptedException.class, other::await);
            assertThrows(BrokenBarrierException.class, other::await);
            say("broken");
            semaphore.acquire(2);
            say("two permits");
        }));
    }

    @Test
    void queuesWaitAndHandOver() {
        assertEquals(List.of("5 a", "5 b", "6 full", "9 handed x", "9 1", "9 2"), World.run(_ -> {
            BlockingQueue<String> bounded = new ArrayBlockingQueue<>(1);
            SynchronousQueue<String> hand = new SynchronousQueue<>();
            spawn(_ -> {
                bounded.put("a");
                bounded.put("b");
                bounded.put("c");
                assertEquals(false, bounded.offer("d", 1, MILLISECONDS));
                say("full");
            });
            Thread.sleep(5);
            say(bounded.take());
            say(bounded.take());
            assertEquals(null, hand.poll(2, MILLISECONDS));
            assertEquals(false, hand.offer("x"));
            spawn(_ -> say("handed " + hand.take()));
            Thread.sleep(2);
            assertTrue(hand.offer("x"));
            Thread.yield();
            PriorityBlockingQueue<Integer> order = new PriorityBlockingQueue<>(List.of(2, 1));
            say(String.valueOf(order.take()));
            say(String.valueOf(order.take()));
        }));
    }

    @Test
    void executorsRunTasks() {
        assertEquals(List.of("10 one pool-1-thread-1", "10 two pool-1-thread-2", "20 three pool-1-thread-1", "20 sum 6",
                "20 any 2", "20 broken java.lang.IllegalStateException: no", "20 true"), World.run(_ -> {
                    ExecutorService pool = Executors.newFixedThreadPool(2);
                    List<Callable<Integer>> tasks = new ArrayList<>();
                    for (String name : List.of("one", "two", "three")) {
                        int number = tasks.size() + 1;
                        tasks.add(() -> {
                            Thread.sleep(10);
                            say(name + " " + Thread.currentThread().getName());
                            return number;
                        });
                    }
                    int sum = 0;
                    for (Future<Integer> future : pool.invokeAll(tasks)) {
                        sum += future.get();
                    }
                    say("sum " + sum);
                    say("any " + pool.invokeAny(List.of(() -> {
                        throw new IllegalStateException("no");
                    }, () -> 2)));
                    Future<Object> broken = pool.submit(() -> {
                        throw new IllegalStateException("no");
                    });
                    say("broken " + assertThrows(ExecutionException.class, broken::get).getCause());
                    pool.close();
                    say(String.valueOf(pool.isTerminated()));
                    assertThrows(RejectedExecutionException.class, () -> pool.execute(() -> {}));
                }));
    }

    @Test
    void cachedThreadsEndAndAreMadeAnew() {
        assertEquals(List.of("0 2", "61000 0", "61000 1"), World.run(_ -> {
            ThreadPoolExecutor pool = (ThreadPoolExecutor) Executors.newCachedThreadPool();
            pool.submit(() -> {});
            pool.submit(() -> {}).get();
            say(String.valueOf(pool.getPoolSize()));
            Thread.sleep(61_000);
            say(String.valueOf(pool.getPoolSize()));
            pool.submit(() -> {}).get();
            say(String.valueOf(pool.getPoolSize()));
            pool.shutdownNow();
            assertTrue(pool.awaitTermination(1, SECONDS));
        }));
    }

    @Test
    void afullPoolRefusesAsItsHandlerHasIt() {
        assertEquals(List.of("5 caller main", "5 first", "5 queued"), World.run(_ -> {
            ThreadPoolExecutor pool = new ThreadPoolExecutor(1, 1, 0, SECONDS, new LinkedBlockingQueue<>(1));
            pool.execute(() -> {
                LockSupport.parkNanos(5_000_000);
                say("first");
            });
            pool.execute(() -> say("queued"));
            assertThrows(RejectedExecutionException.class, () -> pool.execute(() -> {}));
            pool.setRejectedExecutionHandler(new ThreadPoolExecutor.CallerRunsPolicy());
            pool.execute(() -> {
                LockSupport.parkNanos(5_000_000);
                say("caller " + Thread.currentThread().getName());
            });
            pool.shutdown();
        }).stream().sorted().toList());
    }

    @Test
    void scheduledTasksComeAtTheirTimes() {
        assertEquals(List.of("10 tick", "20 tick", "25 once", "30 tick", "30 delayed", "30 cancelled", "37 delayed"),
                World.run(_ -> {
                    ScheduledExecutorService pool = Executors.newScheduledThreadPool(2);
                    ScheduledFuture<?> tick = pool.scheduleAtFixedRate(() -> say("tick"), 10, 10, MILLISECONDS);
                    pool.scheduleWithFixedDelay(() -> {
                        say("delayed");
                        LockSupport.parkNanos(2_000_000);
                    }, 30, 5, MILLISECONDS);
                    assertEquals(7, pool.schedule(() -> {
                        say("once");
                        return 7;
                    }, 25, MILLISECONDS).get());
                    Thread.sleep(5);
                    Thread.yield();
                    tick.cancel(false);
                    assertThrows(CancellationException.class, tick::get);
                    say("cancelled");
                    Thread.sleep(8);
                    pool.shutdown();
                    assertTrue(pool.awaitTermination(1, SECONDS));
                }));
    }

    @Test
    void theClockIsTheMachines() {
        try (World world = new World()) {
            world.simulation.setEpoch(Instant.parse("2026-01-02T03:04:05Z"));
            world.machine("a").run("main", _ -> {
                Clock clock = SimulatedClock.systemUTC();
                Jvm.current().compute(1_500_000);
                System.out.println(clock.instant() + " " + clock.millis() + " " + System.nanoTime());
            });
            world.simulation.run();
            assertEquals(List.of("2026-01-02T03:04:05.001500Z 1767323045001 1500000"), world.log);
        }
    }

    @Test
    void outsideOfProcessesItIsRefused() {
        assertTrue(assertThrows(IllegalStateException.class, Thread::new).getMessage().contains("Machine.run"));
    }
}
