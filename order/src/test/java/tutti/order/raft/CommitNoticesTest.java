package tutti.order.raft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.microraft.model.log.LogEntry;
import io.microraft.model.message.AppendEntriesRequest;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the leader keeps back of its followers, and for how long. */
@Timeout(20)
class CommitNoticesTest {
    private static final int LEADER = 0;
    private static final int FOLLOWER = 1;
    private static final int OTHER = 2;

    private final CompletableFuture<Throwable> failed = new CompletableFuture<>();
    private final LinkedBlockingQueue<Long> sent = new LinkedBlockingQueue<>();
    private final long later = System.nanoTime() + CommitNotices.DELAY_NANOS;
    private RaftThread thread;
    private CommitNotices notices;

    @BeforeEach
    void start() throws IOException {
        thread = new RaftThread("test", 1, () -> {}, failed::complete);
        notices = new CommitNotices(thread, (to, notice) -> {
            assertEquals(FOLLOWER, to);
            sent.add(notice.getCommitIndex());
        });
        thread.start();
    }

    @AfterEach
    void stop() throws Exception {
        thread.stop();
        assertFalse(failed.isDone());
    }

    private static AppendEntriesRequest append(long commit, long flow, List<LogEntry> entries) {
        return MessageCodec.MODELS.createAppendEntriesRequestBuilder().setGroupId(MessageCodec.GROUP)
                .setSender(new Node(LEADER)).setTerm(1).setPreviousLogIndex(commit).setPreviousLogTerm(1)
                .setCommitIndex(commit).setLogEntries(entries).setQuerySequenceNumber(0)
                .setFlowControlSequenceNumber(flow).build();
    }

    private boolean onThread(BooleanSupplier task) throws InterruptedException, ExecutionException {
        CompletableFuture<Boolean> result = new CompletableFuture<>();
        thread.execute(() -> result.complete(task.getAsBoolean()));
        return result.get();
    }

    private boolean keeps(AppendEntriesRequest append) {
        return notices.keeps(FOLLOWER, append);
    }

    /** Two entries shortly after each other: the second one's commit may wait. */
    private void busy(int by) {
        assertFalse(keeps(append(1, 0, List.of())));
        notices.committed(by, later);
        notices.committed(by, later + 1);
    }

    @Test
    void aCommitOfOthersIsToldALittleLater() throws Exception {
        boolean kept = onThread(() -> {
            busy(OTHER);
            return keeps(append(2, 0, List.of()));
        });
        assertTrue(kept);
        assertEquals(2, sent.take());
    }

    @Test
    void aFollowerThatCommitsItselfIsToldAtOnce() throws Exception {
        assertFalse(onThread(() -> {
            busy(FOLLOWER);
            notices.committed(OTHER, later + 2);
            return keeps(append(2, 0, List.of()));
        }));
    }

    @Test
    void aFollowerThatHasCommittedLongAgoIsToldLater() throws Exception {
        assertTrue(onThread(() -> {
            busy(FOLLOWER);
            notices.committed(OTHER, later + CommitNotices.OWN_NANOS);
            notices.committed(OTHER, later + CommitNotices.OWN_NANOS + 1);
            return keeps(append(2, 0, List.of()));
        }));
    }

    @Test
    void entriesSayItTooAndAreNeverKept() throws Exception {
        assertTrue(onThread(() -> {
            busy(OTHER);
            boolean kept = keeps(append(2, 0, List.of()));
            LogEntry entry = MessageCodec.entry(3, 1, Operation.of(tutti.order.raft.LogEntry.NEW_TERM, new byte[0]));
            return kept && !keeps(append(2, 1, List.of(entry)));
        }));
        // What was kept is not sent any more: the next that is says more.
        assertTrue(onThread(() -> {
            notices.committed(OTHER, later + 2);
            return keeps(append(3, 0, List.of()));
        }));
        assertEquals(3, sent.take());
    }

    @Test
    void aSignOfLifeThatSaysNothingNewIsNotKept() throws Exception {
        assertFalse(onThread(() -> {
            busy(OTHER);
            return keeps(append(1, 0, List.of()));
        }));
    }

    @Test
    void whatAsksForAnAnswerIsNotKept() throws Exception {
        assertFalse(onThread(() -> {
            busy(OTHER);
            return keeps(append(2, 7, List.of()));
        }));
    }
}
