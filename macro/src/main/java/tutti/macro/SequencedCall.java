package tutti.macro;

import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.macro.call.Operation;

/** A call that has, or is about to have, its place in the component's order. */
class SequencedCall extends Answer {
    final Operation operation;
    final @Nullable Object[] arguments;
    /** Its place, from 1; 0 before it has one. Written before the call is published. */
    long position;

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
        if (!give(value, thrown) && given() && (thrown == null) != (thrown() == null)) {
            faults.accept(new ReplicaFault(replica.name(), ReplicaFault.Kind.WRONG_EXCEPTION, operation.toString(),
                    position, describe(value, thrown) + ", another replica " + describe("a value", thrown()), false));
        }
    }

    /** A replica will not answer. */
    void withdrawn(Replica replica, Consumer<ReplicaFault> faults) {}

    static String describe(@Nullable Object value, @Nullable Throwable thrown) {
        return thrown == null ? "returned " + value : "threw " + thrown;
    }
}
