package tutti.server;

import java.io.IOException;
import java.nio.file.Path;
import tutti.engine.postgres.server.ServerBinaries;

/** The PostgreSQL server that comes with nodes, for those who pack it beside them: a node that finds it unpacks nothing. */
public final class PostgresBinaries {
    private PostgresBinaries() {}

    /**
     * Unpacks it.
     *
     * @param cache what is {@code ~/.cache/tutti} for the node's user
     * @return the server's directory in it
     */
    public static Path unpack(Path cache) throws IOException, InterruptedException {
        return ServerBinaries.unpacked(cache).home();
    }
}
