package tutti.cli.pack;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Map;

/** SHA-256 of files, in the form that {@code sha256sum --check} reads. */
final class Checksums {
    private static final int BUFFER_BYTES = 1 << 16;

    private Checksums() {}

    static MessageDigest digest() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** A file's, in hexadecimal. */
    static String of(Path file) throws IOException {
        MessageDigest digest = digest();
        byte[] buffer = new byte[BUFFER_BYTES];
        try (InputStream in = Files.newInputStream(file)) {
            for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
                digest.update(buffer, 0, read);
            }
        }
        return HexFormat.of().formatHex(digest.digest());
    }

    /** Writes {@code SHA256SUMS} beside the files. */
    static void write(Path directory, Map<String, Path> files) throws IOException {
        StringBuilder lines = new StringBuilder();
        files.forEach((sum, file) -> lines.append(sum).append("  ").append(file.getFileName()).append('\n'));
        Files.writeString(directory.resolve("SHA256SUMS"), lines);
    }
}
