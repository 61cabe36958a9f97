package tutti.server;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tutti.node.copy.CopySource;
import tutti.runtime.DataFile;
import tutti.runtime.real.PathDirectory;
import tutti.server.config.NodeConfig;

/** Copies of nodes' databases, as lists of their files, and which databases can be copied. */
final class DatabaseCopies {
    private DatabaseCopies() {}

    /**
     * Why a node with this configuration neither gives copies nor gets one by itself; null if it does.
     */
    static @Nullable String impossible(NodeConfig config) {
        return config.members().size() == 1 ? "there is no other node" : notBackedUp(config);
    }

    /** Why a node with this configuration cannot be backed up; null if it can. */
    static @Nullable String notBackedUp(NodeConfig config) {
        if (!config.orderKind().name().equals("raft")) {
            return "order.kind is " + config.orderKind().name()
                    + ", which keeps nothing that a copy could begin with: remove the data directory, and start the node";
        }
        if (config.isInProcess()) {
            return config.inProcess().inMemory()
                    ? "in-process.storage is memory: such a database is made from the whole log at each start"
                    : null;
        }
        return config.postgres().embedded() == null
                ? "its PostgreSQL server is given by postgres.url, so its files are not the node's: copy its data directory by"
                        + " hand (docs/operations.md)"
                : null;
    }

    /** All that is in a directory, as a part of a copy. */
    static List<CopySource.Entry> below(Path directory, String part) throws IOException {
        List<CopySource.Entry> entries = new ArrayList<>();
        entries.add(new CopySource.Entry(part, null));
        try (Stream<Path> all = Files.walk(directory)) {
            for (Path each : all.sorted().toList()) {
                String path = part + "/" + directory.relativize(each);
                if (Files.isRegularFile(each)) {
                    entries.add(file(each, path));
                } else if (!each.equals(directory)) {
                    entries.add(new CopySource.Entry(path, null));
                }
            }
        }
        return entries;
    }

    /** A file, as a part of a copy; it may be gone when it is opened. */
    static CopySource.Entry file(Path file, String path) {
        return new CopySource.Entry(path, () -> open(file));
    }

    private static @Nullable DataFile open(Path file) throws IOException {
        try {
            return PathDirectory.read(file);
        } catch (NoSuchFileException gone) {
            return null;
        }
    }
}
