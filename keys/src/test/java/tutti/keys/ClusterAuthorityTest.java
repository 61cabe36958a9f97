package tutti.keys;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.security.SignatureException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

class ClusterAuthorityTest {
    private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");

    private static X509Certificate read(String pem) throws Exception {
        return (X509Certificate) CertificateFactory.getInstance("X.509")
                .generateCertificate(new ByteArrayInputStream(pem.getBytes(StandardCharsets.US_ASCII)));
    }

    @Test
    void aNodesCertificateNamesClusterAndNodeAndIsSignedByTheAuthority() throws Exception {
        ClusterAuthority authority = ClusterAuthority.create(NOW);
        X509Certificate node = read(authority.issue(3, NOW).certificate());
        node.verify(read(authority.certificate()).getPublicKey());
        assertEquals(List.of(List.of(6, "tutti://" + authority.cluster() + "/nodes/3")),
                List.copyOf(node.getSubjectAlternativeNames()));
        assertTrue(node.getBasicConstraints() < 0, "a node is no authority");
        assertEquals(NOW.plus(ClusterAuthority.NODE_LIFETIME), node.getNotAfter().toInstant());
        assertThrows(SignatureException.class,
                () -> node.verify(read(ClusterAuthority.create(NOW).certificate()).getPublicKey()));
    }

    @Test
    void everyClusterHasAnIdOfItsOwnAndEveryCertificateAKeyOfItsOwn() {
        ClusterAuthority one = ClusterAuthority.create(NOW);
        assertNotEquals(one.cluster(), ClusterAuthority.create(NOW).cluster());
        assertNotEquals(one.issue(1, NOW).key(), one.issue(1, NOW).key());
    }

    @Test
    void anAuthorityIsReadAsItWasWritten() throws Exception {
        ClusterAuthority made = ClusterAuthority.create(NOW);
        ClusterAuthority read = ClusterAuthority.read(made.certificate(), made.key());
        assertEquals(made.cluster(), read.cluster());
        read(read.issue(0, NOW).certificate()).verify(read(made.certificate()).getPublicKey());
    }

    @Test
    void nothingOutlivesItsAuthority() throws Exception {
        ClusterAuthority authority = ClusterAuthority.create(NOW);
        Instant late = authority.until().minus(Duration.ofDays(5));
        assertEquals(authority.until(),
                read(authority.issue(0, late).certificate()).getNotAfter().toInstant());
    }

    @Test
    void whatIsNoAuthorityIsRefusedWithWhatItIs() {
        ClusterAuthority authority = ClusterAuthority.create(NOW);
        ClusterAuthority.Issued node = authority.issue(0, NOW);
        assertTrue(refusal(node.certificate(), node.key()).contains("CN=node 0"));
        assertTrue(refusal("nothing", authority.key()).contains("no certificate"));
        assertTrue(refusal(authority.certificate(), "nothing").contains("PKCS #8"));
        assertFalse(node.toString().contains("PRIVATE KEY"));
    }

    private static String refusal(String certificate, String key) {
        return String.valueOf(
                assertThrows(IllegalArgumentException.class, () -> ClusterAuthority.read(certificate, key))
                        .getMessage());
    }
}
