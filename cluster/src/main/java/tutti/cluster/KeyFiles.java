package tutti.cluster;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.SecureRandom;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import tutti.command.Failure;
import tutti.keys.ClusterAuthority;
import tutti.runtime.PeerIdentity;
import tutti.runtime.real.PeerKeys;
import tutti.runtime.real.PrivateFiles;

/**
 * Where keys of clusters are kept, all in PEM but for the secret of datagrams. An authority's directory has
 * {@code authority.crt}, {@code authority.key}, {@code authorities.crt} (all that nodes are to trust), {@code datagrams.key}. A
 * node's has {@code node.crt}, {@code node.key}, {@code authorities.crt}, {@code datagrams.key}. Files with secrets are their
 * owner's alone; each file is replaced at once, so that a node that runs reads the old one or the new one.
 */
final class KeyFiles {
    private static final String AUTHORITY = "authority.crt";
    private static final String AUTHORITY_KEY = "authority.key";
    private static final String AUTHORITIES = "authorities.crt";
    private static final String DATAGRAMS = "datagrams.key";
    private static final String NODE = "node.crt";
    private static final String NODE_KEY = "node.key";
    private static final int SECRET_BYTES = 32;
    /** What is left of a certificate's time when that of a local cluster is renewed. */
    private static final Duration RENEWED_BEFORE = ClusterAuthority.NODE_LIFETIME.dividedBy(3);

    private KeyFiles() {}

    /** Whether a directory is that of an authority. */
    static boolean hasAuthority(Path directory) {
        return Files.exists(directory.resolve(AUTHORITY_KEY));
    }

    /**
     * Makes the authority of a new cluster.
     *
     * @throws Failure if there is one in this directory already, or it cannot be written
     */
    static ClusterAuthority createCluster(Path directory) {
        ClusterAuthority made = ClusterAuthority.create(Instant.now());
        byte[] secret = new byte[SECRET_BYTES];
        new SecureRandom().nextBytes(secret);
        writeAuthority(directory, made, made.certificate(), Base64.getEncoder().encodeToString(secret) + "\n");
        return made;
    }

    /** Makes a further authority of the cluster that another is of; nodes are to trust both. */
    static ClusterAuthority succeed(Path before, Path directory) {
        ClusterAuthority made = ClusterAuthority.create(authority(before).cluster(), Instant.now());
        writeAuthority(directory, made, made.certificate() + read(before.resolve(AUTHORITIES)),
                read(before.resolve(DATAGRAMS)));
        return made;
    }

    private static void writeAuthority(Path directory, ClusterAuthority made, String trusted, String secret) {
        if (hasAuthority(directory)) {
            throw new Failure(directory + " holds the keys of an authority already",
                    "choose another directory with --out; who loses an authority's key cannot make certificates any more");
        }
        try {
            PrivateFiles.ownDirectory(directory);
            write(directory, DATAGRAMS, secret);
            write(directory, AUTHORITIES, trusted);
            write(directory, AUTHORITY, made.certificate());
            write(directory, AUTHORITY_KEY, made.key());
        } catch (IOException failed) {
            throw new Failure("cannot write the authority's keys to " + directory + ": " + Failure.said(failed), "",
                    failed);
        }
    }

    /** The authority of a directory. */
    static ClusterAuthority authority(Path directory) {
        try {
            return ClusterAuthority.read(read(directory.resolve(AUTHORITY)), read(directory.resolve(AUTHORITY_KEY)));
        } catch (IllegalArgumentException wrong) {
            throw new Failure(directory + " holds no authority: " + wrong.getMessage(),
                    "name the directory that `tutti keys create-cluster` wrote", wrong);
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (NoSuchFileException missing) {
            throw new Failure(file + " is not there", "`tutti keys create-cluster` makes an authority", missing);
        } catch (IOException failed) {
            throw new Failure("cannot read " + file + ": " + Failure.said(failed), "", failed);
        }
    }

    /** Writes a new certificate for a node, with all that it needs, to its directory. */
    static void issue(Path authority, int node, Path directory) {
        ClusterAuthority.Issued issued = authority(authority).issue(node, Instant.now());
        try {
            PrivateFiles.ownDirectory(directory);
            write(directory, AUTHORITIES, read(authority.resolve(AUTHORITIES)));
            write(directory, DATAGRAMS, read(authority.resolve(DATAGRAMS)));
            write(directory, NODE_KEY, issued.key());
            write(directory, NODE, issued.certificate());
        } catch (IOException failed) {
            throw new Failure("cannot write the node's keys to " + directory + ": " + Failure.said(failed), "", failed);
        }
    }

    private static void write(Path directory, String name, String text) throws IOException {
        Path fresh = directory.resolve(name + ".new");
        Files.deleteIfExists(fresh);
        Files.move(PrivateFiles.write(fresh, text), directory.resolve(name), StandardCopyOption.ATOMIC_MOVE,
                StandardCopyOption.REPLACE_EXISTING);
    }

    /** Who a node's directory proves that it is; it is not looked at who says so. */
    static PeerIdentity node(Path directory) {
        try {
            return PeerKeys.named(certificate(directory));
        } catch (CertificateException wrong) {
            throw new Failure(directory.resolve(NODE) + " names no node: " + wrong.getMessage(),
                    "`tutti keys issue --node N` makes one that does", wrong);
        }
    }

    /** Until when a node's certificate is good. */
    static Instant until(Path directory) {
        return certificate(directory).getNotAfter().toInstant();
    }

    private static X509Certificate certificate(Path directory) {
        Path file = directory.resolve(NODE);
        try {
            return (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(
                    new ByteArrayInputStream(read(file).getBytes(StandardCharsets.US_ASCII)));
        } catch (CertificateException wrong) {
            throw new Failure(file + " holds no certificate: " + wrong.getMessage(), "", wrong);
        }
    }

    /**
     * Sees to it that the nodes of a cluster on this machine can prove who they are: makes an authority at the first start, and
     * certificates where there are none, or where they end soon.
     *
     * @return the cluster's id
     */
    static String provide(Path authority, Iterable<ClusterFile.Node> nodes) {
        ClusterAuthority of = hasAuthority(authority) ? authority(authority) : createCluster(authority);
        for (ClusterFile.Node node : nodes) {
            Path directory = Path.of(node.config()).resolveSibling("keys");
            if (!Files.exists(directory.resolve(NODE))
                    || until(directory).minus(RENEWED_BEFORE).isBefore(Instant.now())) {
                issue(authority, node.id(), directory);
            }
        }
        return of.cluster();
    }
}
