package tutti.engine.postgres.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.core.spi.Engine.Applier;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.engine.EngineContract.Result;
import tutti.engine.postgres.PostgresEngine;
import tutti.engine.postgres.TestServer;
import tutti.engine.postgres.capture.Statement;
import tutti.pgwire.BackendSettings;

/** An applier whose connection is lost, of which its server hears nothing. */
@Timeout(120)
class LostConnectionTest {
    private static final String APPLIER = "tutti applier";

    /** Stands between an engine and its server. */
    private static final class Relay implements AutoCloseable {
        private final ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        private final Queue<Socket> appliers = new ConcurrentLinkedQueue<>();
        private final Queue<Socket> all = new ConcurrentLinkedQueue<>();

        Relay() throws IOException {
            Thread.ofVirtual().start(() -> {
                while (true) {
                    try {
                        serve(listener.accept());
                    } catch (IOException closed) {
                        return;
                    }
                }
            });
        }

        private void serve(Socket client) throws IOException {
            Socket server = new Socket(TestServer.server().host(), TestServer.server().port());
            all.add(client);
            all.add(server);
            Thread.ofVirtual().start(() -> pass(server, client, false));
            Thread.ofVirtual().start(() -> pass(client, server, true));
        }

        /** The server is not told of the end of its client. */
        private void pass(Socket from, Socket to, boolean ofClient) {
            byte[] bytes = new byte[1 << 16];
            try {
                InputStream in = from.getInputStream();
                OutputStream out = to.getOutputStream();
                for (int read = in.read(bytes); read >= 0; read = in.read(bytes)) {
                    if (ofClient && new String(bytes, 0, read, StandardCharsets.ISO_8859_1).contains(APPLIER)) {
                        appliers.add(from);
                    }
                    out.write(bytes, 0, read);
                }
            } catch (IOException over) {
                return;
            }
        }

        void cutAppliers() throws IOException {
            for (Socket socket : appliers) {
                socket.close();
            }
        }

        @Override
        public void close() throws IOException {
            listener.close();
            for (Socket socket : all) {
                socket.close();
            }
        }
    }

    @Test
    void aStatementWhoseConnectionIsLostEndsBeforeItIsMadeAgain() throws Exception {
        String database = TestServer.database("CREATE TABLE t (id int PRIMARY KEY)");
        BackendSettings direct = TestServer.reach(database);
        byte[] statement = new Statement("ALTER TABLE t ADD v int", TestServer.USER, Map.of()).toBytes();
        String waits = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = '"
                + APPLIER + "' AND wait_event_type = 'Lock'";
        try (Relay relay = new Relay();
                PostgresEngine engine = PostgresEngine.open(TestServer.loops(),
                        BackendSettings.of(relay.listener.getLocalSocketAddress(), direct.user(), direct.database(),
                                direct.credentials()),
                        TestServer.settings(1));
                Applier applier = engine.openApplier();
                Connection holder = TestServer.jdbc(database);
                java.sql.Statement holds = holder.createStatement()) {
            holds.execute("LOCK TABLE t IN ACCESS SHARE MODE");
            Result<ExecuteResult> lost = new Result<>();
            applier.execute(1, statement, lost);
            while (Pair.rows(database, waits).isEmpty()) {
                assertFalse(lost.isDone(), "it should wait for the table");
            }
            relay.cutAppliers();
            assertTrue(lost.failure().transientFailure());
            while (!Pair.rows(database, waits).isEmpty()) {
                Thread.onSpinWait();
            }
            holder.rollback();
            Result<ExecuteResult> again = new Result<>();
            applier.execute(1, statement, again);
            assertEquals(null, again.success().refusal());
        }
    }
}
