package tutti.group;

import java.util.List;
import java.util.Map;
import tutti.core.schema.Catalogue;
import tutti.core.schema.Encoded;
import tutti.core.schema.GoldenContract;

class GroupGoldenTest extends GoldenContract {
    private static final Packet.Data DATA = new Packet.Data(5,
            List.of(new byte[]{1, 2}, new byte[0], new byte[]{3}));
    private static final Ordered ORDERED = new Ordered(91, 6, 0, 1, 17, new byte[]{9});

    @Override
    protected Catalogue catalogue() {
        return new GroupCatalogue();
    }

    @Override
    protected Map<String, List<? extends Encoded>> samples() {
        return Map.of("stream bodies",
                List.of(DATA, new Packet.Order(9, List.of(new Packet.Run(0, 5, 2), new Packet.Run(2, 1, 1)))),
                "group packets",
                List.of(new Packet.Stream(7, 3, 12, DATA),
                        new Packet.Missing(7, List.of(new Packet.Range(3, 4), new Packet.Range(9, 9))),
                        new Packet.Progress(7, 8, 9),
                        new Packet.Gossip(7, 8, 9, 10, new long[]{1, 2, 3}, 0b101, new long[]{4, 5, 6}),
                        new Packet.Alive(1, 2, 3, 4, 5, true), new Packet.Prepare(8, new long[]{1, 0, 3}),
                        new Packet.Flushed(8, 1, 7, 100, 6, false, new long[]{1, 2, 3}),
                        new Packet.Install(8, new int[]{0, 2}, new long[]{1, 3}, 100, 6, 99),
                        new Packet.Fetch(8, 90, 6), new Packet.Entries(8, 90, 6, 91, List.of(ORDERED)),
                        new Packet.Differs(8, 90, 80, 5), new Packet.Forgotten(8, 3, 50)),
                "group records",
                List.of(new StableRecord.Started(3), new StableRecord.Promised(4), new StableRecord.Accepted(5),
                        new StableRecord.Appended(List.of(ORDERED)), new StableRecord.Cut(88),
                        new StableRecord.Forgotten(70)));
    }
}
