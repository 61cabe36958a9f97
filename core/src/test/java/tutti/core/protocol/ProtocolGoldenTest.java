package tutti.core.protocol;

import java.util.List;
import java.util.Map;
import tutti.core.certify.BloomFilter;
import tutti.core.certify.CertificationIndex;
import tutti.core.schema.Catalogue;
import tutti.core.schema.Encoded;
import tutti.core.schema.GoldenContract;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

class ProtocolGoldenTest extends GoldenContract {
    private static final TransactionId ONE = new TransactionId(3, 7L << 32 | 9);
    private static final TransactionId OTHER = new TransactionId(0, 1L << 32 | 2);
    private static final KeySet KEYS = new KeySet.Builder().add(0x0123_4567_89ab_cdefL, KeyKind.UPDATE)
            .add(-2, KeyKind.EXCLUSIVE).add(3, KeyKind.REFERENCE).build();
    private static final WriteSet WRITES = new WriteSet(KEYS, new byte[]{1, 2, 3, 4, 5});
    private static final ConflictClasses CLASSES = ConflictClasses.of(List.of(5L, -6L));
    private static final TransactionRequest.Whole REQUEST = new TransactionRequest.Whole(new byte[]{9, 8, 7}, CLASSES,
            KEYS,
            TransactionRequest.Placement.EITHER);
    private static final Barrier BARRIER = new Barrier(ONE, REQUEST);
    private static final Horizons.Progress PROGRESS = new Horizons.Progress(15);
    private static final SnapshotIsolation.Certify CERTIFY = new SnapshotIsolation.Certify(ONE, 10, 12, 8, WRITES);
    private static final SnapshotIsolation.CertifyReads CERTIFY_READS = new SnapshotIsolation.CertifyReads(ONE, 10, 12,
            8,
            WRITES, new KeySet.Builder().add(7, KeyKind.READ).add(8, KeyKind.SCAN).build());
    private static final WiceMessage.Numbered NUMBERED = new WiceMessage.Numbered(2, 4, 6, CERTIFY);
    private static final WiceMessage.Relay RELAY = new WiceMessage.Relay(20, 18, NUMBERED);
    private static final NonVotingCertification.Image IMAGE = new NonVotingCertification.Image(30,
            Map.of(0, 28L, 1, 29L), index(), new NodeTurns.Image(List.of(new NodeTurns.Turn(44, 1, 26)),
                    List.of(new NodeTurns.Loss(44, 1, 2, 26), new NodeTurns.Loss(45, 0, 1, 27))));
    private static final NodeTurns.Over OVER = new NodeTurns.Over(44, 26);

    private static CertificationIndex.Image index() {
        CertificationIndex index = new CertificationIndex();
        index.note(KEYS, 25);
        index.note(new KeySet.Builder().add(44, KeyKind.UPDATE).build(), 27);
        return index.image();
    }

    @Override
    protected Catalogue catalogue() {
        return new ProtocolCatalogue();
    }

    @Override
    protected Map<String, List<? extends Encoded>> samples() {
        return Map.of("si", List.of(CERTIFY, BARRIER, PROGRESS, OVER, CERTIFY_READS),
                "dbsm", List.of(new DatabaseStateMachine.Certify(ONE, 10, 12, 8, WRITES, KEYS,
                        BloomFilter.of(new long[]{1, 2, 3}, 0.01)), BARRIER, PROGRESS, OVER),
                "postgres-r", List.of(new PostgresR.Changes(ONE, WRITES), BARRIER, new PostgresR.Vote(ONE, true),
                        new PostgresR.Resolve(List.of(ONE, OTHER))),
                "active", List.of(new ActiveReplication.Execute(ONE, REQUEST)),
                "passive", List.of(new PassiveReplication.Changes(2, ONE, 10, 12, 8, WRITES),
                        new PassiveReplication.Barrier(2, ONE, REQUEST), new PassiveReplication.TakeOver(3)),
                "classes", List.of(new ClassMessage.Submit(ONE, ConflictClasses.ALL),
                        new ClassMessage.Changes(ONE, WRITES), new ClassMessage.Execute(ONE, REQUEST),
                        new ClassMessage.Release(List.of(ONE, OTHER))),
                "2pc", List.of(new TwoPhaseMessage.Decide(ONE, 4, WRITES), new TwoPhaseMessage.Everywhere(ONE, REQUEST),
                        new TwoPhaseMessage.Join(1, 5), new TwoPhaseMessage.Leave(2),
                        new TwoPhaseMessage.Prepare(ONE, 6, WRITES), new TwoPhaseMessage.Vote(ONE, 6, true),
                        new TwoPhaseMessage.Ended(ONE, 7), new TwoPhaseMessage.Inquire(ONE),
                        new TwoPhaseMessage.Waits(List.of(new TwoPhaseMessage.Wait(ONE, OTHER)))),
                "hybrid", List.of(new ClassMessage.Submit(ONE, CLASSES), new ClassMessage.Changes(ONE, WRITES),
                        new ClassMessage.Release(List.of(ONE, OTHER)), new HybridMessage.Log(ONE, REQUEST),
                        new HybridMessage.Done(List.of(new HybridMessage.Executed(ONE,
                                new Response("23505", "twice", new byte[]{1, 2}))), WRITES),
                        new HybridMessage.Everywhere(ONE),
                        new HybridMessage.TakeOver(List.of(new HybridMessage.Claim(3, 4))),
                        new HybridMessage.Divide(new Division(21, Hybrid.Mode.PASSIVE, 32, List.of(2, 0)))),
                "wice", List.of(NUMBERED, RELAY, new WiceMessage.Stored(21, 20), new WiceMessage.Ask()),
                "protocol states", List.of(new SnapshotIsolation.Snapshot(IMAGE),
                        new DatabaseStateMachine.Snapshot(DatabaseStateMachine.Reads.BLOOM, IMAGE,
                                List.of(new DatabaseStateMachine.Written(26, new long[]{1, 2}))),
                        new PostgresR.Snapshot(true, 30, List.of(new PostgresR.Changes(OTHER, WRITES))),
                        new ActiveReplication.Snapshot(30),
                        new PassiveReplication.Snapshot(30, 2, 1, 14, index()),
                        new ClassPlaces(30, List.of(new ClassPlaces.Place(29, OTHER, CLASSES))),
                        new Epochs.Snapshot(30, 5, Map.of(0, new Epochs.Member(1, 2))),
                        new Wice.Snapshot(30, 3, "west", Map.of(1, new Wice.Last(4, 5)), Map.of("east", 2, "west", 9),
                                List.of(RELAY), IMAGE),
                        new HybridMessage.Snapshot(30,
                                new RequestLogs.Image(List.of(0, 1, 3),
                                        new Division(21, Hybrid.Mode.HYBRID, 2, List.of(0, 1)),
                                        new int[]{1, 0},
                                        new long[]{0, 7}),
                                List.of(new HybridMessage.Entry(28, ONE, CLASSES, REQUEST),
                                        new HybridMessage.Entry(29, OTHER, CLASSES, null)))));
    }
}
