package tutti.wire.sql;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.capture.Changes;
import tutti.engine.postgres.catalog.Division;
import tutti.engine.postgres.catalog.References;
import tutti.engine.postgres.catalog.References.Declared;
import tutti.engine.postgres.catalog.References.Named;
import tutti.engine.postgres.catalog.TableCatalog;

/** Conflict classes of tables that are divided by a column. */
class DivisionClassesTest {
    private static final Division EIGHT = new Division("w", "house", 8);
    private static final TableCatalog CATALOG = catalog();
    private static final References REFERENCES = new References(Map.of("stock", named("stock"), "line", named("line"),
            "item", named("item"), "price", named("price"), "buyer", function("stock($1), price($1)"),
            "seller", function("stock($1), line($2), item"), "fixed", function("stock(3)"),
            "outer_one", new Named(Set.of(), Set.of(), Set.of(), List.of("select seller(1, 2)"), List.of(), false)),
            Set.of(), false, false,
            Map.of(key("stock"), EIGHT, key("line"), EIGHT, key("price"), new Division(null, "house", 8)), Set.of());

    private static long key(String table) {
        return TableCatalog.tableKey("public", table);
    }

    private static Named named(String table) {
        return new Named(Set.of(key(table)), Set.of(), Set.of(), List.of(), List.of(), false);
    }

    private static Named function(String says) {
        return new Named(Set.of(), Set.of(), Set.of(), List.of("begin execute 'x'; end"), List.of(), false,
                new Declared(List.of(), List.of(says), false), null, null, null);
    }

    private static TableCatalog catalog() {
        return new TestCatalog().table("stock", "1 2", "i int4", "w int4").table("line", "1 2", "w int4", "n int4")
                .table("item", "1", "i int4").table("price", "1", "i int4", "w int4").catalog();
    }

    private static ReadPlan.Values values(String... texts) {
        return new ReadPlan.Values() {
            @Override
            public int count() {
                return texts.length;
            }

            @Override
            public int type(int index) {
                return 0;
            }

            @Override
            public boolean binary(int index) {
                return false;
            }

            @Override
            public byte[] value(int index) {
                return texts[index].getBytes(StandardCharsets.UTF_8);
            }
        };
    }

    private static ConflictClasses of(String sql, String... values) {
        byte[] bytes = sql.getBytes(StandardCharsets.UTF_8);
        return StatementClasses.of(bytes, 0, bytes.length, true, CATALOG, REFERENCES, values(values)).classes();
    }

    private static String shown(ConflictClasses classes) {
        if (classes.all()) {
            return "everything";
        }
        Set<String> shown = new TreeSet<>();
        for (int value = 0; value < EIGHT.classes(); value++) {
            if (classes.contains(EIGHT.of(value))) {
                shown.add(Integer.toString(value));
            }
        }
        if (classes.contains(key("item"))) {
            shown.add("item");
        }
        assertEquals(classes.size(), shown.size());
        return shown.size() >= EIGHT.classes() && !shown.contains("item") ? "whole" : String.join(" ", shown);
    }

    @ParameterizedTest
    @ValueSource(strings = {"select * from stock where w = 5 and i > 3|5",
            "update stock set i = i + 1 where w = $1|1", "update stock set w = 2 where w = 1|whole",
            "select * from stock|whole", "select * from stock where w = 5 or i = 1|whole",
            "select * from stock where w = 5 and i in (select i from stock)|whole",
            "insert into stock (i, w) values (1, 2), (3, $1) on conflict do nothing|1 2",
            "insert into stock values (7, -3)|5", "insert into stock select i, 1 from item|0 1 2 3 4 5 6 7 item",
            "insert into stock (i) values (1)|whole", "delete from line where w = 4::int|4",
            "select * from stock s join line on line.w = s.w where s.w = 6|6",
            "update stock set i = 1 where w = 1; update stock set i = 2 where w = 3|1 3",
            "select seller(3, '{4,5}')|3 4 5 item", "select * from seller($1, $2)|1 2 3 item",
            "select seller(3, '{\"4\", \" 5\" ,6}')|3 4 5 6 item",
            "select seller(3, '{\"4,5\"}')|0 1 2 3 4 5 6 7 item", "select seller(3, '{4,null}')|0 1 2 3 4 5 6 7 item",
            "call seller(1, null)|0 1 2 3 4 5 6 7 item",
            "select seller(i, 1) from item|0 1 2 3 4 5 6 7 item", "select fixed()|3",
            "select outer_one()|0 1 2 3 4 5 6 7 item",
            "select buyer(5)|5", "update price set w = 1 where w = 3|whole",
            "select seller(1, 2), seller(3, 4)|0 1 2 3 4 5 6 7 item", "select 1 from item|item"})
    void ofStatements(String example) {
        int bar = example.lastIndexOf('|');
        String sql = example.substring(0, bar);
        assertEquals(example.substring(bar + 1), shown(of(sql, "9", "{2,3}")), sql);
    }

