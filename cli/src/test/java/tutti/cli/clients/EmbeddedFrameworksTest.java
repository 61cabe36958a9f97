package tutti.cli.clients;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.embedded.EmbeddedNodes;

/** Frameworks on nodes in their own virtual machine. */
@Tag("long")
class EmbeddedFrameworksTest {
    private static final String H2 = "jdbc:tutti:embedded:h2:mem:frameworks";
    private static final String HSQLDB = "jdbc:tutti:embedded:hsqldb:mem:frameworks";

    @AfterAll
    static void stop() throws Exception {
        EmbeddedNodes.stop(H2);
        EmbeddedNodes.stop(HSQLDB);
    }

    @ParameterizedTest
    @ValueSource(strings = {H2, HSQLDB})
    void hikari(String url) throws Exception {
        Frameworks.hikari(url);
    }

    @ParameterizedTest
    @ValueSource(strings = {H2, HSQLDB})
    void spring(String url) {
        Frameworks.spring(url);
    }

    @ParameterizedTest
    @ValueSource(strings = {H2, HSQLDB})
    void hibernate(String url) {
        Frameworks.hibernate(url);
    }
}
