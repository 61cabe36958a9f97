package tutti.check.isolation;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import tutti.check.history.History;
import tutti.check.isolation.LockExclusionCheck.Hold;
import tutti.core.txn.RowLock;
import tutti.core.txn.TransactionId;

class LockExclusionCheckTest {
    /** Each has read what the other changes: the later one has not seen the earlier one. */
    private static final HistoryOf WRITE_SKEW = new HistoryOf().read(1, "x", 0).read(1, "y", 0).write(1, "x")
            .snapshot(1, 0).commit(1, 1).read(2, "x", 0).read(2, "y", 0).write(2, "y").snapshot(2, 0).commit(2, 2);

    private static String check(History history, RowLock first, RowLock second) {
        return check(history, new Hold(7, first, false), new Hold(7, second, false));
    }

    private static String check(History history, Hold first, Hold second) {
        Map<TransactionId, List<Hold>> held = Map.of(new TransactionId(0, 1), List.of(first),
                new TransactionId(0, 2), List.of(second, new Hold(8, RowLock.UPDATE, true)));
        return LockExclusionCheck.check(history, held, thing -> "row " + thing).violations().stream()
                .map(violation -> violation.rule() + ": " + violation.text()).findFirst().orElse("sound");
    }

    @Test
    void whoLocksWhatIsLockedHasSeenWhatItsHolderDid() {
        assertEquals("exclusion: both held row 7: T0:0.1 UPDATE at position 1, and T0:0.2 SHARE at position 2 with a"
                + " snapshot of position 0", check(WRITE_SKEW.history(), RowLock.UPDATE, RowLock.SHARE));
        assertEquals("sound", check(new HistoryOf().write(1, "x").snapshot(1, 0).commit(1, 1).read(2, "x", 1)
                .write(2, "y").snapshot(2, 1).commit(2, 2).history(), RowLock.UPDATE, RowLock.UPDATE));
        assertEquals("sound", check(new HistoryOf().write(1, "x").snapshot(1, 0).abort(1).write(2, "y").snapshot(2, 0)
                .commit(2, 2).history(), RowLock.UPDATE, RowLock.UPDATE));
    }

    /** As the table of the manual has it: what conflicts at one server excludes, and nothing else. */
    @Test
    void theyConflictAsPostgresqlSays() {
        String[] conflicts = {"xxxx", "xxx.", "xx..", "x..."};
        for (RowLock first : RowLock.values()) {
            for (RowLock second : RowLock.values()) {
                boolean excludes = conflicts[first.ordinal()].charAt(second.ordinal()) == 'x';
                assertEquals(excludes, !check(WRITE_SKEW.history(), first, second).equals("sound"),
                        () -> first + " and " + second);
            }
        }
    }

    @Test
    void aChangeNeedNotHaveSeenWhoHadSharedTheRow() {
        Hold shares = new Hold(7, RowLock.SHARE, false);
        Hold changes = new Hold(7, RowLock.NO_KEY_UPDATE, true);
        assertEquals("sound", check(WRITE_SKEW.history(), shares, changes));
        assertEquals("exclusion", check(WRITE_SKEW.history(), changes, shares).replaceAll(":.*", ""));
        assertEquals("exclusion", check(WRITE_SKEW.history(), shares, new Hold(7, RowLock.UPDATE, true))
                .replaceAll(":.*", ""));
        assertEquals("exclusion", check(WRITE_SKEW.history(), new Hold(7, RowLock.UPDATE, false), changes)
                .replaceAll(":.*", ""));
    }
}
