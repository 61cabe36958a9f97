package tutti.keys;

import java.io.ByteArrayInputStream;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.security.cert.CertificateFactory;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.PKCS8EncodedKeySpec;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.Collection;
import java.util.Date;
import java.util.List;
import java.util.UUID;
import javax.security.auth.x500.X500Principal;
import org.bouncycastle.asn1.x509.BasicConstraints;
import org.bouncycastle.asn1.x509.ExtendedKeyUsage;
import org.bouncycastle.asn1.x509.Extension;
import org.bouncycastle.asn1.x509.GeneralName;
import org.bouncycastle.asn1.x509.GeneralNames;
import org.bouncycastle.asn1.x509.KeyPurposeId;
import org.bouncycastle.asn1.x509.KeyUsage;
import org.bouncycastle.cert.CertIOException;
import org.bouncycastle.cert.X509v3CertificateBuilder;
import org.bouncycastle.cert.jcajce.JcaX509CertificateConverter;
import org.bouncycastle.cert.jcajce.JcaX509ExtensionUtils;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.operator.OperatorCreationException;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;

/**
 * Whose word the nodes of one cluster take for who is a node of it. An authority is a key pair and a certificate over itself that
 * names the cluster: {@code tutti://ID}, an alternative name of kind URI. What it signs for a node names
 * {@code tutti://ID/nodes/N}. Keys are on the curve P-256, signatures ECDSA with SHA-256 (RFC 5480, RFC 5758).
 *
 * <p>
 * The authority's key is needed when certificates are made, never by a node that runs: it is best kept elsewhere. Immutable; any
 * thread.
 */
public final class ClusterAuthority {
    /** How long an authority is good for. */
    public static final Duration AUTHORITY_LIFETIME = Duration.ofDays(3650);
    /** How long a node's certificate is. */
    public static final Duration NODE_LIFETIME = Duration.ofDays(365);
    /** Clocks of nodes may be behind that of the authority by so much. */
    private static final Duration SKEW = Duration.ofMinutes(10);

    private static final String SCHEME = "tutti://";
    private static final int URI_NAME = 6;
    private static final int SERIAL_BITS = 127;
    private static final int LINE_CHARACTERS = 64;
    private static final SecureRandom RANDOM = new SecureRandom();

    private final String cluster;
    private final X509Certificate certificate;
    private final PrivateKey key;

    private ClusterAuthority(String cluster, X509Certificate certificate, PrivateKey key) {
        this.cluster = cluster;
        this.certificate = certificate;
        this.key = key;
    }

    /** What a node proves who it is with, both PEM: a certificate, and the private key to it (PKCS #8). */
    public record Issued(String certificate, String key) {
        /** Without the key. */
        @Override
        public String toString() {
            return certificate;
        }
    }

    /** The authority of a new cluster, whose id no other has. */
    public static ClusterAuthority create(Instant now) {
        return create(UUID.randomUUID().toString(), now);
    }

    /**
     * A further authority of a cluster, to take the place of one that ends or whose key was lost.
     *
     * @param cluster its id
     */
    public static ClusterAuthority create(String cluster, Instant now) {
        KeyPair pair = keyPair();
        X500Principal name = new X500Principal("CN=authority, O=tutti " + cluster);
        X509v3CertificateBuilder builder = builder(name, now, AUTHORITY_LIFETIME, name, pair.getPublic());
        try {
            JcaX509ExtensionUtils identifiers = new JcaX509ExtensionUtils();
            builder.addExtension(Extension.basicConstraints, true, new BasicConstraints(0))
                    .addExtension(Extension.keyUsage, true, new KeyUsage(KeyUsage.keyCertSign))
                    .addExtension(Extension.subjectKeyIdentifier, false,
                            identifiers.createSubjectKeyIdentifier(pair.getPublic()))
                    .addExtension(Extension.subjectAlternativeName, false, uri(SCHEME + cluster));
        } catch (CertIOException | GeneralSecurityException impossible) {
            throw new IllegalStateException(impossible);
        }
        return new ClusterAuthority(cluster, signed(builder, pair.getPrivate()), pair.getPrivate());
    }

    /**
     * One that was made before.
     *
     * @throws IllegalArgumentException if these are not certificate and key of a cluster's authority; it says what they are
     */
    public static ClusterAuthority read(String certificate, String key) {
        X509Certificate read = certificate(certificate);
        String name = uri(read);
        if (read.getBasicConstraints() < 0 || !name.startsWith(SCHEME) || name.indexOf('/', SCHEME.length()) >= 0) {
            throw new IllegalArgumentException("the certificate of " + read.getSubjectX500Principal()
                    + " is not that of a cluster's authority");
        }
        try {
            PrivateKey secret = KeyFactory.getInstance(read.getPublicKey().getAlgorithm())
                    .generatePrivate(new PKCS8EncodedKeySpec(bytes("PRIVATE KEY", key)));
            return new ClusterAuthority(name.substring(SCHEME.length()), read, secret);
        } catch (GeneralSecurityException wrong) {
            throw new IllegalArgumentException("the key is none of " + read.getPublicKey().getAlgorithm() + ": "
                    + wrong.getMessage(), wrong);
        }
    }

    /** Id of the cluster. */
    public String cluster() {
        return cluster;
    }

