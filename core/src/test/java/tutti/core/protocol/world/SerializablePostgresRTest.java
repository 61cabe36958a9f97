package tutti.core.protocol.world;

import java.util.Set;

/** {@code postgres-r} with serializability in the test world. */
class SerializablePostgresRTest extends PostgresRTest {
    @Override
    protected boolean serializable() {
        return true;
    }

    @Override
    protected Set<String> mustHappen() {
        return Set.of("committed", "crash", "restart", "user", "certification", "stale-read", "victim", "suspected",
                "lost", "gave-way-CERTIFIED", "gave-way-ASKED", "gave-way-RUNNING");
    }
}
