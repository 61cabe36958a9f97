package tutti.engine.postgres.output;

import io.netty.buffer.Unpooled;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.WriteSet;
import tutti.engine.WriteSetService.Committed;
import tutti.engine.postgres.capture.CaptureException;
import tutti.engine.postgres.capture.CaptureReader;
import tutti.engine.postgres.capture.Changes;
import tutti.engine.postgres.capture.Changes.Change;
import tutti.engine.postgres.capture.Changes.TableName;
import tutti.engine.postgres.catalog.Table;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.engine.postgres.output.OutputMessage.Relation;
import tutti.engine.postgres.output.OutputMessage.Row;
import tutti.pgwire.ProtocolViolation;

/**
 * Makes write sets of what {@code pgoutput} tells, in which old rows are whole (replica identity FULL). Each transaction becomes the text
 * that capture would have gathered of it, so that keys and changes come from the same class ({@link CaptureReader}): changes are told in
 * the order in which they were made, an update by the row before and after.
 *
 * <p>
 * <b>Tables that are not any more as they were.</b> Rows come as their table was then, but its keys are known as they are now. If its columns
 * are others by now, the changes are told as they were made, with one key, that of the schema, so that they conflict with everything.
 *
 * <p>
 * Not for use by several threads.
 */
final class CommittedReader {
    /** Text of one transaction. */
    static final int BYTES_MAX = 256 << 20;
    private static final String OWN_SCHEMA = "tutti";
    private static final String APPLIED = "applied";

    private final Catalogs catalogs;
    private final Map<Integer, Told> relations = new HashMap<>();
    private final ByteArrayOutputStream text = new ByteArrayOutputStream();
    private final List<Change> changes = new ArrayList<>();
    private boolean otherwise;
    private long ordered;
    private boolean open;

    /** Tells how the tables are. */
    interface Catalogs {
        /** As they were a while ago. */
        TableCatalog known();

        /** As they are now. */
        TableCatalog read() throws IOException, InterruptedException;
    }

    /**
     * A table as it is told.
     *
     * @param table as it is now; null if it is not there, or has other columns
     * @param places where among what is told each of its columns is; -1 for what is computed from others when it is read
     */
    private record Told(Relation relation, @Nullable Table table, int[] places) {
        TableName name() {
            return new TableName(relation.schema(), relation.name());
        }

        boolean own() {
            return relation.schema().equals(OWN_SCHEMA);
        }
    }

    CommittedReader(Catalogs catalogs) {
        this.catalogs = catalogs;
    }

    /** Whether a transaction has begun and not ended. */
    boolean open() {
        return open;
    }

    /**
     * Takes the next message.
     *
     * @return the transaction that it ends; null if it ends none
     * @throws IOException if the transaction is too large, or is not understood
     */
    @Nullable
    Committed take(byte[] message) throws IOException, InterruptedException {
        switch (OutputMessage.read(Unpooled.wrappedBuffer(message))) {
            case OutputMessage.Begin _ -> {
                text.reset();
                changes.clear();
                otherwise = false;
                ordered = 0;
                open = true;
            }
            case Relation relation -> relations.put(relation.id(), told(relation));
            case OutputMessage.Insert(int id, Row row) -> insert(relation(id), row);
            case OutputMessage.Update(int id, Row before, boolean whole, Row row) -> {
                Told told = relation(id);
                if (!told.own()) {
                    Row old = whole(told, before, whole);
                    change('k', told, old, filled(row, old));
                }
            }
            case OutputMessage.Delete(int id, Row before, boolean whole) -> {
                Told told = relation(id);
                if (!told.own()) {
                    change('d', told, whole(told, before, whole));
                }
            }
            case OutputMessage.Truncate(List<Integer> ids) -> ids.forEach(id -> truncate(relation(id)));
            case OutputMessage.Commit(long _, long end, long _) -> {
                open = false;
                return new Committed(end, ordered, writes(end));
            }
            case OutputMessage.Origin _,OutputMessage.Type _,OutputMessage.Said _ -> {
                // says nothing of rows
            }
        }
        if (text.size() > BYTES_MAX) {
            throw new IOException("a transaction has changed more than " + BYTES_MAX
                    + " bytes of rows, which is more than is told of one: stop, and begin again behind it");
        }
        return null;
    }

