package tutti.node;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;
import tutti.core.spi.Order;

/** A node's order, in which what the node wants ordered can be held. */
final class HeldOrder implements Order {
    private final Order order;
    private final DurableLog log;
    private final List<byte[]> held = new ArrayList<>();
    private boolean holding;

    HeldOrder(Order order) {
        this.order = order;
        log = (DurableLog) Proxy.newProxyInstance(DurableLog.class.getClassLoader(), new Class<?>[]{DurableLog.class},
                (_, method, arguments) -> {
                    if (holding && method.getName().equals("append")) {
                        held.add((byte[]) arguments[0]);
                        return null;
                    }
                    try {
                        return method.invoke(order.log(), arguments);
                    } catch (InvocationTargetException wrong) {
                        throw wrong.getCause();
                    }
                });
    }

    /** From now on. */
    void hold() {
        holding = true;
    }

    /** Whether something is held. */
    boolean holds() {
        return !held.isEmpty();
    }

    /** What was held is ordered, and nothing is held any more. */
    void goOn() throws DurableLog.OverflowException {
        holding = false;
        for (byte[] message : held) {
            order.log().append(message);
        }
    }

    @Override
    public DurableLog log() {
        return log;
    }

    @Override
    public Group group() {
        return order.group();
    }
}
