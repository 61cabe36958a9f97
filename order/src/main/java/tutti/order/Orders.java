package tutti.order;

import java.util.List;
import java.util.ServiceLoader;
import tutti.core.text.ByName;

/** Which kinds of order there are, by name: those of all jars of the class path. Immutable, for any thread. */
public final class Orders {
    /** All there are. */
    public static final Orders STANDARD = new Orders(
            ServiceLoader.load(OrderDescriptor.class, Orders.class.getClassLoader()));

    /** Name of the order that is used if none is chosen. */
    public static final String DEFAULT = "raft";

    private final ByName<OrderDescriptor> byName;

    private Orders(Iterable<OrderDescriptor> all) {
        byName = new ByName<>("order", all, OrderDescriptor::name);
    }

    /** Names of all. */
    public List<String> names() {
        return byName.names().stream().sorted().toList();
    }

    /**
     * One of them.
     *
     * @throws IllegalArgumentException if there is none of this name
     */
    public OrderDescriptor descriptor(String name) {
        return byName.get(name);
    }
}
