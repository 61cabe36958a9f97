package tutti.engine.macro;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicReference;
import tutti.engine.jdbc.EmbeddedDatabase;

/** A database of whose commits a test is told, before or behind them, and which it can make fail. */
final class HookedDatabase {
    /** What happens at a commit. */
    interface Hook {
        void run() throws SQLException;
    }

    private static final Hook NOTHING = () -> {};

    private final EmbeddedDatabase real;
    private final AtomicReference<Hook> beforeApplierCommit = new AtomicReference<>(NOTHING);
    private final AtomicReference<Hook> afterClientCommit = new AtomicReference<>(NOTHING);

    HookedDatabase(EmbeddedDatabase real) {
        this.real = real;
    }

    /** What appliers do before each commit from now on. */
    void beforeApplierCommit(Hook hook) {
        beforeApplierCommit.set(hook);
    }

    /** What clients do behind the next commit, which nobody has been told of yet. */
    void afterClientCommit(Hook hook) {
        afterClientCommit.set(hook);
    }

    EmbeddedDatabase database() {
        return wrap(EmbeddedDatabase.class, real, (name, result) -> switch (name) {
            case "openApplier" -> wrap(EmbeddedDatabase.Session.class, result, (_, value) -> value,
                    before -> beforeApplierCommit.get().run());
            case "openClient" -> wrap(EmbeddedDatabase.Session.class, result, (method, value) -> {
                if (method.equals("commit")) {
                    afterClientCommit.getAndSet(NOTHING).run();
                }
                return value;
            }, _ -> {});
            default -> result;
        }, _ -> {});
    }

    private interface After {
        Object of(String method, Object result) throws SQLException;
    }

    private interface Before {
        void commit(Object session) throws SQLException;
    }

    private static <T> T wrap(Class<T> type, Object real, After after, Before before) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[]{type}, (_, method, arguments) -> {
            // What the database's own code is given must be its own again.
            Object[] own = arguments == null ? null : Arrays.copyOf(arguments, arguments.length);
            if (method.getName().equals("commit")) {
                before.commit(real);
            }
            try {
                return after.of(method.getName(), method.invoke(real, own));
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        }));
    }
}
