package tutti.macro;

import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.macro.call.Operation;

/** A call that has, or is about to have, its place in the component's order. */
class SequencedCall extends Answer {
    private static final int TEXT_MAX = 200;

    final Operation operation;
    final @Nullable Object[] arguments;
    /** Its place, from 1; 0 before it has one. Written before the call is published. */
    long position;
    private volatile boolean abandoned;

    SequencedCall(Operation operation, @Nullable Object[] arguments,
            @Nullable CompletableFuture<@Nullable Object> future) {
        super(future);
        this.operation = operation;
        this.arguments = arguments;
    }

    /** Called with the order's lock held, when the position and the replicas that will execute the call are known. */
    void sequenced(Replica[] members) {}

    /**
     * What a replica answered. The first answer counts; that another replica throws where one returns, or the other way
     * round, is a fault all the same.
     *
     * @param faults takes what was found
     */
    void answered(Replica replica, @Nullable Object value, @Nullable Throwable thrown, Consumer<ReplicaFault> faults) {
        if (!give(value, thrown) && given() && !abandoned && (thrown == null) != (thrown() == null)) {
            faults.accept(new ReplicaFault(replica.name(), ReplicaFault.Kind.WRONG_EXCEPTION, operation.toString(),
                    position, describe(value, thrown) + ", another replica " + describe("a value", thrown()), false));
        }
    }

    /** A replica will not answer. */
    void withdrawn(Replica replica, Consumer<ReplicaFault> faults) {}

    /** Nobody is waited for any more: ends the call with this, unless it has an answer. */
    final void abandon(RuntimeException why) {
        abandoned = true;
        if (give(null, why)) {
            completeFuture();
        }
    }

    static String describe(@Nullable Object value, @Nullable Throwable thrown) {
        return thrown == null ? "returned " + text(value) : "threw " + text(thrown);
    }

    /** In at most so many characters, whatever the value's own method does. */
    private static String text(@Nullable Object value) {
        String whole;
        try {
            whole = String.valueOf(value);
        } catch (RuntimeException | Error e) {
            whole = "a " + (value == null ? "null" : value.getClass().getName()) + " whose toString threw a "
                    + e.getClass().getName();
        }
        return whole.length() <= TEXT_MAX ? whole : whole.substring(0, TEXT_MAX) + "...";
    }
}
