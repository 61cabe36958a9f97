package tutti.grid.node;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.TransactionId;
import tutti.grid.GridException;
import tutti.grid.IsolationLevel;
import tutti.grid.commit.CommitRequest;
import tutti.grid.commit.Result;
import tutti.grid.multicast.MulticastMessages;
import tutti.grid.store.Key;
import tutti.grid.store.Version;

/**
 * A transaction at the node where it runs. What it writes is kept here until it commits. Everything happens on the node's loop, answers
 * too. One question at a time.
 */
public final class GridTransaction {
    /** What is written and checked, with keys: less than a message may have. */
    private static final long BYTES_MAX = MulticastMessages.PAYLOAD_BYTES_MAX / 2;

    /** Told how a question has ended. */
    public interface Answer<T> {
        /** With this. */
        void is(T value);

        /** It was not answered. */
        void failed(GridException why);
    }

    /**
     * A value that was read.
     *
     * @param bytes null if there is none, or it has expired
     * @param stamp of who wrote it; 0 if nobody did, or this transaction
     * @param expiryMillis see {@link Version#expiryMillis}
     */
    public record Value(byte @Nullable [] bytes, long stamp, long expiryMillis) {}

    private enum State {
        ACTIVE,
        COMMITTING,
        ENDED
    }

    private final GridMember node;
    private final TransactionId id;
    private final IsolationLevel level;
    private final boolean readOnly;
    private final long begin;
    private final long timeMillis;
    private final long deadlineNanos;
    private final Map<Key, CommitRequest.Write> writes = new LinkedHashMap<>();
    private final Map<Key, Version> reads = new LinkedHashMap<>();
    private State state = State.ACTIVE;
    private boolean expired;
    private long bytes;

    GridTransaction(GridMember node, TransactionId id, IsolationLevel level, boolean readOnly, long begin,
            long timeMillis, long deadlineNanos) {
        this.node = node;
        this.id = id;
        this.level = level;
        this.readOnly = readOnly;
        this.begin = begin;
        this.timeMillis = timeMillis;
        this.deadlineNanos = deadlineNanos;
    }

    /** Its name. */
    public TransactionId id() {
        return id;
    }

    /** What its node had seen when it began; the stamp of its snapshot, if it reads one. */
    public long beginStamp() {
        return begin;
    }

    /** By which it judges what has expired, in milliseconds since 1970, UTC; see {@link Times}. Any thread. */
    public long timeMillis() {
        return timeMillis;
    }

    long deadlineNanos() {
        return deadlineNanos;
    }

    private boolean readsSnapshot() {
        return readOnly || level == IsolationLevel.SERIALIZABLE;
    }

    private @Nullable GridException unusable() {
        if (state == State.ACTIVE) {
            return null;
        }
        return expired
                ? new GridException(GridException.Reason.TIMEOUT, "the transaction was open for longer than "
                        + node.config().transactionTimeout().toMillis() + " ms and was rolled back")
                : new GridException(GridException.Reason.ENDED, "the transaction has ended");
    }

    /** Why a key, or what keys begin with, cannot be asked for. */
    private @Nullable GridException unusableFor(byte[] keyBytes) {
        GridException unusable = unusable();
        return unusable == null && keyBytes.length > Key.BYTES_MAX
                ? tooLarge("key " + keyBytes.length + " bytes")
                : unusable;
    }

    /** Reads a key: what this transaction wrote, or else as its isolation level says. */
    public void read(Key key, Answer<Value> answer) {
        GridException unusable = unusableFor(key.bytes());
        CommitRequest.Write written = writes.get(key);
        Version known = reads.get(key);
        if (unusable != null) {
            node.loop().execute(() -> answer.failed(unusable));
        } else if (written != null) {
            node.loop().execute(() -> answer.is(new Value(written.value(), 0, written.expiryMillis())));
        } else if (known != null) {
            node.loop().execute(() -> answer.is(seen(known)));
        } else {
            node.read(key, begin, !readsSnapshot(), new Answer<>() {
                @Override
                public void is(Version version) {
                    if (level != IsolationLevel.READ_COMMITTED || readOnly) {
                        reads.put(key, version);
                    }
                    answer.is(seen(version));
                }

                @Override
                public void failed(GridException why) {
                    answer.failed(why);
                }
            });
        }
    }

    /**
     * Finds the keys of a cache. Only read-only transactions can: that no key comes to be is nothing that a commit checks.
     *
     * @param prefix how the keys' bytes begin
     */
    public void keys(int cache, byte[] prefix, Answer<List<Key>> answer) {
        GridException unusable = readOnly || unusable() != null
                ? unusableFor(prefix)
                : new GridException(GridException.Reason.ENDED,
                        "only a read-only transaction can ask for keys: a commit cannot check that there are no others");
        if (unusable != null) {
            node.loop().execute(() -> answer.failed(unusable));
        } else {
            node.scan(cache, prefix, this, answer);
        }
    }

    private Value seen(Version version) {
        return new Value(version.isThere(timeMillis) ? version.value() : null, version.stamp(), version.expiryMillis());
    }

    /**
     * An instant that is so much later than this transaction's time; {@link Version#NEVER} if it is too late to be said, 1970 if it is too early.
     * Any thread.
     */
    public long after(Duration duration) {
        try {
            return Math.addExact(timeMillis, duration.toMillis());
        } catch (ArithmeticException tooFar) {
            return duration.isNegative() ? 0 : Version.NEVER;
        }
    }

