package tutti.wire;

import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.Completion;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.apply.PlacedTables;
import tutti.engine.postgres.capture.CaptureInstaller;
import tutti.engine.postgres.capture.CaptureReader;
import tutti.engine.postgres.capture.CapturedWriteSet;
import tutti.engine.postgres.capture.Changes;
import tutti.engine.postgres.capture.LockedRows;
import tutti.engine.postgres.capture.Promise;
import tutti.engine.postgres.capture.SequenceName;
import tutti.engine.postgres.capture.Statement;
import tutti.engine.postgres.catalog.CatalogQuery;
import tutti.engine.postgres.catalog.InBandTables;
import tutti.engine.postgres.catalog.References;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.pgwire.QueryResult;
import tutti.wire.sql.LockingQuery;
import tutti.wire.sql.StatementClasses;
import tutti.wire.sql.ReadPlan;

/** The front end's view of the PostgreSQL engine's capture service. */
public final class EngineCapture implements Capture {
    /** In a row of settings, after the role, those that statements depend on, and whether the session is like others. */
    private static final int SUBMISSION_AT = 2;
    private static final Logger LOG = LoggerFactory.getLogger(EngineCapture.class);
    private static final int WARNED_MAX = 1000;
    private static final int TOKEN_BYTES = 16;

    private final Set<String> warned = ConcurrentHashMap.newKeySet();
    private final Supplier<TableCatalog> catalog;
    private final Supplier<References> references;
    private final Supplier<InBandTables> inBand;
    private volatile Judged judged = new Judged(InBandTables.NONE, false, HiddenWords.NONE);
    private final Supplier<? extends CompletionStage<?>> refreshCatalog;
    /** Schema changes of local transactions that the catalog may not have yet. */
    private final AtomicInteger refreshing = new AtomicInteger();
    private final Function<String, @Nullable Promise> promises;
    private final BooleanSupplier leavesOut;
    private volatile BooleanSupplier tellsLargeObjects = () -> true;
    private volatile JavaRequests java = JavaRequests.NONE;
    private volatile Supplier<PlacedTables> placed = () -> PlacedTables.NONE;
    private final ProvenTexts proven = new ProvenTexts();
    private volatile @Nullable Consumer<Completion<Long>> recorded;
    private volatile Supplier<SchemaChange> changing = Capture.super::schemaChanges;
    /** Tables of which large rows have been seen. */
    private final Set<Long> large = ConcurrentHashMap.newKeySet();
    private final SecureRandom random = new SecureRandom();
    private final Calls calls;
    private final String life;

    /**
     * For a database in which capture is installed.
     *
     * @param catalog the engine's current catalog; from any thread
     * @param references what names stand for, at least as new as the catalog; from any thread
     * @param inBand which tables' rows can be captured in band, at least as new as the catalog; from any thread
     * @param refreshCatalog has the engine load both anew; from any thread, must not block
     * @param promises what is promised to the transaction that is prepared under an identifier; from any thread
     * @param leavesOut whether all nodes can make changes of some columns of a row; from any thread
     * @param functions of the capture in this database
     * @param secret the cluster's secret
     */
    public EngineCapture(Supplier<TableCatalog> catalog, Supplier<References> references,
            Supplier<InBandTables> inBand,
            Supplier<? extends CompletionStage<?>> refreshCatalog, Function<String, @Nullable Promise> promises,
            BooleanSupplier leavesOut, CaptureInstaller.Functions functions, byte[] secret) {
        this.catalog = catalog;
        this.references = references;
        this.inBand = inBand;
        this.refreshCatalog = refreshCatalog;
        this.promises = promises;
        this.leavesOut = leavesOut;
        this.life = functions.life();
        StringBuilder settings = new StringBuilder("SELECT current_user");
        Statement.SETTINGS.forEach(name -> settings.append(", pg_catalog.current_setting('").append(name).append("')"));
        settings.append(", pg_catalog.pg_my_temp_schema() OPERATOR(pg_catalog.=) 0::pg_catalog.oid"
                + " AND pg_catalog.current_setting('transaction_read_only') OPERATOR(pg_catalog.=) 'off'")
                .append(", ").append(Statement.SUBMISSION_MADE)
                .append(", pg_catalog.current_setting('transaction_read_only')")
                .append(", pg_catalog.current_setting('client_min_messages')")
                .append(", EXISTS (SELECT FROM pg_catalog.pg_class")
                .append(" WHERE oid OPERATOR(pg_catalog.=) ANY (SELECT pg_catalog.to_regclass(target)")
                .append(" FROM pg_catalog.unnest($1::pg_catalog.text[]) AS target)")
                .append(" AND relpersistence OPERATOR(pg_catalog.=) 't')");
        this.calls = new Calls(functions.finish(), functions.record(), functions.recordInBand(),
                functions.allowStatement(),
                functions.beforeSetConstraints(), functions.afterSetConstraints(), secret, settings.toString(),
                CatalogQuery.SQL);
    }

