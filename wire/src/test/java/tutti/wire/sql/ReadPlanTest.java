package tutti.wire.sql;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;
import tutti.engine.postgres.catalog.KeyHash;
import tutti.engine.postgres.catalog.References;
import tutti.engine.postgres.catalog.References.Named;
import tutti.engine.postgres.catalog.TableCatalog;

/** What statements read, as far as it can be told from their texts. */
class ReadPlanTest {
    private static final TableCatalog CATALOG = catalog();
    private static final References REFERENCES = new References(Map.of(
            "account", named("public", "account"), "entry", named("public", "entry"), "label", named("public", "label"),
            "Odd", named("public", "Odd"), "twice", new Named(Set.of(TableCatalog.tableKey("public", "twice"),
                    TableCatalog.tableKey("other", "twice")), Set.of(), Set.of(), List.of(), List.of(), false),
            "rich", view("SELECT id FROM account WHERE balance > 1000"),
            "total", view("begin return (select sum(amount) from entry); end"),
            "dynamic", view("begin execute 'select 1'; end"),
            "native", new Named(Set.of(), Set.of(), Set.of(), List.of(), List.of(), true),
            "guarded", new Named(Set.of(TableCatalog.tableKey("public", "guarded")), Set.of("part"),
                    Set.of(), List.of("total"), List.of("nextval('s')"), false)),
            Set.of("random", "nextval"), false);

    private static Named named(String schema, String table) {
        return new Named(Set.of(TableCatalog.tableKey(schema, table)), Set.of(), Set.of(), List.of(), List.of(), false);
    }

    private static Named view(String text) {
        return new Named(Set.of(), Set.of(), Set.of(), List.of(text), List.of(), false);
    }

    private static TableCatalog catalog() {
        return new TestCatalog().table("account", "1", "id int4", "balance numeric")
                .table("entry", "1 2", "account_id int4", "number int8", "amount numeric")
                .table("label", "1", "name text")
                .table("Odd", "1", "Id uuid").table("guarded", "1", "gid int4").catalog();
    }

    private static long rowKey(String table, String... values) {
        long hash = KeyHash.seed("key public." + table + "_pkey");
        for (String value : values) {
            byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
            hash = KeyHash.part(hash, bytes, 0, bytes.length);
        }
        return KeyHash.finish(hash);
    }

    private static final Map<Long, String> NAMES = Map.ofEntries(Map.entry(TableCatalog.SCHEMA_KEY, "everything"),
            Map.entry(TableCatalog.tableKey("public", "account"), "account"),
            Map.entry(TableCatalog.tableKey("public", "entry"), "entry"),
            Map.entry(TableCatalog.tableKey("public", "label"), "label"),
            Map.entry(TableCatalog.tableKey("public", "Odd"), "Odd"),
            Map.entry(TableCatalog.tableKey("public", "guarded"), "guarded"),
            Map.entry(TableCatalog.tableKey("public", "twice"), "twice"),
            Map.entry(TableCatalog.tableKey("other", "twice"), "other.twice"),
            Map.entry(rowKey("account", "5"), "account 5"), Map.entry(rowKey("account", "-5"), "account -5"),
            Map.entry(rowKey("entry", "5", "7"), "entry 5 7"), Map.entry(rowKey("label", "it's"), "label it's"),
            Map.entry(rowKey("guarded", "5"), "guarded 5"));

    /** Scans in capitals, rows as they are. */
    private static String read(String sql, @Nullable Object... parameters) {
        byte[] bytes = sql.getBytes(StandardCharsets.UTF_8);
        ReadSet.Builder reads = new ReadSet.Builder();
        ReadPlan.of(bytes, 0, bytes.length, true, CATALOG, REFERENCES).addTo(reads, values(parameters));
        KeySet keys = reads.build().keys();
        TreeSet<String> shown = new TreeSet<>();
        List<Long> tables = new ArrayList<>();
        for (int i = 0; i < keys.size(); i++) {
            String name = String.valueOf(NAMES.get(keys.hash(i)));
            if (keys.kind(i) == KeyKind.SCAN) {
                shown.add(name.toUpperCase(java.util.Locale.ROOT));
            } else if (name.contains(" ") || name.equals("null")) {
                shown.add(name);
            } else {
                tables.add(keys.hash(i));
            }
        }
        assertTrue(shown.size() >= tables.size() || shown.isEmpty(), "tables without rows");
        return shown.stream().collect(Collectors.joining(", "));
    }

