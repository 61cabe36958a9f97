package tutti.order.raft;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import tutti.core.schema.ByteStrings;
import tutti.core.schema.Catalogue;
import tutti.core.schema.Encoded;
import tutti.core.schema.GoldenContract;
import tutti.core.schema.Versions;
import tutti.core.spi.Group;
import tutti.order.batch.Batch;
import tutti.order.batch.SenderTable;
import tutti.order.peer.Greeting;

class RaftGoldenTest extends GoldenContract {
    private static final Batch BATCH = new Batch(2, 1_700_000_000_000L, 6,
            ByteStrings.of(List.of(new byte[]{1, 2, 3}, new byte[0])));

    private static final Group.Members MEMBERS = new Group.Members(40,
            new TreeMap<>(Map.of(0, "a:1", 1, "b:2", 3, "d:4")),
            Set.of(3), new TreeMap<>(Map.of(2, "c:3")));

    private static SenderTable.Image table() {
        SenderTable table = new SenderTable();
        table.accept(0, 100, 1, 5);
        table.accept(2, 300, 1, 2);
        return table.image();
    }

    @Override
    protected Catalogue catalogue() {
        return new RaftCatalogue();
    }

    @Override
    protected Map<String, List<? extends Encoded>> samples() {
        return Map.of("greetings",
                List.of(new Greeting.Hello(3, 42, new Greeting.Standing(77, 5, 4, true, 13), new Versions(1, 2),
                        Set.of("letters", "wings"), "0=a:1,3=b:2"),
                        new Greeting.Answer("another process runs as node 3", true, new Versions(1, 1),
                                Set.of("letters"))),
                "raft messages",
                List.of(new PeerMessage.Submit(BATCH.bytes(1)), new PeerMessage.Truncated(77),
                        new PeerMessage.Letter(new byte[]{4, 5}),
                        new PeerMessage.Append(3, 2, 11, 10, 8, 9,
                                List.of(new PeerMessage.Entry(3, LogEntry.NEW_TERM, new byte[0]),
                                        new PeerMessage.Entry(3, LogEntry.BATCH, BATCH.bytes(1)))),
                        new PeerMessage.Appended(3, 13, 8, 9),
                        new PeerMessage.NotAppended(3, 12, 8, 9, new PeerMessage.LogEnd(11, 1, 7)),
                        new PeerMessage.VoteRequest(4, 3, 13, true), new PeerMessage.VoteResponse(4, true),
                        new PeerMessage.PreVoteRequest(4, 3, 13), new PeerMessage.PreVoteResponse(4, false),
                        new PeerMessage.Lead(4, 3, 13), new PeerMessage.Kept(4, true, 13),
                        new PeerMessage.Replaced(2, 77, 30), new PeerMessage.Members(MEMBERS)),
                "log entries", List.of(BATCH), "log group changes",
                List.of(new GroupChange(3, GroupChange.Step.VOTES, Set.of(0, 1, 3), Set.of(0, 1, 3))), "log segments",
                List.of(new LogSegment.Header(1001)),
                "raft files",
                List.of(new RaftFiles.Identity("node 1 of a:1, b:2"), new RaftFiles.Vote(4, 2),
                        new RaftFiles.Incarnation(1_700_000_000_001L, 5), new RaftFiles.DirectoryNumber(77),
                        new RaftFiles.ClusterId("efce9c91-5642-452b-b84f-33aaa1219733"),
                        new RaftFiles.Met(77, 5, 42, 4, true, 13), new RaftFiles.Outdated("its log ends with entry 12"),
                        new Checkpoints.Checkpoint(12, 3, table()), new RaftFiles.Replaced(30),
                        new RaftFiles.Members(MEMBERS, "0=a:1,1=b:2,2=c:3", Set.of(0, 1, 2)),
                        new VotingGroups.Image(List.of(new VotingGroups.Group(0, Set.of(0, 1, 2), Set.of(0, 1, 2)),
                                new VotingGroups.Group(17, Set.of(0, 1, 2, 3), Set.of(0, 1, 2)))),
                        new RaftFiles.Removed("node 2 was removed")));
    }
}