    /**
     * Sets who is asked whether changes of large objects may be told: whether all nodes can make them. Until it is set they may.
     *
     * @param allowed from any thread
     */
    public void tellLargeObjects(BooleanSupplier allowed) {
        tellsLargeObjects = allowed;
    }

    /** Sets which tables some nodes lack; until then none. From any thread. */
    public void placed(Supplier<PlacedTables> tables) {
        placed = tables;
    }

    @Override
    public PlacedTables placed() {
        return placed.get();
    }

    /** Sets who says up to which position the database has been changed; until then nobody. From any thread. */
    public void recorded(Consumer<Completion<Long>> position) {
        recorded = position;
    }

    @Override
    public void recorded(Completion<Long> done) {
        Consumer<Completion<Long>> position = recorded;
        if (position == null) {
            Capture.super.recorded(done);
        } else {
            position.accept(done);
        }
    }

    /** Sets what must have ended when a local transaction that has changed the schema commits, and may go on when it has. From any thread. */
    public void changing(Supplier<SchemaChange> task) {
        changing = task;
    }

    /** Sets which procedures in Java can be called; until then none. */
    public void java(JavaRequests requests) {
        java = requests;
    }

    @Override
    public JavaRequests java() {
        return java;
    }

    @Override
    public Calls calls() {
        return calls;
    }

    @Override
    public Captured close(byte[] gathered, List<@Nullable QueryResult> inside) throws CaptureException, CatalogNeeded {
        try {
            if (inside.isEmpty() && refreshing.get() > 0) {
                throw new CatalogNeeded(); // what names a table's rows may have changed
            }
            CapturedWriteSet captured = inside.isEmpty()
                    ? CaptureReader.read(catalog.get(), gathered)
                    : CaptureReader.read(catalog.get(), catalogs(inside), gathered);
            captured.takenWithoutKey().forEach(this::warn);
            large.addAll(captured.large());
            if (Changes.touchLargeObjects(captured.writes().changes()) && !tellsLargeObjects.getAsBoolean()) {
                throw new CaptureException(Errors
                        .notSupported("large objects are not replicated before every node of the cluster is up,"
                                + " and of a release that replicates them")
                        .with('H', "Upgrade all nodes, or use columns of type bytea."));
            }
            return new Captured(captured.writes(), captured::describe, captured.schemaChanged());
        } catch (CaptureReader.UnknownTable _) {
            throw new CatalogNeeded();
        } catch (tutti.engine.postgres.capture.CaptureException refused) {
            throw new CaptureException(Errors.error(refused.sqlState(), String.valueOf(refused.getMessage())));
        }
    }

    /** Says once of each table what its rows cost. */
    private void warn(String table) {
        if (warned.size() < WARNED_MAX && warned.add(table)) {
            LOG.warn(
                    "rows of table {} are updated or deleted, and no primary key names them: every other node looks through the"
                            + " whole table for each, and of concurrent transactions that take equal rows one is aborted. Give it a"
                            + " primary key, or a unique index of columns that are NOT NULL.",
                    table);
        }
    }

    private static List<@Nullable TableCatalog> catalogs(List<@Nullable QueryResult> results) {
        List<@Nullable TableCatalog> catalogs = new ArrayList<>();
        for (QueryResult result : results) {
            catalogs.add(result == null ? null : CatalogQuery.read(result));
        }
        return catalogs;
    }

    @Override
    public SchemaChange schemaChanges() {
        refreshing.incrementAndGet();
        SchemaChange change = changing.get();
        return new SchemaChange(change.alone(), () -> {
            change.over().run();
            refreshCatalog.get().whenComplete((_, _) -> refreshing.decrementAndGet());
        });
    }

    @Override
    public void schemaChanged() {
        schemaChanges().over().run();
    }

    @Override
    public ReadPlan reads(byte[] sql, int from, int to, boolean standardStrings) {
        TableCatalog now = catalog.get();
        return refreshing.get() > 0
                ? ReadPlan.EVERYTHING
                : ReadPlan.of(sql, from, to, standardStrings, now, references.get());
    }

