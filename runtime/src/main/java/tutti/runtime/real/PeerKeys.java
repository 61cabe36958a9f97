package tutti.runtime.real;

import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.OpenSsl;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;
import org.jspecify.annotations.Nullable;
import tutti.runtime.PeerIdentity;

/**
 * What a node proves with who it is, and what it takes for proof: three files in PEM. A certificate of a node names its cluster
 * and its number, {@code tutti://CLUSTER/nodes/N}, among its alternative names.
 *
 * <p>
 * <b>Renewal.</b> The files are looked at again when connections begin, once a second at most, and read again if they have
 * changed. What cannot be used then is told to people, and what was read before stays in force. A change of authority takes three
 * steps at every node: trust both, prove by the new one, trust the new one only.
 *
 * <p>
 * TLS 1.3 by BoringSSL, or by the JDK where there is none for the machine. Any thread.
 */
public final class PeerKeys {
    private static final long LOOK_NANOS = 1_000_000_000;
    private static final Pattern NAME = Pattern.compile("tutti://([A-Za-z0-9-]{1,64})/nodes/(\\d{1,9})");
    private static final int URI_NAME = 6;
    /** The JDK's AES is slow before it is optimised, its ChaCha20 never. */
    private static final List<String> CIPHERS_OF_JDK = List.of("TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256",
            "TLS_AES_256_GCM_SHA384");
    private static final String REMEDY = "`tutti keys issue` makes such files";

    private final Source source;
    private final Consumer<String> people;
    private final PeerIdentity identity;
    private volatile State state;
    private volatile long lookedNanos;
    /** Of files that could not be used, of which people have been told. */
    private List<Stamp> unusable = List.of();

    /**
     * Where they are.
     *
     * @param certificate of this node, and those between it and an authority, if there are any
     * @param key to the first of them, PKCS #8, without a password; readable by its owner, and perhaps a group
     * @param authorities certificates of those whose word is taken, one or more
     */
    public record Source(Path certificate, Path key, Path authorities) {
        /** Files of the usual names in a directory. */
        public static Source in(Path directory) {
            return new Source(directory.resolve("node.crt"), directory.resolve("node.key"),
                    directory.resolve("authorities.crt"));
        }

        List<Path> files() {
            return List.of(certificate, key, authorities);
        }
    }

    /** Of one reading. */
    private record State(List<Stamp> stamps, PeerIdentity identity, Instant until, SslContext server,
            SslContext client) {}

    /** What a file shows of itself when it is another. */
    private record Stamp(long modifiedMillis, long bytes, @Nullable Object key) {
        static Stamp of(Path file) throws IOException {
            BasicFileAttributes attributes = Files.readAttributes(file, BasicFileAttributes.class);
            return new Stamp(attributes.lastModifiedTime().toMillis(), attributes.size(), attributes.fileKey());
        }
    }

    private PeerKeys(Source source, Consumer<String> people) throws IOException {
        this.source = source;
        this.people = people;
        List<Stamp> before;
        try {
            before = stamps(source);
        } catch (NoSuchFileException missing) {
            before = List.of(); // which reading tells better
        }
        state = read(source, before);
        identity = state.identity;
        lookedNanos = System.nanoTime();
    }

    /**
     * Reads the files.
     *
     * @param people told, in sentences, of what becomes of the files later
     * @throws IOException if they prove nothing; it says which, why, and what to do
     */
    public static PeerKeys open(Source source, Consumer<String> people) throws IOException {
        PeerKeys keys = new PeerKeys(source, people);
        if (!OpenSsl.isAvailable()) {
            people.accept(
                    "TLS between nodes is the JDK's, which takes many times the processor time of BoringSSL's: that cannot"
                            + " be used on this machine (" + OpenSsl.unavailabilityCause()
                            + "); see that programs may run from "
                            + System.getProperty("java.io.tmpdir"));
        }
        return keys;
    }