    private static ReadPlan.Values values(@Nullable Object[] parameters) {
        return new ReadPlan.Values() {
            @Override
            public int count() {
                return parameters.length;
            }

            @Override
            public int type(int index) {
                return 0;
            }

            @Override
            public boolean binary(int index) {
                return parameters[index] instanceof byte[];
            }

            @Override
            public byte @Nullable [] value(int index) {
                Object value = parameters[index];
                return value instanceof byte[] bytes
                        ? bytes
                        : value == null ? null : value.toString().getBytes(StandardCharsets.UTF_8);
            }
        };
    }

    @ParameterizedTest
    @ValueSource(strings = {"select * from account where id = 5", "SELECT balance FROM public.account WHERE 5 = id",
            "select a.balance from only account as a where a.id = 5 and a.balance > 0 order by 1 limit 1 for update",
            "update account set balance = balance - 1 where id = 5 returning *",
            "update account a set balance = 1 where (a.id = 6 or true) is true and a.id = '5'::int",
            "delete from account where id = ('05')", "select extract(day from now()) from account where id = +5 or",
            "select 1 from account where \"id\" = 5 -- or id = 6"})
    void aRowIsReadWhereTheWholeKeyIsGiven(String sql) {
        boolean understood = sql.contains("--") || !(sql.contains(" or ") || sql.endsWith(" or"));
        assertEquals(understood ? "account 5" : "ACCOUNT", read(sql));
    }

