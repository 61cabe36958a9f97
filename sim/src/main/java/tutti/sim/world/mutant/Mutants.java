package tutti.sim.world.mutant;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import tutti.sim.world.Mutation;
import tutti.sim.world.ReplayFile;
import tutti.sim.world.Scenario.OrderKind;
import tutti.sim.world.mutant.Edit.Change;
import tutti.sim.world.mutant.Edit.Jump;
import tutti.sim.world.mutant.Finder.By;
import tutti.sim.world.mutant.Mutant.Where;

/** All mutants there are: what is broken, where it is looked for, who must find it, and how soon. */
public final class Mutants {
    private static final String CERTIFY = "tutti.core.certify.";
    private static final String PROTOCOL = "tutti.core.protocol.";
    private static final String NODE = "tutti.node.";
    private static final String RAFT = "tutti.order.raft.";
    private static final String ORDER = "tutti.order.";
    private static final String GROUP = "tutti.group.";
    private static final String DATABASE = "tutti.sim.world.database.";

    private static final Finder ANY = new Finder(By.LIVENESS, "?");

    private static final List<Mutant> ALL = List.of(
            // ------------------------------------------------------------------------------ protocols
            one("certification-skipped", "Write sets are certified without looking at their keys.",
                    Edit.of(CERTIFY + "CertificationIndex", "conflict", new Change.Given("size", 0)),
                    ideal("si", "none"), ANY, 2),
            one("read-set-dropped", "Transactions are certified as if they had read nothing.",
                    Edit.of(PROTOCOL + "DatabaseStateMachine", "conflict", new Change.LeftOut("stale")).at(1, 2),
                    ideal("dbsm", "none", "reads", "rows"), ANY, 2),
            one("snapshot-misdated", "A snapshot is taken for as new as the end of its transaction.",
                    Edit.of(PROTOCOL + "DatabaseStateMachine", "candidate", new Change.Instead("begun", "lastCommitted")),
                    ideal("dbsm", "none", "reads", "rows"), ANY, 3),
            one("filter-not-asked", "Rows that were read are not looked for in what was written.",
                    Edit.of(PROTOCOL + "DatabaseStateMachine", "stale", new Change.Given("mayContain", 0)),
                    ideal("dbsm", "none", "reads", "bloom"), ANY, 3),
            one("references-forgotten", "It is not noted that a transaction has made or deleted a row.",
                    Edit.of(CERTIFY + "CertificationIndex", "note", new Change.Constant(3, 2)),
                    ideal("si", "none"), ANY, 10),
            one("interval-too-short", "Keys are certified as if every engine locked the rows that others refer to.",
                    Edit.of(NODE + "ReplicaCore$Parts", "lockedSince",
                            new Change.Condition("locksReferencedRows", 1, Jump.PASSED)),
                    ideal("si", "none"), ANY, 3),
            one("horizon-ignores-the-open", "What open transactions are still certified against is forgotten.",
                    Edit.of(NODE + "Horizon", "visible", new Change.Condition("firstEntry", 1, Jump.PASSED)),
                    ideal("akara", "none"), ANY, 3),
            one("horizon-not-restored", "A snapshot of the protocol is restored without the horizons of the replicas.",
                    Edit.of(PROTOCOL + "Horizons", "restore", new Change.LeftOut("reached")),
                    ideal("si", "crash,kill"), ANY, 10),
            one("answered-before-visible", "Clients are answered before their transaction is visible.",
                    Edit.of(PROTOCOL + "Unanswered", "visible", new Change.Condition("position", 1, Jump.PASSED)),
                    ideal("si", "none"), ANY, 3),
            one("classes-forgotten", "Transactions run as if they met no other.",
                    Edit.of(PROTOCOL + "ClassQueues", "isNext", new Change.Body(1)),
                    ideal("nodo", "none", "tentative", "no"), ANY, 3),
            one("execution-differs", "One replica executes a request in another way than the others.",
                    Edit.of(DATABASE + "SimApplier", "execute(Ltutti/sim/world/database/Program$Statement;",
                            new Change.Constant(0, 1)).onceIn(40),
                    ideal("active", "none"), ANY, 3),
            one("votes-without-locks", "Replicas vote for transactions without having made their changes.",
                    Edit.of(PROTOCOL + "TwoPhaseCommit", "vote", new Change.Condition("part", 1, Jump.PASSED)),
                    ideal("2pc", "none"), ANY, 3),
            one("epochs-ignored", "A decision counts that was voted on before a replica joined or left.",
                    Edit.of(PROTOCOL + "TwoPhaseCommit", "decide", new Change.Condition("epoch", 1, Jump.TAKEN)),
                    ideal("2pc", "all"), ANY, 10),
            one("decided-locks-dropped", "Locks are released when a transaction is decided, not when it is visible.",
                    Edit.of(PROTOCOL + "TwoPhaseCommit", "overrule", new Change.LeftOut("hold")),
                    ideal("2pc", "all"), ANY, 10),
            one("prepared-is-in-the-way", "A request of all nodes is taken to need the locks of whatever is prepared.",
                    Edit.of(NODE + "Preparations", "makeWay", new Change.Condition("meet", 1, Jump.TAKEN)),
                    ideal("2pc", "all"), ANY, 10),
            one("waits-not-told", "Two-phase commit does not hear for whom prepared changes wait in engines.",
                    Edit.of(PROTOCOL + "TwoPhaseCommit", "blocked", new Change.Body(0)),
                    new Where("2pc", Map.of(), OrderKind.GROUP, "all", 1000, 446), ANY, 1),
            one("turn-does-not-count", "Whoever has its turn waits for those who wait for theirs.",
                    Edit.of(NODE + "ClientTransaction", "giveWayTo", new Change.Body(0)),
                    new Where("akara", Map.of(), OrderKind.IDEAL, "all", 300, 8), ANY, 1),
            one("deposed-primary-counts", "Changes of a primary count that another one has taken over from.",
                    Edit.of(PROTOCOL + "PassiveReplication", "changes", new Change.Condition("epoch", 1, Jump.TAKEN)),
                    ideal("passive", "all"), ANY, 20),
            one("take-over-repeated", "A replica takes over whatever the epoch is.",
                    Edit.of(PROTOCOL + "PassiveReplication", "delivered", new Change.Condition("epoch", 1, Jump.PASSED)).at(2, 2),
                    ideal("passive", "all"), ANY, 20),
            one("votes-out-of-turn", "A transaction is voted on while earlier ones that it meets are undecided.",
                    Edit.of(PROTOCOL + "PostgresR", "decide", new Change.Condition("blockers", 1, Jump.TAKEN)),
                    ideal("postgres-r", "none", "isolation", "snapshot"), ANY, 3),
            // ------------------------------------------------------------------------------ node
            one("run-with-a-hole", "A group of positions that is applied again takes in one behind another group's.",
                    Edit.of(NODE + "CommitPipeline", "dispatch", new Change.Condition("group", 2, Jump.TAKEN)),
                    new Where("si", Map.of(), OrderKind.RAFT, "network", 1000, 16), ANY, 1),
            one("made-again", "A commit whose answer was lost is taken not to have worked.",
                    Edit.of(NODE + "EngineCommits", "ifCommitted", new Change.Condition("asked", 1, Jump.TAKEN)).at(2, 2),
                    ideal("si", "engine-aborts"), ANY, 5),
            one("taken-for-made", "A commit whose answer was lost is taken to have worked.",
                    Edit.of(NODE + "EngineCommits", "ifCommitted", new Change.Condition("asked", 1, Jump.PASSED)).at(2, 2),
                    ideal("si", "engine-aborts"), ANY, 5),
            one("not-asked-again", "A group whose commit may have worked is committed again without asking the engine.",
                    Edit.of(NODE + "CommitPipeline", "commitGroup", new Change.Condition("attempts", 1, Jump.TAKEN)),
                    ideal("si", "engine-aborts"), ANY, 5),
            one("write-set-left-out", "A node leaves a write set out.",
                    Edit.of(NODE + "Group", "add", new Change.LeftOut("group")).onceIn(40),
                    ideal("si", "none"), ANY, 3),
            one("changes-lost", "A group is applied without the changes of its positions.",
                    Edit.of(NODE + "Group", "lambda$writes$0(", new Change.Body(0)).onceIn(40),
                    ideal("si", "none"), ANY, 3),
            one("keys-not-busy", "Positions that touch the same rows are applied side by side.",
                    Edit.of(NODE + "CommitPipeline", "meetsEarlier", new Change.Body(0)),
                    ideal("si", "none"), ANY, 10),
            one("no-applier-for-the-head", "The last applier is not kept for the head of the queue.",
                    Edit.of(NODE + "CommitPipeline", "applierFree", new Change.Constant(1, 0)).at(2, 3),
                    ideal("si", "none"), ANY, 10),
            one("victim-not-told", "Local transactions in the way of an applier are not told to give way.",
                    Edit.of(NODE + "ClientTransactions", "onBlocked(J", new Change.Body(0)),
                    ideal("si", "none"), ANY, 5),
            one("never-replayed", "A certified local transaction in the way of an earlier position is not replayed.",
                    Edit.of(NODE + "CommitPipeline", "replay", new Change.Body(0)),
                    ideal("si", "none"), ANY, 10),
            one("absence-too-soon", "A transaction counts as aborted while its node may yet commit it.",
                    Edit.of(NODE + "Outcomes", "of", new Change.Condition("over", 1, Jump.TAKEN)),
                    ideal("si", "crash,kill,partition"), ANY, 10),
            one("fence-ignored", "What a node sends counts although others took it for lost and said so.",
                    Edit.of(NODE + "ReplicaCore", "take", new Change.Given("counts", 1)),
                    ideal("si", "all"), ANY, 30),
            one("former-life-open", "A node's former life is not over when its next begins.",
                    Edit.of(NODE + "Outcomes", "born", new Change.LeftOut("forEach")),
                    ideal("si", "crash,kill"), ANY, 10),
            one("snapshot-too-new", "A node begins with a snapshot that is newer than its database.",
                    Edit.of(NODE + "NodeFiles", "newestUpTo", new Change.Condition("longValue", 1, Jump.PASSED)),
                    ideal("si", "crash,kill"), ANY, 10),
            one("snapshot-not-asked-for", "A node begins without the snapshot that it has kept.",
                    Edit.of(NODE + "LogContinuity", "begin", new Change.Unwritten("last")),
                    ideal("si", "crash,kill"), ANY, 10),
            one("log-cut-too-far", "The log forgets what the most advanced node does not need.",
                    Edit.of(NODE + "LogKeeping", "toldRestart", new Change.Instead("min", "max")),
                    ideal("si", "crash,kill"), ANY, 10),
            one("restart-told-too-high", "A node tells a snapshot that its database may fall behind.",
                    Edit.of(NODE + "LogKeeping", "lambda$tellDurable$1(", new Change.Body(1)),
                    ideal("si", "crash,kill"), ANY, 10),
            one("turn-lost", "Who waits for a turn to commit is not let go on when there is one.",
                    Edit.of(NODE + "CommitAdmission", "leave", new Change.LeftOut("run")),
                    ideal("si", "none"), ANY, 10),
            one("delivery-not-announced", "A node that is delivered something while it works on it is not told.",
                    Edit.of(NODE + "OrderInbox", "delivered", new Change.LeftOut("set")),
                    ideal("si", "none"), ANY, 3),
            one("not-resumed", "Deliveries that were suspended are not resumed when there is room.",
                    Edit.of(NODE + "Backlog", "measured", new Change.LeftOut("resume")),
                    ideal("si", "none"), ANY, 10),
            one("lingers-for-ever", "The head waits for others to come, and nothing ends that.",
                    Edit.of(NODE + "Linger", "setTimer", new Change.Body(0)),
                    ideal("si", "none"), ANY, 10),
            one("ready-over-failed", "A node that has failed says that it is ready.",
                    Edit.of(NODE + "Lifecycle", "moves", new Change.Condition("state", 1, Jump.PASSED)),
                    ideal("si", "all"), ANY, 20),
            // ------------------------------------------------------------------------------ Raft glue
            one("batch-counts-twice", "A batch that its sender has repeated counts each time.",
                    Edit.of(RAFT + "SenderTable", "accept", new Change.Condition("lastSequence", 1, Jump.PASSED)),
                    raft("si", "network"), ANY, 10),
            one("batch-left-out", "A node leaves a batch out that counts for the others.",
                    Edit.of(RAFT + "SenderTable", "accept", new Change.Body(0)).onceIn(100),
                    raft("si", "none"), ANY, 5),
            one("former-life-counts", "A batch of a sender's former life counts.",
                    Edit.of(RAFT + "SenderTable", "accept", new Change.Condition("incarnation", 1, Jump.PASSED)).at(1, 2),
                    raft("si", "crash,kill"), ANY, 10),
            one("never-sent-again", "What was under way to a leader that is lost is not sent again.",
                    Edit.of(RAFT + "Submissions", "resend()", new Change.Body(0)),
                    raft("si", "network,crash"), ANY, 5),
            one("flush-forgotten", "Entries are taken to be on disk when they are in the system's hands.",
                    Edit.of(RAFT + "LogSegment", "force", new Change.LeftOut("force")),
                    raft("si", "power-loss"), ANY, 10),
            one("vote-not-kept", "A vote is not written down.",
                    Edit.of(RAFT + "NodeDirectory", "vote", new Change.LeftOut("writeVote")),
                    raft("si", "crash,kill,power-loss"), ANY, 10),
            one("pre-vote-kept-open", "A pre-vote that was open when a leader was found is not closed.",
                    Edit.of(RAFT + "RaftOrder", "checkForgottenPreVote", new Change.LeftOut("runPreVote")),
                    raft("si", "network"), ANY, 30),
            one("edge-of-the-snapshot", "An append that begins right behind a follower's snapshot is refused.",
                    Edit.of(RAFT + "SnapshotEdge", "behind",
                            new Change.Condition("lastLogOrSnapshotIndex", 3, Jump.TAKEN)),
                    raft("si", "crash,kill,power-loss"), ANY, 60),
            one("checkpoint-before-the-log", "A checkpoint is written before the log up to it is safe.",
                    Edit.of(RAFT + "CommittedEntries", "checkpoint", new Change.LeftOut("flush")),
                    raft("si", "kill,power-loss"), ANY, 60),
            one("cut-end-comes-back", "What was cut from the log's end stays in the file.",
                    Edit.of(RAFT + "SegmentedLog", "truncateFrom", new Change.LeftOut("truncate")),
                    raft("si", "crash,kill,partition"), ANY, 30),
            one("torn-end-stays", "A torn end of the log is not cut off.",
                    Edit.of(RAFT + "SegmentedLog", "recover(Ljava/lang/String;", new Change.LeftOut("truncate")),
                    raft("si", "power-loss,kill"), ANY, 30),
            one("file-not-named-safely", "A new file of the log may lose its name in a crash.",
                    Edit.of(RAFT + "SegmentedLog", "create", new Change.LeftOut("sync")),
                    raft("si", "kill,power-loss"), ANY, 30),
            one("checksum-not-looked-at", "Records of the log are read without their checksum.",
                    Edit.of(RAFT + "LogSegment", "decode", new Change.Condition("recordCrc", 1, Jump.TAKEN)),
                    raft("si", "flipped-bits"), ANY, 30),
            one("silence-of-a-former-life", "A node gives up as soon as another takes its former life for alive.",
                    Edit.of(RAFT + "PeerNetwork$Outbound", "refused", new Change.Instead("silenceNanos", "aliveNanos")),
                    raft("si", "crash,kill"), ANY, 30),
            one("delivered-before-commit", "Entries are delivered that no majority has.",
                    Edit.of(RAFT + "Delivery", "deliverSome", new Change.Condition("committed", 1, Jump.PASSED)),
                    raft("si", "none"), ANY, 5),
            one("delivery-not-woken", "Who delivers is not told of what was committed meanwhile.",
                    Edit.of(RAFT + "RaftOrder", "tellDelivery", new Change.Unwritten("tellsDelivery")),
                    raft("si", "none"), ANY, 3),
            one("spare-not-awaited", "A file of the log is taken before it is prepared.",
                    Edit.of(RAFT + "SpareFile", "isReady", new Change.Body(1)),
                    raft("si", "none"), ANY, 5),
            one("log-forgets-too-much", "The log forgets entries behind the checkpoint that it keeps.",
                    Edit.of(RAFT + "Checkpoints", "before", new Change.Condition("positions", 1, Jump.PASSED)),
                    raft("si", "crash,kill"), ANY, 30),
            one("position-checked-no-more", "Whoever hands positions over begins one too early.",
                    Edit.of(ORDER + "DeliveryLoop", "resume", new Change.LeftOut("more")),
                    raft("si", "none"), ANY, 10),
            // ------------------------------------------------------------------------------ group communication
            one("logged-before-stable", "A member says that its log is on stable storage before it is.",
                    Edit.of(GROUP + "InView", "logged", new Change.Condition("stable", 1, Jump.PASSED)),
                    group("si", "power-loss,crash"), ANY, 10),
            one("minority-decides", "What one member has on stable storage is taken to be at a majority.",
                    Edit.of(GROUP + "InView", "loggedBy", new Change.LeftOut("sort")),
                    group("si", "network,crash"), ANY, 30),
            one("cut-counts-as-stable", "What was cut from the log counts as on stable storage for what follows.",
                    Edit.of(GROUP + "StableWriter", "write", new Change.Condition("apply", 1, Jump.TAKEN)),
                    group("si", "network,crash"), ANY, 60),
            one("stable-too-soon", "A message counts as received by all when one has received it.",
                    Edit.of(GROUP + "Stability", "vote", new Change.Instead("min", "max")),
                    group("si", "loss"), ANY, 10),
            one("never-asked-for", "What is missing is not asked for.",
                    Edit.of(GROUP + "ReliableMulticast", "told", new Change.Unwritten("askAt")),
                    group("si", "loss"), ANY, 5),
            one("old-views-concern", "Packets of a view that is over are taken.",
                    Edit.of(GROUP + "InView", "concerns", new Change.Condition("number", 1, Jump.PASSED)),
                    group("si", "network,crash"), ANY, 30),
            one("submitted-again", "A member forgets which of its messages are in the log when a view begins.",
                    Edit.of(GROUP + "InView", "accepted", new Change.Given("lastNumber", 0)),
                    group("si", "network,crash"), ANY, 10),
            one("cut-forgets-senders", "What was cut from the log still counts as its sender's last message.",
                    Edit.of(GROUP + "MessageLog", "cut", new Change.LeftOut("put")),
                    group("si", "network,crash"), ANY, 60));

