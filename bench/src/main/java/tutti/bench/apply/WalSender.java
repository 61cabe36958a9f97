package tutti.bench.apply;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.output.Lsn;
import tutti.engine.postgres.output.StreamMessage;
import tutti.pgwire.Backend;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Fields;
import tutti.pgwire.Frontend;
import tutti.pgwire.StartupPacket;

/**
 * A publisher for PostgreSQL's logical replication worker: the walsender's side of the replication protocol, with a log in memory.
 * Serves one subscriber at a time, on loopback, and lets everybody in, so that it is of use for measurements only. What the
 * subscriber says that it has applied is its progress.
 *
 * <p>
 * A subscriber that comes back says from which position it goes on; what ends at or before it is not sent again.
 */
final class WalSender implements AutoCloseable {
    private static final Map<String, String> PARAMETERS = Map.of("server_version", "18.0", "server_encoding", "UTF8",
            "client_encoding", "UTF8", "integer_datetimes", "on", "standard_conforming_strings", "on");
    private static final Pattern SLOT = Pattern.compile("CREATE_REPLICATION_SLOT\\s+\"?([^\"\\s]+)\"?\\s.*");
    private static final int SCRATCH = 1 << 16;
    private static final long WAIT_MILLIS = 1000;

    private final ServerSocket listening;
    private final List<Transaction> log = new java.util.ArrayList<>();
    private long applied;
    private long asked;
    private int sessions;
    private boolean closed;
    private @Nullable Socket current;

    /**
     * What is sent of a transaction.
     *
     * @param end its position, larger than that of those before it
     * @param messages of {@code pgoutput}
     */
    record Transaction(long end, List<byte[]> messages) {}

    WalSender() throws IOException {
        listening = new ServerSocket(0, 8, InetAddress.getLoopbackAddress());
        Thread.ofPlatform().daemon().name("walsender").start(this::accept);
    }

    /** How a subscription reaches it. */
    String connectionString() {
        return "host=127.0.0.1 port=" + listening.getLocalPort() + " user=tutti dbname=tutti sslmode=disable";
    }

    /** Has these transactions sent. */
    synchronized void send(List<Transaction> transactions) {
        log.addAll(transactions);
        notifyAll();
    }

    /** Up to where the subscriber says that it has applied. */
    synchronized long applied() {
        return applied;
    }

    /** Where the subscriber that came last wanted to go on. */
    synchronized long asked() {
        return asked;
    }

    /** How many streams have begun. */
    synchronized int sessions() {
        return sessions;
    }

    /** Waits until so much is applied. Returns whether it is. */
    synchronized boolean awaitApplied(long position, Duration patience) throws InterruptedException {
        return await(() -> Long.compareUnsigned(applied, position) >= 0, patience);
    }

    /** Waits until so many streams have begun. Returns whether they have. */
    synchronized boolean awaitSessions(int count, Duration patience) throws InterruptedException {
        return await(() -> sessions >= count, patience);
    }

    private boolean await(java.util.function.BooleanSupplier condition, Duration patience) throws InterruptedException {
        long until = System.nanoTime() + patience.toNanos();
        while (!condition.getAsBoolean()) {
            long left = until - System.nanoTime();
            if (left <= 0) {
                return false;
            }
            wait(Math.max(1, left / 1_000_000));
        }
        return true;
    }

    private void accept() {
        while (true) {
            try {
                Socket socket = listening.accept();
                socket.setTcpNoDelay(true);
                Thread.ofPlatform().daemon().name("walsender session").start(() -> serve(socket));
            } catch (IOException stopped) {
                return;
            }
        }
    }

    private void serve(Socket socket) {
        try (socket) {
            DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
            OutputStream out = new BufferedOutputStream(socket.getOutputStream(), SCRATCH);
            if (start(in, out)) {
                while (command(socket, in, out)) {
                    out.flush();
                }
            }
        } catch (EOFException | SocketException gone) {
            // the subscriber has ended, and comes back
        } catch (IOException | RuntimeException failed) {
            System.err.println("walsender: " + failed);
        }
    }

    private static boolean start(DataInputStream in, OutputStream out) throws IOException {
        while (true) {
            ByteBuf body = body(in);
            switch (StartupPacket.read(body)) {
                case StartupPacket.Ssl _,StartupPacket.Gss _ -> {
                    out.write('N');
                    out.flush();
                }
                case StartupPacket.Cancel _,StartupPacket.Old _ -> {
                    return false;
                }
                case StartupPacket.Startup _ -> {
                    ByteBuf answer = Unpooled.buffer();
                    Backend.authenticationOk(answer);
                    PARAMETERS.forEach((name, value) -> Backend.parameterStatus(answer, name, value));
                    Backend.backendKeyData(answer, 1, new byte[4]);
                    Backend.readyForQuery(answer, Backend.IDLE);
                    write(out, answer);
                    out.flush();
                    return true;
                }
            }
        }
    }

