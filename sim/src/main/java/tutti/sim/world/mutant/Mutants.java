package tutti.sim.world.mutant;

import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import tutti.sim.world.Mutation;
import tutti.sim.world.ReplayFile;
import tutti.sim.world.Scenario.OrderKind;
import tutti.sim.world.database.EngineKind;
import tutti.sim.world.mutant.Edit.Change;
import tutti.sim.world.mutant.Edit.Jump;
import tutti.sim.world.mutant.Finder.By;
import tutti.sim.world.mutant.Mutant.Where;

/** All mutants there are: what is broken, where it is looked for, who must find it, and how soon. */
public final class Mutants {
    private static final String CERTIFY = "tutti.core.certify.";
    private static final String TXN = "tutti.core.txn.";
    private static final String PROTOCOL = "tutti.core.protocol.";
    private static final String NODE = "tutti.node.";
    private static final String RAFT = "tutti.order.raft.";
    private static final String BATCH = "tutti.order.batch.";
    private static final String PEER = "tutti.order.peer.";
    private static final String ORDER = "tutti.order.";
    private static final String GROUP = "tutti.group.";
    private static final String WORLD = "tutti.sim.world.";
    private static final String DATABASE = WORLD + "database.";

    /** Nodes need not have been missed by the majority that has ordered a question about them. */
    private static final Edit FENCES_AT_ONCE = Edit.of(NODE + "Questions", "fenceIfGone",
            new Change.Condition("ordered", 1, Jump.PASSED));

    /** A node has lost its directories, and another one joins. */
    private static final Where LOST_AND_JOINED = new Where("si", Map.of(), null, OrderKind.RAFT, "all,disks", 1000,
            864_233_057_620L).withPlan("f1 at 100ms for 1ms lost-directory host n0 directory database",
                    "f2 at 200ms for 1ms lost-directory host n0 directory order", "f3 at 1s for 1ms join host n4");

