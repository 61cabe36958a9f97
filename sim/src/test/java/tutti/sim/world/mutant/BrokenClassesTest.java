package tutti.sim.world.mutant;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tutti.sim.world.mutant.Edit.Change;
import tutti.sim.world.mutant.Edit.Jump;

/**
 * What decides about transactions outside of the simulated world, and what no scenario reaches in it, is broken on purpose here, and a
 * test must fail for it which passes when nothing is broken. The page on testing lists them all.
 */
class BrokenClassesTest {
    private static final String LOG = "tutti.order.raft.SegmentedLog";
    private static final String NODE = "tutti.node.";
    private static final String WIRE = "tutti.wire.";
    private static final String JDBC = "tutti.jdbc.";
    private static final String ENGINE = "tutti.engine.jdbc.";
    private static final String MACRO = "tutti.engine.macro.";
    private static final String POSTGRES = "tutti.engine.postgres.";
    private static final String DATABASE = "tutti.sim.world.database.";

    /** Those whose test is quick. */
    static List<BrokenClass> quick() {
        return List.of(
                new BrokenClass("torn-end-stays", "A torn end of the log is not cut off.",
                        Edit.of(LOG, "recover(Ljava/lang/String;", new Change.LeftOut("truncate")), LOG + "Test",
                        "whatACrashLeftBehindTheEndNeverComesBack"),
                new BrokenClass("cut-end-comes-back", "What was cut from the log's end stays in the file.",
                        Edit.of(LOG, "truncateFrom", new Change.LeftOut("truncate")), LOG + "Test",
                        "whatWasRemovedFromTheEndNeverComesBack"),
                new BrokenClass("failed-flush-forgiven",
                        "What a disk has failed to force counts as safe when it is forced once more.",
                        Edit.of("tutti.order.raft.LogSegment", "makeSafe", new Change.LeftOut("write")), LOG + "Test",
                        "whatCouldNotBeFlushedIsWrittenOnceMoreWhenTheLogIsOpened"),
                new BrokenClass("lost-locks-forgotten",
                        "What ran while something committed and was not visible is decided before that is visible.",
                        Edit.of("tutti.core.protocol.Coordinations", "executed", new Change.Unwritten("behind")),
                        "tutti.core.protocol.TwoPhaseCommitTest",
                        "nothingIsDecidedBeforeWhatHadCommittedWhenItRanIsVisible"),
                new BrokenClass("old-copy-welcome", "A node whose log lacks what it had for good is let in.",
                        Edit.of("tutti.order.raft.MetNodes", "less", new Change.Condition("index", 1, Jump.PASSED)),
                        "tutti.order.raft.OldCopiesTest", "itIsRememberedHowFarNodesWereThatNeverLed"),
                new BrokenClass("learner-votes", "Raft lets a node vote that has not caught up.",
                        Edit.of("tutti.order.raft.MemberList", "next", new Change.Given("contains", 0)).at(2, 4),
                        "tutti.order.raft.MemberListTest", "whoIsNewIsSentTheLogFirstAndVotesWhenItHasCaughtUp"),
                new BrokenClass("gone-touches-count",
                        "Where certification's memory ends depends on positions at which nothing was touched last.",
                        Edit.of("tutti.core.certify.LastTouches", "above",
                                new Change.Condition("counts", 1, Jump.PASSED)),
                        "tutti.core.certify.CertificationIndexTest",
                        "isBoundedAlikeThoughTheLastWriteSetAloneIsLarger"),
                new BrokenClass("old-turn-in-the-way",
                        "A turn that has lasted too long keeps its node from getting another.",
                        Edit.of("tutti.core.protocol.NodeTurns", "lost", new Change.LeftOut("first")),
                        "tutti.core.protocol.NodeTurnsTest", "aTurnThatHasLastedTooLongIsGoneForAllAlike"),
                new BrokenClass("own-list-counts",
                        "A replica that has come awaits those that it was told, and not those that the others await.",
                        Edit.of("tutti.core.protocol.Horizons", "restore", new Change.LeftOut("clear")),
                        "tutti.core.protocol.HorizonsTest", "aReplicaThatComesLaterCountsFromItsFirstHorizonOn"),
                new BrokenClass("owners-of-former-members",
                        "A snapshot of the protocol is restored without the replicas that own logs.",
                        Edit.of("tutti.core.protocol.RequestLogs", "restore", new Change.Unwritten("replicas")),
                        "tutti.core.protocol.HybridMembersTest", "whoBeginsWithASnapshotKnowsTheMembersOfIt"),
                new BrokenClass("appliers-kept-out",
                        "An applier that waits for a local transaction keeps other appliers out.",
                        Edit.of(DATABASE + "SimApplier", "kept", new Change.Body(1)), DATABASE + "DatabaseTest",
                        "whileAnApplierGoesFirstOthersThatAreOrderedGetRows"),
                new BrokenClass("run-with-a-hole",
                        "A group of positions takes in one behind another group's.",
                        Edit.of(NODE + "ApplyGroups", "begin", new Change.Condition("group", 2, Jump.TAKEN)),
                        NODE + "ApplyGroupsTest", "whoIsAppliedInItsPlaceIsNotTogetherWithWhatIsBehindOthers"),
                new BrokenClass("edge-of-the-snapshot",
                        "An append that begins right behind a follower's snapshot is refused.",
                        Edit.of("tutti.order.raft.SnapshotEdge", "behind",
                                new Change.Condition("lastLogOrSnapshotIndex", 3, Jump.TAKEN)),
                        "tutti.order.raft.SnapshotEdgeTest",
                        "anAppendRightBehindTheSnapshotBeginsBehindTheFirstEntryThatBothHave"),
                new BrokenClass("commits-of-earlier-lives",
                        "What an earlier life was committing becomes visible after a later one was told a position.",
                        Edit.of(DATABASE + "SimEngine", "lambda$appliedPosition$0", new Change.LeftOut("endLeft")),
                        DATABASE + "DatabaseTest", "whatALaterLifeIsToldOfAnAppliersPositionStays"),
                new BrokenClass("locks-outlive-the-server",
                        "Whoever used a simulated server that has died holds what it held there.",
                        Edit.of(DATABASE + "Locks", "forget", new Change.LeftOut("forEach")).at(1, 2),
                        DATABASE + "LocksTest", "whatWasHeldWhenTheServerDiedIsNotGrantedInItsNextLife"),
                new BrokenClass("coming-counts", "Who is to keep a table counts before it has the rows.",
                        Edit.of(NODE + "Placements", "placing", new Change.Condition("nodes", 1, Jump.PASSED)).at(2,
                                2),
                        NODE + "PlacementsTest", "whoeverIsToKeepATableDoesNotCountBeforeItSaysSo"),
                new BrokenClass("released-parent-goes",
                        "What takes a row away is made though a row that was to have changed refers to it still.",
                        Edit.of(NODE + "LostReleases", "named", new Change.Body(0)), NODE + "LostReleasesTest",
                        "whoTakesAParentAwayThatARowStillNamesIsRefused"),
                new BrokenClass("booked-for-good",
                        "What is booked is not over when the transaction commits that it is for.",
                        Edit.of(NODE + "Bookings", "commits", new Change.LeftOut("remove")), NODE + "BookingsTest",
                        "whoLosesKeepsItsPlace"),
                new BrokenClass("booked-and-not-seen",
                        "Who has booked comes before it sees what those before it have done.",
                        Edit.of(NODE + "Bookings", "hasCome", new Change.Condition("visible", 1, Jump.PASSED)),
                        NODE + "BookingsTest", "whoComesSeesAllBeforeIt"),
                new BrokenClass("in-order-of-numbers",
                        "Members that come and go take part in the order of their numbers, whoever is there.",
                        Edit.of("tutti.order.raft.MemberList", "turn", new Change.Body(0)),
                        "tutti.order.raft.MemberListTest", "whoIsNotThereGoesFirstAndWhoIsThereLast"),
                new BrokenClass("listener-answers", "A node that only listens answers what became of a transaction.",
                        Edit.of(NODE + "Questions", "isDecided", new Change.Condition("listens", 1, Jump.PASSED)),
                        NODE + "SettlementTest", "whoOnlyListensDoesNotAnswer"),
                new BrokenClass("former-majority-fences",
                        "A node that was cut off has lives ended that a majority missed which it hears of too late.",
                        Edit.of(NODE + "Questions", "fenceIfGone", new Change.Condition("ordered", 1, Jump.PASSED)),
                        NODE + "OutcomesTest", "whoIsBackWhenTheQuestionIsOrderedIsNotFenced"),
                new BrokenClass("committed-is-cut", "What is committed is cut from the end of a node's log.",
                        Edit.of("tutti.order.raft.RaftStorage", "truncateLogEntriesFrom",
                                new Change.Condition("getAsLong", 1, Jump.TAKEN)),
                        LOG + "Test", "whatIsCommittedIsNotCutOff"),
                new BrokenClass("history-before-counts",
                        "In a cluster that begins anew messages of before tell which directories nodes have.",
                        Edit.of("tutti.order.raft.JoinedCopies", "write", new Change.LeftOut("begins")),
                        "tutti.order.raft.JoinedCopiesTest", "directoriesOfBeforeAreOfNoConcern"),
                new BrokenClass("new-life-not-told", "Who begins a new life at once is not told to have been absent.",
                        Edit.of("tutti.group.GroupMember", "tellView(J",
                                new Change.Condition("toldLiving", 1, Jump.TAKEN)).at(1, 2),
                        "tutti.group.GroupMemberTest", "whoBeginsANewLifeAtOnceIsToldAbsentFirst"),
                new BrokenClass("removed-not-fenced", "A removed node's open work is not fenced at its removal.",
                        Edit.of(NODE + "MemberChanges", "delivered(JILtutti/node/Control$Changed;",
                                new Change.LeftOut("fence")),
                        NODE + "RemovedMembersTest", "whatItHasOpenIsAbortedAtItsRemoval"),
                new BrokenClass("damaged-copy-kept",
                        "A copy whose files are damaged is not removed, and tried again for ever.",
                        Edit.of(NODE + "copy.IncomingFiles", "adopt", new Change.LeftOut("emptied")),
                        "tutti.sim.machine.IncomingFilesSimTest",
                        "oneThatIsDamagedIsRemovedAndAnotherOneTakesItsPlace"),
                new BrokenClass("half-a-copy-is-whole",
                        "What a crash leaves of a copy that is being removed passes for a whole one.",
                        Edit.of(NODE + "copy.IncomingFiles", "emptied", new Change.LeftOut("delete")),
                        "tutti.sim.machine.IncomingFilesSimTest",
                        "whatACrashLeavesOfOneThatIsBeingRemovedIsNotWhole"),
                new BrokenClass("closed-and-still-writes", "Who gets a copy writes on when it has been closed.",
                        Edit.of(NODE + "copy.CopyReceiver", "close", new Change.LeftOut("join")),
                        NODE + "copy.CopyReceiverTest", "nothingIsWrittenWhenItIsClosed"),
                new BrokenClass("copied-counts-from-one", "A node that begins with a copy counts its lives from one.",
                        Edit.of(NODE + "StateCopy", "write", new Change.LeftOut("keepIncarnation")),
                        NODE + "StateCopyTest", "itGoesOnWhereTheCopyEnds"),
                new BrokenClass("damaged-message-ends-nodes", "Nodes end at a position whose message is damaged.",
                        Edit.of(NODE + "OrderInbox", "read", new Change.Given("mayBeOfAnotherRelease", 1)),
                        NODE + "UnreadableMessagesTest", "whatIsDamagedInTheOrderCountsForNothing"),
                new BrokenClass("unknown-kind-passed-over",
                        "A node goes on behind a message that only a newer release can read.",
                        Edit.of(NODE + "OrderInbox", "read", new Change.Given("mayBeOfAnotherRelease", 0)),
                        NODE + "UnreadableMessagesTest", "aKindThatIsNotKnownEndsEveryNodeThatCannotReadIt"),
                new BrokenClass("former-life-tells-itself",
                        "A node that begins with a copy removes the snapshots that its former life no longer needed.",
                        Edit.of(NODE + "LogKeeping", "toldRestart", new Change.Condition("node", 1, Jump.PASSED)),
                        NODE + "StateCopyTest", "whatAFormerLifeHasToldCostsNobodyTheSnapshotOfItsCopy"),
                new BrokenClass("former-life-tells-others",
                        "The log is not kept from a copy on, but from what its receiver needed in a former life.",
                        Edit.of(NODE + "Copies", "replaced", new Change.LeftOut("beginsAnew")),
                        NODE + "StateCopyTest", "whatAFormerLifeHasToldCostsNobodyTheLogBehindItsCopy"),
                new BrokenClass("lives-counted-twice",
                        "A node that has lost count of its lives goes on with a number that has been used.",
                        Edit.of(NODE + "Outcomes", "born", new Change.Condition("lastLife", 1, Jump.TAKEN)),
                        NODE + "ReplicaAssertionsTest", "aNodeThatHasLostCountOfItsLivesBeginsAnewBehindThem"),
                new BrokenClass("lost-order-not-noticed",
                        "A node serves whose database holds positions that the order has lost.",
                        Edit.of(NODE + "ControlMessages", "onHello",
                                new Change.Condition("engineHeld", 1, Jump.TAKEN)),
                        NODE + "ReplicaAssertionsTest", "aNodeWhoseDatabaseIsOfAnotherLogDoesNotServe"),
                new BrokenClass("unheard-is-unknown",
                        "A node that has not heard of a life says that it knows nothing, and does not ask.",
                        Edit.of(NODE + "Outcomes", "of", new Change.Condition("lastKey", 1, Jump.TAKEN)),
                        NODE + "OutcomesTest", "anUnfinishedLifeIsOpenAndAFinishedOneConclusive"),
                new BrokenClass("executing-is-unknown",
                        "What became of a request that is just being executed counts as not known.",
                        Edit.of(NODE + "Outcomes", "of", new Change.Given("containsValue", 0)),
                        NODE + "OutcomesTest", "aQuestionAboutARequestWaitsForItsExecutionHere"),
                new BrokenClass("told-before-it-is-decided",
                        "Whoever asks hears that a transaction has committed while its position is still being decided about.",
                        Edit.of(NODE + "Questions", "answer", new Change.Condition("known", 1, Jump.PASSED)),
                        NODE + "SettlementTest", "whatIsLeftOutLaterHasNotCommittedEither"),
                new BrokenClass("held-and-forgotten",
                        "What a session holds while it begins is forgotten when the horizon is told meanwhile.",
                        Edit.of(NODE + "Horizon", "begin()", new Change.LeftOut("merge")), NODE + "ReplicaNodeTest",
                        "whoHoldsAPositionIsNotTooOldAlthoughItBeginsLater"),
                new BrokenClass("left-out-counts",
                        "What is left out everywhere still counts as committed for who asks.",
                        Edit.of(NODE + "Outcomes", "undone", new Change.Body(0)), NODE + "SettlementTest",
                        "whatIsLeftOutLaterHasNotCommittedEither"),
                new BrokenClass("former-life-counts", "What a node has shown counts in its next life.",
                        Edit.of(JDBC + "Node", "life(Ljava/lang/String;", new Change.Given("equals", 1)).at(1, 2),
                        JDBC + "NodeTest", "whatItHasShownCountsInThatLifeOnly"),
                new BrokenClass("namesake-counts", "A node made anew at the same address is taken for the one before.",
                        Edit.of(JDBC + "Node", "life(Ljava/lang/String;", new Change.Given("equals", 0)).at(2, 2),
                        JDBC + "NodeTest", "whatShowsLessThanBeforeIsAnotherNodeWithTheSameName"),
                new BrokenClass("seen-is-forgotten", "The driver does not note what a transaction has seen.",
                        Edit.of(JDBC + "NewestPosition", "saw", new Change.LeftOut("accumulateAndGet")),
                        JDBC + "NewestPositionTest", "growsUnlessTheClusterIsAnother"),
                new BrokenClass("lost-commit-not-asked-about",
                        "Nobody is asked what became of a commit whose node is lost.",
                        Edit.of(JDBC + "ClusterConnection", "commit", new Change.Given("lostBy", 0)),
                        JDBC + "FailOverTest", "whatHasCommittedThoughItsNodeIsLostCounts"),
                new BrokenClass("asked-once",
                        "What is in progress when the driver asks about it counts as not known.",
                        Edit.of(JDBC + "Resolution", "ask", new Change.Given("next", 0)).at(2, 2),
                        JDBC + "FailOverTest",
                        "whatIsInProgressIsAskedAgain"),
                new BrokenClass("one-is-asked", "No other node is asked when one is lost that was asked.",
                        Edit.of(JDBC + "Resolution", "ask", new Change.Given("lostBy", 0)), JDBC + "FailOverTest",
                        "anotherIsAskedIfOneIsLostThatWasAsked"),
                new BrokenClass("failed-node-first", "A node that could not be reached is tried first all the same.",
                        Edit.of(JDBC + "Node", "avoided", new Change.Body(0)), JDBC + "TuttiDriverTest",
                        "choosesNodes"),
                new BrokenClass("position-not-recorded", "An applier commits without noting its position.",
                        Edit.of(ENGINE + "JdbcApplier", "record(J", new Change.LeftOut("executeUpdate")),
                        ENGINE + "H2EngineContractTest", "appliedChangesBecomeVisibleWithTheirPosition"),
                new BrokenClass("reader-too-old", "A reader is sent to a secondary that is behind.",
                        Edit.of(MACRO + "MacroDb", "enterSecondary", new Change.Condition("position", 1, Jump.PASSED)),
                        MACRO + "MacroDbFailuresTest", "aReaderNeverGetsLessThanThePrimaryShowedWhenItBegan"));
    }

