package tutti.eval.calibrate;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import tutti.model.RequestKind;
import tutti.model.fit.Fits;

/**
 * What writing costs (D5.1, section 2.5.2): on the disk itself, and as the server counts it.
 *
 * @param flush writing 8 KiB to a file and flushing it; null if the server's disk is not ours to write to
 * @param megabytesPerSecond of a file that is written in one go and flushed every 8 MB: the saturated disk; 0 likewise
 * @param serverFlushNanos mean time of a flush of the log as the server has measured it; 0 if it does not measure it
 * @param serverFlushes how many it has made
 * @param bytesPerRow log bytes for each row that is written: the slope of bytes over rows
 * @param bytesPerCommit log bytes whatever the rows: where the line begins
 */
record LogProbe(@Nullable Fits flush, double megabytesPerSecond, double serverFlushNanos, long serverFlushes,
        double bytesPerRow, double bytesPerCommit) {
    private static final int FLUSHES = 200;
    private static final int FLUSHED_BYTES = 8 << 10;
    private static final int BLOCK_BYTES = 1 << 20;
    private static final int BLOCKS = 96;
    private static final int BLOCKS_PER_FLUSH = 8;
    private static final int TRANSACTIONS = 400;

    /** Measures; the database is at rest but for the client. */
    static LogProbe measure(RealServer server, RealClient client) throws IOException, SQLException {
        Path directory = server.directory();
        Fits flush = directory == null ? null : flush(directory);
        double throughput = directory == null ? 0 : throughput(directory);
        try (Connection connection = server.database().open(); Statement statement = connection.createStatement()) {
            double[] line = bytes(statement, client);
            try (ResultSet row = statement.executeQuery("select coalesce(sum(fsyncs), 0), coalesce(sum(fsync_time), 0)"
                    + " from pg_stat_io where object = 'wal' and backend_type = 'client backend'")) {
                row.next();
                long flushes = row.getLong(1);
                return new LogProbe(flush, throughput, flushes == 0 ? 0 : row.getDouble(2) * 1e6 / flushes, flushes,
                        line[1], line[0]);
            }
        }
    }

    private static Fits flush(Path directory) throws IOException {
        Path probe = Files.createTempFile(directory, "flush-", ".probe");
        long[] nanos = new long[FLUSHES];
        try (FileChannel file = FileChannel.open(probe, StandardOpenOption.WRITE)) {
            // As the server's log files, it has its length before it is written.
            file.write(ByteBuffer.allocate(FLUSHES * FLUSHED_BYTES));
            file.force(true);
            for (int i = 0; i < FLUSHES; i++) {
                long start = System.nanoTime();
                file.write(ByteBuffer.allocate(FLUSHED_BYTES), (long) FLUSHED_BYTES * i);
                file.force(false);
                nanos[i] = System.nanoTime() - start;
            }
        } finally {
            Files.delete(probe);
        }
        return Fits.of(nanos);
    }

    private static double throughput(Path directory) throws IOException {
        Path probe = Files.createTempFile(directory, "throughput-", ".probe");
        try (FileChannel file = FileChannel.open(probe, StandardOpenOption.WRITE)) {
            ByteBuffer block = ByteBuffer.allocateDirect(BLOCK_BYTES);
            long start = System.nanoTime();
            for (int i = 1; i <= BLOCKS; i++) {
                block.clear();
                file.write(block);
                if (i % BLOCKS_PER_FLUSH == 0) {
                    file.force(false);
                }
            }
            return (double) BLOCKS * BLOCK_BYTES / 1e6 / ((System.nanoTime() - start) / 1e9);
        } finally {
            Files.delete(probe);
        }
    }

    /** Intercept and slope of the log bytes of update transactions over their rows, by least squares. */
    private static double[] bytes(Statement statement, RealClient client) throws SQLException {
        double[] rows = new double[TRANSACTIONS];
        double[] bytes = new double[TRANSACTIONS];
        for (int i = 0; i < TRANSACTIONS;) {
            long before = position(statement);
            Observation one = client.run();
            if (one.committed() && !one.kind().readOnly() && one.kind() != RequestKind.MAINTENANCE) {
                rows[i] = one.rows();
                bytes[i++] = position(statement) - before;
            }
        }
        return line(rows, bytes);
    }

    /** Intercept and slope of the straight line with the least squares. */
    static double[] line(double[] x, double[] y) {
        double meanX = Arrays.stream(x).average().orElse(0);
        double meanY = Arrays.stream(y).average().orElse(0);
        double products = 0;
        double squares = 0;
        for (int i = 0; i < x.length; i++) {
            products += (x[i] - meanX) * (y[i] - meanY);
            squares += (x[i] - meanX) * (x[i] - meanX);
        }
        double slope = squares == 0 ? 0 : products / squares;
        return new double[]{meanY - slope * meanX, slope};
    }

    private static long position(Statement statement) throws SQLException {
        try (ResultSet row = statement.executeQuery("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn")) {
            row.next();
            return row.getLong(1);
        }
    }
}
