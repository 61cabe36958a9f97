package tutti.wire;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import tutti.core.txn.AbortReason;

/** Tests of one front end, which each of them finds as if it had just been started. */
abstract class OnFrontEnd {
    static FrontEndFixture fixture;

    @BeforeAll
    static void start() throws Exception {
        fixture = new FrontEndFixture();
    }

    @AfterAll
    static void stop() throws Exception {
        fixture.close();
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
