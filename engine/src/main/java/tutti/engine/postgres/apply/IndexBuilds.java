package tutti.engine.postgres.apply;

import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.capture.Statement;

/**
 * Indexes that a node builds beside the order (docs/decisions/0220), as far as appliers concern them. What is made at a position must not depend on them. From any thread.
 */
public interface IndexBuilds {
    /** Whether the database may have an index that is being built, or was and has no name yet. Cheap. */
    boolean any();

    /** The index that has been built for a statement, which is about to be executed at its position; null if there is none, and is not to be any more. */
    @Nullable
    Built built(byte[] statement);

    /**
     * An index without its name.
     *
     * @param index its object id
     * @param name what it is to be called
     */
    record Built(String index, String name) {}

    /** The index that was built for a statement has its name. */
    void named(byte[] statement);

    /**
     * Gives up all indexes: none is {@linkplain #built} any more, and none is begun until {@link #resume}. Completed when no session that builds holds a lock. What is there of
     * them is for the caller to drop, or is dropped afterwards.
     */
    CompletableFuture<Void> stop();

    /** Ends what {@link #stop} has begun; once for each. */
    void resume();

    /** The position has been reached of what {@linkplain Statement#isBuild concerns an index}. */
    void reached(Statement statement);
}