    private Told relation(int id) {
        Told told = relations.get(id);
        if (told == null) {
            throw new ProtocolViolation("a row of a table that was not described: " + id);
        }
        return told;
    }

    private Told told(Relation relation) throws IOException, InterruptedException {
        if (relation.schema().equals(OWN_SCHEMA)) {
            return new Told(relation, null, new int[0]);
        }
        Told known = told(relation, catalogs.known());
        return known.table() == null ? told(relation, catalogs.read()) : known;
    }

    private static Told told(Relation relation, TableCatalog catalog) {
        Table table = catalog.table(Integer.toUnsignedLong(relation.id()));
        if (table != null && table.schema().equals(relation.schema()) && table.name().equals(relation.name())) {
            List<String> names = relation.columns().stream().map(OutputMessage.Column::name).toList();
            int[] places = table.columns().stream().mapToInt(column -> names.indexOf(column.name())).toArray();
            int there = 0;
            boolean complete = true;
            for (int i = 0; i < places.length; i++) {
                there += places[i] < 0 ? 0 : 1;
                complete &= places[i] >= 0 || table.columns().get(i).generated();
            }
            if (complete && there == names.size()) {
                return new Told(relation, table, places);
            }
        }
        return new Told(relation, null, new int[0]);
    }

    private static Row whole(Told told, @Nullable Row before, boolean whole) {
        if (before == null || !whole) {
            throw new ProtocolViolation("the server does not tell whole rows of " + told.relation().schema() + "."
                    + told.relation().name() + ", whose replica identity was not FULL then: stop, and begin again");
        }
        return before;
    }

    /** What stayed as it was and is stored apart is told with the old row only. */
    private static Row filled(Row row, Row old) {
        List<byte @Nullable []> values = new ArrayList<>(row.values());
        for (int i = 0; i < values.size(); i++) {
            if (row.unchanged(i)) {
                values.set(i, old.values().get(i));
            }
        }
        return new Row(values);
    }

    private void insert(Told told, Row row) {
        if (!told.own()) {
            change('i', told, row);
        } else if (told.relation().name().equals(APPLIED)) {
            for (int i = 0; i < row.values().size(); i++) {
                byte[] value = row.values().get(i);
                if (told.relation().columns().get(i).name().equals("position") && value != null) {
                    ordered = Long.parseLong(new String(value, StandardCharsets.US_ASCII));
                }
            }
        }
    }

    private void truncate(Told told) {
        if (told.own()) {
            return;
        }
        changes.add(new Change.Truncate(told.name()));
        text.writeBytes(("t" + Integer.toUnsignedLong(told.relation().id()) + ";").getBytes(StandardCharsets.US_ASCII));
        otherwise |= told.table() == null;
    }

    private void change(char operation, Told told, Row... rows) {
        Table table = told.table();
        otherwise |= table == null;
        text.writeBytes((operation + Long.toString(Integer.toUnsignedLong(told.relation().id())))
                .getBytes(StandardCharsets.US_ASCII));
        List<byte[]> texts = new ArrayList<>();
        for (Row row : rows) {
            byte[] written = table == null ? RowWriter.text(row.values()) : RowWriter.text(row.values(), told.places());
            texts.add(written);
            text.writeBytes(written);
        }
        changes.add(switch (operation) {
            case 'i' -> new Change.Insert(told.name(), texts.getFirst());
            case 'd' -> new Change.Delete(told.name(), texts.getFirst());
            default -> new Change.Rekey(told.name(), texts.getFirst(), texts.getLast());
        });
    }

    private WriteSet writes(long end) throws IOException, InterruptedException {
        if (changes.isEmpty()) {
            return WriteSet.EMPTY;
        }
        if (!otherwise) {
            try {
                return CaptureReader.read(catalogs.known(), text.toByteArray()).writes();
            } catch (CaptureReader.UnknownTable changed) {
                // a table was changed since it was described
            } catch (CaptureException tooLarge) {
                throw new IOException("the transaction that ends at " + Lsn.text(end) + " cannot be told: "
                        + tooLarge.getMessage(), tooLarge);
            }
        }
        Changes.Writer writer = new Changes.Writer(text.size());
        changes.forEach(writer::add);
        KeySet.Builder keys = new KeySet.Builder();
        keys.add(TableCatalog.SCHEMA_KEY, KeyKind.EXCLUSIVE);
        return new WriteSet(keys.build(), writer.toBytes());
    }
}
