package tutti.wire;

import io.netty.buffer.ByteBuf;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.pgwire.Backend;
import tutti.pgwire.ErrorFields;

/**
 * {@code tutti.acknowledge = applied}: the client of a session hears that something has committed when every node shows it. On the
 * session's event loop.
 */
public final class ShownToAll {
    /** So long is a client kept waiting for others, in nanoseconds; what has committed cannot be undone for them. */
    public static final long PATIENCE_NANOS = 30_000_000_000L;

    private final Session session;
    private @Nullable OpenTransaction awaited;

    ShownToAll(Session session) {
        this.session = session;
    }

    /** Whether the client is not to hear yet that its transaction has committed here. */
    boolean awaits(OpenTransaction committed) {
        return session.modes().applied() && awaited != committed;
    }

    /** Waits for a transaction that has committed; then it is awaited no more. */
    void await(OpenTransaction committed, Runnable then) {
        awaited = committed;
        await(true, then);
    }

    /**
     * Waits, if the client wants that, until all that is visible here is so at the other nodes.
     *
     * @param changed whether something has committed
     */
    void await(boolean changed, Runnable then) {
        if (!changed || !session.modes().applied()) {
            then.run();
            return;
        }
        session.node().awaitElsewhere(session.node().visiblePosition(), PATIENCE_NANOS, new Completion<>() {
            @Override
            public void succeeded(Set<Integer> missing) {
                session.onLoop(() -> {
                    if (!missing.isEmpty()) {
                        ByteBuf out = session.client().buffer();
                        Backend.noticeResponse(out, warning(missing));
                        session.client().write(out);
                    }
                    then.run();
                });
            }

            @Override
            public void failed(EngineFailure failure) {
                session.onLoop(then);
            }
        });
    }

    /** What a client is told who has waited for these nodes in vain. */
    public static ErrorFields warning(Set<Integer> missing) {
        return ErrorFields.of("WARNING", "01000", "what has committed was not applied at node "
                + missing.stream().map(Object::toString).collect(Collectors.joining(", ")) + " within "
                + PATIENCE_NANOS / 1_000_000_000 + " s, though it can be reached");
    }
}
