package tutti.minha.example;

import java.util.concurrent.locks.Lock;
import tutti.minha.Jvm;
import tutti.minha.jdk.lang.System;
import tutti.minha.jdk.lang.Thread;
import tutti.minha.jdk.util.concurrent.locks.ReentrantLock;
import tutti.sim.kernel.Nanos;

/**
 * D5.1, appendix C.5: threads that work in turn, under a lock. What the work costs is said in one line; a program that was
 * not changed can have it counted (docs/simulation-library.md).
 */
public final class Locks {
    private static final int THREADS = 2;
    private static final int ROUNDS = 5;
    private static final long WORK_NANOS = 28 * Nanos.MILLI;

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
                Jvm.current().compute(WORK_NANOS);
                say("unlocking", number);
            } finally {
                lock.unlock();
            }
        }
    }

    private static void say(String what, int number) {
        System.out.println(what + " in " + number + " at " + System.currentTimeMillis());
    }
}
