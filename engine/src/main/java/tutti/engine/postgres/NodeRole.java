package tutti.engine.postgres;

import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings.Credentials;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.PostgresException;
import tutti.pgwire.Scram;

/**
 * The superuser as whom a node connects to its server: a role of its own, made when the node first connects as the one that the
 * configuration names. So what clients make of that one, its password above all, does not keep the node from starting again.
 */
public final class NodeRole {
    /** Its name, which clients' statements may not mention. */
    public static final String NAME = "tutti_node";
    private static final Logger LOG = LoggerFactory.getLogger(NodeRole.class);
    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final int SALT_BYTES = 16;
    private static final int SCRAM_ITERATIONS = 4096;
    private static final String NO_DATABASE = "3D000";

    private NodeRole() {}

    /** The way in when neither role can connect, or the database admits nobody. */
    @FunctionalInterface
    public interface Repair {
        /**
         * Executes statements past authentication.
         *
         * @throws IOException if that cannot be done; {@code why} says what it would be needed for
         */
        void execute(String statements, IOException why) throws IOException, InterruptedException;
    }

    /**
     * Sees to it that the role is there and can connect to the database, which is made if it is not there. Blocks.
     *
     * @param configured the superuser that the configuration names, and the database
     * @param password of the node's role: nobody else knows it
     * @return how to connect as the node's role
     * @throws IOException if the server cannot be reached, or admits neither; says what to do
     */
    public static BackendSettings connect(EventLoopGroup loops, BackendSettings configured, String password,
            Repair repair) throws IOException, InterruptedException {
        BackendSettings own = configured.as(NAME, new Credentials.Password(password));
        if (superuser(loops, own)) {
            return own;
        }
        String statements = statements(password, configured.database());
        try {
            ask(loops, configured.inDatabase("postgres"), statements);
        } catch (IOException refused) {
            repair.execute(statements, new IOException("PostgreSQL at " + configured.address()
                    + " admits neither the role "
                    + NAME + " nor " + configured.user() + ": " + refused.getMessage()
                    + "; give the configuration a superuser that can connect (postgres.user, postgres.password)",
                    refused));
        }
        if (!superuser(loops, own)) {
            createDatabase(loops, own);
        }
        return own;
    }

    /** What makes the role as it should be, and lets it in; one line, since a server that is alone with its user reads lines. */
    private static String statements(String password, String database) {
        byte[] salt = new byte[SALT_BYTES];
        new SecureRandom().nextBytes(salt);
        String literal = "'" + database.replace("'", "''") + "'";
        return "DO $tutti$ BEGIN IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = '" + NAME
                + "') THEN CREATE ROLE " + NAME + "; END IF; ALTER ROLE " + NAME
                + " WITH LOGIN SUPERUSER CONNECTION LIMIT -1 VALID UNTIL 'infinity' PASSWORD '"
                + Scram.Verifier.of(password, salt, SCRAM_ITERATIONS)
                + "'; IF EXISTS (SELECT FROM pg_catalog.pg_database WHERE datname = " + literal
                + ") THEN EXECUTE pg_catalog.format('ALTER DATABASE %I ALLOW_CONNECTIONS true CONNECTION LIMIT -1', "
                + literal
                + "); END IF; END $tutti$";
    }

    /** Whether the role can connect to the database, as a superuser. */
    private static boolean superuser(EventLoopGroup loops, BackendSettings settings)
            throws IOException, InterruptedException {
        try {
            return "on".equals(ask(loops, settings, "SHOW is_superuser"));
        } catch (IOException refused) {
            if (refused.getCause() instanceof PostgresException told) {
                LOG.debug("no connection as {}", settings.user(), told);
                return false;
            }
            throw refused;
        }
    }

    private static void createDatabase(EventLoopGroup loops, BackendSettings own)
            throws IOException, InterruptedException {
        try {
            ask(loops, own, "SELECT 1");
        } catch (IOException refused) {
            if (refused.getCause() instanceof PostgresException told && told.sqlState().equals(NO_DATABASE)) {
                ask(loops, own.inDatabase("postgres"), "CREATE DATABASE \"" + own.database().replace("\"", "\"\"")
                        + "\" TEMPLATE template0 ENCODING 'UTF8'");
            } else {
                throw refused;
            }
        }
    }

    /**
     * Asks one question, on a connection of its own. Blocks.
     *
     * @return the first value of the result
     * @throws IOException if the server cannot be reached, or refuses: then what it said is the cause
     */
    public static @Nullable String ask(EventLoopGroup loops, BackendSettings settings, String sql)
            throws IOException, InterruptedException {
        BackendConnection connection;
        try {
            connection = BackendConnection.connect(loops.next(), OwnSessions.superuser(settings, "tutti start"))
                    .get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException failed) {
            Throwable cause = failed.getCause() == null ? failed : failed.getCause();
            throw new IOException("cannot connect to PostgreSQL at " + settings.address() + " as " + settings.user()
                    + ": " + cause.getMessage(), cause);
        }
        try {
            return connection.execute(sql, TIMEOUT).value();
        } catch (PostgresException refused) {
            throw new IOException(settings.user() + " at " + settings.address() + ": " + refused.getMessage(), refused);
        } finally {
            connection.close();
        }
    }
}
