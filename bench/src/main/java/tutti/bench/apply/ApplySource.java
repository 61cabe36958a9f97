package tutti.bench.apply;

import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.capture.CaptureException;
import tutti.engine.postgres.capture.CaptureReader;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.engine.postgres.output.ReplicationStream;
import tutti.pgwire.BackendSettings;

/**
 * The database in which the transactions really run that are applied elsewhere. Of each it knows both what capture makes of it before it
 * commits, and what the server tells of it afterwards, so that all sides make the same changes.
 */
final class ApplySource implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final EventLoopGroup loops;
    private final BackendSettings settings;
    private final Connection connection;
    private final TableCatalog catalog;
    private final String secret;
    private final ReplicationStream text;
    private final ReplicationStream binary;

    /** A transaction in all its forms. */
    record Recorded(WriteSet writes, WalSender.Transaction text, WalSender.Transaction binary) {}

    /** Does something in the open transaction. */
    interface Work {
        void run(Connection connection) throws SQLException;
    }

    /**
     * Begins to record.
     *
     * @param connection to the database, in which capture is installed
     */
    ApplySource(EventLoopGroup loops, BackendSettings settings, Connection connection, TableCatalog catalog,
            String secret) throws IOException, InterruptedException, SQLException {
        this.loops = loops;
        this.settings = settings;
        this.connection = connection;
        this.catalog = catalog;
        this.secret = secret;
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            // As a node does with what is its own, and not its clients'.
            statement.execute("SET LOCAL event_triggers = off");
            statement.execute("CREATE PUBLICATION measured FOR TABLES IN SCHEMA public");
            connection.commit();
            statement.execute("SELECT pg_catalog.pg_create_logical_replication_slot('text', 'pgoutput')");
            connection.commit();
            statement.execute("SELECT pg_catalog.pg_create_logical_replication_slot('binary', 'pgoutput')");
            connection.commit();
        }
        text = stream("text", "");
        binary = stream("binary", ", binary 'true'");
    }

    private ReplicationStream stream(String slot, String more) throws IOException, InterruptedException {
        return ReplicationStream.open(loops, settings, slot, 0,
                "proto_version '1', publication_names 'measured'" + more);
    }

    /** Runs so many transactions that change something. */
    List<Recorded> record(int count, Work work) throws SQLException, IOException, InterruptedException {
        List<WriteSet> writes = new ArrayList<>();
        while (writes.size() < count) {
            work.run(connection);
            byte[] gathered = gathered();
            if (gathered == null) {
                connection.rollback();
                continue;
            }
            try {
                writes.add(CaptureReader.read(catalog, gathered).writes());
            } catch (CaptureReader.UnknownTable | CaptureException impossible) {
                throw new IllegalStateException(impossible);
            }
            connection.commit();
        }
        try (Statement statement = connection.createStatement()) {
            // Only what is on the disk is told.
            statement.execute("SET LOCAL synchronous_commit = on");
            statement.execute("SELECT pg_catalog.pg_logical_emit_message(true, 'done', '')");
            connection.commit();
        }
        List<Recorded> all = new ArrayList<>();
        List<WalSender.Transaction> texts = read(text, count);
        List<WalSender.Transaction> binaries = read(binary, count);
        for (int i = 0; i < count; i++) {
            all.add(new Recorded(writes.get(i), texts.get(i), binaries.get(i)));
        }
        return all;
    }

    private byte @Nullable [] gathered() throws SQLException {
        try (PreparedStatement finish = connection.prepareStatement("SELECT tutti.finish(?, '00000000000000ab')")) {
            finish.setBytes(1, secret.getBytes(StandardCharsets.UTF_8));
            try (ResultSet rows = finish.executeQuery()) {
                rows.next();
                return rows.getBytes(1);
            }
        }
    }

    /** What the server tells of that many transactions, which changed something. */
    private static List<WalSender.Transaction> read(ReplicationStream stream, int count)
            throws IOException, InterruptedException {
        List<WalSender.Transaction> all = new ArrayList<>();
        List<byte[]> messages = new ArrayList<>();
        while (all.size() < count) {
            ReplicationStream.Piece piece = stream.next(PATIENCE);
            if (piece == null) {
                throw new IOException("the server has told " + all.size() + " of " + count + " transactions within "
                        + PATIENCE);
            }
            if (piece instanceof ReplicationStream.Piece.Message(long _, byte[] content)) {
                messages.add(content);
                if (content[0] == 'C') {
                    long end = java.nio.ByteBuffer.wrap(content).getLong(2 + Long.BYTES);
                    all.add(new WalSender.Transaction(end, List.copyOf(messages)));
                    messages.clear();
                    stream.confirm(end);
                }
            }
        }
        return all;
    }

    @Override
    public void close() throws SQLException {
        text.close();
        binary.close();
        connection.close();
    }
}
