package tutti.pgwire;

import java.security.AlgorithmParameters;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.security.spec.PSSParameterSpec;
import java.util.Locale;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/** By what the end of a TLS connection is known to who is shown its certificate: channel binding {@code tls-server-end-point} of RFC 5929. */
public final class TlsEndPoint {
    private TlsEndPoint() {}

    /**
     * The hash of the certificate that this side of a session has shown.
     *
     * @return empty if it has shown none, or one whose signature has no hash that the RFC could name, such as Ed25519
     */
    public static byte[] ofServer(SSLSession session) {
        Certificate[] shown = session.getLocalCertificates();
        return shown != null && shown.length > 0 && shown[0] instanceof X509Certificate first ? of(first) : new byte[0];
    }

    static byte[] of(X509Certificate certificate) {
        try {
            String digest = digest(certificate);
            return digest == null ? new byte[0] : MessageDigest.getInstance(digest).digest(certificate.getEncoded());
        } catch (GeneralSecurityException unknown) {
            return new byte[0];
        }
    }

    /** The hash of the certificate's signature; SHA-256 in the place of those that are broken. */
    private static @Nullable String digest(X509Certificate certificate) throws GeneralSecurityException {
        String algorithm = certificate.getSigAlgName().toUpperCase(Locale.ROOT);
        int with = algorithm.indexOf("WITH");
        String digest = with < 0 ? null : algorithm.substring(0, with);
        if (algorithm.equals("RSASSA-PSS")) {
            AlgorithmParameters parameters = AlgorithmParameters.getInstance("RSASSA-PSS");
            try {
                parameters.init(certificate.getSigAlgParams());
            } catch (java.io.IOException unreadable) {
                throw new GeneralSecurityException(unreadable);
            }
            digest = parameters.getParameterSpec(PSSParameterSpec.class).getDigestAlgorithm().toUpperCase(Locale.ROOT);
        }
        if (digest == null) {
            return null;
        }
        String name = digest.replace("-", "");
        return switch (name) {
            case "MD5", "SHA1" -> "SHA-256";
            case "SHA224", "SHA256", "SHA384", "SHA512" -> "SHA-" + name.substring(3);
            default -> digest;
        };
    }
}
