package tutti.minha.example.program;

import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Date;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Phaser;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.CompletionException;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** One thing after another that is different in the simulation. */
@SuppressWarnings({"JavaUtilDate", "JavaTimeDefaultTimeZone", "WaitNotInLoop", "NaiveWait", "ObjectToString"})
public final class Corners {
    private static int runs;
    private static volatile boolean flag;

    private int value;

    private Corners() {}

    /** Runs what is named. */
    public static void main(String[] arguments) throws Exception {
        runs++;
        switch (arguments[0]) {
            case "statics" -> System.out.println("runs " + runs);
            case "time" -> time();
            case "random" -> random();
            case "hashes" -> hashes();
            case "monitors" -> monitors();
            case "futures" -> futures();
            case "spin" -> spin();
            case "refused" -> refused();
            case "endless" -> endless();
            case "exit" -> exit();
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    private static void time() throws InterruptedException {
        LongSupplier clock = System::nanoTime;
        long begun = clock.getAsLong();
        TimeUnit.MILLISECONDS.sleep(1500);
        System.out.println((clock.getAsLong() - begun) / 1_000_000);
        System.out.println(Instant.now().toEpochMilli() / 100 + " " + LocalDate.now() + " "
                + new Date().getTime() / 100 + " \"java/lang/Thread\" " + "java/lang/Thread".length());
    }

    private static void random() {
        Supplier<Random> made = Random::new;
        System.out.println(new Random().nextInt() + " " + made.get().nextInt() + " "
                + ThreadLocalRandom.current().nextInt(1000) + " " + UUID.randomUUID() + " " + Math.random());
    }

    private static void hashes() {
        Set<Object> objects = new HashSet<>();
        Map<Corners, Integer> numbers = new HashMap<>();
        List<Integer> order = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            Corners corner = new Corners();
            corner.value = i;
            objects.add(corner);
            numbers.put(corner, i);
        }
        objects.forEach(object -> order.add(((Corners) object).value));
        System.out.println(order + " " + new Corners().hashCode() + " " + new Corners() + " "
                + numbers.values() + " " + List.of(3, 1, 2).parallelStream().map(i -> i + 1).toList());
    }

    private synchronized int next() throws InterruptedException {
        int before = value;
        Thread.sleep(1);
        value = before + 1;
        if (value == 30) {
            throw new IllegalStateException("thirty");
        }
        return value;
    }

    private static synchronized void together(int number) throws InterruptedException {
        runs += number;
        Thread.sleep(1);
    }

    private static void monitors() throws InterruptedException {
        Corners corners = new Corners();
        CountDownLatch done = new CountDownLatch(3);
        for (int i = 0; i < 3; i++) {
            new Thread(() -> {
                try {
                    for (int round = 0; round < 10; round++) {
                        corners.next();
                        together(1);
                    }
                } catch (IllegalStateException | InterruptedException e) {
                    System.out.println(e.getMessage());
                } finally {
                    done.countDown();
                }
            }).start();
        }
        done.await();
        System.out.println(corners.value + " " + runs + " " + Thread.holdsLock(corners));
        synchronized (corners) {
            corners.wait(5);
            System.out.println(Thread.holdsLock(corners));
        }
        try {
            corners.notify();
        } catch (IllegalMonitorStateException e) {
            System.out.println(e.getMessage());
        }
    }

    private static void futures() throws Exception {
        CompletableFuture<Integer> one = CompletableFuture.supplyAsync(() -> {
            sleep(10);
            return 1;
        });
        CompletableFuture<Integer> two = one.thenApplyAsync(i -> i + 1).thenCombine(one, Integer::sum);
        System.out.println(two.get() + " " + two.join());
        CompletableFuture<@Nullable Object> never = new CompletableFuture<>();
        try {
            never.get(5, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            System.out.println("timed out");
        }
        try {
            never.orTimeout(7, TimeUnit.MILLISECONDS).join();
        } catch (CompletionException e) {
            System.out.println(e.getCause() + " at " + System.currentTimeMillis());
        }
    }

    private static void sleep(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void spin() {
        new Thread(() -> {
            sleep(100);
            flag = true;
        }).start();
        while (!flag) {
            Thread.onSpinWait();
        }
        flag = false;
        new Thread(() -> {
            sleep(100);
            flag = true;
        }).start();
        long rounds = 0;
        while (!flag) {
            rounds++;
        }
        System.out.println("seen " + (rounds > 1000));
    }

    private static void refused() {
        try {
            new Phaser().register();
        } catch (UnsupportedOperationException e) {
            System.out.println(e.getMessage());
        }
        try {
            System.out.println(Thread.getAllStackTraces());
        } catch (UnsupportedOperationException e) {
            System.out.println(e.getMessage());
        }
    }

    private static void endless() {
        while (true) {
            try {
                Thread.sleep(10);
                System.out.println("tick");
            } catch (Throwable e) {
                System.out.println("caught " + e);
            }
        }
    }

    private static void exit() {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
        new Thread(() -> sleep(1_000_000)).start();
        System.exit(Runtime.getRuntime().availableProcessors());
    }
}
