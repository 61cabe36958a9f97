package tutti.pgwire;

import io.netty.handler.ssl.SslContext;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * How to reach a PostgreSQL server and as whom. Immutable.
 *
 * @param address TCP address, or Netty's {@code DomainSocketAddress}
 * @param user role to connect as
 * @param database database to connect to
 * @param credentials what proves the role, if the server asks
 * @param parameters further start-up parameters, such as {@code application_name}
 * @param tls speaks TLS, which the server then must too; null for none
 * @param timeout for connecting and start-up together
 * @param gatherLimit longest message that is gathered, in bytes
 * @param protocol version that is asked for, as start-up packets write it; a server may speak an earlier one
 */
public record BackendSettings(
        SocketAddress address,
        String user,
        String database,
        Credentials credentials,
        Map<String, String> parameters,
        @Nullable SslContext tls,
        Duration timeout,
        int gatherLimit,
        int protocol) {

    /** Keeps a copy of the parameters. */
    public BackendSettings {
        parameters = Map.copyOf(parameters);
    }

    /** With defaults: no TLS, 10 seconds, 64 MiB. */
    public static BackendSettings of(SocketAddress address, String user, String database, Credentials credentials) {
        return new BackendSettings(address, user, database, credentials, Map.of(), null, Duration.ofSeconds(10),
                64 << 20, Frontend.PROTOCOL_3_0);
    }

    /** The same with these further start-up parameters. */
    public BackendSettings withParameters(Map<String, String> more) {
        TreeMap<String, String> all = new TreeMap<>(parameters);
        all.putAll(more);
        return new BackendSettings(address, user, database, credentials, all, tls, timeout, gatherLimit, protocol);
    }

    /** The same as another role, which proves itself by other credentials. */
    public BackendSettings as(String otherUser, Credentials otherCredentials) {
        return new BackendSettings(address, otherUser, database, otherCredentials, parameters, tls, timeout,
                gatherLimit, protocol);
    }

    /** The same with TLS, or without if there is none. */
    public BackendSettings withTls(@Nullable SslContext other) {
        return new BackendSettings(address, user, database, credentials, parameters, other, timeout, gatherLimit,
                protocol);
    }

    /** The same in another version of the protocol. */
    public BackendSettings withProtocol(int version) {
        return new BackendSettings(address, user, database, credentials, parameters, tls, timeout, gatherLimit,
                version);
    }

    /** The same with another timeout. */
    public BackendSettings within(Duration limit) {
        return new BackendSettings(address, user, database, credentials, parameters, tls, limit, gatherLimit, protocol);
    }

    /** The same to another database. */
    public BackendSettings inDatabase(String other) {
        return new BackendSettings(address, user, other, credentials, parameters, tls, timeout, gatherLimit, protocol);
    }

    /** What proves a role. */
    public sealed interface Credentials {
        /** Nothing; the server must trust us. */
        record None() implements Credentials {}

        /** A password, used by SCRAM-SHA-256 only, and never sent. */
        record Password(Scram.Password password) implements Credentials {
            /** That has proved nothing yet. */
            public Password(String password) {
                this(new Scram.Password(password));
            }

            @Override
            public String toString() {
                return "Password";
            }
        }

        /** Keys proved to us by the role's owner. */
        record ScramKeys(Scram.Keys keys) implements Credentials {
            @Override
            public String toString() {
                return "ScramKeys";
            }
        }
    }
}
