package tutti.server;

import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.ssl.ApplicationProtocolNegotiator;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.List;
import java.util.function.LongSupplier;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSessionContext;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.runtime.real.PrivateFiles;
import tutti.server.config.NodeConfig;
import tutti.wire.DirectTls;

/**
 * Certificate and key for clients, read again when their files have changed: who connects from then on gets the new ones, and nobody is cut off. Files
 * that cannot be used (the one is there already, the other not yet) leave what there was. For any thread.
 */
final class RenewedTls extends SslContext {
    private static final Logger LOG = LoggerFactory.getLogger(RenewedTls.class);
    /** So often the files are looked at, at most, in nanoseconds. */
    private static final long PERIOD_NANOS = 1_000_000_000L;

    /** By which a file is known to have changed. */
    private record Stamp(long millis, long bytes, @Nullable Object key) {
        static Stamp of(Path file) throws IOException {
            BasicFileAttributes attributes = Files.readAttributes(file, BasicFileAttributes.class);
            return new Stamp(attributes.lastModifiedTime().toMillis(), attributes.size(), attributes.fileKey());
        }
    }

    private final NodeConfig.Tls files;
    private final LongSupplier nanoTime;
    private SslContext present;
    private List<Stamp> stamps;
    private long looked;

    /**
     * As the files are.
     *
     * @throws IOException if they cannot be used, with the remedy
     */
    RenewedTls(NodeConfig.Tls files, LongSupplier nanoTime) throws IOException {
        this.files = files;
        this.nanoTime = nanoTime;
        this.stamps = stamps();
        this.present = read();
        this.looked = nanoTime.getAsLong();
    }

    private List<Stamp> stamps() throws IOException {
        return List.of(Stamp.of(files.certificate()), Stamp.of(files.key()));
    }

    private SslContext read() throws IOException {
        PrivateFiles.requirePrivate(files.key());
        try {
            requirePair();
            return SslContextBuilder.forServer(files.certificate().toFile(), files.key().toFile())
                    .applicationProtocolConfig(DirectTls.protocol()).build();
        } catch (IllegalArgumentException | GeneralSecurityException | SSLException unusable) {
            throw new IOException("listen.tls cannot be used: " + unusable.getMessage()
                    + "; both files must be PEM, the key PKCS #8 without a password", unusable);
        }
    }

    /** OpenSSL takes files that do not belong together, and fails with every client. */
    private void requirePair() throws IOException, GeneralSecurityException {
        PublicKey certified = toX509Certificates(files.certificate().toFile())[0].getPublicKey();
        PrivateKey key = KeyFactory.getInstance(certified.getAlgorithm()).generatePrivate(
                new PKCS8EncodedKeySpec(toPrivateKey(files.key().toFile(), null).getEncoded()));
        String algorithm = switch (certified.getAlgorithm()) {
            case "RSA" -> "SHA256withRSA";
            case "EC" -> "SHA256withECDSA";
            default -> certified.getAlgorithm();
        };
        byte[] any = {1};
        Signature signs = Signature.getInstance(algorithm);
        signs.initSign(key);
        signs.update(any);
        byte[] signed = signs.sign();
        signs.initVerify(certified);
        signs.update(any);
        if (!signs.verify(signed)) {
            throw new GeneralSecurityException("the key is not that of the certificate");
        }
    }

    private synchronized SslContext present() {
        long now = nanoTime.getAsLong();
        if (now - looked >= PERIOD_NANOS) {
            looked = now;
            try {
                List<Stamp> seen = stamps();
                if (!seen.equals(stamps)) {
                    stamps = seen;
                    present = read();
                    LOG.info("clients get the certificate in {} from now on", files.certificate());
                }
            } catch (IOException unusable) {
                LOG.warn("clients get the certificate as it was: {}", unusable.getMessage());
            }
        }
        return present;
    }

    @Override
    public boolean isClient() {
        return false;
    }

    @Override
    public List<String> cipherSuites() {
        return present().cipherSuites();
    }

    @Override
    @SuppressWarnings("deprecation") // which the class that this one extends asks for
    public ApplicationProtocolNegotiator applicationProtocolNegotiator() {
        return present().applicationProtocolNegotiator();
    }

    @Override
    public SSLEngine newEngine(ByteBufAllocator allocator) {
        return present().newEngine(allocator);
    }

    @Override
    public SSLEngine newEngine(ByteBufAllocator allocator, String peerHost, int peerPort) {
        return present().newEngine(allocator, peerHost, peerPort);
    }

    @Override
    public SSLSessionContext sessionContext() {
        return present().sessionContext();
    }
}
