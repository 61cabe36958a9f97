package tutti.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import tutti.command.Failure;
import tutti.runtime.real.PrivateFiles;
import tutti.server.config.OwnKeys;

/**
 * Configuration files of nodes on this machine: each start writes its own keys anew and keeps those that an operator has added. What was written
 * last is kept beside the file, to tell the one from the other.
 */
final class NodeFile {
    private static final String LAST = ".start";

    private NodeFile() {}

    /**
     * Writes one.
     *
     * @throws Failure if an operator has changed what the start decides, or made something of it that is no YAML
     */
    static void write(Path file, String fresh) throws IOException {
        Path last = file.resolveSibling(file.getFileName() + LAST);
        String kept = fresh;
        if (Files.exists(file)) {
            try {
                kept = OwnKeys.kept(Files.readString(file), Files.exists(last) ? Files.readString(last) : null, fresh);
            } catch (OwnKeys.RefusedException refused) {
                throw new Failure(file + ": " + refused.getMessage(), "tutti start --help lists the options", refused);
            }
        }
        replace(file, kept);
        replace(last, fresh);
    }

    private static void replace(Path file, String text) throws IOException {
        Path aside = PrivateFiles.write(file.resolveSibling(file.getFileName() + ".new"), text);
        Files.move(aside, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }
}
