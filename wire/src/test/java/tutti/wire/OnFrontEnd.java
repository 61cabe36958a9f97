package tutti.wire;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import tutti.core.txn.AbortReason;

/** Tests of one front end, started once for all of them, which each finds as if it had just been started. */
@ExtendWith(OnFrontEnd.StartedOnce.class)
abstract class OnFrontEnd {
    static FrontEndFixture fixture;

    /** Starts the front end for the first class of tests, and has it closed after the last. */
    static final class StartedOnce implements BeforeAllCallback {
        @Override
        public void beforeAll(ExtensionContext context) {
            fixture = context.getRoot().getStore(ExtensionContext.Namespace.GLOBAL)
                    .computeIfAbsent(FrontEndFixture.class, _ -> started(), FrontEndFixture.class);
        }

        private static FrontEndFixture started() {
            try {
                return new FrontEndFixture();
            } catch (Exception failed) {
                throw new IllegalStateException("no front end to test", failed);
            }
        }
    }

    /** The node has the transaction that has begun last rolled back, for one that was ordered first. */
    static void push() throws Exception {
        ScriptedNode.take(fixture.node.begun).rollBack(new AbortReason.Victim(3));
    }

    @BeforeEach
    final void reset() throws Exception {
        fixture.reset();
    }
}
