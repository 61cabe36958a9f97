package tutti.engine.postgres.apply;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.capture.Changes.Change;
import tutti.engine.postgres.capture.Changes.TableName;
import tutti.engine.postgres.capture.SequenceName;
import tutti.engine.postgres.capture.Statement;
import tutti.engine.postgres.catalog.Table;
import tutti.engine.postgres.catalog.TableCatalog;

/** Writes calls of the engine's functions, and the statements that all replicas execute, into batches. */
final class EngineCalls {
    /** Lets a schema change happen that may not depend on rows which some nodes lack: nobody has looked. */
    private static final byte[] ORDERED = "ordered".getBytes(StandardCharsets.US_ASCII);

    /** How a transaction begins. */
    enum Begin {
        /** It has begun. */
        BEGUN,
        /** With what is applied. */
        PLAIN,
        /** What there is of indexes that this node builds is dropped before. */
        DROPPING,
        /** So it is, and no client's transaction changes the schema meanwhile. */
        ALONE
    }

    private final ApplierServices engine;

    EngineCalls(ApplierServices engine) {
        this.engine = engine;
    }

    /** One of the engine's own functions, with its secret; answers its place in the batch. */
    int call(Batch batch, int function, byte @Nullable []... parameters) {
        return batch.call(function, engine.functionSecret(), parameters);
    }

    /**
     * Empties tables.
     *
     * @throws IllegalStateException if one does not exist
     */
    void truncate(Batch batch, TableCatalog catalog, Set<TableName> tables) {
        List<String> ids = new ArrayList<>();
        for (TableName name : tables) {
            Table table = catalog.table(name.schema(), name.name());
            if (table == null) {
                throw new IllegalStateException(
                        "table " + name.schema() + "." + name.name() + " does not exist here");
            }
            ids.add(Long.toString(table.oid()));
        }
        call(batch, engine.functions().truncate(), bytes(String.join(" ", ids)));
    }

    /** Puts a sequence where it is told. */
    void restart(Batch batch, Change.Restart sequence) {
        call(batch, engine.functions().restart(), bytes(sequence.schema()), bytes(sequence.name()),
                bytes(sequence.last()), bytes(sequence.called()));
    }

    /**
     * What a statement is, as all of it is done everywhere.
     *
     * @return the place in the batch up to which an error is its own; 0 if none is
     */
    int statement(Batch batch, Statement statement) {
        return statement(batch, statement, null);
    }

    /** The same of one that has a position of its own, where nothing has been done before it. */
    int ordered(Batch batch, Statement statement) {
        return statement(batch, statement, ORDERED);
    }

    private int statement(Batch batch, Statement statement, byte @Nullable [] ordered) {
        if (statement.isGrant()) {
            return grant(batch, statement);
        } else if (statement.isPlacement()) {
            return call(batch, engine.functions().place(), bytes(Placements.array(statement.texts())),
                    bytes(statement.role()));
        } else if (statement.isNaming()) {
            return call(batch, engine.functions().nameAsTold(), bytes(statement.sql()));
        }
        return statement.isRequest() ? request(batch, statement) : change(batch, statement, ordered);
    }

    /**
     * Sets up what the statement's meaning depends on, and executes it; or several, each like one that comes alone.
     *
     * @return the place in the batch up to which an error is the statement's own
     */
    private int change(Batch batch, Statement statement, byte @Nullable [] ordered) {
        int end = 0;
        for (String sql : statement.texts()) {
            end = change(batch, statement, sql, ordered);
        }
        return end;
    }

    private int change(Batch batch, Statement statement, String sql, byte @Nullable [] ordered) {
        batch.plain("RESET ALL");
        batch.settings(statement);
        if (ordered == null) {
            // its origin has looked at them, perhaps by temporary tables
            batch.plain("SET LOCAL check_function_bodies = off");
        }
        call(batch, engine.functions().allowStatement(), new byte @Nullable [][]{ordered});
        call(batch, engine.functions().beginAs(), bytes(statement.role()));
        batch.plain("SET LOCAL ROLE " + Table.quote(statement.role()));
        int place = batch.plain(sql);
        batch.keepResponses(place, place);
        batch.plain("RESET ROLE");
        batch.plain("RESET ALL");
        batch.plain("SET LOCAL search_path = pg_catalog, pg_temp");
        return call(batch, engine.functions().endAs());
    }

    /**
     * Gives an index that was built for a statement its name, in place of the statement.
     *
     * @return the place in the batch of what is answered
     */
    int name(Batch batch, IndexBuilds.Built built, Statement statement) {
        return call(batch, engine.functions().nameBuilt(), bytes(built.index()), bytes(built.name()),
                bytes(statement.role()));
    }

    /**
     * Has what only this node has end, or be dropped, before what is the same at all: indexes that are built beside the order, and, if that is asked for, clients' transactions that change the
     * schema.
     */
    void begin(Batch batch, Begin begin) {
        if (begin == Begin.ALONE) {
            call(batch, engine.functions().nameAlone());
        }
        if (begin == Begin.ALONE || begin == Begin.DROPPING) {
            call(batch, engine.functions().dropBuilt());
        }
    }

    /** Gives a life of a node the next values of sequences; nothing of that is refused. */
    private int grant(Batch batch, Statement statement) {
        for (SequenceName sequence : statement.sequences()) {
            call(batch, engine.functions().grantShare(), bytes(sequence.schema()), bytes(sequence.name()),
                    bytes(statement.role()), bytes(Integer.toString(sequence.shares())));
        }
        return 0;
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /**
     * Executes a client's request as its own session would: with triggers and foreign keys. What it changes is not gathered, since every replica
     * executes the same.
     *
     * @return the place in the batch up to which an error is the request's own
     */
    private int request(Batch batch, Statement request) {
        batch.settings(request);
        call(batch, engine.functions().beginAs(), bytes(request.role()));
        batch.plain("SET LOCAL ROLE " + Table.quote(request.role()));
        int first = batch.size();
        request.calls().forEach(call -> batch.statement(call, request));
        batch.keepResponses(first, batch.size() - 1);
        call(batch, engine.functions().finishUnread());
        batch.plain("RESET ROLE");
        batch.plain("RESET ALL");
        return call(batch, engine.functions().endAs());
    }
}
