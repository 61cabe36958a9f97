package tutti.runtime.real;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509TrustManager;
import org.jspecify.annotations.Nullable;

/** Connections under TLS of those who trust everybody, and show what they like. */
public final class Tls {
    private static final char[] PASSWORD = "x".toCharArray();

    private Tls() {}

    private static final class TrustsEverybody implements X509TrustManager {
        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type) {
            // Whoever it is.
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type) {
            // Whoever it is.
        }

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return new X509Certificate[0];
        }
    }

    /** Connects; shows a node's certificate, or none. */
    public static Socket socket(PeerKeys.@Nullable Source shown, InetSocketAddress to) throws Exception {
        SSLContext context = SSLContext.getInstance("TLSv1.3");
        KeyManagerFactory keys = KeyManagerFactory.getInstance("PKIX");
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        if (shown != null) {
            try (var in = Files.newInputStream(shown.certificate())) {
                Certificate certificate = CertificateFactory.getInstance("X.509").generateCertificate(in);
                store.setKeyEntry("node", KeyFactory.getInstance("EC").generatePrivate(key(shown.key())), PASSWORD,
                        new Certificate[]{certificate});
            }
        }
        keys.init(store, PASSWORD);
        context.init(keys.getKeyManagers(), new TrustManager[]{new TrustsEverybody()}, null);
        return context.getSocketFactory().createSocket(to.getAddress(), to.getPort());
    }

    private static PKCS8EncodedKeySpec key(Path file) throws IOException {
        String text = Files.readString(file).replaceAll("-----[A-Z ]+-----", "");
        return new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(text));
    }

    /** Says something and listens until the end; who is refused need not get so far. */
    public static void tryToSpeak(Socket socket) {
        try {
            socket.getOutputStream().write("let me in".getBytes(StandardCharsets.US_ASCII));
            int heard = socket.getInputStream().read();
            if (heard >= 0) {
                throw new AssertionError("it was answered " + heard);
            }
        } catch (IOException refused) {
            // As it should be.
        }
    }
}
