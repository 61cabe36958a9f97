package tutti.wire;

import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.KeySet;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.capture.Changes;
import tutti.engine.postgres.capture.ColumnBits;
import tutti.engine.postgres.capture.LockedRows;
import tutti.engine.postgres.catalog.RowText;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.QueryResult;
import tutti.pgwire.ResponseHandler;
import tutti.wire.sql.LockingQuery;

/**
 * Three front ends before one captured database, with a scripted node: one on which every transaction must be captured in band, one on
 * which none is, and one as they are.
 */
final class InBandFixture extends EngineFixture {
    private static final Pattern COLUMNS = Pattern.compile("columns ([0-9a-f]+) ([\\w ]+)(\\(.*)");

    private static final StatementContext ALICE = new StatementContext(true, "alice", false);

    /** Whether transactions are captured in band. */
    enum Way {
        /** All are: to ask the triggers fails. */
        IN_BAND,
        /** None is. */
        TRIGGERS,
        /** Those are of which it can be proven. */
        EITHER
    }

    private volatile @Nullable InBandStatement pretended;
    private final List<InetSocketAddress> addresses = new ArrayList<>();

    InBandFixture(String schema) throws Exception {
        super(false, "CREATE ROLE alice LOGIN PASSWORD 'wonderland'; GRANT ALL ON SCHEMA public TO PUBLIC;"
                + " ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC;"
                + " ALTER DEFAULT PRIVILEGES GRANT ALL ON SEQUENCES TO PUBLIC;" + schema);
        for (Way way : Way.values()) {
            addresses.add(frontEnd(new OneWay(way), usual -> usual.withRepetitions(3)));
        }
    }

    /** The engine's capture, one way only. */
    private final class OneWay implements Capture {
        private final Way way;
        private final Capture real = capture();

        OneWay(Way way) {
            this.way = way;
        }

        @Override
        public Calls calls() {
            Calls calls = real.calls();
            // a function that takes other parameters
            int finish = way == Way.IN_BAND ? calls.allow() : calls.finish();
            return new Calls(way == Way.IN_BAND ? calls.beforeSetConstraints() : finish, calls.record(),
                    calls.recordInBand(), calls.allow(), calls.beforeSetConstraints(), calls.afterSetConstraints(),
                    calls.secret(), calls.settings(), calls.catalog());
        }

        @Override
        public Captured close(byte[] gathered, List<@Nullable QueryResult> catalogs)
                throws CaptureException, CatalogNeeded {
            return real.close(gathered, catalogs);
        }

        @Override
        public @Nullable InBandStatement inBand(byte[] sql, int length, StatementContext speaker) {
            InBandStatement told = pretended;
            return way == Way.TRIGGERS ? null : told != null ? told : real.inBand(sql, length, speaker);
        }

        @Override
        public @Nullable LockingQuery locking(byte[] sql, int length, boolean standardStrings, String role) {
            return way == Way.TRIGGERS || pretended != null ? null : real.locking(sql, length, standardStrings, role);
        }

        @Override
        public void locked(byte[] told, boolean exact, LockedRows into) {
            real.locked(told, exact, into);
        }

        @Override
        public boolean leavesOut() {
            return real.leavesOut();
        }

        @Override
        public boolean outdated(InBandStatement statement) {
            return real.outdated(statement);
        }

        @Override
        public HiddenWords hidden() {
            return real.hidden();
        }

        @Override
        public Object schemaVersion() {
            return real.schemaVersion();
        }

        @Override
        public SchemaChange schemaChanges() {
            return real.schemaChanges();
        }

        @Override
        public void schemaChanged() {
            real.schemaChanged();
        }

        @Override
        public byte[] statement(int place, String sql, List<@Nullable String> settings) {
            return real.statement(place, sql, settings);
        }

        @Override
        public KeySet barrierKeys() {
            return real.barrierKeys();
        }
    }

    /** What is sent for every statement from now on, whether it is true or not; null for what is proven. */
    void pretend(@Nullable InBandStatement statement) {
        pretended = statement;
    }

    /** Whether a statement would be sent so that it tells its rows, for alice. */
    boolean tells(String sql) {
        byte[] text = sql.getBytes(StandardCharsets.UTF_8);
        return new OneWay(Way.EITHER).inBand(text, text.length, ALICE) != null;
    }

    /** Whether a query would be sent so that it tells what it locks, for this role. */
    boolean tellsLocks(String sql, String role) {
        byte[] text = sql.getBytes(StandardCharsets.UTF_8);
        return new OneWay(Way.EITHER).locking(text, text.length, true, role) != null;
    }

    /** For which what is proven now holds. */
    Object schemaVersion() {
        return new OneWay(Way.EITHER).schemaVersion();
    }

    /** What is proven of a statement, for alice; null if nothing is. */
    @Nullable
    InBandStatement proof(String sql) {
        byte[] text = sql.getBytes(StandardCharsets.UTF_8);
        return InBandStatement.of(text, text.length, ALICE, engine.inBandTables(), engine.catalog(), _ -> false,
                "now");
    }

    /** Whether a statement is proven, for alice. */
    boolean proven(String sql) {
        return proof(sql) != null;
    }

    BackendConnection client(Way way) throws Exception {
        return connect(BackendSettings.of(addresses.get(way.ordinal()), "alice", "postgres",
                FrontEndFixture.ALICE));
    }

    String url(Way way) {
        return "jdbc:postgresql://127.0.0.1:" + addresses.get(way.ordinal()).getPort()
                + "/postgres?user=alice&password=wonderland&socketTimeout=60";
    }

