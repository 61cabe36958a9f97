package tutti.wire;

import io.netty.handler.ssl.SslContext;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tutti.wire.FrontEndSettings.Authentication;

/**
 * What a front end asks of clients before it lets them in, and how many it takes. Immutable.
 *
 * @param authentication what clients must prove
 * @param tls certificate and key for clients that ask for TLS; null refuses TLS
 * @param tlsRequired whether clients without TLS are refused
 * @param places how many clients
 * @param authenticationTimeout from connecting to the end of authentication
 * @param messageLimit longest message of a client, in bytes
 * @param usual parameters of sessions whose clients ask for no others, by name
 */
public record AdmissionLimits(Authentication authentication, @Nullable SslContext tls, boolean tlsRequired,
        Places places, Duration authenticationTimeout, int messageLimit, Map<String, String> usual) {
    public AdmissionLimits {
        usual = Map.copyOf(usual);
    }
}
