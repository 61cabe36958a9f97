package tutti.node.copy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.zip.Deflater;
import org.jspecify.annotations.Nullable;
import tutti.runtime.DataFile;

/** Reads what a copy consists of, piece by piece, and compresses what becomes smaller by it. Of one thread at a time. */
final class PieceReader implements AutoCloseable {
    private final CopySource.Copy copy;
    private final Deque<CopySource.Entry> entries;
    private final CopyDigest digest = new CopyDigest();
    private final Deflater deflater = new Deflater(Deflater.BEST_SPEED, true);
    private final ByteBuffer content = ByteBuffer.allocate(CopyMessage.PIECE_BYTES_MAX);
    private final byte[] compressed = new byte[CopyMessage.PIECE_BYTES_MAX];
    private @Nullable DataFile file;
    private String path = "";
    private long offset;
    private long number;
    private boolean last;
    private boolean over;

    PieceReader(CopySource.Copy copy) {
        this.copy = copy;
        entries = new ArrayDeque<>(copy.first());
    }

    /**
     * The next pieces, and {@link CopyMessage.End} at the end.
     *
     * @param bytesMax of contents; one piece at least
     * @throws IOException if something cannot be read
     */
    List<CopyMessage> next(int bytesMax) throws IOException {
        List<CopyMessage> read = new ArrayList<>();
        int bytes = 0;
        while (!over && bytes < bytesMax) {
            CopyMessage message = next();
            read.add(message);
            bytes += message instanceof CopyMessage.Piece piece ? piece.length() + path.length() : 0;
        }
        return read;
    }

    /** Whether all has been read. */
    boolean isOver() {
        return over;
    }

    private CopyMessage next() throws IOException {
        while (true) {
            if (file != null) {
                content.clear();
                file.read(content, offset);
                content.flip();
                // An empty file has a piece as well.
                if (content.hasRemaining() || offset == 0) {
                    CopyMessage.Piece piece = piece(offset);
                    offset += piece.length();
                    if (piece.length() < CopyMessage.PIECE_BYTES_MAX) {
                        closeFile();
                    }
                    return piece;
                }
                closeFile();
            }
            CopySource.Entry entry = entries.poll();
            if (entry == null && !last) {
                last = true;
                entries.addAll(copy.last());
            } else if (entry == null) {
                over = true;
                return new CopyMessage.End(number, digest.value());
            } else {
                path = entry.path();
                offset = 0;
                CopySource.Opener opener = entry.file();
                if (opener == null) {
                    content.clear().flip();
                    return piece(CopyMessage.OF_DIRECTORY);
                }
                file = opener.open();
            }
        }
    }

    private CopyMessage.Piece piece(long at) {
        digest.add(path, at, content);
        int length = content.remaining();
        deflater.reset();
        deflater.setInput(content.array(), 0, length);
        deflater.finish();
        int less = deflater.deflate(compressed, 0, length - length / 8);
        boolean smaller = deflater.finished();
        byte[] bytes = new byte[smaller ? less : length];
        System.arraycopy(smaller ? compressed : content.array(), 0, bytes, 0, bytes.length);
        return new CopyMessage.Piece(++number, path, at, length, smaller, bytes);
    }

    private void closeFile() throws IOException {
        DataFile open = file;
        file = null;
        if (open != null) {
            open.close();
        }
    }

    @Override
    public void close() throws IOException {
        deflater.end();
        closeFile();
    }
}
