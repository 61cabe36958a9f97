package tutti.server;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.runtime.Machine;
import tutti.runtime.real.PeerKeys;
import tutti.runtime.real.PrivateFiles;
import tutti.runtime.real.RealMachine;
import tutti.server.config.NodeConfig;

/**
 * With what a node and the other members know each other, as its configuration says. Immutable, for any thread.
 *
 * @param certificate what it proves with who it is; null if it does not
 * @param datagramKeys secrets of its datagrams; none if it has no use for them
 */
record NodeKeys(@Nullable PeerKeys certificate, List<byte[]> datagramKeys) {
    private static final Logger LOG = LoggerFactory.getLogger(NodeKeys.class);
    private static final int SECRET_BYTES_MIN = 32;
    private static final NodeKeys NONE = new NodeKeys(null, List.of());

    /**
     * Reads the files that a configuration names.
     *
     * @throws IOException if there are others than this node and it cannot prove to them who it is; with the remedy
     */
    static NodeKeys open(NodeConfig config) throws IOException {
        NodeConfig.Peers peers = config.peers();
        if (config.members().size() == 1) {
            return NONE;
        }
        if (!peers.areProven()) {
            LOG.warn("peers.security is {}: whoever reaches {} can become a member of this cluster", peers.security(),
                    config.self().order());
            return NONE;
        }
        PeerKeys certificate = PeerKeys.open(
                new PeerKeys.Source(peers.certificate(), peers.key(), peers.authorities()), LOG::warn);
        if (certificate.identity().node() != config.node()) {
            throw new IOException(peers.certificate() + " is that of " + certificate.identity() + ", but this is node "
                    + config.node() + ": give each node its own (`tutti keys issue --node " + config.node() + "`)");
        }
        return new NodeKeys(certificate,
                config.orderKind().usesDatagrams() ? secrets(peers.datagramKeys()) : List.of());
    }

    private static List<byte[]> secrets(Path file) throws IOException {
        String remedy = ": `tutti keys issue` writes one, the same for all nodes";
        List<String> lines;
        try {
            lines = Files.readAllLines(file);
        } catch (NoSuchFileException missing) {
            throw new IOException(file + ", the secret by which nodes know each other's datagrams, is not there"
                    + remedy, missing);
        }
        PrivateFiles.requirePrivate(file);
        List<byte[]> secrets = new ArrayList<>();
        for (String line : lines) {
            if (!line.isBlank()) {
                secrets.add(secret(file, line.strip(), remedy));
            }
        }
        if (secrets.isEmpty()) {
            throw new IOException(file + " is empty" + remedy);
        }
        return secrets;
    }

    private static byte[] secret(Path file, String line, String remedy) throws IOException {
        try {
            byte[] secret = Base64.getDecoder().decode(line);
            if (secret.length >= SECRET_BYTES_MIN) {
                return secret;
            }
        } catch (IllegalArgumentException none) {
            LOG.debug("no base64", none);
        }
        throw new IOException(
                file + " has a line that is not " + SECRET_BYTES_MIN + " bytes or more in base64" + remedy);
    }

    /** Id of the cluster; nothing if nobody proves anything. */
    String cluster() {
        return certificate == null ? "" : certificate.identity().cluster();
    }

    /** Until when this node can prove who it is; null if it does not. */
    @Nullable
    Instant until() {
        return certificate == null ? null : certificate.until();
    }

    /** What the order runs on. */
    Machine machine() {
        return certificate == null ? RealMachine.INSTANCE : RealMachine.INSTANCE.proving(certificate);
    }
}
