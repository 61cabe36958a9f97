package tutti.server;

import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import tutti.core.spi.EngineFailure;
import tutti.engine.StateView;
import tutti.engine.jdbc.CaptureMode;
import tutti.engine.jdbc.EmbeddedDatabase;
import tutti.engine.jdbc.InProcessEngine;
import tutti.engine.jdbc.JavaCall;
import tutti.engine.jdbc.JdbcEngine;
import tutti.engine.jdbc.SequenceSteps;
import tutti.engine.jdbc.SqlSyntax;
import tutti.engine.macro.MacroDb;
import tutti.engine.procedure.Procedures;
import tutti.node.ReplicaNode;
import tutti.node.copy.CopySource;
import tutti.pgfront.JdbcFrontEnd;
import tutti.pgfront.JdbcFrontEndSettings;
import tutti.server.config.NodeConfig;
import tutti.server.http.NodeStatus;
import tutti.wire.AdmissionLimits;
import tutti.wire.FrontEnd;
import tutti.wire.FrontEndSettings;
import tutti.wire.JavaRequests;
import tutti.wire.Places;

/**
 * A database in the node's own process, with PostgreSQL's syntax and protocol.
 *
 * <p>
 * <b>Durability.</b> In files, the database keeps its position with its rows, and what a crash takes of both is in the
 * order's log. In memory, it begins empty at position 0, and the whole log is applied again.
 */
final class InProcessDatabase implements NodeDatabase {
    private static final Duration AUTHENTICATION_TIMEOUT = Duration.ofSeconds(60);
    private static final int MESSAGE_BYTES_MAX = 256 << 20;
    /** This part of the heap may be results that clients have not read to their ends. */
    private static final int RESULTS_PART_OF_MEMORY = 4;

    private final NodeConfig config;
    private final EventLoopGroup loops;
    private final InProcessEngine kind;
    private final JdbcEngine primary;
    private final MacroDb engine;
    private final NodeLife life;
    private final Procedures procedures;

    private InProcessDatabase(InProcessEngine kind, NodeConfig config, String cluster, int secondaries,
            NodeLife life, EventLoopGroup loops) throws IOException, SQLException {
        this.config = config;
        this.life = life;
        this.procedures = NodeDatabase.procedures(config);
        this.loops = loops;
        this.kind = kind;
        primary = JdbcEngine.open(database(), CaptureMode.NOTES,
                new SequenceSteps(config.node(), config.sequences().stride()));
        primary.registers(new JavaCall.Known(procedures, config.apply().statementTime()));
        primary.claim(cluster);
        engine = MacroDb.open(primary, this::inMemory, secondaries, MacroDb.Settings.DEFAULT);
    }

    /**
     * Opens it, as a part of a life.
     *
     * @param secondaries how many to begin with
     */
    static InProcessDatabase open(InProcessEngine kind, NodeConfig config, String cluster, int secondaries,
            NodeLife life,
            EventLoopGroup loops)
            throws IOException {
        try {
            InProcessDatabase database = new InProcessDatabase(kind, config, cluster, secondaries, life, loops);
            life.started(database.engine);
            return database;
        } catch (SQLException failed) {
            throw new IOException("the database in " + config.data() + " cannot be opened: " + failed.getMessage(),
                    failed);
        }
    }

    private EmbeddedDatabase database() throws IOException, SQLException {
        if (config.inProcess().inMemory()) {
            return inMemory();
        }
        Path directory = Files.createDirectories(config.data().resolve(config.engine()));
        return kind.inFiles(directory.resolve("database"), SqlSyntax.POSTGRES);
    }

    private EmbeddedDatabase inMemory() throws SQLException {
        return kind.inMemory(SqlSyntax.POSTGRES);
    }

    @Override
    public MacroDb engine() {
        return engine;
    }

    @Override
    public Procedures procedures() {
        return procedures;
    }

    @Override
    public CopySource.Copy copy(int receiver, Path staging) throws IOException {
        Path files = Files.createDirectory(staging.resolve(config.engine()));
        try {
            primary.copyTo(kind.inFiles(files.resolve("database"), SqlSyntax.POSTGRES),
                    new SequenceSteps(receiver, config.sequences().stride())).close();
        } catch (SQLException failed) {
            throw new IOException("the database in " + config.data() + " cannot be copied: " + failed.getMessage(),
                    failed);
        }
        return new CopySource.Unchanging(DatabaseCopies.below(files, config.engine()));
    }

    @Override
    public StateView view() throws IOException {
        try {
            return primary.view();
        } catch (SQLException failed) {
            throw new IOException("the database in " + config.data() + " cannot be read: " + failed.getMessage(),
                    failed);
        }
    }

    @Override
    public NodeStatus.Secondaries secondaries() {
        return seen(engine.status());
    }

    @Override
    public NodeStatus.Secondaries secondaries(int count) throws IOException {
        try {
            return seen(engine.setSecondaries(count));
        } catch (SQLException failed) {
            throw new IOException(failed.getMessage(), failed);
        }
    }

    private static NodeStatus.Secondaries seen(MacroDb.Status status) {
        EngineFailure last = status.lastFailure();
        return new NodeStatus.Secondaries(status.position(), status.secondaries(), status.filling(),
                status.readsAtSecondaries(), status.readsAtPrimary(), status.dropped(),
                last == null ? null : last.sqlState() + " " + last.message());
    }

    @Override
    public FrontEnd frontEnd(ReplicaNode node) throws IOException {
        NodeConfig.InProcess settings = config.inProcess();
        AdmissionLimits admission = new AdmissionLimits(FrontEndSettings.Authentication.SCRAM, NodeDatabase.tls(config),
                NodeConfig.Tls.isRequired(config.listen().tls()),
                // All clients are of the one role that there is.
                new Places(config.limits().sessions(), 0, config.limits().sessionsPerAddress()), AUTHENTICATION_TIMEOUT,
                MESSAGE_BYTES_MAX, Map.of("tutti.acknowledge", config.listen().acknowledge()));
        try {
            return new JdbcFrontEnd(
                    new JdbcFrontEndSettings(new InetSocketAddress(config.listen().host(), config.listen().port()),
                            settings.database(), settings.user(), settings.password(), admission, kind,
                            Math.toIntExact(config.limits().transactionBytes()),
                            Runtime.getRuntime().maxMemory() / RESULTS_PART_OF_MEMORY, config.sequences().stride(),
                            config.limits().repetitions()),
                    node, engine, new JavaRequests(procedures, life::lacking), primary::tables, loops);
        } catch (SQLException refused) {
            throw new IOException("clients cannot be let in: " + refused.getMessage(), refused);
        }
    }
}
