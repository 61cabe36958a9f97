package tutti.pgwire;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which hash of a certificate binds a channel: RFC 5929, section 4.1. */
class TlsEndPointTest {
    @TempDir
    private Path directory;

    private X509Certificate certificate(String... options) throws Exception {
        Path file = directory.resolve("certificate.pem");
        List<String> command = new ArrayList<>(List.of("openssl", "req", "-x509", "-nodes", "-days", "1", "-subj",
                "/CN=localhost", "-keyout", directory.resolve("key.pem").toString(), "-out", file.toString()));
        command.addAll(List.of(options));
        Process openssl = new ProcessBuilder(command).redirectErrorStream(true)
                .redirectOutput(directory.resolve("log").toFile()).start();
        assertEquals(0, openssl.waitFor(), Files.readString(directory.resolve("log")));
        try (InputStream in = Files.newInputStream(file)) {
            return (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(in);
        }
    }

    private void isHashedBy(String digest, String... options) throws Exception {
        X509Certificate certificate = certificate(options);
        assertArrayEquals(MessageDigest.getInstance(digest).digest(certificate.getEncoded()),
                TlsEndPoint.of(certificate), certificate.getSigAlgName());
    }

    @Test
    void theHashIsThatOfTheSignature() throws Exception {
        isHashedBy("SHA-256", "-newkey", "rsa:2048", "-sha256");
        isHashedBy("SHA-512", "-newkey", "rsa:2048", "-sha512");
        isHashedBy("SHA-384", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-sha384");
        isHashedBy("SHA-384", "-newkey", "rsa:2048", "-sha384", "-sigopt", "rsa_padding_mode:pss");
    }

    @Test
    void brokenHashesAreReplaced() throws Exception {
        isHashedBy("SHA-256", "-newkey", "rsa:2048", "-sha1");
    }

    /** Nothing is bound, and no client is kept out by it. */
    @Test
    void aSignatureWithoutHashBindsNothing() throws Exception {
        assertEquals(0, TlsEndPoint.of(certificate("-newkey", "ed25519")).length);
    }
}