    /** Its certificate, PEM: what nodes are given to know it by. */
    public String certificate() {
        return pem(certificate);
    }

    /** Its private key, PEM, PKCS #8. Whoever has it can become any node of the cluster. */
    public String key() {
        return pem("PRIVATE KEY", key.getEncoded());
    }

    /** Until when it is good. */
    public Instant until() {
        return certificate.getNotAfter().toInstant();
    }

    /** A new key and a certificate for a node, good for {@link #NODE_LIFETIME}, but not for longer than the authority. */
    public Issued issue(int node, Instant now) {
        Duration left = Duration.between(now, until());
        return issue(node, now, left.compareTo(NODE_LIFETIME) < 0 ? left : NODE_LIFETIME);
    }

    /**
     * The same, good for a time of choice.
     *
     * @param node its number, from 0
     */
    public Issued issue(int node, Instant now, Duration lifetime) {
        if (node < 0) {
            throw new IllegalArgumentException("nodes have numbers from 0, not " + node);
        }
        KeyPair pair = keyPair();
        X509v3CertificateBuilder builder = builder(certificate.getSubjectX500Principal(), now, lifetime,
                new X500Principal("CN=node " + node + ", O=tutti " + cluster), pair.getPublic());
        try {
            JcaX509ExtensionUtils identifiers = new JcaX509ExtensionUtils();
            builder.addExtension(Extension.basicConstraints, true, new BasicConstraints(false))
                    .addExtension(Extension.keyUsage, true, new KeyUsage(KeyUsage.digitalSignature))
                    .addExtension(Extension.extendedKeyUsage, false, new ExtendedKeyUsage(
                            new KeyPurposeId[]{KeyPurposeId.id_kp_clientAuth, KeyPurposeId.id_kp_serverAuth}))
                    .addExtension(Extension.authorityKeyIdentifier, false,
                            identifiers.createAuthorityKeyIdentifier(certificate.getPublicKey()))
                    .addExtension(Extension.subjectAlternativeName, false, uri(SCHEME + cluster + "/nodes/" + node));
        } catch (CertIOException | GeneralSecurityException impossible) {
            throw new IllegalStateException(impossible);
        }
        return new Issued(pem(signed(builder, key)), pem("PRIVATE KEY", pair.getPrivate().getEncoded()));
    }

    private static X509v3CertificateBuilder builder(X500Principal issuer, Instant now, Duration lifetime,
            X500Principal subject, PublicKey of) {
        return new JcaX509v3CertificateBuilder(issuer, new BigInteger(SERIAL_BITS, RANDOM).add(BigInteger.ONE),
                Date.from(now.minus(SKEW)), Date.from(now.plus(lifetime)), subject, of);
    }

    private static GeneralNames uri(String name) {
        return new GeneralNames(new GeneralName(GeneralName.uniformResourceIdentifier, name));
    }

    /** The first alternative name of kind URI, or nothing. */
    private static String uri(X509Certificate of) {
        try {
            Collection<List<?>> names = of.getSubjectAlternativeNames();
            return names == null
                    ? ""
                    : names.stream().filter(name -> name.get(0).equals(URI_NAME)).map(name -> (String) name.get(1))
                            .findFirst().orElse("");
        } catch (CertificateParsingException malformed) {
            throw new IllegalArgumentException("the certificate has malformed names: " + malformed.getMessage(),
                    malformed);
        }
    }

    private static KeyPair keyPair() {
        try {
            KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
            generator.initialize(new ECGenParameterSpec("secp256r1"), RANDOM);
            return generator.generateKeyPair();
        } catch (GeneralSecurityException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static X509Certificate signed(X509v3CertificateBuilder builder, PrivateKey by) {
        try {
            return new JcaX509CertificateConverter()
                    .getCertificate(builder.build(new JcaContentSignerBuilder("SHA256withECDSA").build(by)));
        } catch (OperatorCreationException | GeneralSecurityException wrong) {
            throw new IllegalArgumentException("the authority's key cannot sign: " + wrong.getMessage(), wrong);
        }
    }

    private static X509Certificate certificate(String pem) {
        try {
            return (X509Certificate) CertificateFactory.getInstance("X.509")
                    .generateCertificate(new ByteArrayInputStream(pem.getBytes(StandardCharsets.US_ASCII)));
        } catch (GeneralSecurityException wrong) {
            throw new IllegalArgumentException("there is no certificate in PEM: " + wrong.getMessage(), wrong);
        }
    }

    private static String pem(X509Certificate of) {
        try {
            return pem("CERTIFICATE", of.getEncoded());
        } catch (GeneralSecurityException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static String pem(String what, byte[] bytes) {
        return "-----BEGIN " + what + "-----\n"
                + Base64.getMimeEncoder(LINE_CHARACTERS, new byte[]{'\n'}).encodeToString(bytes) + "\n-----END " + what
                + "-----\n";
    }

    private static byte[] bytes(String what, String pem) {
        String begin = "-----BEGIN " + what + "-----";
        int from = pem.indexOf(begin);
        int to = pem.indexOf("-----END " + what + "-----");
        if (from < 0 || to < from) {
            throw new IllegalArgumentException("there is no " + begin + " in it: keys are kept in PEM, PKCS #8, without"
                    + " a password");
        }
        return Base64.getMimeDecoder().decode(pem.substring(from + begin.length(), to));
    }
}
