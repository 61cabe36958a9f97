package tutti.engine.postgres;

import tutti.engine.EngineDescriptor;
import tutti.engine.postgres.server.ServerBinaries;

/** Describes PostgreSQL: a server of the node's own, or one that is given by its URL. */
public final class PostgresServer implements EngineDescriptor {
    /** What configurations call it. */
    public static final String NAME = "postgres";

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public String product() {
        return "PostgreSQL";
    }

    @Override
    public String version() {
        return ServerBinaries.VERSION;
    }
}