    /** Who they prove that this node is. */
    public PeerIdentity identity() {
        return identity;
    }

    /** Until when they do. */
    public Instant until() {
        return state.until;
    }

    SslContext server() {
        return look().server;
    }

    SslContext client() {
        return look().client;
    }

    /** What is in force now. */
    private State look() {
        long now = System.nanoTime();
        if (now - lookedNanos > LOOK_NANOS) {
            synchronized (this) {
                if (now - lookedNanos > LOOK_NANOS) {
                    readAgain();
                    lookedNanos = System.nanoTime();
                }
            }
        }
        return state;
    }

    private void readAgain() {
        List<Stamp> now = List.of();
        try {
            now = stamps(source);
            if (now.equals(state.stamps) || now.equals(unusable)) {
                return;
            }
            State next = read(source, now);
            if (!next.identity.equals(identity)) {
                throw new IOException(source.certificate + " is now that of " + next.identity + ", and this is "
                        + identity);
            }
            state = next;
            people.accept("the certificate of " + identity + " has been read again; it is good until " + next.until);
        } catch (IOException wrong) {
            unusable = now;
            people.accept("the files that prove who this node is have changed and cannot be used, those before stay in"
                    + " force until " + state.until + ": " + wrong.getMessage());
        }
    }

    // ------------------------------------------------------------------------------------------ reading

    private static List<Stamp> stamps(Source source) throws IOException {
        List<Stamp> stamps = new ArrayList<>();
        for (Path file : source.files()) {
            stamps.add(Stamp.of(file));
        }
        return stamps;
    }

    /** @param stamps of the files before: what is written while they are read is read again */
    private static State read(Source source, List<Stamp> stamps) throws IOException {
        List<X509Certificate> authorities = certificates(source.authorities);
        List<X509Certificate> chain = certificates(source.certificate);
        X509Certificate own = chain.getFirst();
        PrivateKey key = key(source.key, own);
        try {
            PeerIdentity identity = identity(own);
            checkTrusted(authorities, chain);
            SslProvider provider = OpenSsl.isAvailable() ? SslProvider.OPENSSL : SslProvider.JDK;
            SslContextBuilder server = SslContextBuilder.forServer(key, chain).trustManager(authorities)
                    .clientAuth(ClientAuth.REQUIRE);
            // Who is at the other end is said by its certificate's name of a node, not of a host.
            SslContextBuilder client = SslContextBuilder.forClient().keyManager(key, chain).trustManager(authorities)
                    .endpointIdentificationAlgorithm(null);
            for (SslContextBuilder either : List.of(server, client)) {
                either.sslProvider(provider).protocols("TLSv1.3");
                if (provider == SslProvider.JDK) {
                    either.ciphers(CIPHERS_OF_JDK);
                }
            }
            return new State(stamps, identity, own.getNotAfter().toInstant(), server.build(), client.build());
        } catch (GeneralSecurityException | IllegalArgumentException wrong) {
            throw new IOException(source.certificate + " proves nothing to others: " + wrong.getMessage() + "; "
                    + REMEDY, wrong);
        }
    }

    private static byte[] bytes(Path file) throws IOException {
        try {
            return Files.readAllBytes(file);
        } catch (NoSuchFileException missing) {
            throw new IOException(file + ", with which this node would prove to the others who it is, is not there: "
                    + REMEDY, missing);
        } catch (IOException unreadable) {
            throw new IOException("cannot read " + file + ": " + unreadable.getMessage(), unreadable);
        }
    }

    private static List<X509Certificate> certificates(Path file) throws IOException {
        List<X509Certificate> read = new ArrayList<>();
        try {
            for (Certificate one : CertificateFactory.getInstance("X.509")
                    .generateCertificates(new ByteArrayInputStream(bytes(file)))) {
                read.add((X509Certificate) one);
            }
        } catch (CertificateException wrong) {
            throw new IOException(file + " holds no certificates in PEM: " + wrong.getMessage() + "; " + REMEDY, wrong);
        }
        if (read.isEmpty()) {
            throw new IOException(file + " holds no certificate: " + REMEDY);
        }
        return read;
    }

