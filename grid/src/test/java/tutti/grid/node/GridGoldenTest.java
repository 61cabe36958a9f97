package tutti.grid.node;

import java.util.List;
import java.util.Map;
import java.util.Set;
import tutti.core.schema.Catalogue;
import tutti.core.schema.Encoded;
import tutti.core.schema.GoldenContract;
import tutti.core.txn.TransactionId;
import tutti.grid.commit.CommitMessage;
import tutti.grid.commit.CommitRequest;
import tutti.grid.commit.GroupPayload;
import tutti.grid.commit.Result;
import tutti.grid.genuine.GenuineMessage;
import tutti.grid.genuine.Configuration;
import tutti.grid.multicast.MulticastMessage;
import tutti.grid.store.GroupLayout;
import tutti.grid.store.Key;
import tutti.grid.store.Version;
import tutti.grid.view.Layout;
import tutti.grid.view.View;
import tutti.grid.view.ViewMessage;

class GridGoldenTest extends GoldenContract {
    private static final TransactionId ID = new TransactionId(2, 7L << 32 | 9);
    private static final TransactionId OTHER = new TransactionId(0, 5L << 32 | 1);
    private static final Key KEY = new Key(1, new byte[]{1, 2, 3});
    private static final int[] GROUPS = {1, 3};
    private static final byte[] PAYLOAD = {9};
    private static final List<GenuineMessage.Entry> ENTRIES = List
            .of(new GenuineMessage.Entry(ID, GROUPS, PAYLOAD, 769, 770));
    private static final Configuration MEMBERS = new Configuration(List.of(new Configuration.Member(0, 0, 0, ""),
            new Configuration.Member(2, 256, 77, "localhost:7802")));
    private static final GroupLayout LAYOUT = new GroupLayout(770, Set.of(0, 1), Set.of(0, 1, 5), Set.of(),
            Map.of(5, Set.of(5, 6)));
    private static final View VIEW = new View(4,
            Map.of(0, new View.Member(77, "localhost:7801"), 2, new View.Member(78, "localhost:7802"), 3,
                    View.Member.UNKNOWN),
            new Layout(2, Layout.Phase.COPY, Set.of(0, 2), Set.of(0, 2, 3)));

    @Override
    protected Catalogue catalogue() {
        return new GridCatalogue();
    }

    @Override
    protected Map<String, List<? extends Encoded>> samples() {
        return Map.of("grid links",
                List.of(new LinkMessage.Hello(3, 77, "test, TOM_2"), new LinkMessage.Welcome(78, 12, true, false),
                        new LinkMessage.Refused(LinkMessage.Refusal.FOREIGN, "another grid"),
                        new LinkMessage.Received(13)),
                "grid messages",
                List.of(new MulticastMessage.Data(ID, new int[]{0, 2}, new byte[]{9}),
                        new MulticastMessage.Propose(ID, 514), new MulticastMessage.Order(ID, 770),
                        new MulticastMessage.Ack(ID),
                        new MulticastMessage.Query(ID, 4, new int[]{0, 2}, new byte[]{9}),
                        new MulticastMessage.State(ID, 4, 770), new MulticastMessage.Renew(ID, 4),
                        new MulticastMessage.Renewed(ID, 4, 1026), new ViewMessage.Prepare(4, 258),
                        new ViewMessage.Promise(4, 258, 257, VIEW), new ViewMessage.Accept(258, VIEW),
                        new ViewMessage.Accepted(4, 258), new ViewMessage.Installed(VIEW),
                        new CommitMessage.Vote(ID, true, 770), new CommitMessage.Outcome(ID, true, 770),
                        new CommitMessage.Prepare(ID, new int[]{0, 2}, new byte[]{9}),
                        new CommitMessage.Refused(ID, Result.Kind.DEADLOCK), new CommitMessage.Done(ID),
                        new CommitMessage.Waits(ID, OTHER), new CommitMessage.Orphan(ID, new int[]{0, 2}),
                        new CommitMessage.Inquire(ID, 4), new CommitMessage.Known(ID, 4, 770),
                        new GridMessage.Heartbeat(4, 1000, 1_700_000_000_000L, true,
                                new GridMessage.Moving(GridMessage.Step.DONE_BY_ALL, GridMessage.Step.DONE, 3, true,
                                        false)),
                        new GridMessage.Read(6, 770, KEY, 1000, true, true),
                        new GridMessage.Value(6, new Version(770, new byte[]{5, 6}, 1_700_000_000_000L), true),
                        new GridMessage.Given(2, 770, 514, 771, 258, 1_700_000_000_000L, List.of(LAYOUT)),
                        new GridMessage.Over(2, List.of(OTHER), ENTRIES),
                        new GridMessage.Undecided(2, OTHER, ID, PAYLOAD, 770, 514, Map.of(1, true)),
                        new GridMessage.Decided(2, List.of(new CommitMessage.Outcome(ID, true, 770))),
                        new GridMessage.Taken(2), new GridMessage.Trimmed(6), new GridMessage.Invalidated(KEY),
                        new GridMessage.Present(770),
                        new GridMessage.Scan(6, 3, 1, new byte[]{1, 2}, 1000, 1_700_000_000_000L),
                        new GridMessage.Keys(6, GridMessage.Part.LAST, List.of(new byte[]{1, 2, 3}, new byte[]{1, 2})),
                        new GridMessage.Apply(77, "localhost:7801", Set.of(5, 6)), new GridMessage.Fetch(4, true),
                        new GridMessage.Copies(4, true, List.of(new GridMessage.Copy(KEY,
                                new Version(770, new byte[]{5, 6}, 1_700_000_000_000L)))),
                        new GenuineMessage.Data(ID, GROUPS, PAYLOAD),
                        new GenuineMessage.Accept(ID, GROUPS, 1, 3, 770, 0, PAYLOAD),
                        new GenuineMessage.Ack(ID, new long[]{3, 0}, 770), new GenuineMessage.Delivered(ID, 770),
                        new GenuineMessage.Prepare(258), new GenuineMessage.Part(4, ENTRIES),
                        new GenuineMessage.Promise(514, 256, 258, MEMBERS, 1030, ENTRIES),
                        new GenuineMessage.Install(514, 1030, MEMBERS, 770, ENTRIES),
                        new GenuineMessage.Installed(4, true),
                        new GenuineMessage.Passed(5), new GenuineMessage.Members(1, 258, MEMBERS),
                        new GridMessage.Leave(2, 258),
                        new GridMessage.Founded(List.of(LAYOUT), MEMBERS), new GridMessage.Hand(770, true),
                        new GridMessage.Handed(770, true, 258, 1_700_000_000_000L,
                                List.of(new GridMessage.Copy(KEY, new Version(514, new byte[]{5}, Version.NEVER)))),
                        new GridMessage.HasCopied(770, 258),
                        new GridMessage.Addresses(Map.of(0, "localhost:7801", 2, "localhost:7802")),
                        new GenuineMessage.Progress(770, 12, true)),
                "grid payloads",
                List.of(new CommitRequest(3, 1000,
                        List.of(new CommitRequest.Write(KEY, new byte[]{5, 6}, 1_700_000_000_000L),
                                new CommitRequest.Write(new Key(0, new byte[0]), null, Version.NEVER)),
                        List.of(new CommitRequest.Check(KEY, 770)))),
                "grid group payloads",
                List.of(new GroupPayload.Commit(ID, new byte[]{9}), new GroupPayload.Floor(770),
                        new GroupPayload.Move(770, 5, Set.of(5, 6), MEMBERS), new GroupPayload.Copied(770, 5)));
    }
}
