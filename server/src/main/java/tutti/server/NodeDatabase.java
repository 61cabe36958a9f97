package tutti.server;

import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.IOException;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Engine;
import tutti.node.ReplicaNode;
import tutti.server.config.NodeConfig;
import tutti.server.http.NodeStatus;
import tutti.wire.FrontEnd;

/** What is below a node and before its clients: its database, as an engine and as a front end. */
interface NodeDatabase {
    /** Why a node with PostgreSQL refuses to make copies. */
    String NO_SECONDARIES = "a PostgreSQL server has no secondaries within its node: they are for nodes with"
            + " `engine: h2` or `engine: hsqldb`";

    /** The database as the node sees it. */
    Engine engine();

    /**
     * A front end for its clients, not started yet.
     *
     * @throws IOException if it cannot be set up, with cause and remedy
     */
    FrontEnd frontEnd(ReplicaNode node) throws IOException;

    /** How its secondaries are, or null if it cannot have any. From any thread; does not block. */
    default NodeStatus.@Nullable Secondaries secondaries() {
        return null;
    }

    /**
     * Makes secondaries, or gives some up, until there are so many. From any thread; blocks.
     *
     * @return how they are then
     * @throws IOException if it cannot have any, or one cannot be filled, with cause and remedy
     */
    default NodeStatus.Secondaries secondaries(int count) throws IOException {
        throw new IOException(NO_SECONDARIES);
    }

    /** Certificate and key for clients, or null if there are none. */
    static @Nullable SslContext tls(NodeConfig config) throws IOException {
        NodeConfig.Tls tls = config.listen().tls();
        return tls == null ? null : tlsContext(tls);
    }

    private static SslContext tlsContext(NodeConfig.Tls tls) throws IOException {
        try {
            return SslContextBuilder.forServer(tls.certificate().toFile(), tls.key().toFile()).build();
        } catch (IllegalArgumentException unusable) {
            throw new IOException("listen.tls cannot be used: " + unusable.getMessage()
                    + "; both files must be PEM, the key PKCS #8 without a password", unusable);
        }
    }
}