    @Override
    public Classified classes(byte[] sql, int from, int to, boolean standardStrings, ReadPlan.Values values) {
        TableCatalog now = catalog.get();
        if (refreshing.get() > 0) {
            return Classified.ALL;
        }
        StatementClasses.Computed computed = StatementClasses.of(sql, from, to, standardStrings, now, references.get(),
                values);
        return new Classified(computed.classes(), computed.vouched());
    }

    @Override
    public boolean declaresModes() {
        return references.get().declaresModes();
    }

    @Override
    public StatementClasses.Declaration declaration(String list) {
        TableCatalog now = catalog.get();
        return StatementClasses.declaration(list, now, references.get());
    }

    @Override
    public @Nullable String outside(WriteSet writes, ConflictClasses classes) {
        TableCatalog now = catalog.get();
        return StatementClasses.outside(writes, classes, now, references.get());
    }

    @Override
    public @Nullable String outside(List<Long> relations, ConflictClasses classes) {
        TableCatalog now = catalog.get();
        return StatementClasses.outside(relations, classes, now, references.get());
    }

    @Override
    public @Nullable String outside(ConflictClasses statement, ConflictClasses declared) {
        return StatementClasses.outside(statement, declared, references.get());
    }

    @Override
    public @Nullable InBandStatement inBand(byte[] sql, int length, StatementContext speaker) {
        Schema now = new Schema(catalog.get(), leavesOut.getAsBoolean());
        InBandTables tables = inBand.get();
        return refreshing.get() > 0
                ? null
                : proven.of(new ProvenTexts.Ground(tables, now.catalog(), now.leavesOut(), large.size()), sql, length,
                        speaker, () -> prove(sql, length, speaker, now, tables));
    }

    private @Nullable InBandStatement prove(byte[] sql, int length, StatementContext speaker, Schema now,
            InBandTables tables) {
        Judged known = judged(tables);
        return !known.readsAreReads() || known.hidden().in(sql, 0, length, speaker.standardStrings(), true)
                ? null
                : InBandStatement.of(sql, length, speaker, tables, now.catalog(),
                        table -> now.leavesOut() && (table.large() || large.contains(table.oid())), now);
    }

    @Override
    public @Nullable LockingQuery locking(byte[] sql, int length, boolean standardStrings, String role) {
        return LockingQuery.of(sql, length, standardStrings, catalog.get(), inBand.get().lockable(), role);
    }

    @Override
    public void locked(byte[] told, boolean exact, LockedRows into) {
        into.read(catalog.get(), told, exact);
    }

    @Override
    public boolean leavesOut() {
        return leavesOut.getAsBoolean();
    }

    @Override
    public boolean outdated(InBandStatement statement) {
        return statement.whole() && large.contains(statement.target()) && leavesOut.getAsBoolean();
    }

    /** What a statement's proof, and what it tells, depend on. */
    private record Schema(TableCatalog catalog, boolean leavesOut) {}

    /** Whether no function of a user's has a name by which a query counts as a read: it could run unnoticed. */
    private record Judged(InBandTables tables, boolean readsAreReads, HiddenWords hidden) {
        static Judged of(InBandTables tables) {
            return new Judged(tables, tables.functions().stream()
                    .noneMatch(name -> name.startsWith("pg_") || HarmlessFunctions.isHarmless(name)),
                    HiddenWords.of(tables.hidden()));
        }
    }

    @SuppressWarnings("ReferenceEquality") // whether they are equal takes longer to find out
    private Judged judged(InBandTables tables) {
        Judged last = judged;
        if (last.tables() != tables) {
            last = last.tables().equals(tables)
                    ? new Judged(tables, last.readsAreReads(), last.hidden())
                    : Judged.of(tables);
            judged = last;
        }
        return last;
    }

    @Override
    public HiddenWords hidden() {
        InBandTables tables = inBand.get();
        return refreshing.get() > 0 && !tables.hidden().functions().isEmpty()
                ? HiddenWords.ANYWHERE
                : judged(tables).hidden();
    }

    @Override
    public Object schemaVersion() {
        return refreshing.get() > 0 ? new Object() : new Schema(catalog.get(), leavesOut.getAsBoolean());
    }

    @Override
    public byte[] statement(int place, String statement, List<@Nullable String> row) {
        return new Statement(place, statement, String.valueOf(row.getFirst()), settings(row)).toBytes();
    }

