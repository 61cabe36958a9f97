package tutti.node;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import tutti.runtime.Loop;

/**
 * Lets somebody look at this node's database as it is at a position of the order, at which others look at theirs: nothing behind the
 * position becomes visible before he has begun to look. A node that was not asked goes on at once, and so does one whose
 * look takes longer than {@value #SECONDS_MAX} seconds, which then does not count. Of the replica's loop.
 */
final class ReadsAtPosition {
    private static final long SECONDS_MAX = 5;

    private final Loop loop;
    private final CommitPipeline pipeline;
    private long number;
    private @Nullable PositionReader expected;

    ReadsAtPosition(Loop loop, CommitPipeline pipeline) {
        this.loop = loop;
        this.pipeline = pipeline;
    }

    /** Somebody is to look where this number is ordered; whoever was expected before is not any more. */
    void expect(long where, PositionReader look) {
        number = where;
        expected = look;
    }

    /** No effects are made at a position; who was asked to looks at what there is. */
    void decide(long position, @Nullable Control message) {
        PositionReader look = message instanceof Control.Look(long ordered) && ordered == number ? expected : null;
        if (look == null) {
            pipeline.skip(position);
        } else {
            expected = null;
            pipeline.look(position, goOn -> at(look, position, goOn));
        }
    }

    private void at(PositionReader look, long position, Runnable goOn) {
        AtomicBoolean over = new AtomicBoolean();
        Loop.Timer late = loop.schedule(TimeUnit.SECONDS.toNanos(SECONDS_MAX), () -> {
            if (over.compareAndSet(false, true)) {
                goOn.run();
            }
        });
        look.at(position, () -> {
            boolean inTime = over.compareAndSet(false, true);
            if (inTime) {
                loop.execute(() -> {
                    late.cancel();
                    goOn.run();
                });
            }
            return inTime;
        });
    }
}
