package tutti.sim.net;

import java.util.ArrayList;
import java.util.List;

/** A local network: its hosts reach each other directly and by multicast, others through links. Made by a network. */
public final class Segment {
    private final String name;
    private final LinkConfig config;
    private final List<Link> links = new ArrayList<>();

    /** One direction of a link that leaves this segment. */
    record Link(Segment to, Pipe pipe) {}

    Segment(String name, LinkConfig config) {
        this.name = name;
        this.config = config;
    }

    /** Its name. */
    public String name() {
        return name;
    }

    /** How hosts are attached to it. */
    public LinkConfig config() {
        return config;
    }

    List<Link> links() {
        return links;
    }

    @Override
    public String toString() {
        return "segment " + name;
    }
}
