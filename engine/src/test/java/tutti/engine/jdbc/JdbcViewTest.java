package tutti.engine.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tutti.engine.EngineContract.Result;
import tutti.engine.StateView;

/** What a view of a database in the virtual machine shows. */
@Timeout(60)
class JdbcViewTest {
    private static final StateView.Pace AT_ONCE = (_, _) -> {};
    private static final String TABLE = "CREATE TABLE T (ID INTEGER PRIMARY KEY, V VARCHAR(100), B VARBINARY(10))";

    private static List<StateView.Digest> digests(StateView view, int parts) throws Exception {
        return view.digests(view.tables().getFirst(), parts, AT_ONCE);
    }

    @ParameterizedTest
    @EnumSource
    void copiesLookTheSameAndARowThatDiffersIsFoundByItsKey(EngineKind kind) throws Exception {
        try (EnginePair pair = EnginePair.inMemory(kind, TABLE)) {
            for (int i = 0; i < 40; i++) {
                pair.commit("INSERT INTO T VALUES (" + i + ", 'a" + i + "', X'0A')");
            }
            pair.commit("UPDATE T SET V = NULL WHERE ID = 7", "DELETE FROM T WHERE ID = 8");
            try (StateView here = pair.origin.view(); StateView there = pair.copy.view()) {
                assertEquals(List.of(39L), digests(here, 1).stream().map(StateView.Digest::rows).toList());
                assertEquals(digests(here, 1), digests(there, 1));
                assertEquals(digests(here, 8), digests(there, 8));
                assertEquals(here.tables(), there.tables());
                assertEquals("\"PUBLIC\".\"T\"", here.tables().getFirst().name());
            }
            try (JdbcSession session = pair.copy.openSession(() -> null)) {
                EnginePair.execute(session, "UPDATE T SET V = 'other' WHERE ID = 9");
                session.capture();
                Result<Void> committed = new Result<>();
                session.commit(1000, committed);
                committed.success();
            }
            try (StateView here = pair.origin.view(); StateView there = pair.copy.view()) {
                List<StateView.Digest> mine = digests(here, 8);
                List<StateView.Digest> theirs = digests(there, 8);
                int part = IntStream.range(0, 8).filter(at -> !mine.get(at).equals(theirs.get(at)))
                        .findFirst().orElseThrow();
                List<StateView.Row> rows = here.rows(here.tables().getFirst(), 8, part, 100, AT_ONCE);
                List<StateView.Row> others = there.rows(there.tables().getFirst(), 8, part, 100, AT_ONCE);
                assertEquals(List.of("(9)"), rows.stream().filter(row -> !others.contains(row))
                        .map(StateView.Row::key).toList());
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void whatIsCommittedLaterIsNotSeen(EngineKind kind) throws Exception {
        try (EnginePair pair = EnginePair.inMemory(kind, TABLE)) {
            pair.commit("INSERT INTO T VALUES (1, 'a', NULL)");
            try (StateView view = pair.origin.view()) {
                List<StateView.Digest> before = digests(view, 4);
                pair.commit("UPDATE T SET V = 'b'", "INSERT INTO T VALUES (2, 'c', NULL)");
                assertEquals(before, digests(view, 4));
            }
        }
    }

    /** A view that nobody closes does not stop it either. */
    @ParameterizedTest
    @EnumSource
    void aSchemaChangeDoesNotWaitForAView(EngineKind kind) throws Exception {
        try (EnginePair pair = EnginePair.inMemory(kind, TABLE)) {
            pair.commit("INSERT INTO T VALUES (1, 'a', NULL)");
            StateView view = pair.origin.view();
            StateView.Relation table = view.tables().getFirst();
            pair.everywhere("CREATE TABLE S (ID INTEGER PRIMARY KEY)");
            IOException gone = assertThrows(IOException.class, () -> view.digests(table, 1, AT_ONCE));
            assertTrue(gone.getMessage().contains("again"), gone::getMessage);
            view.close();
        }
    }
}
