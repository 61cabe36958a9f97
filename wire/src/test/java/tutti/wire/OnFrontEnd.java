package tutti.wire;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

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

    @BeforeEach
    final void reset() throws Exception {
        fixture.reset();
    }
}
