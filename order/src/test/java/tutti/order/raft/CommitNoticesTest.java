package tutti.order.raft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.microraft.model.log.LogEntry;
import io.microraft.model.message.AppendEntriesRequest;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the leader keeps back of its followers, and for how long. */
class CommitNoticesTest {
    private static final int LEADER = 0;
    private static final int FOLLOWER = 1;
    private static final int OTHER = 2;

    private final List<Long> sent = new ArrayList<>();
    private final ManualLoop loop = new ManualLoop();
    private final CommitNotices notices = new CommitNotices(loop, loop, (to, notice) -> {
        assertEquals(FOLLOWER, to);
        sent.add(notice.getCommitIndex());
    });

    private static AppendEntriesRequest append(long commit, long flow, List<LogEntry> entries) {
        return MessageCodec.MODELS.createAppendEntriesRequestBuilder().setGroupId(MessageCodec.GROUP)
                .setSender(new Node(LEADER)).setTerm(1).setPreviousLogIndex(commit).setPreviousLogTerm(1)
                .setCommitIndex(commit).setLogEntries(entries).setQuerySequenceNumber(0)
                .setFlowControlSequenceNumber(flow).build();
    }

    private boolean keeps(AppendEntriesRequest append) {
        return notices.keeps(FOLLOWER, append);
    }

    private void committed(int by) {
        notices.committed(by, loop.nanoTime());
    }

    /** Entries shortly after each other: the last one's commit may wait. */
    private void busy(int by) {
        assertFalse(keeps(append(1, 0, List.of())));
        commits(20, 1_000_000, by);
    }

    private void commits(int count, long apartNanos, int by) {
        for (int i = 0; i < count; i++) {
            loop.pass(apartNanos);
            committed(by);
        }
    }

    @Test
    void aCommitOfOthersIsToldALittleLater() {
        busy(OTHER);
        assertTrue(keeps(append(2, 0, List.of())));
        loop.pass(CommitNotices.DELAY_NANOS_MIN - 1);
        assertEquals(List.of(), sent);
        loop.pass(1);
        assertEquals(List.of(2L), sent);
    }

    @Test
    void howMuchLaterDependsOnHowFastCommitsCome() {
        assertFalse(keeps(append(1, 0, List.of())));
        commits(20, 4_000_000, OTHER);
        assertTrue(keeps(append(2, 0, List.of())));
        // Twice as long as they are apart, and a little more, since the mean began with more.
        loop.pass(7_999_999);
        assertEquals(List.of(), sent);
        loop.pass(200_000);
        assertEquals(List.of(2L), sent);
        commits(20, CommitNotices.DELAY_NANOS_MAX - 1_000_000, OTHER);
        assertTrue(keeps(append(3, 0, List.of())));
        loop.pass(CommitNotices.DELAY_NANOS_MAX - 1);
        assertEquals(List.of(2L), sent);
        loop.pass(1);
        assertEquals(List.of(2L, 3L), sent);
    }

    @Test
    void whereCommitsAreRareTheyAreToldAtOnce() {
        busy(OTHER);
        commits(40, CommitNotices.DELAY_NANOS_MAX + 1_000_000, OTHER);
        assertFalse(keeps(append(2, 0, List.of())));
    }

    /** Nobody knows whether another one comes. */
    @Test
    void theFirstCommitAfterAPauseIsToldAtOnce() {
        assertFalse(keeps(append(1, 0, List.of())));
        commits(20, CommitNotices.DELAY_NANOS_MAX - 1_000_000, OTHER);
        commits(1, 1_000_000_000, OTHER);
        assertFalse(keeps(append(2, 0, List.of())));
    }

    @Test
    void aFollowerThatCommitsItselfIsToldAtOnce() {
        busy(FOLLOWER);
        loop.pass(1);
        committed(OTHER);
        assertFalse(keeps(append(2, 0, List.of())));
    }

    @Test
    void aFollowerThatHasCommittedLongAgoIsToldLater() {
        busy(FOLLOWER);
        commits(100, CommitNotices.OWN_NANOS / 100, OTHER);
        assertTrue(keeps(append(2, 0, List.of())));
    }

    @Test
    void entriesSayItTooAndAreNeverKept() {
        busy(OTHER);
        assertTrue(keeps(append(2, 0, List.of())));
        LogEntry entry = MessageCodec.entry(3, 1, Operation.of(tutti.order.raft.LogEntry.NEW_TERM, new byte[0]));
        assertFalse(keeps(append(2, 1, List.of(entry))));
        // What was kept is not sent any more: the next that is says more.
        committed(OTHER);
        assertTrue(keeps(append(3, 0, List.of())));
        loop.pass(CommitNotices.DELAY_NANOS_MIN);
        assertEquals(List.of(3L), sent);
    }

    @Test
    void aSignOfLifeThatSaysNothingNewIsNotKept() {
        busy(OTHER);
        assertFalse(keeps(append(1, 0, List.of())));
    }

    @Test
    void whatAsksForAnAnswerIsNotKept() {
        busy(OTHER);
        assertFalse(keeps(append(2, 7, List.of())));
    }
}