    private static final List<Mutant> ALL = List.of(
            // ------------------------------------------------------------------------------ protocols
            one("certification-skipped", "Write sets are certified without looking at their keys.",
                    Edit.of(CERTIFY + "CertificationIndex", "conflict", new Change.Given("size", 0)),
                    ideal("si", "none"), new Finder(By.PREFIX_SNAPSHOT, "first committer wins"), 2),
            one("read-set-dropped", "Transactions are certified as if they had read nothing.",
                    Edit.of(PROTOCOL + "DatabaseStateMachine", "conflict", new Change.LeftOut("stale")).at(1, 2),
                    ideal("dbsm", "none", "reads", "rows"), new Finder(By.ISOLATION, "write skew"), 3),
            one("given-reads-dropped", "Of who asks to be serializable it does not count what it has read.",
                    Edit.of(PROTOCOL + "SnapshotIsolation", "conflict", new Change.LeftOut("stale")),
                    ideal("si", "none"), new Finder(By.SERIAL_READS, "stale read"), 20),
            one("snapshot-misdated", "A snapshot is taken for as new as the end of its transaction.",
                    Edit.of(PROTOCOL + "DatabaseStateMachine", "candidate",
                            new Change.Instead("begun", "lastCommitted")).at(0, 2),
                    ideal("dbsm", "none", "reads", "rows"), new Finder(By.ISOLATION, "G2-item"), 20),
            one("filter-not-asked", "Rows that were read are not looked for in what was written.",
                    Edit.of(PROTOCOL + "DatabaseStateMachine", "stale", new Change.Given("mayContain", 0)),
                    ideal("dbsm", "none", "reads", "bloom"), new Finder(By.ISOLATION, "G2-item"), 5),
            one("references-forgotten", "It is not noted that a transaction has made or deleted a row.",
                    Edit.of(CERTIFY + "CertificationIndex", "note", new Change.Constant(3, 2)),
                    ideal("si", "none"), new Finder(By.PREFIX_SNAPSHOT, "first committer wins"), 6),
            one("interval-too-short", "Keys are certified as if every engine locked the rows that others refer to.",
                    Edit.of(NODE + "ReplicaCore$Parts", "locksExclude", new Change.Given("locksReferencedRows", 1)),
                    new Where("si", Map.of(), null, OrderKind.IDEAL, "none", 3000, 1),
                    new Finder(By.WORLD, "foreign keys"), 60),
            one("horizon-ignores-the-open", "What open transactions are still certified against is forgotten.",
                    Edit.of(NODE + "Horizon", "visible", new Change.Condition("firstEntry", 1, Jump.PASSED)),
                    ideal("akara", "none"), new Finder(By.ASSERTION, "floor is"), 2),
            one("answered-before-visible", "Clients are answered before their transaction is visible.",
                    Edit.of(PROTOCOL + "Unanswered", "visible", new Change.Condition("position", 1, Jump.PASSED)),
                    ideal("si", "none"), new Finder(By.ACKNOWLEDGED, "aborted is absent"), 2),
            one("classes-forgotten", "Transactions run as if they met no other.",
                    Edit.of(PROTOCOL + "ClassQueues", "isNext", new Change.Body(1)),
                    ideal("nodo", "none", "tentative", "no"), new Finder(By.ISOLATION, "P4 (lost update)"), 2),
            one("execution-differs", "One replica executes a request in another way than the others.",
                    Edit.of(DATABASE + "SimApplier", "execute(Ltutti/sim/world/database/Program$Statement;",
                            new Change.Constant(0, 1)).at(1, 2).onceIn(40),
                    ideal("active", "none"), new Finder(By.COMMIT_SEQUENCE, "same state"), 3),
            one("votes-without-locks", "Replicas vote for transactions without having made their changes.",
                    Edit.of(PROTOCOL + "Participations", "vote", new Change.Condition("part", 1, Jump.PASSED)),
                    decisionsOutlastVotes(), new Finder(By.ISOLATION, "P4 (lost update)"), 2),
            one("epochs-ignored", "A decision counts that was voted on before a replica joined or left.",
                    Edit.of(PROTOCOL + "TwoPhaseCommit", "decide", new Change.Condition("epoch", 1, Jump.TAKEN)),
                    ideal("2pc", "all"), new Finder(By.ISOLATION, "P4 (lost update)"), 20),
            mended("decided-locks-dropped", "Locks are released when a transaction is decided, not when it is visible.",
                    Edit.of(PROTOCOL + "TwoPhaseCommit", "overrule", new Change.LeftOut("hold")),
                    ideal("2pc", "all"), new Finder(By.ASSERTION, "needs its locks"), 60),
            mended("prepared-is-in-the-way",
                    "A request of all nodes is taken to need the locks of whatever is prepared.",
                    Edit.of(NODE + "Preparations", "makeWay", new Change.Condition("meet", 1, Jump.TAKEN)),
                    ideal("2pc", "all"), new Finder(By.ASSERTION, "needs its locks"), 10),
            mended("waits-not-told", "Two-phase commit does not hear for whom prepared changes wait in engines.",
                    Edit.of(PROTOCOL + "Participations", "blocked", new Change.Body(0)),
                    ideal("2pc", "none", "lock-ticks", "1000000"), new Finder(By.LIVENESS, "open"), 60),
            mended("queued-not-told", "Two-phase commit does not hear that somebody waits for a turn to commit.",
                    Edit.of(NODE + "ClientTransaction", "isQueued", new Change.Body(0)),
                    crowdedAndOneByOne(),
                    new Finder(By.LIVENESS, "open"), 20),
            mended("turn-does-not-count", "Whoever has its turn waits for those who wait for theirs.",
                    Edit.of(NODE + "ClientTransaction", "giveWayTo", new Change.Body(0)),
                    ideal("akara", "all"), new Finder(By.LIVENESS, "open"), 20),
            one("whom-the-next-waits-for-not-told",
                    "Akara does not hear for whom transactions wait, and does not soon give priority either.",
                    Edit.of(PROTOCOL + "Akara", "blocked(", new Change.Body(0)),
                    withoutPatience(), new Finder(By.LIVENESS, "open"), 10),
            mended("moved-up-not-noticed", "Who has left Q2b does not give way to one that has got a place before it.",
                    Edit.of(PROTOCOL + "Akara", "fromQ2c", new Change.Given("givesWay", 0)),
                    withoutPatience(), new Finder(By.LIVENESS, "open"), 40),
            one("deposed-primary-counts",
                    "A request counts that a primary ordered which another one had taken over from.",
                    Edit.of(PROTOCOL + "PassiveReplication", "delivered",
                            new Change.Condition("epoch", 1, Jump.PASSED)).at(1, 2),
                    raft("passive", "partition,clogging,crash,pause"), new Finder(By.ACKNOWLEDGED, "aborted is absent"),
                    100),
            one("index-not-restored", "A snapshot of the protocol is restored without what was certified.",
                    Edit.of(PROTOCOL + "NonVotingCertification", "restore", new Change.Unwritten("index")),
                    raft("si", "power-loss,crash,kill"), new Finder(By.COMMIT_SEQUENCE, "same state"), 300),
            one("turns-not-restored", "A snapshot of the protocol is restored without whose turn it is at which row.",
                    Edit.of(PROTOCOL + "NonVotingCertification", "restore", new Change.Unwritten("turns")),
                    raft("si", "power-loss,crash,kill"), new Finder(By.COMMIT_SEQUENCE, "same state"), 300),
            one("votes-out-of-turn", "A transaction is voted on while earlier ones that it meets are undecided.",
                    Edit.of(PROTOCOL + "PostgresR", "decide", new Change.Condition("blockers", 1, Jump.TAKEN)),
                    ideal("postgres-r", "none", "isolation", "snapshot"),
                    new Finder(By.PREFIX_SNAPSHOT, "first committer wins"), 3),
            mended("lost-locks-not-awaited",
                    "What ran while something committed and was not visible is decided before that is visible.",
                    Edit.of(PROTOCOL + "Coordinations", "executed", new Change.Unwritten("behind")),
                    new Where("2pc", Map.of(), EngineKind.LOCKING, OrderKind.IDEAL, "engine-aborts,long", 1000, 1),
                    new Finder(By.ISOLATION, "can have come first"), 300),
            mended("doubtful-hold-their-locks",
                    "Two-phase commit does not hear that a transaction is rolled back whose client waits no more.",
                    Edit.of(NODE + "ClientTransaction", "doubtful", new Change.LeftOut("tell")),
                    new Where("2pc", Map.of(), EngineKind.LOCKING, OrderKind.RAFT, "partition,long", 1000, 61),
                    new Finder(By.ISOLATION, "can have come first"), 40),
            one("turn-before-visible", "An owner executes what is first before it sees what came before.",
                    Edit.of(PROTOCOL + "Hybrid", "takeTurns", new Change.Condition("after", 1, Jump.PASSED)),
                    ideal("hybrid", "none"), new Finder(By.ISOLATION, "G2-item"), 3),
            one("second-outcome-counts", "What a second owner makes of a request counts, too.",
                    Edit.of(PROTOCOL + "Hybrid", "done(J", new Change.Condition("allMatch", 1, Jump.TAKEN)),
                    ideal("hybrid", "all"), new Finder(By.ASSERTION, "is null"), 60),
            one("own-outcome-counts", "An owner commits what it has made of a request, whatever counts elsewhere.",
                    Edit.of(PROTOCOL + "OwnerRuns", "same", new Change.Given("equals", 1)).at(1, 2),
                    ideal("hybrid", "parameters"), new Finder(By.COMMIT_SEQUENCE, "same state"), 20),
            one("earlier-one-passed",
                    "An owner executes what is first among those of its classes, though one of others that meet them is earlier.",
                    Edit.of(PROTOCOL + "ClassQueues$Group", "leads", new Change.Body(1)),
                    ideal("hybrid", "none"), new Finder(By.ISOLATION, "no strong session serializability"), 20),
            one("follower-passes-others", "An owner executes with others what stands behind somebody else, too.",
                    Edit.of(PROTOCOL + "ClassQueues$Run", "takeBehind", new Change.Given("isBehind", 1)),
                    ideal("hybrid", "none"), new Finder(By.ISOLATION, "no strong session serializability"), 150),
            one("others-not-told", "Nobody is told that others commit with the first.",
                    Edit.of(PROTOCOL + "Hybrid", "done(J", new Change.LeftOut("forEach")).at(2, 2),
                    ideal("hybrid", "none"), new Finder(By.WORLD, "decisions"), 5),
            one("joined-and-forgotten",
                    "Others that are first and were executed with one are forgotten when that is run again alone.",
                    Edit.of(PROTOCOL + "OwnerRuns", "keep", new Change.LeftOut("forEach")),
                    ideal("hybrid", "engine-aborts", "executors", "1"), new Finder(By.LIVENESS, "open"), 300),
            one("successor-idle", "Who takes a log over does not look what is in it.",
                    Edit.of(PROTOCOL + "Hybrid", "takenOver", new Change.LeftOut("forEach")).at(2, 2),
                    ideal("hybrid", "crash,kill"), new Finder(By.LIVENESS, "open"), 40),
            one("divided-and-idle", "Who owns other logs by another division does not look what is in them.",
                    Edit.of(PROTOCOL + "Hybrid", "divided", new Change.LeftOut("forEach")),
                    ideal("hybrid", "parameters"), new Finder(By.LIVENESS, "open"), 20),
            one("division-not-restored", "A snapshot of the protocol is restored without how requests are divided.",
                    Edit.of(PROTOCOL + "RequestLogs", "restore", new Change.Unwritten("division")),
                    raft("hybrid", "parameters,crash,kill"), new Finder(By.WORLD, "parameters"), 60),
            one("members-change-and-idle",
                    "Who owns other logs since a replica has gone does not look what is in them.",
                    Edit.of(PROTOCOL + "Hybrid", "members", new Change.LeftOut("forEach")),
                    raft("hybrid", "leave,partition,pause,long"), new Finder(By.LIVENESS, "open"), 60),
            one("execution-not-heard", "A node hands in requests as before when others are to execute them.",
                    Edit.of(NODE + "ParameterChanges", "follow", new Change.Unwritten("claims")),
                    ideal("hybrid", "parameters"), new Finder(By.WORLD, "parameters"), 5),
            one("everywhere-passes-others", "What every node executes does not wait for what was logged before it.",
                    Edit.of(PROTOCOL + "Hybrid", "log", new Change.Condition("isFree", 1, Jump.PASSED)),
                    ideal("hybrid", "parameters"), new Finder(By.ISOLATION, "no strong session serializability"), 10),
            one("logged-taken-for-lost", "A logged request counts as aborted when the life of its node is over.",
                    Edit.of(PROTOCOL + "Hybrid", "undecided", new Change.Body(0)),
                    raft("hybrid", "crash,kill,partition,clogging,pause"),
                    new Finder(By.ACKNOWLEDGED, "aborted is absent"), 100),
            // ------------------------------------------------------------------------------ node
            one("made-again", "A commit whose answer was lost is taken not to have worked.",
                    Edit.of(NODE + "EngineCommits", "ifCommitted", new Change.Condition("asked", 1, Jump.TAKEN)).at(2,
                            2),
                    ideal("si", "engine-aborts"), new Finder(By.ASSERTION, "becomes visible after"), 15),
            one("taken-for-made", "A commit whose answer was lost is taken to have worked.",
                    Edit.of(NODE + "EngineCommits", "ifCommitted", new Change.Condition("asked", 1, Jump.PASSED)).at(2,
                            2),
                    ideal("si", "engine-aborts"), new Finder(By.COMMIT_SEQUENCE, "same state"), 5),
            one("not-asked-again", "A group whose commit may have worked is committed again without asking the engine.",
                    Edit.of(NODE + "ApplyGroups", "commit", new Change.Condition("attempts", 1, Jump.TAKEN)),
                    ideal("si", "engine-aborts"), new Finder(By.ASSERTION, "becomes visible after"), 30),
            one("write-set-left-out", "A node leaves a write set out.",
                    Edit.of(NODE + "ApplyGroup", "add", new Change.LeftOut("group")).onceIn(40),
                    ideal("si", "none"), new Finder(By.ASSERTION, "cannot become APPLYING"), 2),
            one("changes-lost", "A group is applied without the changes of its positions.",
                    Edit.of(NODE + "ApplyGroup", "lambda$writes$0(", new Change.Body(0)).onceIn(40),
                    ideal("si", "none"), new Finder(By.COMMIT_SEQUENCE, "same state"), 3),
            one("keys-not-busy", "Positions that touch the same rows are applied side by side.",
                    Edit.of(NODE + "ApplyGroups", "meetsEarlier", new Change.Body(0)),
                    ideal("si", "slow-commits,engine-hang,pause"), new Finder(By.LIVENESS, "open"), 20),
            mended("no-applier-for-the-head", "The last applier is not kept for the head of the queue.",
                    Edit.of(NODE + "ApplyGroups", "applierFree", new Change.Instead("hasSpare", "hasIdle")),
                    ideal("si", "slow-commits,engine-hang,engine-aborts"), new Finder(By.LIVENESS, "open"), 150),
            one("victim-not-told", "Local transactions in the way of an applier are not told to give way.",
                    Edit.of(NODE + "ClientTransactions", "onBlocked(J", new Change.Body(0)),
                    ideal("si", "none"), new Finder(By.LIVENESS, "open"), 5),
            one("never-replayed", "A certified local transaction in the way of an earlier position is not replayed.",
                    Edit.of(NODE + "CommitPipeline", "replay", new Change.Body(0)),
                    ideal("si", "none"), new Finder(By.LIVENESS, "open"), 30),
            one("absence-too-soon", "A transaction counts as aborted while its node may yet commit it.",
                    Edit.of(NODE + "Outcomes", "of", new Change.Condition("over", 1, Jump.TAKEN)),
                    raft("si", "crash,kill,partition,clogging,pause"), new Finder(By.ACKNOWLEDGED, "aborted is absent"),
                    40),
            mended("run-without-its-name", "What becomes of a transaction that is run again is told of its first run.",
                    Edit.of(NODE + "ControlMessages", "delivered", new Change.LeftOut("again")),
                    raft("si", "kill,pause,lost-sight"), new Finder(By.ACKNOWLEDGED, "aborted is absent"), 20),
            one("run-again-though-asked", "A transaction is run again though somebody was told that it had ended.",
                    Edit.of(NODE + "ClientTransactions", "isGivenUp", new Change.Body(0)),
                    raft("si", "kill,pause,lost-sight"), new Finder(By.ACKNOWLEDGED, "aborted is absent"), 40),
            one("former-life-open", "A node's former life is not over when its next begins.",
                    Edit.of(NODE + "Outcomes", "born", new Change.LeftOut("forEach")),
                    raft("si", "power-loss,crash,kill"), new Finder(By.LIVENESS, "open"), 10),
            one("snapshot-too-new", "A node begins with a snapshot that is newer than its database.",
                    Edit.of(NODE + "NodeFiles", "newestUpTo", new Change.Condition("longValue", 1, Jump.PASSED)),
                    ideal("si", "crash,kill"), new Finder(By.ASSERTION, "became visible behind"), 10),
            one("snapshot-not-asked-for", "A node begins without the snapshot that it has kept.",
                    Edit.of(NODE + "LogContinuity", "begin", new Change.Unwritten("last")),
                    ideal("si", "crash,kill"),
                    new Finder(By.ASSERTION, "this node's snapshot was taken after position"), 5),
            one("log-cut-too-far", "The log forgets what the most advanced node does not need.",
                    Edit.of(NODE + "LogKeeping", "forget", new Change.Instead("min", "max")),
                    ideal("si", "crash,kill"), new Finder(By.ASSERTION, "the order's log begins at position"), 5),
            one("restart-told-too-high", "A node tells a snapshot that its database may fall behind.",
                    Edit.of(NODE + "LogKeeping", "lambda$tellDurable$1(", new Change.Body(1)),
                    ideal("si", "crash,kill"), new Finder(By.ASSERTION, "the order's log begins at position"), 30),
            one("fence-ignored", "What a node sends counts although others took it for lost and said so.",
                    Edit.of(NODE + "ReplicaCore", "take", new Change.Given("counts", 1)),
                    new Where("active", Map.of(), null, OrderKind.RAFT, "partition,lost-sight,long", 300, 1),
                    new Finder(By.ACKNOWLEDGED, "aborted is absent"), 100),
            mended("told-before-the-primary", "A backup tells of what its primary does not show yet.",
                    Edit.of(NODE + "ReplicaCore$Parts", "tellsFirst", new Change.Body(0)),
                    raft("passive", "delay,clogging"), new Finder(By.PREFIX_SNAPSHOT, "freshness"), 200),
            mended("minority-fences", "A node that is cut off has the lives of those that it misses ended.",
                    List.of(Edit.of(NODE + "ReplicaCore$Parts", "isGone",
                            new Change.Condition("majority", 1, Jump.PASSED)), FENCES_AT_ONCE),
                    new Where("si", Map.of(), null, OrderKind.GROUP, "swizzled-clogging,engine-down", 1000, 160),
                    new Finder(By.LIVENESS, "open"), 100),
            mended("ready-over-failed", "A node that has failed says that it is ready.",
                    Edit.of(NODE + "Lifecycle", "moves", new Change.Condition("state", 1, Jump.PASSED)),
                    raft("si", "engine-down"), new Finder(By.WORLD, "lifecycle"), 20),
            mended("turn-lost", "Who waits for a turn to commit is not let go on when there is one.",
                    Edit.of(NODE + "CommitAdmission", "leave", new Change.LeftOut("run")),
                    ideal("si", "none"), new Finder(By.LIVENESS, "open"), 150),
            mended("kept-out-though-not",
                    "What is delivered before its turn to commit counts as kept out by a transaction's locks.",
                    Edit.of(NODE + "ClientTransaction", "executed(Ltutti/core/txn/WriteSet;",
                            new Change.Instead("visible", "deliveredPosition")),
                    ideal("si", "none"), new Finder(By.PREFIX_SNAPSHOT, "first committer wins"), 20),
            one("delivery-not-announced", "A node that is delivered something while it works on it is not told.",
                    Edit.of(NODE + "OrderInbox", "delivered", new Change.LeftOut("set")),
                    ideal("si", "none"), new Finder(By.LIVENESS, "not begun"), 2),
            one("not-resumed", "Deliveries that were suspended are not resumed when there is room.",
                    Edit.of(NODE + "Backlog", "measured", new Change.LeftOut("resume")),
                    raft("si", "slow-commits,engine-hang,pause"), new Finder(By.LIVENESS, "open"), 20),
            // ------------------------------------------------------------------------------ Raft glue
            mended("pre-vote-kept-open", "A pre-vote that was open when a leader was found is not closed.",
                    Edit.of(RAFT + "Elections", "checkForgottenPreVote()", new Change.Body(0)),
                    new Where("si", Map.of(), null, OrderKind.RAFT, "partition,clogging,pause,gone,long", 300, 1),
                    new Finder(By.LIVENESS, "open"), 200),
            mended("higher-term-refused",
                    "No higher term is taken from the refusal of a pre-vote, and a candidate takes one after the other without asking.",
                    List.of(Edit.of(RAFT + "RaftTransport", "adopt", new Change.Body(0)),
                            Edit.of(RAFT + "Elections", "keeps", new Change.Body(0))),
                    new Where("si", Map.of(), null, OrderKind.RAFT, "partition,power-loss,kill", 300, 101),
                    new Finder(By.LIVENESS, "open"), 200),
            one("batch-counts-twice", "A batch that its sender has repeated counts each time.",
                    Edit.of(BATCH + "SenderTable", "accept", new Change.Condition("lastSequence", 1, Jump.PASSED)),
                    raft("si", "network"), new Finder(By.TOTAL_ORDER, "uniform integrity"), 15),
            one("batch-left-out", "A node leaves a batch out that counts for the others.",
                    Edit.of(BATCH + "SenderTable", "accept", new Change.Body(0)).onceIn(100),
                    raft("si", "none"), new Finder(By.TOTAL_ORDER, "uniform total order"), 3),
            one("never-sent-again", "What was under way to a leader that is lost is not sent again.",
                    Edit.of(BATCH + "Submissions", "resend()", new Change.Body(0)),
                    raft("si", "network,crash"), new Finder(By.LIVENESS, "not begun"), 2),
            one("flush-forgotten", "Entries are taken to be on disk when they are in the system's hands.",
                    Edit.of(RAFT + "LogSegment", "force", new Change.LeftOut("force")),
                    raft("si", "power-loss"), new Finder(By.ASSERTION, "which had been safely on disk"), 20),
            one("vote-not-kept", "A vote is not written down.",
                    Edit.of(RAFT + "NodeDirectory", "vote", new Change.LeftOut("writeVote")),
                    raft("si", "crash,kill,power-loss"), new Finder(By.ASSERTION, "and a vote of term"), 5),
            one("file-not-named-safely", "A new file of the log may lose its name in a crash.",
                    Edit.of(RAFT + "SegmentedLog", "create", new Change.LeftOut("sync")),
                    raft("si", "kill,power-loss"), new Finder(By.ASSERTION, "the log in"), 5),
            one("deletions-without-order",
                    "Old files of the log are deleted one after the other, and nothing keeps that order.",
                    Edit.of(RAFT + "SegmentedLog", "remove", new Change.LeftOut("sync")),
                    raft("si", "kill-behind"), new Finder(By.ASSERTION, "are missing before"), 20),
            mended("silence-of-a-former-life", "A node gives up as soon as another takes its former life for alive.",
                    Edit.of(PEER + "PeerNetwork$Outbound", "refused",
                            new Change.Instead("patienceNanos", "aliveNanos")),
                    raft("si", "crash,kill"), new Finder(By.ASSERTION, "may not join"), 60),
            one("checksum-not-looked-at", "Records of the log are read without their checksum.",
                    Edit.of(RAFT + "LogSegment", "decode", new Change.Condition("crc", 1, Jump.TAKEN)),
                    raft("si", "flipped-bits"), new Finder(By.TOTAL_ORDER, "uniform"), 150),
            one("delivery-not-woken", "Who delivers is not told of what was committed meanwhile.",
                    Edit.of(RAFT + "RaftOrder", "tellDelivery", new Change.Unwritten("tellsDelivery")),
                    raft("si", "none"), new Finder(By.LIVENESS, "not begun"), 2),
            one("log-forgets-too-much", "The log forgets entries behind the checkpoint that it keeps.",
                    Edit.of(RAFT + "Checkpoints", "before", new Change.Condition("positions", 1, Jump.PASSED)),
                    raft("si", "crash,kill"), new Finder(By.ASSERTION, "the order's log begins at position"), 40),
            one("resumed-in-vain", "Who delivers is not told that it may go on.",
                    Edit.of(ORDER + "DeliveryLoop", "resume", new Change.LeftOut("more")),
                    raft("si", "engine-hang,pause,long"), new Finder(By.LIVENESS, "open"), 40),
            one("excluded-serves", "A node goes on serving with what most nodes cannot make.",
                    Edit.of(NODE + "Settlement", "hold", new Change.Body(0)),
                    raft("si", "own-rows,long"), new Finder(By.COMMIT_SEQUENCE, "same state"), 3),
            one("questions-not-answered", "Nodes do not say that they have made what another one cannot.",
                    Edit.of(NODE + "Settlement", "answer", new Change.Body(0)),
                    raft("si", "engine-refuses,long"), new Finder(By.LIVENESS, "open"), 3),
            mended("excluded-awaited", "A ballot waits for the votes of nodes that are excluded.",
                    Edit.of(NODE + "Ballots", "next", new Change.LeftOut("removeAll")),
                    raft("si", "rows,long"), new Finder(By.LIVENESS, "open"), 150),
            mended("full-and-deaf",
                    "A node that can keep no more behind a position is not delivered what becomes of it.",
                    Edit.of(NODE + "Settlement", "listens", new Change.Body(0)),
                    raft("si", "rows,long"), new Finder(By.LIVENESS, "open"), 30),
            mended("begins-anew-for-another",
                    "A node that only listens begins anew at whatever verdict comes first, again and again.",
                    Edit.of(NODE + "Settlement", "closed(Ltutti/node/Ballots$Ballot;",
                            new Change.Condition("refused", 1, Jump.PASSED)),
                    new Where("wice", Map.of(), null, OrderKind.RAFT, "rows", 1000, 7_347_683_410L),
                    new Finder(By.ASSERTION, "it begins anew"), 20),
            mended("trouble-is-a-refusal", "A database that has no room votes against what it cannot apply.",
                    Edit.of(NODE + "Settlement", "vote", new Change.Condition("isTrouble", 1, Jump.TAKEN)),
                    raft("si", "engine-full,long"), new Finder(By.WORLD, "is left out"), 60),
            mended("reference-to-nothing", "What refers to a row that was left out is made.",
                    Edit.of(NODE + "LostKeys", "missing", new Change.Body(0)),
                    new Where("si", Map.of(), null, OrderKind.RAFT, "rows,engine-full,long", 1000, 952_184_674_187L),
                    new Finder(By.WORLD, "refers to"), 1),
            mended("released-parent-gone",
                    "Who takes a row away is made though another refers to it still, since it was left out that it does not.",
                    Edit.of(NODE + "LostReleases", "named", new Change.Body(0)),
                    new Where("si", Map.of(), null, OrderKind.IDEAL, "own-rows,engine-hang", 2000, 1).withPlan(
                            "f1 at 10ms for 1990ms own-rows host n1 rate 0.05",
                            "f2 at 20ms for 1200ms engine-hang host n0"),
                    new Finder(By.WORLD, "refers to"), 1),
            one("trouble-for-good", "What a database in trouble could not apply is not tried again.",
                    Edit.of(NODE + "Settlement", "inTrouble", new Change.Body(0)),
                    raft("si", "engine-full,long"), new Finder(By.LIVENESS, "open"), 10),
            one("position-repeated", "Delivery begins with a position that was delivered before.",
                    Edit.of(RAFT + "Delivery", "deliver", new Change.Condition("after", 1, Jump.PASSED)).at(2, 2),
                    raft("si", "crash,kill"), new Finder(By.ASSERTION, "the order has a gap or repeats itself"), 3),
            mended("lost-directory-welcome", "A node that has lost its order's directory takes part as if it had not.",
                    Edit.of(RAFT + "MetNodes", "knows", new Change.Body(1)),
                    raft("si", "lost-disk,crash,pause,partition"), new Finder(By.TOTAL_ORDER, "uniform total order"),
                    100),
            mended("copied-without-whom-it-met",
                    "A node that begins with a copy takes any directory of another for the one that it had, and whom it welcomes stays turned away by all others.",
                    List.of(Edit.of(RAFT + "OrderCopy", "write", new Change.LeftOut("write")).at(4, 4),
                            Edit.of(PEER + "PeerNetwork", "disowned", new Change.Body(0)).at(1, 2)),
                    LOST_AND_JOINED, new Finder(By.LIVENESS, "0 open"), 1),
            mended("state-without-a-log",
                    "A node that has state and an empty directory of its order takes it for a new one.",
                    Edit.of(RAFT + "RaftOrder", "isLost", new Change.Body(0)),
                    new Where("si", Map.of(), null, OrderKind.RAFT, "all,disks", 4000, 9363).withPlan(
                            "f1 at 151ms for 1ms lost-directory host n0 directory order",
                            "f2 at 131ms for 1065ms partition from n0 to n1 direction both",
                            "f3 at 575ms for 621ms pause host n0",
                            "f4 at 891ms for 2975ms crash host n2 unsynced kept",
                            "f5 at 918ms for 1ms lost-directory host n1 directory order"),
                    new Finder(By.ACKNOWLEDGED, ""), 1),
            mended("covered-from-the-first", "What a follower's snapshot covers is passed on as it comes.",
                    Edit.of(RAFT + "SnapshotEdge", "behind", new Change.Given("isEmpty", 1)),
                    LOST_AND_JOINED, new Finder(By.LIVENESS, "0 open"), 1),
            mended("lives-by-the-clock", "A node that begins with a copy numbers its lives by the clock alone.",
                    Edit.of(RAFT + "OrderCopy", "adopt", new Change.Given("incarnation", 0)),
                    new Where("si", Map.of(), null, OrderKind.RAFT, "all,disks", 1000, 973_118_003_375L).withPlan(
                            "f1 at 30ms for 271ms slow-disk host n0 factor 15",
                            "f2 at 839ms for 1ms lost-directory host n0 directory node",
                            "f3 at 1596ms for 1ms clock-jump host n0 jump back time 2216ms"),
                    new Finder(By.LIVENESS, "0 open"), 1),
            // ------------------------------------------------------------------------------ group communication
            // ------------------------------------------------------------------------------ members that come and go
            mended("goes-unasked", "A node takes itself for removed when the members change.",
                    Edit.of(NODE + "MemberChanges", "follow", new Change.Condition("containsKey", 1, Jump.PASSED)),
                    raft("si", "members,long"), new Finder(By.WORLD, "membership"), 10),
            one("removed-still-votes", "Raft's leader does not take a node out that was removed.",
                    Edit.of(RAFT + "MemberList", "next", new Change.Given("contains", 0)).at(4, 4),
                    raft("si", "leave,long"), new Finder(By.LIVENESS, "removed and there ["), 10),
            mended("majority-of-those-before", "A node does not count a majority anew when it hears who decides now.",
                    Edit.of(RAFT + "RaftOrder", "reported", new Change.LeftOut("publishView")),
                    raft("si", "members,long"), new Finder(By.LIVENESS, "open"), 60),
            one("copy-not-told", "Nodes do not note that another begins anew with a copy.",
                    Edit.of(NODE + "Copies", "replaced", new Change.LeftOut("replaced")),
                    raft("si", "join,replace,long"), new Finder(By.LIVENESS, "open"), 10),
            one("serves-before-it-decides", "A new node serves without having said that it has caught up.",
                    Edit.of(NODE + "MemberChanges", "decides", new Change.Body(1)),
                    raft("si", "join,replace,long"), new Finder(By.LIVENESS, "decide;"), 10),
            one("loss-not-told", "Nodes do not say that no majority remembers the order.",
                    Edit.of(ORDER + "group.GroupOrder$Effects", "lost", new Change.Body(0)),
                    new Where("si", Map.of(), null, OrderKind.GROUP, "swizzled-clogging,engine-down", 1000, 5130),
                    new Finder(By.LIVENESS, "open"), 30),
            one("never-learns-again", "A member that has forgotten does not get the messages from the others.",
                    Edit.of(GROUP + "LogTransfer", "catchUp", new Change.Body(0)),
                    group("si", "crash,engine-down"), new Finder(By.LIVENESS, "open"), 30),
            one("minority-decides", "One member is taken for a majority.",
                    Edit.of(GROUP + "GroupParameters", "majority", new Change.Body(1)),
                    group("si", "network,crash"), new Finder(By.TOTAL_ORDER, "uniform"), 20),
            one("stable-too-soon", "A message counts as received by all when one has received it.",
                    Edit.of(GROUP + "Stability", "vote", new Change.Instead("min", "max")),
                    group("si", "loss,bursty-loss"), new Finder(By.LIVENESS, "open"), 30),
            one("never-asked-for", "What is missing is not asked for.",
                    Edit.of(GROUP + "ReliableMulticast", "told", new Change.Unwritten("askAt")),
                    group("si", "loss"), new Finder(By.LIVENESS, "open"), 5),
            one("old-views-concern", "Packets of a view that is over are taken.",
                    Edit.of(GROUP + "InView", "concerns", new Change.Condition("number", 1, Jump.PASSED)),
                    group("si", "network,crash"), new Finder(By.WORLD, "no correct member sends"), 5),
            one("submitted-again", "A member forgets which of its messages are in the log when a view begins.",
                    Edit.of(GROUP + "InView", "accepted", new Change.Given("lastNumber", 0)),
                    group("si", "network,crash"), new Finder(By.ASSERTION, "is not in"), 5),
            one("cut-forgets-senders", "What was cut from the log still counts as its sender's last message.",
                    Edit.of(GROUP + "MessageLog", "cut", new Change.LeftOut("put")),
                    group("si", "network,crash"), new Finder(By.WORLD, "no correct member sends"), 100),
            mended("earlier-commits-go-on",
                    "What an earlier life of a node was committing is made after the next has read how far its database has come.",
                    Edit.of(DATABASE + "Database", "endLeft(", new Change.Body(0)),
                    raft("si", "slow-commits,move,kill"),
                    new Finder(By.ASSERTION, "was changed behind this node's back"),
                    400),
            // ------------------------------------------------------------------------------ locks that change nothing
            one("locks-not-certified", "Rows that are locked and not changed are not certified.",
                    Edit.of(TXN + "RowLock", "write", new Change.Body(0)), locks("si", 1004),
                    new Finder(By.LOCKS, "exclusion"), 3),
            one("share-is-not-read", "Who shares a row is not compared with who has changed it.",
                    Edit.of(TXN + "RowLock", "read", new Change.Body(0)), locks("si", 1071),
                    new Finder(By.LOCKS, "exclusion"), 5),
            one("advisory-lock-is-shared", "An advisory lock excludes nobody who takes it at another node.",
                    Edit.of(TXN + "RowLock", "advisory", new Change.Condition("SHARE", 1, Jump.PASSED)),
                    locks("si", 1000), new Finder(By.LOCKS, "both held advisory lock"), 3),
            one("changed-though-locked",
                    "Who changes a row is compared with who has only locked it as if its engine had seen that lock.",
                    Edit.of(CERTIFY + "CertificationIndex", "comparedAfter",
                            new Change.Condition("lastConflicting", 1, Jump.TAKEN)),
                    locks("si", 1081), new Finder(By.LOCKS, "exclusion"), 5),
            mended("shared-though-locked",
                    "Who shares an advisory lock is compared with who has had it alone as if its engine had seen that.",
                    Edit.of(CERTIFY + "CertificationIndex", "comparedAfter",
                            new Change.Condition("lastConflicting", 1, Jump.TAKEN)),
                    locks("dbsm", 1070), new Finder(By.LOCKS, "both held advisory lock"), 5),
            // ------------------------------------------------------------------------------ tables on some nodes
            one("lacking-table-is-read", "A statement finds a table empty that its node lacks.",
                    Edit.of(DATABASE + "SimTransaction", "begin", new Change.Given("mayExecute", 1)),
                    ideal("si", "none").withTablesOnSomeNodes(), new Finder(By.PREFIX_SNAPSHOT, "snapshot"), 2),
            new Mutant("everywhere-though-some-lack-it",
                    "Every node executes a request that names a table which some lack.",
                    List.of(Edit.of(WORLD + "node.SimulatedSession", "begin", new Change.Given("keptByAll", 1)),
                            Edit.of(DATABASE + "SimApplier", "execute", new Change.Given("keptByAll", 1))),
                    ideal("si", "none").withTablesOnSomeNodes(), new Finder(By.COMMIT_SEQUENCE, "same state"), 10,
                    false),
            one("copy-of-whoever-lacks-it", "A node gets a copy from one that lacks a table which it keeps.",
                    Edit.of(NODE + "Copies", "lacks", new Change.Given("isEmpty", 0)),
                    raft("si", "members").withTablesOnSomeNodes(), new Finder(By.WORLD, "keepers are equal"), 30),
            one("whoever-lacks-it-votes", "Nodes vote on changes of tables that they lack.",
                    Edit.of(NODE + "Ballots$Ballot", "judged", new Change.LeftOut("removeIf")),
                    raft("si", "rows,long").withTablesOnSomeNodes(), new Finder(By.LIVENESS, "open"), 40),
            one("keepers-given-up", "The order's log forgets what too few of a table's keepers have.",
                    Edit.of(NODE + "KeepersDurability", "written", new Change.LeftOut("forEach")),
                    raft("si", "members,crash,kill,long").withTablesOnSomeNodes(),
                    new Finder(By.WORLD, "hold durably"), 100),
            one("placement-forgotten", "A node's snapshot does not say which tables were placed.",
                    Edit.of(NODE + "Snapshots", "take", new Change.Given("hasChanged", 0)),
                    new Where("si", Map.of(), null, OrderKind.RAFT, "crash,kill", 500, 1000).withTablesOnSomeNodes(),
                    new Finder(By.WORLD, "nodes at rest have different ones"), 10),
            one("rows-not-fetched", "A node that is to keep a table, and lacks its rows, has others judge that.",
                    Edit.of(NODE + "Settlement", "refused", new Change.Given("needsCopy", 0)),
                    new Where("si", Map.of(), null, OrderKind.RAFT, "none", 500, 2000).withTablesOnSomeNodes(),
                    new Finder(By.LIVENESS, "not everything has ended"), 5),
            one("placement-not-told", "Nodes are not told what the databases have made of a placement.",
                    Edit.of(NODE + "PlacementChanges", "executed", new Change.LeftOut("send")),
                    new Where("si", Map.of(), null, OrderKind.IDEAL, "none", 500, 1000).withTablesOnSomeNodes(),
                    new Finder(By.LIVENESS, "not everything has ended"), 5));

