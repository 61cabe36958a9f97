package tutti.engine;

import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What was committed in an engine at one moment, for as long as this is open. Read in pieces, with pauses between them; what clients
 * do meanwhile is neither seen nor hindered for longer than a piece takes. One thread at a time; methods block.
 *
 * <p>
 * Two views of the same engine kind and version that show the same rows tell the same digests: a digest is the number of rows and the
 * sum, modulo 2^64, of a 64 bit hash of each row's text, so the order of rows on disk does not matter.
 */
public interface StateView extends AutoCloseable {
    /**
     * A table that has rows of its own.
     *
     * @param name with its schema, as SQL needs it
     * @param definition everything that must be the same at all nodes besides rows, for people: one text per column, constraint and
     *            index, sorted
     */
    record Relation(String name, List<String> definition) {
        public Relation {
            definition = List.copyOf(definition);
        }
    }

    /** What rows are there, whatever their order. */
    record Digest(long rows, long sum) {
        /** Of no rows. */
        public static final Digest NONE = new Digest(0, 0);

        /** Of both. */
        public Digest and(Digest other) {
            return new Digest(rows + other.rows, sum + other.sum);
        }
    }

    /**
     * A row.
     *
     * @param key what names it: its primary key, or all of it if the table has none
     * @param hash of all of it
     */
    record Row(String key, long hash) {}

    /** What is told after each piece, and may pause. */
    @FunctionalInterface
    interface Pace {
        /**
         * So much was read.
         *
         * @param bytes roughly
         * @param nanos that it took
         */
        void read(long bytes, long nanos) throws InterruptedException;
    }

    /** All tables, by name, but those of Tutti itself. */
    List<Relation> tables() throws IOException, InterruptedException;

    /**
     * Digests of a table's rows, by what their keys' hash is modulo the number of parts.
     *
     * @param parts 1 to 4096
     * @throws IOException if the table cannot be read any more, perhaps because a statement has changed its definition since
     */
    List<Digest> digests(Relation table, int parts, Pace pace) throws IOException, InterruptedException;

    /**
     * The rows of one part.
     *
     * @param limit most rows
     * @return null if there are more
     * @throws IOException likewise
     */
    @Nullable
    List<Row> rows(Relation table, int parts, int part, int limit, Pace pace) throws IOException, InterruptedException;

    @Override
    void close();
}