    private Mutants() {}

    private static Mutant one(String name, String what, Edit edit, Where where, Finder finder, int within) {
        return new Mutant(name, what, List.of(edit), where, finder, within, false);
    }

    private static Where ideal(String protocol, String faults, String... parameters) {
        return new Where(protocol, parameters.length == 0 ? Map.of() : Map.of(parameters[0], parameters[1]), OrderKind.IDEAL, faults, 500, 1);
    }

    private static Where raft(String protocol, String faults) {
        return new Where(protocol, Map.of(), OrderKind.RAFT, faults, 1000, 1);
    }

    private static Where group(String protocol, String faults) {
        return new Where(protocol, Map.of(), OrderKind.GROUP, faults, 500, 1);
    }

    /** All of them. */
    public static List<Mutant> all() {
        return ALL;
    }

    /** The mutant of a name. */
    public static Mutant find(String name) {
        return ALL.stream().filter(mutant -> mutant.name().equals(name)).findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no mutant '" + name + "'; there are: "
                        + String.join(", ", ALL.stream().map(Mutant::name).toList())));
    }

    /** Makes mutations of a name; {@link ReplayFile#NO_MUTANT} for none. */
    public static Supplier<Mutation> mutation(String name) {
        return name.equals(ReplayFile.NO_MUTANT) ? () -> Mutation.NONE : find(name).mutations();
    }
}
