package tutti.sim.fault;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.RecordComponent;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import tutti.core.text.NearestWord;

/** The kinds of faults there are, each with what it promises and the record that holds its parameters. */
public enum FaultKind {
    /** Datagrams are lost at random. */
    LOSS(Promise.RECOVERS, Action.Loss.class),
    /** Datagrams are lost in bursts. */
    BURSTY_LOSS(Promise.RECOVERS, Action.BurstyLoss.class),
    /** Datagrams arrive twice. */
    DUPLICATION(Promise.RECOVERS, Action.Duplication.class),
    /** Datagrams arrive later. */
    DELAY(Promise.RECOVERS, Action.Delay.class),
    /** Datagrams overtake each other. */
    REORDERING(Promise.RECOVERS, Action.Reordering.class),
    /** Nothing arrives, in one direction or in both. */
    PARTITION(Promise.RECOVERS, Action.Partition.class),
    /** Nothing arrives until it is over, and then everything. */
    CLOGGING(Promise.RECOVERS, Action.Clogging.class),
    /** The links of some hosts are clogged one by one, and unclogged one by one, both in random order. */
    SWIZZLED_CLOGGING(Promise.RECOVERS, Action.SwizzledClogging.class),
    /** A clock is slow or fast. */
    CLOCK_DRIFT(Promise.RECOVERS, Action.ClockDrift.class),
    /** A wall clock jumps, and back when it is over. */
    CLOCK_JUMP(Promise.RECOVERS, Action.ClockJump.class),
    /** Processes are scheduled late. */
    SCHEDULING_LATENCY(Promise.RECOVERS, Action.SchedulingLatency.class),
    /** A host stands still. */
    PAUSE(Promise.RECOVERS, Action.Pause.class),
    /** A host crashes, and boots when it is over. */
    CRASH(Promise.RECOVERS, Action.Crash.class),
    /** A host crashes in place of one of the next operations of its program's files, and boots when it is over. */
    KILL(Promise.RECOVERS, Action.Kill.class),
    /** All hosts crash at once, and boot when it is over. */
    POWER_LOSS(Promise.RECOVERS, Action.PowerLoss.class),
    /** A disk is slow. */
    SLOW_DISK(Promise.RECOVERS, Action.SlowDisk.class),
    /** A disk is full. */
    FULL_DISK(Promise.STOPS, Action.FullDisk.class),
    /** Forces and syncs of a disk fail. */
    FAILING_DISK(Promise.STOPS, Action.FailingDisk.class),
    /** A host crashes, sectors of its disk become unreadable, and it boots when it is over. */
    BAD_SECTORS(Promise.REFUSES, Action.BadSectors.class),
    /** A host crashes, bits of its disk flip, and it boots when it is over. */
    FLIPPED_BITS(Promise.REFUSES, Action.FlippedBits.class),
    /** A host crashes, one of its directories is gone, and it boots when it is over. */
    LOST_DIRECTORY(Promise.REFUSES, Action.LostDirectory.class),
    /** When it is over a host crashes, has one of its directories as it was when it began, and boots. */
    OLD_DIRECTORY(Promise.REFUSES, Action.OldDirectory.class),
    /** The engine's server dies, and comes back at once from an older checkpoint. */
    ENGINE_OLD_CHECKPOINT(Promise.REFUSES, Action.EngineOldCheckpoint.class),
    /** Forced writes do not reach the medium; when it is over the host crashes and boots. */
    LOST_WRITES(Promise.NONE, Action.LostWrites.class),
    /** Forced writes go to another place; when it is over the host crashes and boots. */
    MISDIRECTED_WRITES(Promise.NONE, Action.MisdirectedWrites.class),
    /** Forces say that they are done and do nothing; when it is over the host crashes and boots. */
    LYING_DISK(Promise.NONE, Action.LyingDisk.class),
    /** A host crashes, its disk is empty, and it boots when it is over. */
    LOST_DISK(Promise.NONE, Action.LostDisk.class),
    /** When it is over a host crashes, has the files that it had when it began, and boots. */
    OLD_COPY(Promise.NONE, Action.OldCopy.class),
    /** The engine aborts transactions. */
    ENGINE_ABORTS(Promise.RECOVERS, Action.EngineAborts.class),
    /** The engine takes its time to commit. */
    SLOW_COMMITS(Promise.RECOVERS, Action.SlowCommits.class),
    /** The engine does nothing. */
    ENGINE_HANG(Promise.RECOVERS, Action.EngineHang.class),
    /** The engine's server dies, and refuses connections until it is over. */
    ENGINE_DOWN(Promise.RECOVERS, Action.EngineDown.class),
    /** The engine cannot make the effects of some transactions that all others can, each time that it tries. */
    ENGINE_REFUSES(Promise.RECOVERS, Action.EngineRefuses.class),
    /** Engines have no room to apply anything; as they hold the same, that is so for many at once. */
    ENGINE_FULL(Promise.RECOVERS, Action.EngineFull.class),
    /** Some changes of a host's transactions only its own engine can make. */
    OWN_ROWS(Promise.REFUSES, Action.OwnRows.class),
    /**
     * A host crashes in place of the next rare operation of its program's files of a sort, or of one soon behind it, and boots
     * when it is over.
     */
    KILL_BEHIND(Promise.RECOVERS, Action.KillBehind.class),
    /** A host crashes, and never boots again. */
    GONE(Promise.REFUSES, Action.Gone.class),
    /** The clients of a host cannot reach it any more once it commits for them; most ask other nodes what became of that. */
    LOST_SIGHT(Promise.RECOVERS, Action.LostSight.class),
    /** A node is added to the cluster, on a spare host: it gets a copy, catches up, and serves. */
    JOIN(Promise.RECOVERS, Action.Join.class),
    /** A node is removed from the cluster. */
    LEAVE(Promise.RECOVERS, Action.Leave.class),
    /** A node on a spare host takes the place of another: it is added, and when it has caught up the other is removed. */
    REPLACE(Promise.RECOVERS, Action.Replace.class),
    /** A node is stopped, and started again at another address. */
    MOVE(Promise.RECOVERS, Action.Move.class),
    /** The parameters of the protocol that the order can change are changed, again and again. */
    PARAMETERS(Promise.RECOVERS, Action.Parameters.class);

