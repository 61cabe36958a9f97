package tutti.node.copy;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Set;
import tutti.core.schema.DecodeException;
import tutti.runtime.DataFile;
import tutti.runtime.Directory;

/**
 * A copy as a stream of bytes, for whoever keeps it: its pieces, and what they come down to at the end, each behind its length of 4
 * bytes. Methods block.
 */
public final class CopyStream {
    private static final int MESSAGE_BYTES_MAX = 2 * CopyMessage.PIECE_BYTES_MAX;

    private CopyStream() {}

    /** What is told after each piece, and may pause. */
    @FunctionalInterface
    public interface Pace {
        /** So many bytes were read. */
        void read(long bytes) throws IOException;
    }

    /**
     * Reads a copy and sends it. Ends it, whatever happens.
     *
     * @throws IOException if something cannot be read or sent; then what was sent is of no use
     */
    public static void send(CopySource.Copy copy, OutputStream to, Pace pace) throws IOException {
        boolean complete = false;
        try (PieceReader reader = new PieceReader(copy)) {
            DataOutputStream out = new DataOutputStream(to);
            while (!reader.isOver()) {
                for (CopyMessage message : reader.next(1)) {
                    byte[] bytes = message.bytes();
                    out.writeInt(bytes.length);
                    out.write(bytes);
                    pace.read(message instanceof CopyMessage.Piece piece ? piece.length() : 0);
                }
            }
            out.flush();
            complete = true;
        } finally {
            copy.end(complete);
        }
    }

    /**
     * Writes what was sent into a directory, and at last a file that says that it is all there and safe.
     *
     * @param into an empty directory
     * @param parts names of what may be in it
     * @param mark name of that file
     * @return how many bytes came
     * @throws IOException if it ends early, is damaged, or cannot be written
     */
    public static long receive(InputStream from, Directory into, Set<String> parts, String mark) throws IOException {
        return receive(from, into, parts, parts, mark);
    }

    /**
     * The same, of which only some parts are written; all of it is looked at.
     *
     * @param unpacked names of those
     */
    public static long receive(InputStream from, Directory into, Set<String> parts, Set<String> unpacked, String mark)
            throws IOException {
        try (PieceWriter writer = new PieceWriter(into, parts, unpacked)) {
            return read(from, writer, end -> writer.complete(end, mark), _ -> {});
        }
    }

    /**
     * Keeps what was sent as it came, which is compressed, in a file of a directory, for {@link #receive} to unpack it; with some parts
     * unpacked beside it, and at last a file that says that it is all there and safe.
     *
     * @param file its name
     */
    public static long keep(InputStream from, Directory into, String file, Set<String> parts, Set<String> unpacked,
            String mark) throws IOException {
        try (PieceWriter writer = new PieceWriter(into, parts, unpacked);
                DataFile kept = into.open(file, Directory.Open.EMPTY)) {
            return read(from, writer, end -> {
                kept.force(true);
                writer.complete(end, mark);
            }, bytes -> kept.write(ByteBuffer.wrap(bytes), kept.size()));
        }
    }

    /**
     * Looks whether what was kept is whole.
     *
     * @param nothing a directory into which nothing is written
     * @return how many bytes it has
     * @throws IOException if it is not
     */
    public static long verify(InputStream from, Directory nothing, Set<String> parts) throws IOException {
        try (PieceWriter writer = new PieceWriter(nothing, parts, Set.of())) {
            return read(from, writer, end -> {
                byte[] _ = writer.check(end);
            }, _ -> {});
        }
    }

    private interface Ending {
        void with(CopyMessage.End end) throws IOException;
    }

    private interface Kept {
        void add(byte[] bytes) throws IOException;
    }

    private static long read(InputStream from, PieceWriter writer, Ending ending, Kept kept) throws IOException {
        DataInputStream in = new DataInputStream(from);
        long received = 0;
        try {
            while (true) {
                int length = in.readInt();
                if (length < 0 || length > MESSAGE_BYTES_MAX) {
                    throw new IOException("this is no copy: a piece of " + length + " bytes");
                }
                byte[] framed = new byte[Integer.BYTES + length];
                ByteBuffer.wrap(framed).putInt(length);
                in.readFully(framed, Integer.BYTES, length);
                kept.add(framed);
                received += framed.length;
                switch (CopyMessage.SET.decode(ByteBuffer.wrap(framed, Integer.BYTES, length).slice())) {
                    case CopyMessage.Piece piece -> writer.write(List.of(piece));
                    case CopyMessage.End end -> {
                        ending.with(end);
                        return received;
                    }
                    case CopyMessage other -> throw new IOException("this is no copy: " + other);
                }
            }
        } catch (EOFException early) {
            throw new IOException("the copy ends in the middle, after " + received + " bytes: the node's log says why",
                    early);
        } catch (DecodeException damaged) {
            throw new IOException("the copy is damaged behind byte " + received + ": " + damaged.getMessage(), damaged);
        }
    }
}
