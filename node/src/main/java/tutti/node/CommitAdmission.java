package tutti.node;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Lets so many transactions wait for the outcome of their commit at a time; further ones wait their turn, and are bounded by
 * their sessions. Of the replica's loop, except {@link #inFlight}.
 */
final class CommitAdmission {
    private final int inFlightMax;
    private final AtomicInteger inFlight = new AtomicInteger();
    private final ArrayDeque<Runnable> turns = new ArrayDeque<>();
    private final List<CompletableFuture<Void>> idle = new ArrayList<>();

    /** @param inFlightMax how many, at least 1 */
    CommitAdmission(int inFlightMax) {
        this.inFlightMax = inFlightMax;
    }

    /** Transactions that wait for their outcome. Any thread. */
    int inFlight() {
        return inFlight.get();
    }

    /** Whether one more has to wait its turn. */
    boolean isFull() {
        return inFlight.get() >= inFlightMax;
    }

    /** Calls back when the transaction is admitted; by then it may have been given up. */
    void await(Runnable turn) {
        turns.add(turn);
    }

    /** One more waits for its outcome. */
    void enter() {
        inFlight.incrementAndGet();
    }

    /** One waits no more, and others have their turn. */
    void leave() {
        inFlight.decrementAndGet();
        while (!isFull() && !turns.isEmpty()) {
            turns.remove().run();
        }
        if (inFlight.get() == 0) {
            idle.forEach(waiter -> waiter.complete(null));
            idle.clear();
        }
    }

    /** Completes when nobody waits for an outcome. */
    void whenIdle(CompletableFuture<Void> waiter) {
        if (inFlight.get() == 0) {
            waiter.complete(null);
        } else {
            idle.add(waiter);
        }
    }
}