    /** Executes past the nodes, so that nothing is captured. */
    QueryResult past(String sql) throws Exception {
        return admin.execute("SET session_replication_role = replica; " + sql + "; RESET session_replication_role",
                PATIENCE);
    }

    /** The changes that have been committed since this was asked last, transaction by transaction, with their keys. */
    List<String> committed() {
        List<String> all = new ArrayList<>();
        for (ScriptedNode.Open open = node.begun.poll(); open != null; open = node.begun.poll()) {
            if (!open.writes.isEmpty()) {
                all.add(shown(open.writes));
            }
        }
        return all;
    }

    private static String shown(WriteSet writes) {
        StringBuilder out = new StringBuilder();
        for (Changes.Change change : Changes.read(writes.changes())) {
            out.append(switch (change) {
                case Changes.Change.Insert(var table, byte[] row) -> "insert " + table.name() + text(row);
                case Changes.Change.Update(var table, byte[] row) -> "update " + table.name() + text(row);
                case Changes.Change.Columns(var table, byte[] columns, byte[] row) ->
                    "columns " + HexFormat.of().formatHex(columns) + " " + table.name() + text(row);
                case Changes.Change.Rekey(var table, byte[] before, byte[] after) ->
                    "rekey " + table.name() + text(before) + text(after);
                case Changes.Change.Delete(var table, byte[] row) -> "delete " + table.name() + text(row);
                case Changes.Change.Truncate(var table) -> "truncate " + table.name();
                case Changes.Change.Execute(byte[] statement) -> "execute " + text(statement);
                case Changes.Change.Prepare prepare -> "prepare " + prepare.identifier();
                case Changes.Change.Notify(var channel, var payload) -> "notify " + text(channel) + " " + text(payload);
                case Changes.Change.LargeObject object -> object.toString();
                case Changes.Change.LargePages(var object, var keeps, var _) -> "pages " + object + " " + keeps;
                case Changes.Change.Restart(var schema, var name, var last, var called) ->
                    "restart " + schema + "." + name + " " + last + " " + called;
            }).append('\n');
        }
        KeySet keys = writes.keys();
        for (int i = 0; i < keys.size(); i++) {
            out.append(keys.kind(i)).append(' ').append(Long.toHexString(keys.hash(i))).append('\n');
        }
        return out.toString();
    }

    /**
     * The same as what triggers have told, but that of updated rows those columns are told that the statements have assigned.
     *
     * @return what triggers have told, with these lines in the place of theirs
     */
    static String withColumns(String triggers, String inBand) {
        String[] lines = triggers.split("\n", -1);
        String[] others = inBand.split("\n", -1);
        for (int i = 0; i < Math.min(lines.length, others.length); i++) {
            Matcher some = COLUMNS.matcher(others[i]);
            if (some.matches() && lines[i].startsWith("update " + some.group(2) + "(")) {
                byte[] columns = HexFormat.of().parseHex(some.group(1));
                RowText told = new RowText().parse(others[i].getBytes(StandardCharsets.UTF_8), some.start(3));
                RowText whole = new RowText().parse(lines[i].getBytes(StandardCharsets.UTF_8), lines[i].indexOf('('));
                if (told.columns() == whole.columns() && IntStream.range(0, whole.columns()).allMatch(
                        column -> ColumnBits.has(columns, column)
                                ? told.sameText(column, whole)
                                : told.value(column) == null)) {
                    lines[i] = others[i];
                }
            }
        }
        return String.join("\n", lines);
    }

    private static String text(byte[] row) {
        return new String(row, StandardCharsets.UTF_8);
    }

    /** All but where in the server's source it was raised. */
    private static String error(ErrorFields fields) {
        StringBuilder all = new StringBuilder();
        for (char code : "SVCMDHPpqWstcdnR".toCharArray()) {
            all.append(code).append(fields.get(code)).append(' ');
        }
        return all.toString();
    }

    /** Everything that is answered to some messages, up to so many times ReadyForQuery. */
    static String hears(BackendConnection client, Conversation.Batch batch, int cycles) throws Exception {
        StringBuilder heard = new StringBuilder();
        List<CompletableFuture<Void>> over = new ArrayList<>();
        ByteBuf out = client.buffer();
        batch.write(out);
        for (int i = 0; i < cycles; i++) {
            CompletableFuture<Void> end = new CompletableFuture<>();
            over.add(end);
            client.send(i == 0 ? out : client.buffer(), new ResponseHandler() {
                @Override
                public void message(byte type, ByteBuf body) {
                    byte[] bytes = new byte[body.readableBytes()];
                    body.getBytes(body.readerIndex(), bytes);
                    heard.append((char) type).append(' ').append(type == 'T' || type == 'D' || type == 'C'
                            ? new String(bytes, StandardCharsets.ISO_8859_1)
                            : type == 'E' ? error(ErrorFields.read(body)) : Base64.getEncoder().encodeToString(bytes))
                            .append('\n');
                }

                @Override
                public void ready(byte status) {
                    heard.append((char) status).append('\n');
                    end.complete(null);
                }

                @Override
                public void lost(Throwable cause) {
                    end.completeExceptionally(cause);
                }
            });
        }
        for (CompletableFuture<Void> end : over) {
            end.get(30, TimeUnit.SECONDS);
        }
        return heard.toString();
    }

    /** What a role writes for a row of the table {@code victim} that no statement has changed, as capture would tell of it. */
    String forgedVictim() throws Exception {
        return "E'\\u00e9u" + engine.catalog().table("public", "victim").oid() + "(1,forged)'";
    }
}
