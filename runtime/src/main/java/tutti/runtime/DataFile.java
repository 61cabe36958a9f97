package tutti.runtime;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * An open file, read and written at given places. Reads may come from any thread; there is one writer at a time.
 *
 * <p>
 * What was written and not {@linkplain #force forced} may, after a crash, be there, be missing, be there in part, in any
 * order of its sectors.
 */
public interface DataFile extends Closeable {
    /** Bytes in it. */
    long size() throws IOException;

    /**
     * Reads into the buffer until it is full or the file ends.
     *
     * @param at byte to begin with, at least 0
     * @return bytes read, 0 at or behind the end
     * @throws DamagedFileException if the disk cannot read what is there
     */
    int read(ByteBuffer into, long at) throws IOException;

    /** Writes all that remains in the buffer. The file grows if need be; a gap is filled with zeros. */
    void write(ByteBuffer from, long at) throws IOException;

    /** Cuts off what lies behind a size. */
    void truncate(long size) throws IOException;

    /**
     * Makes safe what was written.
     *
     * @param size whether the file's size has changed since the last time; if it has not, that is cheaper
     */
    void force(boolean size) throws IOException;

    @Override
    void close() throws IOException;
}
