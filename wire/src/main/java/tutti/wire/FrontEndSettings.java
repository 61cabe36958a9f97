package tutti.wire;

import io.netty.handler.ssl.SslContext;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.BackendSettings;

/**
 * How a node's PostgreSQL front end is set up. Immutable.
 *
 * @param listen address to listen on; port 0 for any free one
 * @param engine how to reach the node's PostgreSQL as a superuser; its database is the replicated one
 * @param authentication who may connect
 * @param tls certificate and key for clients that ask for TLS; null refuses TLS
 * @param tlsRequired whether clients without TLS are refused
 * @param places how many clients
 * @param authenticationTimeout from connecting to the end of authentication
 * @param messageLimit longest message of a client, in bytes
 * @param heldLimit most bytes of responses that are held back until a transaction's outcome is known, per session
 * @param changesLimit most bytes of what transactions have changed that are committing, of all sessions together; a larger transaction is alone
 * @param repetitions how often a transaction that has lost is run again before its client hears of it; 0 if not at all
 * @param usual parameters of sessions whose clients ask for no others, by name
 */
public record FrontEndSettings(
        InetSocketAddress listen,
        BackendSettings engine,
        Authentication authentication,
        @Nullable SslContext tls,
        boolean tlsRequired,
        Places places,
        Duration authenticationTimeout,
        int messageLimit,
        int heldLimit,
        long changesLimit,
        int repetitions,
        Map<String, String> usual) {

    /** Who may connect. */
    public enum Authentication {
        /** Who proves the password of a role by SCRAM-SHA-256; the proof is then used towards the engine. */
        SCRAM,
        /** Anybody, as far as the front end is concerned: the engine must trust the node's connections. */
        TRUST
    }

    /** With defaults: SCRAM, no TLS, 100 clients, 60 s, 256 MiB, 1 MiB, 64 MiB, no repetitions, REPEATABLE READ. */
    public static FrontEndSettings of(InetSocketAddress listen, BackendSettings engine) {
        return new FrontEndSettings(listen, engine, Authentication.SCRAM, null, false, Places.of(100),
                Duration.ofSeconds(60),
                256 << 20, 1 << 20, 64 << 20, 0,
                Map.of("default_transaction_isolation", "repeatable read", Modes.MODE,
                        SessionVariable.text(Modes.Mode.DEFAULT), Modes.ACKNOWLEDGE,
                        SessionVariable.text(Modes.Acknowledge.EXECUTED), Modes.ADVISORY_LOCKS,
                        SessionVariable.text(Modes.AdvisoryLocks.NODE), ReadLevel.NAME,
                        SessionVariable.text(ReadLevel.Level.LOCAL)));
    }

    /** What it asks of clients before it lets them in. */
    AdmissionLimits admission() {
        return new AdmissionLimits(authentication, tls, tlsRequired, places, authenticationTimeout,
                messageLimit, usual);
    }

    /** The same with TLS. */
    public FrontEndSettings withTls(SslContext context, boolean required) {
        return new FrontEndSettings(listen, engine, authentication, context, required, places,
                authenticationTimeout, messageLimit, heldLimit, changesLimit, repetitions, usual);
    }

    /** The same with other bounds. */
    public FrontEndSettings withLimits(Places clients, Duration timeout, int messageBytes) {
        return new FrontEndSettings(listen, engine, authentication, tls, tlsRequired, clients, timeout,
                messageBytes, heldLimit, changesLimit, repetitions, usual);
    }

    /** The same with another bound on what transactions have changed that are committing, in bytes. */
    public FrontEndSettings withChanges(long bytes) {
        return new FrontEndSettings(listen, engine, authentication, tls, tlsRequired, places,
                authenticationTimeout, messageLimit, heldLimit, bytes, repetitions, usual);
    }

    /** The same with transactions that are run again so often. */
    public FrontEndSettings withRepetitions(int times) {
        return new FrontEndSettings(listen, engine, authentication, tls, tlsRequired, places,
                authenticationTimeout, messageLimit, heldLimit, changesLimit, times, usual);
    }

    /** The same with another value of a parameter in sessions whose clients ask for none. */
    public FrontEndSettings withUsual(String name, String value) {
        Map<String, String> all = new HashMap<>(usual);
        all.put(name, value);
        return new FrontEndSettings(listen, engine, authentication, tls, tlsRequired, places,
                authenticationTimeout, messageLimit, heldLimit, changesLimit, repetitions, Map.copyOf(all));
    }
}