    @Override
    public byte[] orderedStatement(String statement, List<@Nullable String> row) {
        Map<String, String> settings = settings(row);
        settings.put(CaptureInstaller.Functions.ORIGIN, life);
        return new Statement(0, statement, String.valueOf(row.getFirst()), settings).toBytes();
    }

    @Override
    public boolean standardStrings(List<@Nullable String> row) {
        return "on".equals(row.get(1 + Statement.SETTINGS.indexOf("standard_conforming_strings")));
    }

    @Override
    public boolean likeOthers(List<@Nullable String> row) {
        return "t".equals(row.get(Statement.SETTINGS.size() + 1));
    }

    @Override
    public boolean readsOnly(List<@Nullable String> row) {
        return "on".equals(row.get(Statement.SETTINGS.size() + SUBMISSION_AT + 1));
    }

    @Override
    public String leastTold(List<@Nullable String> row) {
        return String.valueOf(row.get(Statement.SETTINGS.size() + SUBMISSION_AT + 2));
    }

    @Override
    public @Nullable List<@Nullable String> later(List<@Nullable String> row, long laterMicros) {
        String made = row.get(Statement.SETTINGS.size() + SUBMISSION_AT);
        if (made == null || !likeOthers(row)) {
            return null;
        }
        List<@Nullable String> later = new ArrayList<>(row);
        later.set(Statement.SETTINGS.size() + SUBMISSION_AT, Statement.submittedLater(made, laterMicros));
        return later;
    }

    @Override
    public byte[] grant(List<SequenceName> sequences) {
        return Statement.grant(sequences, life).toBytes();
    }

    @Override
    public WriteSet prepare(List<@Nullable String> row, WriteSet writes) throws CaptureException {
        if (Changes.read(writes.changes()).stream().anyMatch(
                change -> change instanceof Changes.Change.Execute || change instanceof Changes.Change.Restart)) {
            throw new CaptureException(
                    Errors.notSupported("a transaction that has changed the schema, or where a sequence"
                            + " stands, cannot be prepared: use COMMIT"));
        }
        byte[] token = new byte[TOKEN_BYTES];
        random.nextBytes(token);
        return Promise.prepare(String.valueOf(row.get(0)), String.valueOf(row.get(1)), String.valueOf(row.get(2)),
                HexFormat.of().formatHex(token), writes);
    }

    @Override
    public @Nullable Promise promise(String identifier) {
        return promises.apply(identifier);
    }

    @Override
    public byte[] finish(Promise promise, boolean commits, String role) {
        return Statement.finish(new Statement.Finish(promise.identifier(), promise.token(), commits), role).toBytes();
    }

    @Override
    public KeySet grantKeys(List<SequenceName> sequences) {
        KeySet.Builder keys = new KeySet.Builder();
        for (SequenceName sequence : sequences) {
            keys.add(TableCatalog.sequenceKey(sequence.schema(), sequence.name()), KeyKind.EXCLUSIVE);
        }
        return keys.build();
    }

    private static Map<String, String> settings(List<@Nullable String> row) {
        Map<String, String> settings = new LinkedHashMap<>();
        for (int i = 0; i < Statement.SETTINGS.size(); i++) {
            String value = row.get(i + 1);
            if (value != null) {
                settings.put(Statement.SETTINGS.get(i), value);
            }
        }
        return settings;
    }

    @Override
    public @Nullable String varyingRows(byte[] text, boolean standardStrings, boolean unknownToo) {
        return StatementClasses.varyingRows(text, standardStrings, references.get(), unknownToo);
    }

    @Override
    public StatementClasses.Statements statements(byte[] text, boolean standardStrings) {
        return StatementClasses.statements(text, standardStrings, references.get());
    }

    @Override
    public byte[] request(List<Statement.Call> calls, List<@Nullable String> row, boolean declared, int number,
            @Nullable String drawn, Map<String, String> more) {
        Map<String, String> settings = settings(row);
        settings.putAll(more);
        if (declared) {
            settings.put(Statement.DECLARED, "on");
        }
        settings.put(CaptureInstaller.Functions.ORIGIN, life);
        settings.put(Statement.SUBMISSION, Statement.submission(
                String.valueOf(row.get(Statement.SETTINGS.size() + SUBMISSION_AT)), number,
                SequenceDraws.of(drawn, number)));
        return Statement.request(calls, String.valueOf(row.getFirst()), settings).toBytes();
    }

    @Override
    public KeySet barrierKeys() {
        return new KeySet.Builder().add(TableCatalog.SCHEMA_KEY, KeyKind.EXCLUSIVE).build();
    }
}
