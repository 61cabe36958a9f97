package tutti.node.copy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;
import org.jspecify.annotations.Nullable;
import tutti.runtime.DataFile;
import tutti.runtime.Directory;
import tutti.runtime.DurableFiles;

/**
 * Writes the pieces of a copy into a directory, and says by one file of it that all are there and safe. Of one thread at a time.
 * Without that file the directory is of no use.
 */
final class PieceWriter implements AutoCloseable {
    private static final Pattern NAME = Pattern.compile("(?!\\.\\.?$)[A-Za-z0-9_.$-]{1,128}");
    private static final int DEPTH_MAX = 8;

    private final Directory into;
    private final Set<String> parts;
    private final Set<String> unpacked;
    private final CopyDigest digest = new CopyDigest();
    private final Inflater inflater = new Inflater(true);
    /** By path; with that of {@code into} itself. */
    private final Map<String, Directory> directories = new TreeMap<>();
    private @Nullable DataFile file;
    private String path = "";
    private long written;

    /**
     * Writes nothing yet.
     *
     * @param into an empty directory
     * @param parts names of what may be in there
     */
    PieceWriter(Directory into, Set<String> parts) {
        this(into, parts, parts);
    }

    /**
     * Likewise.
     *
     * @param unpacked names of parts that are written; of the others what comes is only looked at
     */
    PieceWriter(Directory into, Set<String> parts, Set<String> unpacked) {
        this.into = into;
        this.parts = parts;
        this.unpacked = unpacked;
        directories.put("", into);
    }

    /**
     * Writes pieces.
     *
     * @throws IOException if they cannot be written, or no node would have sent them
     */
    void write(List<CopyMessage.Piece> pieces) throws IOException {
        for (CopyMessage.Piece piece : pieces) {
            write(piece);
        }
    }

    private void write(CopyMessage.Piece piece) throws IOException {
        if (piece.number() != written + 1) {
            throw new IOException("piece " + piece.number() + " of a copy came after " + written);
        }
        written++;
        ByteBuffer content = content(piece);
        digest.add(piece.path(), piece.offset(), content);
        String part = part(piece.path());
        if (!unpacked.contains(part)) {
            return;
        }
        if (piece.offset() == CopyMessage.OF_DIRECTORY) {
            directory(piece.path());
            return;
        }
        DataFile to = file;
        if (to == null || !path.equals(piece.path())) {
            closeFile();
            int slash = piece.path().lastIndexOf('/');
            path = piece.path();
            to = directory(path.substring(0, Math.max(0, slash))).open(name(path.substring(slash + 1)),
                    Directory.Open.EMPTY);
            file = to;
        }
        if (piece.offset() != to.size()) {
            throw new IOException("a piece of " + path + " for byte " + piece.offset() + " came at byte " + to.size());
        }
        to.write(content, piece.offset());
    }

    /** What a path is in. Nothing is written beside the parts: the file that says that a copy is whole is there. */
    private String part(String of) throws IOException {
        int slash = of.indexOf('/');
        String part = slash < 0 ? of : of.substring(0, slash);
        if (!parts.contains(part)) {
            throw new IOException("a copy has the part '" + part + "', and may have " + parts);
        }
        if (of.chars().filter(each -> each == '/').count() >= DEPTH_MAX) {
            throw new IOException("a copy has a file or directory that is too deep: " + of.length() + " characters");
        }
        return part;
    }

    private ByteBuffer content(CopyMessage.Piece piece) throws IOException {
        if (!piece.deflated()) {
            if (piece.length() != piece.content().length) {
                throw new IOException("a piece of " + piece.path() + " is not as long as it says");
            }
            return ByteBuffer.wrap(piece.content());
        }
        byte[] content = new byte[piece.length()];
        inflater.reset();
        inflater.setInput(piece.content());
        try {
            if (inflater.inflate(content) != content.length) {
                throw new IOException("a piece of " + piece.path() + " is shorter than it says");
            }
        } catch (DataFormatException wrong) {
            throw new IOException("a piece of " + piece.path() + " cannot be read: " + wrong.getMessage(), wrong);
        }
        return ByteBuffer.wrap(content);
    }

    private Directory directory(String of) throws IOException {
        Directory known = directories.get(of);
        if (known != null) {
            return known;
        }
        int slash = of.lastIndexOf('/');
        String name = name(of.substring(slash + 1));
        Directory made = directory(of.substring(0, Math.max(0, slash))).directory(name);
        directories.put(of, made);
        return made;
    }

    private static String name(String name) throws IOException {
        if (!NAME.matcher(name).matches()) {
            throw new IOException("a copy has a file of the name '" + name + "'");
        }
        return name;
    }

    /**
     * All has come: makes it safe, and then says so.
     *
     * @param end what there should be
     * @param mark name of the file that says so
     * @throws IOException if there is something else, or it cannot be made safe
     */
    void complete(CopyMessage.End end, String mark) throws IOException {
        byte[] value = check(end);
        for (Directory each : directories.values()) {
            each.sync();
        }
        DurableFiles.write(into, mark, value);
    }

    /**
     * All has come.
     *
     * @param end what there should be
     * @return what all pieces come down to
     * @throws IOException if there is something else
     */
    byte[] check(CopyMessage.End end) throws IOException {
        closeFile();
        byte[] value = digest.value();
        if (end.pieces() != written || !Arrays.equals(end.digest(), value)) {
            throw new IOException(
                    "what has come of the copy, " + written + " pieces, is not what was sent, " + end.pieces()
                            + ": its digest is another");
        }
        return value;
    }

    private void closeFile() throws IOException {
        DataFile open = file;
        file = null;
        if (open != null) {
            try (open) {
                open.force(true);
            }
        }
    }

    /** Without forcing anything. */
    @Override
    public void close() throws IOException {
        inflater.end();
        DataFile open = file;
        file = null;
        if (open != null) {
            open.close();
        }
    }
}