    /** Changes of the members of the cluster, which somebody asks for again and again while they last. */
    public static final Set<FaultKind> OF_MEMBERS = Set.of(JOIN, LEAVE, REPLACE, MOVE);

    /** What a system that keeps its data on a majority of disks promises under a kind of fault. */
    public enum Promise {
        /** It recovers by itself when it is over, however many hosts had it. */
        RECOVERS,
        /** Hosts that have it may stop themselves; started anew when it is over they recover, however many they are. */
        STOPS,
        /**
         * Hosts that had it may refuse to go on until they are replaced, since they can see the damage; the others go on, as
         * long as all that ever had it are a minority.
         */
        REFUSES,
        /** Nothing: safe data is gone, and the host cannot see it. One such host is beyond the bound. */
        NONE
    }

    private final Promise promise;
    private final Class<? extends Record> action;

    <A extends Record & Action> FaultKind(Promise promise, Class<A> action) {
        this.promise = promise;
        this.action = action;
    }

    /** What is promised under it. */
    public Promise promise() {
        return promise;
    }

    /** The word for it in plans. */
    public String word() {
        return Action.word(this);
    }

    /** Its parameters, in the order in which they are written; all are needed. */
    List<RecordComponent> parameters() {
        return List.of(action.getRecordComponents());
    }

    /** The words of its parameters. */
    List<String> parameterWords() {
        return parameters().stream().map(RecordComponent::getName).toList();
    }

    /** The values of the parameters of an action of this kind. */
    List<Object> argumentsOf(Action of) {
        return parameters().stream().map(parameter -> value(parameter, of)).toList();
    }

    private static Object value(RecordComponent parameter, Action of) {
        try {
            return parameter.getAccessor().invoke(of);
        } catch (ReflectiveOperationException impossible) {
            throw new LinkageError("actions are public records", impossible);
        }
    }

    /**
     * An action of this kind.
     *
     * @param values of its parameters, of their types
     * @throws IllegalArgumentException if one is out of its range
     */
    Action action(List<?> values) {
        Class<?>[] types = parameters().stream().map(RecordComponent::getType).toArray(Class<?>[]::new);
        try {
            return (Action) action.getConstructor(types).newInstance(values.toArray());
        } catch (InvocationTargetException refused) {
            if (refused.getCause() instanceof IllegalArgumentException range) {
                throw range;
            }
            throw new AssertionError("actions only look at their ranges", refused);
        } catch (ReflectiveOperationException impossible) {
            throw new LinkageError("actions are public records", impossible);
        }
    }

    /** All words. */
    static List<String> words() {
        return Stream.of(values()).map(FaultKind::word).toList();
    }

    /**
     * The kind of a word.
     *
     * @throws IllegalArgumentException if there is none; it names the nearest
     */
    static FaultKind of(String word) {
        return Stream.of(values()).filter(kind -> kind.word().equals(word)).findFirst()
                .orElseThrow(() -> unknown("fault", word, words()));
    }

    /** By the class of their actions: it is asked for at many events of a run. */
    private static final class ByAction {
        private static final Map<Class<?>, FaultKind> KINDS = Stream.of(values())
                .collect(Collectors.toMap(kind -> kind.action, kind -> kind));
    }

    /** The kind whose parameters a class of actions holds. */
    static FaultKind of(Class<?> action) {
        FaultKind kind = ByAction.KINDS.get(action);
        if (kind == null) {
            throw new IllegalArgumentException("no kind of fault has " + action);
        }
        return kind;
    }

    /** To be thrown about a word that is none of the valid ones. */
    static IllegalArgumentException unknown(String what, String written, List<String> valid) {
        return new IllegalArgumentException("there is no " + what + " '" + written + "'; did you mean '"
                + NearestWord.of(written, valid) + "'? Valid: " + String.join(", ", valid));
    }
}
