package tutti.macro;

import org.jspecify.annotations.Nullable;
import tutti.macro.call.Operation;

/**
 * A read that waits for a replica's executor, maybe for those of several replicas.
 *
 * @param answer which the first gives
 * @param required position up to which the replica must have executed the order
 */
record ReadTask(Answer answer, Operation operation, @Nullable Object[] arguments, long required) {}
