package tutti.runtime.real;

/** Waiting for threads. */
final class Threads {
    private Threads() {}

    /** Returns when a thread has ended. An interruption does not shorten that; the caller is interrupted afterwards. */
    static void join(Thread thread) {
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException later) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
