package tutti.server;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.SecureRandom;
import java.util.HexFormat;
import tutti.command.Trees;
import tutti.runtime.real.PrivateFiles;

/** A secret of a node's own, in a file of its own. */
final class SecretFile {
    private static final int BYTES = 16;

    private SecretFile() {}

    /**
     * What is in the file; made by chance where there is none. A crash, or a full disk, leaves all of it or nothing.
     *
     * @return not empty
     * @throws IOException if it cannot be read or written, if others may read it, or if nothing is in it
     */
    static String of(Path file) throws IOException {
        if (!Files.exists(file)) {
            byte[] random = new byte[BYTES];
            new SecureRandom().nextBytes(random);
            Path made = PrivateFiles.write(file.resolveSibling(file.getFileName() + ".new"),
                    HexFormat.of().formatHex(random) + "\n");
            Trees.sync(made);
            Files.move(made, file, StandardCopyOption.ATOMIC_MOVE);
            Trees.sync(file.toAbsolutePath().getParent());
        }
        PrivateFiles.requirePrivate(file);
        String secret = Files.readString(file).strip();
        if (secret.isEmpty()) {
            throw new IOException(file + " is a secret, and empty: remove it, and the node makes another one");
        }
        return secret;
    }
}