    /** Those whose test starts a server, or has many seeds. */
    static List<BrokenClass> slow() {
        return List.of(
                new BrokenClass("cut-counts-as-stable",
                        "What was cut from a group's log counts as on stable storage for what follows.",
                        Edit.of("tutti.group.StableWriter", "write", new Change.Condition("apply", 1, Jump.TAKEN)),
                        "tutti.group.RandomFaultsTest", "allPropertiesHoldUnderRandomFaults"),
                new BrokenClass("obsolete-keeps-its-place",
                        "A message is sent where the one was queued that it makes obsolete.",
                        Edit.of("tutti.group.Submissions", "submit(Ljava/lang/Object;", new Change.LeftOut("remove")),
                        "tutti.group.RandomFaultsTest", "allPropertiesHoldWhereMessagesMakeOthersObsolete"),
                new BrokenClass("truncated-not-asked",
                        "Nobody asks a follower where its log ends that lacks what has been truncated.",
                        Edit.of("tutti.order.raft.RaftTransport", "ask(I", new Change.Body(0)),
                        "tutti.sim.raft.RaftKillsTest",
                        "aNodeThatIsKilledAtAnyOperationOnItsDiskLosesNothingThatWasTold"),
                new BrokenClass("members-forgotten", "A node does not note who takes part in Raft.",
                        Edit.of("tutti.order.raft.VotingGroups", "add", new Change.LeftOut("write")),
                        "tutti.sim.raft.MembershipSimTest", "nodesComeAndGoForLonger"),
                new BrokenClass("missing-rows-not-noticed",
                        "A PostgreSQL applier does not know that its server could not find what it should change.",
                        Edit.of(POSTGRES + "apply.BatchHandler", "failure", new Change.Body(0)),
                        POSTGRES + "apply.ReplicationTest", "aRowThatIsMissingIsNoticed"),
                new BrokenClass("appliers-left", "What an applier of an earlier life does comes into effect later.",
                        Edit.of(POSTGRES + "PostgresEngine", "open", new Change.LeftOut("endSessions")),
                        POSTGRES + "apply.LeftAppliersTest",
                        "whatAnEarlierLifeHasNotCommittedIsNotCommittedInALaterOne"),
                new BrokenClass("statements-word-is-believed",
                        "An error that a statement raises itself counts as the server's trouble.",
                        Edit.of(POSTGRES + "apply.ServerTrouble", "of", new Change.Given("contains", 1)).at(1, 6),
                        POSTGRES + "apply.ReplicationTest", "whatAStatementRaisesIsItsResultWhateverItsCode"),
                new BrokenClass("postgres-position-not-recorded",
                        "A PostgreSQL applier commits without noting its position.",
                        Edit.of(POSTGRES + "apply.PostgresApplier", "record", new Change.Body(0)),
                        POSTGRES + "PostgresEngineContractTest", "appliedChangesBecomeVisibleWithTheirPosition"),
                new BrokenClass("changes-not-handed-in", "A transaction commits without its node's consent.",
                        Edit.of(WIRE + "CommitSequence", "execute", new Change.Given("isEmpty", 1)),
                        WIRE + "FrontEndTest", "anAutocommitWriteIsCommittedByTheNode"),
                new BrokenClass("other-answers-not-noticed",
                        "A transaction that is run again may answer otherwise than its client has heard.",
                        Edit.of(WIRE + "ResultFingerprint", "same", new Change.Condition("getByte", 1, Jump.TAKEN)),
                        WIRE + "RepetitionTest", "aBlockIsNotRunAgainUnseenIfItsClientWouldHaveSeenSomethingElse"),
                new BrokenClass("run-again-though-it-stays", "What no rollback undoes is run again.",
                        Edit.of(WIRE + "SaidMessages", "notUndone", new Change.Given("find", 0)),
                        WIRE + "RepetitionTest", "whatOutlivesARollbackIsNotRunAgain"));
    }

    @ParameterizedTest
    @MethodSource("quick")
    void isFound(BrokenClass broken) throws Exception {
        assertEquals(List.of(), broken.failuresWhenSound());
        assertFalse(broken.failures().isEmpty(), broken::what);
    }

    @Tag("long")
    @Tag("mutants")
    @ParameterizedTest
    @MethodSource("slow")
    void isFoundSlowly(BrokenClass broken) throws Exception {
        isFound(broken);
    }

    @Test
    void thePageListsThem() throws Exception {
        String page = Files.readString(Path.of("..", "docs", "testing.md"));
        List<String> missing = Stream.concat(quick().stream(), slow().stream())
                .map(broken -> "| `" + broken.name() + "`: " + broken.what() + " | " + broken.edit() + " | `"
                        + broken.test().substring(broken.test().lastIndexOf('.') + 1) + "#" + broken.method() + "` |")
                .filter(line -> !page.contains(line)).toList();
        assertEquals("", String.join("\n", missing), "lines that docs/testing.md lacks");
    }
}
