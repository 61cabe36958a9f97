package tutti.server;

import io.netty.channel.EventLoopGroup;
import io.netty.handler.ssl.SslContext;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Engine;
import tutti.engine.EngineDescriptor;
import tutti.engine.StateView;
import tutti.engine.jdbc.InProcessEngine;
import tutti.engine.postgres.PostgresServer;
import tutti.engine.procedure.Procedures;
import tutti.node.ReplicaNode;
import tutti.node.copy.CopySource;
import tutti.server.config.NodeConfig;
import tutti.server.http.NodeStatus;
import tutti.wire.FrontEnd;

/** What is below a node and before its clients: its database, as an engine and as a front end. */
interface NodeDatabase {
    /**
     * Opens what a configuration asks for, as a part of a life.
     *
     * @param cluster id of the cluster, to which the database belongs from now on; nothing if it has none
     * @param secondaries how many to begin with, if it can have any
     * @throws IOException if it cannot be opened, or belongs to another cluster, with cause and remedy
     */
    static NodeDatabase open(NodeConfig config, String cluster, int secondaries, NodeLife life, EventLoopGroup loops)
            throws IOException, InterruptedException {
        return switch (config.engineDescriptor()) {
            case PostgresServer _ -> PostgresDatabase.start(config, cluster, life, loops);
            case InProcessEngine kind -> InProcessDatabase.open(kind, config, cluster, secondaries, life, loops);
            case EngineDescriptor other -> throw new IOException("clients cannot be served from " + other.product()
                    + ": this program has front ends for PostgreSQL servers and for databases in its own process");
        };
    }

    /** Why a node with such an engine refuses to make copies. */
    static String noSecondaries(NodeConfig config) {
        return "a node with " + config.engineDescriptor().product()
                + " has no secondaries: choose an engine that keeps its"
                + " database in the node's process: " + String.join(", ", NodeConfig.inProcessEngines());
    }

    /** Why a node does not touch a database. */
    static String foreign(String database, String theirs, String ours) {
        return database + " belongs to cluster " + theirs + ", but this node is of cluster " + ours
                + ": its rows are those of another order. Name the right database, or give the node a copy of that of another"
                + " node of its own cluster";
    }

    /** The database as the node sees it. */
    Engine engine();

    /** The Java procedures that are registered with it. */
    Procedures procedures();

    /** What the node tells the others that it can do, besides what its build can. */
    default Set<String> abilities() {
        return procedures().abilities();
    }

    /**
     * Those that a configuration names.
     *
     * @throws IOException naming one that cannot be registered, why, and what to do
     */
    static Procedures procedures(NodeConfig config) throws IOException {
        try {
            return Procedures.of(config.procedures(), NodeDatabase.class.getClassLoader());
        } catch (IllegalArgumentException impossible) {
            throw new IOException("procedures: " + impossible.getMessage(), impossible);
        }
    }

    /**
     * Begins a copy of it for another node, with at least what can be seen in it now. Clients go on. Blocks.
     *
     * @param staging an empty directory for what must be written down for that; the caller removes it
     * @throws IOException if it cannot be copied, with cause and remedy
     */
    CopySource.Copy copy(int receiver, Path staging) throws IOException;

    /**
     * What is committed in it now, to be read while clients go on. Blocks.
     *
     * @throws IOException if it cannot be read, with cause and remedy
     */
    StateView view() throws IOException;

    /** Tells what is changed in it, as soon as the node, which has not started, does; null if it cannot. */
    default @Nullable NodeChanges changes(ReplicaNode node) {
        return null;
    }

    /**
     * Asks it something, as a client would, on a connection of its own. Does not block; from any thread.
     *
     * @return completes when it has answered; at once, if it is in the node's own process
     */
    default CompletableFuture<?> answers() {
        return CompletableFuture.completedFuture(null);
    }

    /**
     * Asks it which sessions hold up what the node applies. Does not block; from any thread.
     *
     * @return in words for an operator; nothing if there are none, or if it does not know sessions but those of the node
     */
    default CompletableFuture<String> awaited() {
        return CompletableFuture.completedFuture("");
    }

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
    NodeStatus.Secondaries secondaries(int count) throws IOException;

    /** Certificate and key for clients, read again when they have changed, or null if there are none. */
    static @Nullable SslContext tls(NodeConfig config) throws IOException {
        NodeConfig.Tls tls = config.listen().tls();
        return tls == null ? null : new RenewedTls(tls, System::nanoTime);
    }
}