    /** Writes a key, for as long as its cache says; see {@link #write(Key, byte[], long)}. */
    public void write(Key key, byte @Nullable [] value) {
        Duration timeToLive = node.config().caches().get(key.cache()).timeToLive();
        write(key, value, timeToLive.isZero() ? Version.NEVER : after(timeToLive));
    }

    /**
     * Writes a key.
     *
     * @param value null to remove it; not to be modified
     * @param expiryMillis from when on it is absent; not after this transaction's time, and it is removed
     * @throws GridException if the transaction has ended, is read-only, or becomes larger than may be
     */
    public void write(Key key, byte @Nullable [] value, long expiryMillis) {
        GridException unusable = unusable();
        if (unusable != null) {
            throw unusable;
        }
        if (readOnly) {
            throw new GridException(GridException.Reason.ENDED, "a read-only transaction cannot write " + key);
        }
        CommitRequest.Write write = expiryMillis > timeMillis
                ? new CommitRequest.Write(key, value, expiryMillis)
                : new CommitRequest.Write(key, null, Version.NEVER);
        CommitRequest.Write before = writes.get(key);
        long then = bytes + bytes(write) - (before == null ? 0 : bytes(before));
        if (key.bytes().length > Key.BYTES_MAX || then > BYTES_MAX
                || (before == null && writes.size() == CommitRequest.KEYS_MAX)) {
            throw tooLarge("key " + key.bytes().length + " bytes, value " + (value == null ? 0 : value.length)
                    + " bytes, transaction " + then + " bytes with " + writes.size() + " other keys");
        }
        bytes = then;
        writes.put(key, write);
    }

    /** The keys of a cache that it has given a value, in the order in which they were written first. */
    public List<Key> written(int cache) {
        return writes.values().stream().filter(write -> write.value() != null).map(CommitRequest.Write::key)
                .filter(key -> key.cache() == cache).toList();
    }

    private static long bytes(CommitRequest.Write write) {
        byte[] value = write.value();
        return bytes(write.key()) + (value == null ? 0 : value.length);
    }

    private static long bytes(Key key) {
        return key.bytes().length + 2L * Long.BYTES;
    }

    private static GridException tooLarge(String what) {
        return new GridException(GridException.Reason.TOO_LARGE, what + ": keys may have " + Key.BYTES_MAX
                + " bytes, transactions " + BYTES_MAX + " and " + CommitRequest.KEYS_MAX + " keys");
    }

    /** Commits. The answer is the stamp at which it has committed, or that of its snapshot if it has written nothing. */
    public void commit(Answer<Long> answer) {
        GridException unusable = unusable();
        if (unusable != null) {
            node.loop().execute(() -> answer.failed(unusable));
            return;
        }
        if (writes.isEmpty()) {
            end(true);
            node.loop().execute(() -> answer.is(begin));
            return;
        }
        List<CommitRequest.Check> checks = checks();
        long all = bytes + checks.stream().mapToLong(check -> bytes(check.key())).sum();
        if (all > BYTES_MAX || checks.size() > CommitRequest.KEYS_MAX) {
            end(false);
            node.loop().execute(() -> answer.failed(tooLarge("the transaction has " + all + " bytes, with "
                    + checks.size() + " keys that it has read and that must be as they were")));
            return;
        }
        state = State.COMMITTING;
        node.commit(id, new CommitRequest(begin, new ArrayList<>(writes.values()), checks), new Answer<>() {
            @Override
            public void is(Result result) {
                end(result.kind() == Result.Kind.COMMITTED);
                if (result.kind() == Result.Kind.COMMITTED) {
                    answer.is(result.stamp());
                } else {
                    answer.failed(failure(result.kind()));
                }
            }

            @Override
            public void failed(GridException why) {
                end(false);
                answer.failed(why);
            }
        });
    }

    /**
     * What must be found as it was read. A latest version was read when all up to {@link #begin} were there, so nothing that comes
     * to be there later than it is below the larger of both.
     */
    private List<CommitRequest.Check> checks() {
        List<CommitRequest.Check> checks = new ArrayList<>();
        reads.forEach((key, version) -> {
            switch (level) {
                case READ_COMMITTED, REPEATABLE_READ -> {
                    // Nothing is promised.
                }
                case REPEATABLE_READ_WRITE_SKEW -> {
                    if (writes.containsKey(key)) {
                        checks.add(new CommitRequest.Check(key, Math.max(begin, version.stamp())));
                    }
                }
                case SERIALIZABLE -> checks.add(new CommitRequest.Check(key, begin));
            }
        });
        return checks;
    }

    private static GridException failure(Result.Kind kind) {
        return switch (kind) {
            case CONFLICT -> new GridException(GridException.Reason.CONFLICT,
                    "another transaction has written what this one has read: run it again");
            case DEADLOCK -> new GridException(GridException.Reason.DEADLOCK,
                    "this transaction and another one have waited for each other's locks: run it again");
            case LOCK_TIMEOUT -> new GridException(GridException.Reason.LOCK_TIMEOUT,
                    "a lock was not free in time: run the transaction again");
            case OWNER_UNAVAILABLE -> new GridException(GridException.Reason.OWNER_UNAVAILABLE,
                    "all owners of a key that this transaction writes or has read have crashed");
            case COMMITTED -> throw new IllegalArgumentException("that is no failure");
        };
    }

    /** Ends without having changed anything. Without effect if it has ended, or commits already. */
    public void rollback() {
        if (state == State.ACTIVE) {
            end(false);
        }
    }

    void expire() {
        if (state == State.ACTIVE) {
            expired = true;
            end(false);
        }
    }

    private void end(boolean committed) {
        if (state != State.ENDED) {
            state = State.ENDED;
            node.ended(this, committed);
        }
    }
}
