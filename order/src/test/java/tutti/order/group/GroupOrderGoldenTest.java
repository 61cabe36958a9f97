package tutti.order.group;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Set;
import tutti.core.schema.Catalogue;
import tutti.core.schema.Encoded;
import tutti.core.schema.GoldenContract;
import tutti.core.schema.Versions;
import tutti.group.Packet;
import tutti.order.NodeLives;

class GroupOrderGoldenTest extends GoldenContract {
    @Override
    protected Catalogue catalogue() {
        return new GroupOrderCatalogue();
    }

    @Override
    protected Map<String, List<? extends Encoded>> samples() {
        Frame.Channel channel = new Frame.Channel(1_700_000_000_000L, 2);
        return Map.of("group announcements",
                List.of(new Announcement(1_700_000_000_006L, new Versions(1, 2), Set.of("wings"), true)),
                "group frames",
                List.of(new Frame.PacketFrame(new Packet.Progress(7, 20, 100)),
                        new Frame.Letter(channel, 1_700_000_000_003L, 4, Frame.Completes.MESSAGE,
                                ByteBuffer.wrap(new byte[]{5, 6})),
                        new Frame.Receipt(channel, 4), new Frame.Greeting(channel, 1_700_000_000_004L)),
                "group files",
                List.of(new NodeLives.Lives("node 1 of cluster c of nodes 0=a:1,1=b:2", 1_700_000_000_005L,
                        true)));
    }
}