    private static PrivateKey key(Path file, X509Certificate of) throws IOException {
        String pem = new String(bytes(file), StandardCharsets.US_ASCII);
        PrivateFiles.requirePrivate(file);
        String begin = "-----BEGIN PRIVATE KEY-----";
        int from = pem.indexOf(begin);
        int to = pem.indexOf("-----END PRIVATE KEY-----");
        if (from < 0 || to < from) {
            throw new IOException(file + " holds no private key in PEM, PKCS #8, without a password: " + REMEDY);
        }
        try {
            byte[] encoded = Base64.getMimeDecoder().decode(pem.substring(from + begin.length(), to));
            String algorithm = of.getPublicKey().getAlgorithm();
            PrivateKey key = KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(encoded));
            Signature signing = Signature.getInstance(algorithm.equals("EC") ? "SHA256withECDSA" : "SHA256withRSA");
            signing.initSign(key);
            signing.update(encoded);
            byte[] signature = signing.sign();
            signing.initVerify(of.getPublicKey());
            signing.update(encoded);
            if (!signing.verify(signature)) {
                throw new IOException(file + " is not the key to the certificate beside it: copy both again");
            }
            return key;
        } catch (GeneralSecurityException | IllegalArgumentException wrong) {
            throw new IOException(file + " is no key to the certificate beside it: " + wrong.getMessage(), wrong);
        }
    }

    private static void checkTrusted(List<X509Certificate> authorities, List<X509Certificate> chain)
            throws GeneralSecurityException {
        KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
        try {
            trusted.load(null, null);
        } catch (IOException impossible) {
            throw new IllegalStateException(impossible);
        }
        for (X509Certificate authority : authorities) {
            trusted.setCertificateEntry("authority " + trusted.size(), authority);
        }
        TrustManagerFactory factory = TrustManagerFactory.getInstance("PKIX");
        factory.init(trusted);
        for (TrustManager manager : factory.getTrustManagers()) {
            ((X509TrustManager) manager).checkClientTrusted(chain.toArray(X509Certificate[]::new),
                    chain.getFirst().getPublicKey().getAlgorithm());
        }
    }

    /**
     * Which node a certificate names.
     *
     * @throws CertificateException if it names none, or is not good now
     */
    static PeerIdentity identity(Certificate of) throws CertificateException {
        if (!(of instanceof X509Certificate certificate)) {
            throw new CertificateException("it is not of kind X.509");
        }
        Instant now = Instant.now();
        if (certificate.getNotAfter().toInstant().isBefore(now)) {
            throw new CertificateException("it has expired, at " + certificate.getNotAfter().toInstant());
        }
        if (certificate.getNotBefore().toInstant().isAfter(now)) {
            throw new CertificateException("it is good from " + certificate.getNotBefore().toInstant()
                    + " on only: set the clock of the machine");
        }
        return named(certificate);
    }

    /**
     * Which node a certificate names, whether it is good now or not.
     *
     * @throws CertificateException if it names none
     */
    public static PeerIdentity named(X509Certificate certificate) throws CertificateException {
        for (List<?> name : names(certificate)) {
            if (name.get(0).equals(URI_NAME) && name.get(1) instanceof String uri) {
                Matcher node = NAME.matcher(uri);
                if (node.matches()) {
                    return new PeerIdentity(node.group(1), Integer.parseInt(node.group(2)));
                }
            }
        }
        throw new CertificateException("the certificate of " + certificate.getSubjectX500Principal()
                + " names no node of a cluster, as tutti://CLUSTER/nodes/N does");
    }

    private static Collection<List<?>> names(X509Certificate of) throws CertificateParsingException {
        Collection<List<?>> names = of.getSubjectAlternativeNames();
        return names == null ? List.of() : names;
    }
}
