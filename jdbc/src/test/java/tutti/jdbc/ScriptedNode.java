package tutti.jdbc;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * What a client takes for a node: lets everybody in, answers simple queries by a script, and goes when the script says so. Each
 * connection has a thread, which ends with it.
 */
final class ScriptedNode implements Closeable {
    /** In place of an answer: the node is gone, with all that it has. */
    static final String DIES = "dies";
    /** In place of an answer: nothing, ever again, on no connection, though all stay open. */
    static final String STANDS_STILL = "stands still";
    /** In place of an answer: an error, because it does not take writes at the moment. */
    static final String REFUSES = "refuses";
    /** In place of an answer: an error, with which the transaction has failed. */
    static final String FAILS = "fails";
    /** In place of an answer: it takes rows. */
    static final String COPIES = "copies";
    /** An answer without rows. */
    static final String DONE = "done";
    /** The name of every transaction here, unless they are counted from it. */
    static final String TRANSACTION = "0:1.5";

    private static final Set<Integer> PORTS = ConcurrentHashMap.newKeySet();

    private final ServerSocket server;
    private final Function<String, String> script;
    private final List<String> heard = new CopyOnWriteArrayList<>();
    private final List<Socket> clients = new CopyOnWriteArrayList<>();
    private volatile boolean standsStill;
    private volatile boolean counts;
    private volatile IntConsumer onConnection = count -> {};

    /** @param script makes an answer of a query: {@link #DIES}, {@link #DONE}, or the value of one row with one column */
    ScriptedNode(Function<String, String> script) throws IOException {
        this.script = script;
        this.server = listen();
        start(this::accept);
    }

    /** The driver knows for some seconds which address a node was lost at, so each has one of its own. */
    private static ServerSocket listen() throws IOException {
        ServerSocket fresh = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        if (PORTS.add(fresh.getLocalPort())) {
            return fresh;
        }
        try (fresh) {
            return listen();
        }
    }

    private static void start(Runnable work) {
        Thread thread = new Thread(work, "scripted node");
        thread.setDaemon(true);
        thread.start();
    }

    String address() {
        return server.getInetAddress().getHostAddress() + ":" + server.getLocalPort();
    }

    /** Queries so far, of all connections. */
    List<String> heard() {
        return List.copyOf(heard);
    }

    /** From now on it takes connections and says nothing. */
    void standStill() {
        standsStill = true;
    }

    /** From now on each query outside of a block is a transaction with a name of its own, as those of nodes are. */
    void countTransactions() {
        counts = true;
    }

    /** Told of each connection which one it is, from 1. */
    void onConnection(IntConsumer told) {
        onConnection = told;
    }

    private void accept() {
        try {
            while (true) {
                Socket client = server.accept();
                clients.add(client);
                onConnection.accept(clients.size());
                if (standsStill) {
                    continue;
                }
                start(() -> {
                    try (client) {
                        serve(client);
                    } catch (IOException gone) {
                        // The client, or this node.
                    }
                });
            }
        } catch (IOException closed) {
            // It is over.
        }
    }

    private void serve(Socket client) throws IOException {
        DataInputStream in = new DataInputStream(client.getInputStream());
        DataOutputStream out = new DataOutputStream(client.getOutputStream());
        in.skipNBytes(in.readInt() - Integer.BYTES);
        send(out, 'R', new byte[Integer.BYTES]);
        for (String setting : List.of("server_version=18.0", "client_encoding=UTF8", "server_encoding=UTF8",
                "DateStyle=ISO, MDY", "TimeZone=UTC", "integer_datetimes=on", "standard_conforming_strings=on",
                "tutti.transaction=" + TRANSACTION, "tutti.position=1")) {
            send(out, 'S', text(setting.substring(0, setting.indexOf('=')),
                    setting.substring(setting.indexOf('=') + 1)));
        }
        send(out, 'K', new byte[2 * Integer.BYTES]);
        char status = ready(out, 'I');
        int transactions = 0;
        while (true) {
            int type = in.read();
            byte[] body = new byte[type < 0 ? 0 : in.readInt() - Integer.BYTES];
            in.readFully(body);
            if (type == 'S') {
                ready(out, status);
                continue;
            }
            if (type != 'Q') {
                return;
            }
            String query = new String(body, 0, body.length - 1, StandardCharsets.UTF_8);
            heard.add(query);
            String answer = standsStill ? STANDS_STILL : script.apply(query);
            if (answer.equals(STANDS_STILL)) {
                standsStill = true;
                in.skipNBytes(Long.MAX_VALUE);
                return;
            }
            if (answer.equals(DIES)) {
                close();
                return;
            }
            if (answer.equals(REFUSES)) {
                send(out, 'E', text("SERROR", "VERROR", "C57P03", "Mthis node takes no writes", ""));
            } else if (answer.equals(FAILS)) {
                send(out, 'E', text("SERROR", "VERROR", "C22012", "Mdivision by zero", ""));
                status = status == 'T' ? 'E' : status;
            } else if (answer.equals(COPIES)) {
                copy(in, out);
            } else if (status == 'E' && query.startsWith("COMMIT")) {
                send(out, 'C', text("ROLLBACK"));
            } else {
                answer(out, query, answer.equals(DONE) ? null : answer);
            }
            if (counts && status == 'I') {
                transactions++;
                send(out, 'S', text("tutti.transaction", TRANSACTION + transactions));
            }
            status = ready(out, query.startsWith("BEGIN")
                    ? 'T'
                    : query.startsWith("COMMIT") || query.startsWith("ROLLBACK") ? 'I' : status);
        }
    }

    private static void copy(DataInputStream in, DataOutputStream out) throws IOException {
        send(out, 'G', new byte[1 + Short.BYTES]);
        out.flush();
        int rows = 0;
        for (int type = in.read(); type != 'c'; type = in.read()) {
            in.skipNBytes(in.readInt() - Integer.BYTES);
            rows++;
        }
        in.skipNBytes(Integer.BYTES);
        send(out, 'C', text("COPY " + rows));
    }

    private static void answer(DataOutputStream out, String query, @Nullable String row) throws IOException {
        if (row == null) {
            send(out, 'C', text(query.startsWith("INSERT") ? "INSERT 0 1" : query.split(" ", 2)[0]));
            return;
        }
        ByteArrayOutputStream description = new ByteArrayOutputStream();
        DataOutputStream columns = new DataOutputStream(description);
        columns.writeShort(1);
        columns.write(text("outcome"));
        columns.write(new byte[]{0, 0, 0, 0, 0, 0, 0, 0, 0, 25, -1, -1, -1, -1, -1, -1, 0, 0});
        send(out, 'T', description.toByteArray());
        ByteArrayOutputStream data = new ByteArrayOutputStream();
        DataOutputStream values = new DataOutputStream(data);
        byte[] value = row.getBytes(StandardCharsets.UTF_8);
        values.writeShort(1);
        values.writeInt(value.length);
        values.write(value);
        send(out, 'D', data.toByteArray());
        send(out, 'C', text("SELECT 1"));
    }

    private static char ready(DataOutputStream out, char status) throws IOException {
        send(out, 'Z', new byte[]{(byte) status});
        out.flush();
        return status;
    }

    private static void send(DataOutputStream out, char type, byte[] body) throws IOException {
        out.writeByte(type);
        out.writeInt(Integer.BYTES + body.length);
        out.write(body);
    }

    private static byte[] text(String... words) {
        return (String.join("\0", words) + "\0").getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public void close() throws IOException {
        server.close();
        for (Socket client : clients) {
            client.close();
        }
    }
}