    @Test
    void declaredByClients() {
        assertEquals("5 item", shown(StatementClasses.declaration("stock(13), item", CATALOG, REFERENCES).classes()));
        assertEquals("whole", shown(StatementClasses.declaration("public.stock", CATALOG, REFERENCES).classes()));
        assertEquals(List.of("shelf"), StatementClasses.declaration("shelf(1)", CATALOG, REFERENCES).unknown());
    }

    @Test
    void rowsOutsideAreFound() {
        assertNull(outside("(1,5)", of("delete from stock where w = 5")));
        assertNull(outside("(1,13)", of("delete from stock where w = 5")));
        assertEquals("public.stock with w = 6", outside("(1,6)", of("delete from stock where w = 5")));
        assertNull(outside("(1,6)", of("delete from stock")));
        assertEquals("public.stock with w = 6", outside("(1,6)", of("select 1 from item")));
        ConflictClasses five = of("delete from stock where w = 5");
        assertNull(StatementClasses.outside(List.of(1L), five, CATALOG, REFERENCES));
        assertEquals("public.item", StatementClasses.outside(List.of(1L, 3L), five, CATALOG, REFERENCES));
        assertTrue(of("select seller(1, 2)").contains(key("item")));
    }

    @Test
    void whoeverChangesASharedTableHasAllClassesOfItsGroup() {
        ConflictClasses five = of("select buyer(5)");
        assertNull(StatementClasses.outside(List.of(1L, 4L), five, CATALOG, REFERENCES));
        assertEquals("public.price",
                StatementClasses.outside(List.of(4L), of("select 1 from item"), CATALOG, REFERENCES));
        assertEquals("public.price", outside("price", "(1,5)", five));
        assertNull(outside("price", "(1,5)", of("delete from price where w = 5")));
        assertTrue(five.meet(of("delete from price where w = 3")));
    }

    private static @Nullable String outside(String row, ConflictClasses classes) {
        return outside("stock", row, classes);
    }

    private static @Nullable String outside(String table, String row, ConflictClasses classes) {
        List<Changes.Change> changes = new ArrayList<>();
        changes.add(new Changes.Change.Delete(new Changes.TableName("public", table),
                row.getBytes(StandardCharsets.UTF_8)));
        Changes.Writer writer = new Changes.Writer(10);
        changes.forEach(writer::add);
        KeySet keys = new KeySet.Builder().add(key(table), KeyKind.REFERENCE).build();
        return StatementClasses.outside(new WriteSet(keys, writer.toBytes()), classes, CATALOG, REFERENCES);
    }

    @Test
    void commentsOfColumnsAndTables() {
        assertEquals(new Division("w", "house", 64), Division.of("w", "tutti.class house"));
        assertEquals(new Division("w", "house", 8), Division.of("w", "tutti.class house / 8"));
        assertEquals(new Division(null, "house", 8), Division.of(null, "tutti.class house/8"));
        assertNull(Division.of("w", "the warehouse"));
        assertNull(Division.of("w", "tutti.class house/0"));
        assertNull(Division.of("w", "tutti.class house/9999"));
    }
}
