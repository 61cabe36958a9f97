package tutti.minha.example.plain;

import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/** Threads that work in turn, under a lock; their work is a loop. */
public final class Locks {
    private static final int THREADS = 2;
    private static final int ROUNDS = 5;
    private static final int WORK = 10_000_000;

    private final Lock lock = new ReentrantLock();

    private Locks() {}

    /**
     * Runs it.
     *
     * @param arguments the number of threads; two if there is none
     */
    public static void main(String[] arguments) {
        int threads = arguments.length == 0 ? THREADS : Integer.parseInt(arguments[0]);
        Locks locks = new Locks();
        for (int i = 0; i < threads; i++) {
            int number = i;
            new Thread(() -> locks.work(number)).start();
        }
    }

    private void work(int number) {
        long worked = 0;
        for (int round = 0; round < ROUNDS; round++) {
            try {
                Thread.sleep(1);
            } catch (InterruptedException _) {
                return;
            }
            say("locking", number);
            lock.lock();
            try {
                say("working", number);
                for (int i = 0; i < WORK; i++) {
                    worked += i;
                }
                say("unlocking", number);
            } finally {
                lock.unlock();
            }
        }
        say("worked " + worked, number);
    }

    private static void say(String what, int number) {
        System.out.println(what + " in " + number + " at " + System.currentTimeMillis());
    }
}
