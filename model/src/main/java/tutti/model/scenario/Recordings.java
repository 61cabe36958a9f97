package tutti.model.scenario;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import tutti.core.recorded.RecordedNode;
import tutti.model.RecordedWorkload;

/** Reads what nodes have written down of their clients' transactions. */
final class Recordings {
    private static final long BYTES_MAX = 1L << 31;

    private Recordings() {}

    /**
     * Reads a recording, or all below a directory.
     *
     * @throws IOException if it cannot be read
     * @throws IllegalArgumentException if it is none, or empty
     */
    static RecordedWorkload read(Path path, long fromNanos, double speedUp, double cpuShare) throws IOException {
        if (!Files.exists(path)) {
            throw new IllegalArgumentException("there is no " + path);
        }
        List<Path> files;
        try (Stream<Path> below = Files.walk(path)) {
            files = below.filter(Files::isRegularFile)
                    .filter(file -> file.equals(path) || file.toString().endsWith(RecordedNode.SUFFIX)).sorted()
                    .toList();
        }
        List<RecordedNode> nodes = new ArrayList<>();
        for (Path file : files) {
            nodes.add(read(file));
        }
        return RecordedWorkload.of(nodes, fromNanos, speedUp, cpuShare);
    }

    private static RecordedNode read(Path file) throws IOException {
        try {
            if (Files.size(file) >= BYTES_MAX) {
                throw new IllegalArgumentException("is larger than 2 GiB");
            }
            return RecordedNode.decode(ByteBuffer.wrap(Files.readAllBytes(file)));
        } catch (NoSuchFileException gone) {
            throw new IOException("there is no " + file, gone);
        } catch (IllegalArgumentException wrong) {
            throw new IllegalArgumentException(file + " " + wrong.getMessage(), wrong);
        }
    }
}