    /** Deals with one command. Returns whether the session goes on. */
    private boolean command(Socket socket, DataInputStream in, OutputStream out) throws IOException {
        int type = in.read();
        if (type != Frontend.QUERY) {
            return false;
        }
        String sql = Fields.cString(body(in)).strip();
        ByteBuf answer = Unpooled.buffer();
        if (sql.startsWith("START_REPLICATION")) {
            String from = sql.replaceFirst(".*LOGICAL\\s+([0-9A-Fa-f/]+).*", "$1");
            stream(socket, in, out, Lsn.of(from));
            return false;
        } else if (sql.startsWith("IDENTIFY_SYSTEM")) {
            Backend.rowDescription(answer, "systemid", "timeline", "xlogpos", "dbname");
            Backend.dataRow(answer, "7000000000000000001", "1", Lsn.text(end()), "tutti");
            Backend.commandComplete(answer, "IDENTIFY_SYSTEM");
        } else if (sql.startsWith("CREATE_REPLICATION_SLOT")) {
            Backend.rowDescription(answer, "slot_name", "consistent_point", "snapshot_name", "output_plugin");
            Backend.dataRow(answer, SLOT.matcher(sql).replaceFirst("$1"), Lsn.text(end()), "", "pgoutput");
            Backend.commandComplete(answer, "CREATE_REPLICATION_SLOT");
        } else if (sql.contains("set_config")) {
            Backend.rowDescription(answer, "set_config");
            Backend.dataRow(answer, "");
            Backend.commandComplete(answer, "SELECT 1");
        } else {
            Backend.errorResponse(answer, ErrorFields.of("ERROR", "0A000", "this publisher does not know: " + sql));
        }
        Backend.readyForQuery(answer, Backend.IDLE);
        write(out, answer);
        return true;
    }

    private synchronized long end() {
        return log.isEmpty() ? 0 : log.getLast().end();
    }

    private void stream(Socket socket, DataInputStream in, OutputStream out, long from) throws IOException {
        out.write(new byte[]{Backend.COPY_BOTH_RESPONSE, 0, 0, 0, 7, 0, 0, 0});
        out.flush();
        synchronized (this) {
            asked = from;
            // What a crash has taken from it counts no longer.
            applied = from;
            sessions++;
            current = socket;
            notifyAll();
        }
        Thread.ofPlatform().daemon().name("walsender feedback").start(() -> feedback(socket, in));
        int next = 0;
        long sent = from;
        while (!socket.isClosed()) {
            List<Transaction> more;
            synchronized (this) {
                if (next == log.size()) {
                    try {
                        wait(WAIT_MILLIS);
                    } catch (InterruptedException stopped) {
                        Thread.currentThread().interrupt();
                        return;
                    }
                }
                if (closed) {
                    return;
                }
                more = List.copyOf(log.subList(next, log.size()));
                next = log.size();
            }
            for (Transaction transaction : more) {
                if (Long.compareUnsigned(transaction.end(), from) > 0) {
                    send(out, transaction);
                    sent = transaction.end();
                }
            }
            ByteBuf alive = Unpooled.buffer();
            new StreamMessage.KeepAlive(sent, true).write(alive, 0);
            copyData(out, alive);
            out.flush();
        }
    }

    private static void send(OutputStream out, Transaction transaction) throws IOException {
        for (byte[] message : transaction.messages()) {
            ByteBuf data = Unpooled.buffer(message.length + 32);
            StreamMessage.Data.writeHead(data, transaction.end(), 0);
            data.writeBytes(message);
            copyData(out, data);
        }
    }

    private static void copyData(OutputStream out, ByteBuf data) throws IOException {
        ByteBuf framed = Unpooled.buffer(data.readableBytes() + 8);
        Frontend.copyData(framed, data);
        write(out, framed);
    }

    /** Of an earlier one nothing counts any more: this very socket. */
    @SuppressWarnings("ReferenceEquality")
    private void feedback(Socket socket, DataInputStream in) {
        try (socket) {
            while (in.read() == Frontend.COPY_DATA) {
                if (StreamMessage.read(body(in)) instanceof StreamMessage.Status(_, _, long done, _)) {
                    synchronized (this) {
                        if (current == socket && Long.compareUnsigned(done, applied) > 0) {
                            applied = done;
                            notifyAll();
                        }
                    }
                }
            }
        } catch (IOException gone) {
            // the subscriber has ended, and comes back
        }
    }

    private static ByteBuf body(DataInputStream in) throws IOException {
        byte[] body = new byte[in.readInt() - Integer.BYTES];
        in.readFully(body);
        return Unpooled.wrappedBuffer(body);
    }

    private static void write(OutputStream out, ByteBuf bytes) throws IOException {
        bytes.readBytes(out, bytes.readableBytes());
    }

    @Override
    public void close() throws IOException {
        synchronized (this) {
            closed = true;
            notifyAll();
            if (current != null) {
                current.close();
            }
        }
        listening.close();
    }
}