    private Mutants() {}

    private static Mutant one(String name, String what, Edit edit, Where where, Finder finder, int within) {
        return new Mutant(name, what, List.of(edit), where, finder, within, false);
    }

    /** One that is a fault which the project has had. */
    private static Mutant mended(String name, String what, Edit edit, Where where, Finder finder, int within) {
        return mended(name, what, List.of(edit), where, finder, within);
    }

    private static Mutant mended(String name, String what, List<Edit> edits, Where where, Finder finder, int within) {
        return new Mutant(name, what, edits, where, finder, within, true);
    }

    private static Where ideal(String protocol, String faults, String... parameters) {
        return new Where(protocol, parameters.length == 0 ? Map.of() : Map.of(parameters[0], parameters[1]),
                null, OrderKind.IDEAL, faults, 500, 1);
    }

    /**
     * A log on disks takes longer to order a decision than a vote takes: two transactions of two replicas that meet are decided before either
     * knows of the other. Where it takes as long, the younger one has mostly given way before.
     */
    private static Where decisionsOutlastVotes() {
        return new Where("2pc", Map.of(), null, OrderKind.RAFT, "none", 500, 4);
    }

    /**
     * From a seed on whose scenario has many clients of whom one at a time may ask to commit, over databases that lock what is read: the circle that is
     * not seen must have waits in engines, for others are broken as soon as an older one asks.
     */
    private static Where crowdedAndOneByOne() {
        return new Where("2pc", Map.of("lock-ticks", "1000000"), EngineKind.LOCKING, OrderKind.IDEAL, "none", 1000,
                175);
    }

    /** Only the rule that aborts who is in the way keeps transactions of {@code akara} from waiting for each other. */
    private static Where withoutPatience() {
        return new Where("akara", Map.of("when-early", "abort-if-blocking", "patience", "60s", "optimistic", "8"),
                null, OrderKind.IDEAL, "none", 1000, 70_000);
    }

    /** From a seed on whose scenario has transactions that lock what they do not change. */
    private static Where locks(String protocol, long firstSeed) {
        return new Where(protocol, Map.of(), EngineKind.POSTGRES, OrderKind.IDEAL, "none", 500, firstSeed);
    }

    private static Where raft(String protocol, String faults) {
        return new Where(protocol, Map.of(), null, OrderKind.RAFT, faults, 1000, 1);
    }

    private static Where group(String protocol, String faults) {
        return new Where(protocol, Map.of(), null, OrderKind.GROUP, faults, 500, 1);
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
