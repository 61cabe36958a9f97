package tutti.server;

import java.lang.reflect.Proxy;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * SIGHUP, by which supervisors and operators have a server read its configuration again. The JDK has no other way to hear of a signal than a class that it
 * supports without naming it in its API; where that is not there, the signal ends the process as any that nobody hears.
 */
final class HangUp {
    private static final Logger LOG = LoggerFactory.getLogger(HangUp.class);

    private HangUp() {}

    /** Has something done at each. */
    @SuppressWarnings("ReferenceEquality") // of a proxy, which has no other
    static void then(Runnable task) {
        try {
            Class<?> signal = Class.forName("sun.misc.Signal");
            Class<?> handler = Class.forName("sun.misc.SignalHandler");
            Object hears = Proxy.newProxyInstance(HangUp.class.getClassLoader(), new Class<?>[]{handler},
                    (proxy, method, arguments) -> switch (method.getName()) {
                        case "handle" -> {
                            task.run();
                            yield null;
                        }
                        case "equals" -> proxy == arguments[0];
                        case "hashCode" -> System.identityHashCode(proxy);
                        default -> "SIGHUP";
                    });
            signal.getMethod("handle", signal, handler).invoke(null,
                    signal.getConstructor(String.class).newInstance("HUP"), hears);
        } catch (ReflectiveOperationException | IllegalArgumentException none) {
            LOG.debug("SIGHUP is not heard here", none);
        }
    }
}
