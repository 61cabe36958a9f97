package tutti.node;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import tutti.core.protocol.Message;
import tutti.core.protocol.Protocols;
import tutti.core.schema.Catalogue;
import tutti.core.schema.Encoded;
import tutti.core.schema.GoldenContract;
import tutti.core.schema.MessageSet;
import tutti.core.spi.Group;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.TablePlacement;
import tutti.core.txn.TransactionId;
import tutti.node.trace.TraceContext;

class NodeGoldenTest extends GoldenContract {
    private static final TransactionId TRANSACTION = new TransactionId(3, 7L << 32 | 9);
    private static final MessageSet<Message> PROTOCOL = Protocols.STANDARD.choose(Protocols.DEFAULT).messages();
    private static final Control.Messages MESSAGES = new Control.Messages(PROTOCOL);

    @Override
    protected Catalogue catalogue() {
        return () -> List.of(MESSAGES.set(), VisibilityMessage.SET, NodeFiles.SET);
    }

    @Override
    protected Map<String, List<? extends Encoded>> samples() {
        // How far a replica has come.
        Message said = PROTOCOL.decode(ByteBuffer.wrap(new byte[]{1, 3, 0, 0, 0, 0, 0, 0, 0, 5}));
        Outcomes outcomes = new Outcomes(true);
        outcomes.born(3, 7);
        outcomes.committed(TRANSACTION);
        outcomes.born(4, 2);
        outcomes.fence(4, 2);
        Control.Inapplicable inapplicable = new Control.Inapplicable(16, List.of(TRANSACTION), false, "23514", "check",
                Control.Vote.REFUSED);
        Ballots ballots = new Ballots(Set.of(1, 2, 3), new Placements(TablePlacement.EVERYWHERE));
        ballots.inapplicable(1, inapplicable);
        ballots.inapplicable(2, inapplicable);
        ballots.inapplicable(2,
                new Control.Inapplicable(17, List.of(TRANSACTION), true, "42P07", "exists", Control.Vote.REFUSED));
        ballots.applied(1, 17);
        ballots.exclude(3);
        LostKeys lost = new LostKeys();
        lost.leftOut(16, TRANSACTION, new KeySet.Builder().add(-7, KeyKind.CREATED).add(8, KeyKind.GONE)
                .add(9, KeyKind.RELEASED).add(8, KeyKind.RELEASED).build());
        lost.executed(18);
        return Map.of("ordered payloads",
                List.of(MESSAGES.said(said), MESSAGES.said(said, new TraceContext(5, -6, 7, 1)),
                        new Control.Hello(8, -5, "si"), new Control.Restart(90),
                        new Control.Question(TRANSACTION), new Control.Ended(TRANSACTION), new Control.Fence(2, 6),
                        new Control.Mark(11), inapplicable,
                        new Control.InapplicableToKeepers(inapplicable, Set.of(-7L, 8L)), new Control.Applied(16),
                        new Control.Decided(16, true),
                        new Control.Replaced(2, 77, 3, 30),
                        new Control.Again(TRANSACTION, new TransactionId(3, 7L << 32 | 12)),
                        new Control.Changed(40, Control.Changed.Step.ADDED, 3, Map.of(0, "a:1", 3, "d:4")),
                        new Control.CaughtUp(41), new Control.Look(-9),
                        new Control.Booked(new TransactionId(3, 7L << 32 | 13), -77),
                        new Control.BookedFor(new TransactionId(3, 7L << 32 | 13), TRANSACTION),
                        new Control.BookingOver(new TransactionId(3, 7L << 32 | 13)),
                        new Control.Place(Map.of(-7L, "public.events", 8L, "public.stock"), Set.of(0, 2)),
                        new Control.Placed(Map.of(-7L, "public.events", 8L, "public.stock"), Set.of(0, 2), true)),
                "showing", List.of(new VisibilityMessage.Asked(17), new VisibilityMessage.Shown(18)),
                "node files", List.of(new NodeSnapshot(17, 0xabcd, new byte[]{1, 2, 3}, outcomes.image(),
                        ballots.image()),
                        new NodeFiles.Incarnation(7), new NodeFiles.Verdicts(ballots.image().ballots()),
                        new MemberSnapshot(new byte[]{1, 2},
                                new Group.Members(40, new TreeMap<>(Map.of(0, "a:1", 3, "d:4")),
                                        Set.of(3), new TreeMap<>(Map.of(2, "c:3")))),
                        new LostKeysSnapshot(new byte[]{1, 2}, lost.image()),
                        new LostReleasesSnapshot(new byte[]{1, 2}, lost.releases().image()),
                        new BallotTablesSnapshot(new byte[]{1, 2}, new TreeMap<>(Map.of(16L, Set.of(-7L, 8L)))),
                        new PlacementSnapshot(new byte[]{1, 2},
                                new TreeMap<>(Map.of(-7L,
                                        new Placements.Table("public.events", Set.of(0, 2), Set.of(), 50)))),
                        new NodeFiles.Absences(new TreeMap<>(Map.of(2, 3_600_000_000_000L)))));
    }
}
