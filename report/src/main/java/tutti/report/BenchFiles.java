package tutti.report;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import tools.jackson.databind.json.JsonMapper;
import tutti.command.Failure;

/** Files and ports that measurements need. */
public final class BenchFiles {
    private BenchFiles() {}

    /** Writes a value as JSON; missing directories are made. */
    public static void writeJson(Path file, Object value) {
        write(file, JsonMapper.shared().writerWithDefaultPrettyPrinter().writeValueAsString(value) + "\n");
    }

    /** Writes a text; missing directories are made. */
    public static void write(Path file, String text) {
        try {
            Path directory = file.toAbsolutePath().getParent();
            if (directory != null) {
                Files.createDirectories(directory);
            }
            Files.writeString(file, text);
        } catch (IOException e) {
            throw new Failure("cannot write " + file + ": " + e.getMessage(), "choose another file", e);
        }
    }

    /** A port of this machine that was free a moment ago. */
    public static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }
}