    @ParameterizedTest
    @ValueSource(strings = {
            "select * from account|ACCOUNT",
            "select * from account where id > 5|ACCOUNT",
            "select * from account where id = 5 or balance = 3|ACCOUNT",
            "select * from account where not (id = 5)|ACCOUNT",
            "select * from account where id != 5|ACCOUNT",
            "select * from account where id <= 5|ACCOUNT",
            "select * from account where id = 5 + 1|ACCOUNT",
            "select * from account where id = 1.5|ACCOUNT",
            "select * from account where id = -5|account -5",
            "select * from account where id between 5 and 6 and id = 5|ACCOUNT",
            "select * from account where id in (select 5)|ACCOUNT",
            "select id, (select max(id) from account) from account where id = 5|ACCOUNT",
            "select * from account where id = 5 union select * from account|ACCOUNT",
            "with a as (select * from account where id = 5) select * from a|ACCOUNT",
            "select * from account a left join entry e on account_id = 5 and number = 7 where id = 5|ACCOUNT, ENTRY",
            "select * from account, entry where id = 5 and account_id = id and number = 7|account 5, entry 5 7",
            "select * from account join entry on account_id = id where number = 7 and id = 5|account 5, entry 5 7",
            "select * from account a join entry e on e.account_id = a.id where a.id = 5|ENTRY, account 5",
            "select * from entry where account_id = 5|ENTRY",
            "select * from label where name = 'it''s'|label it's",
            "select * from label where name = E'it'|LABEL",
            "select * from \"Odd\" where \"Id\" = 'a'|ODD",
            "select * from Odd|",
            "select * from twice where id = 5|OTHER.TWICE, TWICE",
            "insert into account values (5, 1)|",
            "insert into account values (5, 1) on conflict do nothing|ACCOUNT",
            "insert into account select * from entry|ENTRY",
            "insert into account select 9, max(balance) from account|ACCOUNT",
            "insert into account (id) values ((select max(number) from entry))|ENTRY",
            "update account set balance = (select sum(amount) from entry) where id = 5|ACCOUNT, ENTRY",
            "update account set balance = amount from entry where id = 5 and account_id = id and number = 7|account 5, entry 5 7",
            "delete from account using entry where id = account_id|ACCOUNT, ENTRY",
            "select * from rich|ACCOUNT",
            "select total()|ENTRY",
            "select dynamic()|EVERYTHING",
            "select native(1)|EVERYTHING",
            "execute something(1)|EVERYTHING",
            "select query_to_xml('select 1', true, true, '')|EVERYTHING",
            "update guarded set gid = gid where gid = 5|ENTRY, guarded 5",
            "do $$ begin delete from account; end $$|ACCOUNT",
            "do $$ begin execute 'delete from ' || 'account'; end $$|EVERYTHING",
            "select 1; select * from entry; update account set balance = 1 where id = 5|ENTRY, account 5",
            "copy account to stdout|ACCOUNT",
            "declare c cursor for select * from account where id = 5|ACCOUNT",
            "select * from a_name_of_sixty_four_bytes_which_the_server_cuts_to_sixty_three_|EVERYTHING",
            "select * from \"a_name_of_sixty_four_bytes_which_the_server_cuts_to_sixty_three_\"|EVERYTHING",
            "select * from a_name_of_sixty_three_bytes_which_the_server_leaves_as_it_is_xx|",
            "select 'account'|"})
    void everythingElseIsATableOrMore(String sqlAndExpected) {
        int bar = sqlAndExpected.lastIndexOf('|');
        assertEquals(sqlAndExpected.substring(bar + 1), read(sqlAndExpected.substring(0, bar)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"update account set balance = random()|random()", "select now()|now()",
            "update account set balance = 1 where id = 5|null", "insert into entry select 'now'|'now'",
            "insert into entry select '{\"tomorrow\"}'|'{\"tomorrow\"}'",
            "insert into entry select ' Today 12:00 UTC'|' Today 12:00 UTC'",
            "insert into entry select 'come right now'|null",
            "delete from account where id in (select id from account limit 1)|limit without ORDER BY",
            "delete from account where id in (select id from account order by id limit 1)|null",
            "update guarded set gid = 1|null", "insert into guarded values (1)|nextval()",
            "update account set balance = current_date - current_date|current_date", "select native(1)|SQL that is not"
                    + " known before it runs, or large objects",
            "do $$ begin perform random(); end $$|random()",
            "insert into entry select oid from pg_class|pg_class",
            "insert into entry select setting::int from pg_catalog.pg_settings where name = 'port'|pg_settings",
            "insert into entry select 'entry'::regclass::int|regclass",
            "update account set balance = txid_current()|txid_current()",
            "insert into entry select ordinal_position from information_schema.columns|information_schema",
            "insert into label values (session_user)|session_user", "insert into label select pg_typeof(1)::text|null",
            "select total(); select ';random()'|null"})
    void whatMayDifferBetweenReplicasIsNamed(String sqlAndExpected) {
        int bar = sqlAndExpected.lastIndexOf('|');
        StatementClasses.Statements statements = StatementClasses.statements(
                sqlAndExpected.substring(0, bar).getBytes(StandardCharsets.UTF_8), true, REFERENCES);
        assertEquals(sqlAndExpected.substring(bar + 1), String.valueOf(statements.varying()));
    }

    /** A table that is only read fires no triggers, and gives no defaults. */
    @ParameterizedTest
    @ValueSource(strings = {"create table x as select * from noisy|null",
            "alter table noisy alter gid type text using gid::text|null",
            "create table x as select random() from noisy|random()", "create table x as select draws()|random()",
            "create table x as select dynamic()|unknown",
            "alter table noisy alter gid type float using random()|random()"})
    void whatMayDifferBetweenReplicasInWhatIsReadIsNamed(String sqlAndExpected) {
        int bar = sqlAndExpected.lastIndexOf('|');
        References references = new References(Map.of("noisy",
                new Named(Set.of(TableCatalog.tableKey("public", "noisy")), Set.of(), Set.of(),
                        List.of("draws"), List.of("nextval('s')"), false),
                "draws", view("begin return random(); end"),
                "dynamic", view("begin execute 'select 1'; end")), Set.of("random", "nextval"), false);
        byte[] sql = sqlAndExpected.substring(0, bar).getBytes(StandardCharsets.UTF_8);
        boolean unknown = sqlAndExpected.endsWith("|unknown");
        assertEquals(unknown ? "null" : sqlAndExpected.substring(bar + 1),
                String.valueOf(StatementClasses.varyingRows(sql, true, references, false)));
        assertEquals(unknown, !Objects.equals(StatementClasses.varyingRows(sql, true, references, false),
                StatementClasses.varyingRows(sql, true, references, true)));
    }

    @Test
    void boundValuesNameRows() {
        String sql = "select * from entry where account_id = $1 and number = $2";
        assertEquals("entry 5 7", read(sql, "5", "7"));
        assertEquals("entry 5 7", read(sql, new byte[]{0, 0, 0, 5}, new byte[]{0, 0, 0, 0, 0, 0, 0, 7}));
        assertEquals("ENTRY", read(sql, new byte[]{0, 5}, "7"));
        assertEquals("ENTRY", read(sql, "5.0", "7"));
        assertEquals("ENTRY", read(sql, "5"));
        assertEquals("", read(sql, "5", null));
    }

    @Test
    void aDatabaseWithOperatorsOfItsOwnIsOpaque() {
        byte[] sql = "select 1".getBytes(StandardCharsets.UTF_8);
        ReadSet.Builder reads = new ReadSet.Builder();
        ReadPlan.of(sql, 0, sql.length, true, CATALOG, new References(Map.of(), Set.of(), true)).addTo(reads,
                ReadPlan.NO_VALUES);
        assertEquals(TableCatalog.SCHEMA_KEY, reads.build().keys().hash(0));
    }
}
